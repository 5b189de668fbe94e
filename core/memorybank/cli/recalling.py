"""``recall`` and ``explain``: what is found for a question, and why a memory stands where it stands."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.text import Text

from memorybank.cli.options import (
    DEFAULT_STORE,
    EmbedderOption,
    JsonOption,
    NowOption,
    OwnerOption,
    PolicyOption,
    StoreOption,
    by_prefix,
    existing_store,
    known_bank,
    parsed_time,
    policy_named,
)
from memorybank.cli.output import (
    emit_json,
    local,
    memory_head,
    note,
    out,
    plain,
    print_body,
    print_recalled,
    span,
)
from memorybank.errors import InvalidInputError
from memorybank.text.counting import counted


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(recall)
    app.command()(explain)


def recall(
    query: Annotated[str, typer.Argument(help="What to look for, in words.")],
    owner: OwnerOption,
    k: Annotated[int, typer.Option("-k", help="How many, at most.")] = 6,
    level: Annotated[
        list[str] | None, typer.Option("--level", help="Only these levels (repeatable).")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only what happened from this time on.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only what happened up to this time.")] = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Only what was said in this session.")
    ] = None,
    min_score: Annotated[
        str | None, typer.Option("--min-score", help="Leave out lower scores: a number, or auto.")
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Look among archived memories too.")] = False,
    reinforce: Annotated[
        bool, typer.Option("--reinforce/--no-reinforce", help="Credit what is found: strength + 1, t = 0.")
    ] = True,
    now: NowOption = None,
    policy: PolicyOption = "assistant",
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
) -> None:
    """Recall the memories that fit a question, and say why."""
    with existing_store(store, embedder, read_only=not reinforce) as opened:
        bank = known_bank(opened, owner, policy_named(policy))
        found = bank.recall(
            query,
            k,
            levels=level or None,
            since=parsed_time(since, "--since"),
            until=parsed_time(until, "--until"),
            session=session,
            now=parsed_time(now, "--now"),
            reinforce=reinforce,
            min_score=_floor(min_score),
            include_archived=archived,
        )
        zone = bank.timezone
    if json:
        emit_json(
            {"owner": owner, "query": query, "reinforced": reinforce and bool(found), "recalled": found}
        )
        return
    console = out()
    print_recalled(console, found, zone)
    if not found:
        console.print("nothing recalled")
    elif reinforce:
        many = counted(len(found), "memory", "memories")
        note(f"{many} reinforced: S + 1, t = 0. --no-reinforce only looks.")


def _floor(text: str | None) -> float | Literal["auto"] | None:
    if text is None:
        return None
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"--min-score {text!r} is neither a number nor 'auto'") from None


def explain(
    memory: Annotated[str, typer.Argument(help="Id of the memory, or its beginning.")],
    owner: OwnerOption,
    now: NowOption = None,
    policy: PolicyOption = "assistant",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Explain where a memory stands: use, strength, retention.

    Also what ``forget`` would do, and earlier texts.
    """
    with existing_store(store, read_only=True) as opened:
        bank = known_bank(opened, owner, policy_named(policy))
        found = by_prefix(bank, memory)
        why = bank.explain(found.id, now=parsed_time(now, "--now"))
        earlier = bank.versions(found.id)
        zone = bank.timezone
    if json:
        emit_json({**plain(why), "versions": plain(earlier)})
        return
    console = out()
    console.print(Text(memory_head(why.memory, zone), style="dim"))
    print_body(console, why.memory.text)
    console.print(
        f"t = {span(why.elapsed)} since last use; S = {why.strength}; unit = {span(why.unit)}; {why.form}"
    )
    console.print(f"R = {why.retention:.4g}  →  {why.outcome}: {why.rule}")
    if why.archives_at is not None:
        console.print(f"unless it is recalled it fades on {local(why.archives_at, zone)}")
    if why.memory.sources:
        console.print(f"made from {counted(len(why.memory.sources), 'source')} by {why.memory.maker.value}")
    for version in earlier:
        console.print(Text(f"version {version.version}, until {local(version.made, zone)}:", style="dim"))
        print_body(console, version.text)
