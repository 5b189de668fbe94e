"""``doctor``, ``reindex``, ``erase``: keeping a store in order, and taking an owner out of it."""

from __future__ import annotations

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
    embedder_named,
    existing_store,
    known_bank,
)
from memorybank.cli.output import clean, emit_json, note, out, plain
from memorybank.embedding import MISSING_LOCAL, default_embedder
from memorybank.errors import InvalidInputError, MemoryBankError


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (doctor, reindex, erase):
        app.command()(command)


def doctor(
    repair: Annotated[bool, typer.Option("--repair", help="Put in order what can be put in order.")] = False,
    embedder: EmbedderOption = "default",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Check records and index. Exit code 1 if something is wrong and was not repaired."""
    with existing_store(store, embedder) as opened:
        report = opened.doctor(repair=repair)
    if json:
        emit_json({"ok": report.ok, "findings": plain(report.findings)})
    else:
        console = out()
        for finding in report.findings:
            mark, style = (
                ("ok", "green")
                if finding.ok
                else ("repaired", "yellow")
                if finding.repaired
                else ("WRONG", "red")
            )
            console.print(
                Text.assemble((f"{mark:9}", style), f"{finding.check}: {clean(finding.detail)}"),
                soft_wrap=True,
            )
        if not report.ok and not repair:
            console.print("memorybank doctor --repair puts in order what it can")
    if not report.ok:
        raise typer.Exit(1)


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
        out().print(f"{count} memories embedded with {made.name}", soft_wrap=True)


def erase(
    owner: OwnerOption, yes: YesOption = False, store: StoreOption = DEFAULT_STORE, json: JsonOption = False
) -> None:
    """Remove an owner altogether. Not to be undone.

    From every table, the index and the file's free pages.
    """
    with existing_store(store) as opened:
        known_bank(opened, owner)
        if not yes:
            typer.confirm(f"Erase everything of {owner!r} from {store}?", abort=True, err=True)
        erased = opened.erase(owner)
    if json:
        emit_json({"owner": owner, "erased": erased, "total": erased.total})
        return
    counts = ", ".join(f"{count} {kind}" for kind, count in plain(erased).items())
    out().print(f"erased {clean(owner)}: {counts}", soft_wrap=True)
    note("Exports and backups made before are yours to remove.")
