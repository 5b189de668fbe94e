"""``doctor``, ``reindex``, ``erase``: keeping a store in order, and taking an owner out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from memorybank.cli.options import (
    DEFAULT_STORE,
    EmbedderOption,
    JsonOption,
    OwnerOption,
    StoreOption,
    YesOption,
    confirmed,
    embedder_named,
    existing_store,
    known_bank,
)
from memorybank.cli.output import clean, emit_json, note, out, plain
from memorybank.embedding import MISSING_LOCAL, default_embedder
from memorybank.errors import DamagedStoreError, InvalidInputError, MemoryBankError
from memorybank.models import Finding, Report
from memorybank.salvage import Salvaged
from memorybank.store import MemoryStore
from memorybank.text.counting import counted

_ONE = {"memories": "memory", "indexed": "indexed"}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (doctor, reindex, erase):
        app.command()(command)


def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Put in order what can be put in order.")] = False,
    salvage: Annotated[
        Path | None,
        typer.Option(
            "--salvage", help="Save what can be read of a damaged store there, an export per owner."
        ),
    ] = None,
    embedder: EmbedderOption = "default",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Check records and index. Exit code 1 if something is wrong and was not repaired."""
    if salvage is not None:
        _salvaged(MemoryStore.salvage(store, salvage), json)
        return
    try:
        with existing_store(store, embedder) as opened:
            report = opened.doctor(repair=repair)
    except DamagedStoreError as error:
        report = _beyond_opening(store, error)
    if json:
        emit_json({"ok": report.ok, "findings": plain(report.findings)})
    else:
        _print_findings(report)
        if not report.ok and not repair:
            out().print("memorybank doctor --repair puts in order what it can")
    if not report.ok:
        raise typer.Exit(1)


def _print_findings(report: Report) -> None:
    for finding in report.findings:
        mark, style = (
            ("ok", "green")
            if finding.ok
            else ("repaired", "yellow")
            if finding.repaired
            else ("WRONG", "red")
        )
        line = Text.assemble((f"{mark:9}", style), f"{finding.check}: {clean(finding.detail)}")
        out().print(line, soft_wrap=True)


def _beyond_opening(store: Path, error: DamagedStoreError) -> Report:
    """A store that cannot even be opened: what is wrong, and what could be saved."""
    try:
        found = MemoryStore.salvage(store, None)
        messages, memories = (
            sum(one.messages for one in found.saved),
            sum(one.memories for one in found.saved),
        )
        counts = (
            f"{counted(messages, 'message')} and {counted(memories, 'memory', 'memories')} "
            f"of {counted(len(found.saved), 'owner')}"
        )
        rest = f"{counts} can be saved: --salvage FOLDER"
    except DamagedStoreError as worse:
        rest = str(worse)
    return Report((Finding("records", False, str(error)), Finding("salvage", False, rest)))


def _salvaged(found: Salvaged, json: bool) -> None:
    if json:
        emit_json({"complete": found.complete, **plain(found)})
        return
    for one in found.saved:
        counts = f"{counted(one.messages, 'message')}, {counted(one.memories, 'memory', 'memories')}"
        line = f"{counts} of {clean(one.owner)}: {one.path}"
        out().print(Text(line), soft_wrap=True)
    gaps = ", ".join(f"{n} in {table}" for table, n in sorted(found.gaps.items()))
    if not found.complete:
        note(
            f"lost: unreadable stretches: {gaps or 'none'}; {counted(found.missing, 'message')} that memories were "
            f"made of; {counted(found.odd, 'row')} without a meaning"
        )
    note("memorybank import FILE --store NEW reads them into a new store")


def reindex(
    embedder: EmbedderOption = "default", store: StoreOption = DEFAULT_STORE, json: JsonOption = False
) -> None:
    """Embed every memory anew, and keep to this embedder."""
    chosen = embedder_named(embedder)
    if chosen is None:
        raise InvalidInputError("reindex needs an embedder; give --embedder default or package.module:name")
    made = default_embedder() if isinstance(chosen, str) else chosen
    if made is None:
        raise MemoryBankError(MISSING_LOCAL)
    with existing_store(store) as opened:
        count = opened.reindex(made, progress=not json)
    if json:
        emit_json({"embedder": made.name, "dimension": made.dimension, "embedded": count})
    else:
        out().print(f"{counted(count, 'memory', 'memories')} embedded with {made.name}", soft_wrap=True)


def erase(
    owner: OwnerOption, yes: YesOption = False, store: StoreOption = DEFAULT_STORE, json: JsonOption = False
) -> None:
    """Remove an owner altogether. Not to be undone.

    From every table, the index and the file's free pages.
    """
    with existing_store(store) as opened:
        known_bank(opened, owner)
        confirmed(f"Erase everything of {owner!r} from {store}?", yes=yes, json=json)
        erased = opened.erase(owner)
    if json:
        emit_json({"owner": owner, "erased": erased, "total": erased.total})
        return
    counts = ", ".join(
        counted(count, _ONE.get(kind, kind[:-1]), kind) for kind, count in plain(erased).items()
    )
    out().print(f"erased {clean(owner)}: {counts}", soft_wrap=True)
    note("Exports and backups made before are yours to remove.")
