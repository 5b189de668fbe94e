"""``forget``, ``pin``, ``unpin``, ``restore``: what fades, what must not, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console

from memorybank.bank import MemoryBank
from memorybank.cli.options import (
    DEFAULT_STORE,
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
from memorybank.cli.output import emit_json, memory_head, out, snippet
from memorybank.forgetting import ForgettingCurve
from memorybank.models import Forgotten, Memory

IdsArgument = Annotated[list[str], typer.Argument(help="Ids of memories, or their beginnings.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (forget, pin, unpin, restore):
        app.command()(command)


def forget(
    owner: OwnerOption,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    policy: PolicyOption = "assistant",
    unit: Annotated[
        float | None, typer.Option("--unit", min=0.000001, help="Days after which R = 1/e at strength 1.")
    ] = None,
    now: NowOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="How many memories to list.")] = 10,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Archive what has faded under a policy. Archived memories are kept, and can be restored."""
    chosen = policy_named(policy)
    with existing_store(store, read_only=dry_run) as opened:
        known_bank(opened, owner)
        curve = None if unit is None else ForgettingCurve(unit=timedelta(days=unit))
        bank = opened.bank(owner, policy=chosen, curve=curve)
        listed = {memory.id: memory for memory in bank.memories()}
        result = bank.forget(now=parsed_time(now, "--now"), dry_run=dry_run)
    if json:
        emit_json({"owner": owner, "policy": policy, "dry_run": dry_run, **_lists(result)})
        return
    console = out()
    would = "would be " if dry_run else ""
    console.print(
        f"{len(result.archived)} {would}archived, {len(result.purged)} {would}purged, {len(result.kept)} kept "
        f"(policy {policy})",
        soft_wrap=True,
    )
    for id_ in [*result.archived, *result.purged][:limit]:
        _print_line(console, listed.get(id_), bank.timezone)
    if chosen.archive_below == 0:
        console.print("This policy archives nothing; --policy companion lets the unused fade.")


def _lists(result: Forgotten) -> dict[str, object]:
    return {"archived": result.archived, "purged": result.purged, "kept": result.kept}


def _print_line(console: Console, memory: Memory | None, zone: str) -> None:
    if memory is not None:
        console.print(f"{memory_head(memory, zone)}  {snippet(memory.text)}", soft_wrap=True)


def pin(
    ids: IdsArgument, owner: OwnerOption, store: StoreOption = DEFAULT_STORE, json: JsonOption = False
) -> None:
    """Keep memories from ever fading."""
    _change(ids, owner, store, json, "pinned", lambda bank, found: bank.pin(found))


def unpin(
    ids: IdsArgument, owner: OwnerOption, store: StoreOption = DEFAULT_STORE, json: JsonOption = False
) -> None:
    """Let pinned memories fade again."""
    _change(ids, owner, store, json, "unpinned", lambda bank, found: bank.unpin(found))


def restore(
    ids: IdsArgument,
    owner: OwnerOption,
    now: NowOption = None,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Bring archived memories back into recall."""
    moment = parsed_time(now, "--now")
    _change(ids, owner, store, json, "restored", lambda bank, found: bank.restore(found, now=moment))


def _change(
    ids: list[str],
    owner: str,
    store: StoreOption,
    json: bool,
    done: str,
    change: Callable[[MemoryBank, Sequence[str]], None],
) -> None:
    with existing_store(store) as opened:
        bank = known_bank(opened, owner)
        found = [by_prefix(bank, given).id for given in ids]
        change(bank, found)
    if json:
        emit_json({"owner": owner, done: found})
    else:
        out().print(f"{done}: {len(found)}")
