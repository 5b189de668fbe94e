"""``import`` and ``export``: other people's files in, our own out and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memorybank.cli.options import (
    DEFAULT_STORE,
    EmbedderOption,
    JsonOption,
    OwnerOption,
    StoreOption,
    any_store,
    checked_zone,
    existing_store,
    known_bank,
)
from memorybank.cli.output import clean, emit_json, err, note, out, table
from memorybank.errors import ImportFormatError, InvalidInputError
from memorybank.interchange import EXPORT, NAMES, ImportOptions, Item, Loaded, Problem, detect, load, read
from memorybank.store import MemoryStore
from memorybank.text.counting import counted

_SHOWN = 20
_LOOKED_AT = 20_000  # items of a file, for the owners in it
_WORST = ("fatal", "skipped", "note")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("import")(import_file)
    app.command("export")(export_bank)


def import_file(
    file: Annotated[Path, typer.Argument(help="The file to read.")],
    format: Annotated[
        str, typer.Option("--format", "-f", help=f"auto, {', '.join(NAMES)}.", metavar="NAME")
    ] = "auto",
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner", help="Whose memory (messages, chatgpt); for files of many owners: only this one."
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="Session of messages that name none (default: the file's name)."),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option("--timezone", help="IANA zone of times without one, and of the owners' days."),
    ] = None,
    language: Annotated[str | None, typer.Option("--language", help="en or zh (default: found out).")] = None,
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
) -> None:
    """Import conversations. Importing a file again adds nothing. Exit code 1 if a part of it was left out."""
    zone = checked_zone(timezone)
    found = detect(file) if format == "auto" else format
    if found == EXPORT:
        with any_store(store, embedder) as opened:
            _import_export(opened, file, owner, json)
        return
    if found not in NAMES:
        raise InvalidInputError(f"--format {found} is unknown; give auto, {', '.join(NAMES)}")
    options = ImportOptions(owner=owner, session=session or file.stem or "imported")
    items = _begun(read(file, found, options), partial(_others, file, found, options))
    with any_store(store, embedder) as opened:
        loaded, zones, assumed = _load(opened, items, zone, language)
    if json:
        emit_json(
            {
                "format": found,
                "store": store,
                "complete": loaded.complete,
                "zones": zones,
                "zone_assumed": assumed,
                **_plain(loaded),
            }
        )
    else:
        _print(loaded, found, store, zones)
        if assumed:
            note(
                f"No --timezone was given: this machine's, {zones[assumed[0]]}, was taken for times without a zone "
                "and for where a day ends. It is kept with the owner; for another, import into a new store."
            )
    if not loaded.complete:
        raise typer.Exit(1)


def _others(file: Path, format: str, options: ImportOptions) -> str:
    """Why a file gave nothing: whose messages it has, if not those of the owner who was asked for."""
    if options.owner is None:
        return "The file has no messages."
    rest = (one for one in read(file, format, replace(options, owner=None)) if not isinstance(one, Problem))
    owners = list(islice(dict.fromkeys(one.owner for one in islice(rest, _LOOKED_AT) if one.owner), 5))
    if not owners:
        return "The file has no messages."
    return (
        f"The file has no messages of {options.owner!r}; it has those of {', '.join(owners)}, perhaps of more. "
        "Give one of them as --owner, or leave it out to import them all"
    )


def _begun(items: Iterator[Item], nothing: Callable[[], str]) -> Iterator[Item]:
    """The items, after a look whether there is any message: a file that gives none must not leave a store behind.

    Raises ImportFormatError with the first thing that is wrong; ``nothing`` says what, where nothing is.
    """
    problems: list[Problem] = []
    for item in items:
        if not isinstance(item, Problem):
            return chain(problems, [item], items)
        problems.append(item)
    wrong = min(problems, key=lambda one: _WORST.index(one.severity), default=None)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    raise ImportFormatError(nothing() if wrong is None else f"{wrong}{more}")


def _load(
    store: MemoryStore, items: Iterator[Item], timezone: str | None, language: str | None
) -> tuple[Loaded, dict[str, str], list[str]]:
    """The account, the owners' zones, and the new owners who got the machine's zone because none was given."""
    columns = (SpinnerColumn(), TextColumn("{task.completed} messages"), TimeElapsedColumn())
    zones: dict[str, str] = {}
    known = set(store.owners())
    console = err()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("importing", total=None)
        loaded = load(
            items,
            lambda name: store.bank(name, timezone=timezone, language=language),
            on_progress=lambda count: progress.advance(task, count),
        )
    for name in loaded.owners:
        zones[name] = store.bank(name).timezone
    assumed = [name for name in loaded.owners if name not in known] if timezone is None else []
    return loaded, zones, assumed


def _plain(loaded: Loaded) -> dict[str, object]:
    return {
        "added": loaded.added,
        "known": loaded.known,
        "owners": loaded.owners,
        "counts": loaded.counts,
        "problems": loaded.problems,
    }


def _print(loaded: Loaded, format: str, store: Path, zones: dict[str, str]) -> None:
    console = out()
    rows = table("owner", "new messages", "time zone")
    for name, count in loaded.owners.items():
        rows.add_row(clean(name), str(count), zones[name])
    if loaded.owners:
        console.print(rows)
    known = f", {loaded.known} were there already" if loaded.known else ""
    added, owners = counted(loaded.added, "message"), counted(len(loaded.owners), "owner")
    console.print(f"{format}: {added} added{known}; {owners}, store {store}", soft_wrap=True)
    _print_problems(loaded.problems, sum(loaded.counts.values()))


def _print_problems(problems: list[Problem], total: int) -> None:
    for problem in sorted(problems, key=lambda one: _WORST.index(one.severity))[:_SHOWN]:
        note(f"{problem.severity.value}: {problem}")
    if total > _SHOWN:
        note(f"… and {total - _SHOWN} more; --json lists them")


def _import_export(store: MemoryStore, file: Path, owner: str | None, json: bool) -> None:
    bank = store.import_bank(file, owner=owner)
    stats = bank.stats()
    if json:
        emit_json({"format": EXPORT, "owner": bank.owner, "stats": stats, "complete": True})
    else:
        out().print(
            f"{EXPORT}: owner {clean(bank.owner)} now has {counted(stats.messages, 'message')} "
            f"and {counted(stats.total, 'memory', 'memories')}",
            soft_wrap=True,
        )


def export_bank(
    file: Annotated[Path, typer.Argument(help="The file to write (JSON lines, mode 0600).")],
    owner: OwnerOption,
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
) -> None:
    """Write everything of an owner to one file.

    ``import`` of that file gives it back identically. Vectors go along when the store is opened with their
    embedder; without it they are made anew on import.
    """
    with existing_store(store, embedder, read_only=True) as opened:
        lines = known_bank(opened, owner).export(file)
    if json:
        emit_json({"owner": owner, "file": file, "lines": lines})
    else:
        out().print(f"{counted(lines, 'line')} written to {file}", soft_wrap=True)
