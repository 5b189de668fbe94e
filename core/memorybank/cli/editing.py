"""``remember``, ``edit``, ``delete``: single memories by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from memorybank.cli.forgetting import IdsArgument
from memorybank.cli.options import (
    DEFAULT_STORE,
    EmbedderOption,
    JsonOption,
    OwnerOption,
    StoreOption,
    YesOption,
    any_store,
    by_prefix,
    checked_zone,
    confirmed,
    existing_store,
    known_bank,
    parsed_time,
)
from memorybank.cli.output import emit_json, out
from memorybank.text.counting import counted


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (remember, edit, delete):
        app.command()(command)


def remember(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    owner: OwnerOption,
    at: Annotated[str | None, typer.Option("--at", help="When it was so (ISO 8601; default: now).")] = None,
    timezone: Annotated[str | None, typer.Option("--timezone", help="IANA zone of the owner's days.")] = None,
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
) -> None:
    """Store a note: something to be remembered explicitly. Makes the store and the owner if need be."""
    zone = checked_zone(timezone)
    with any_store(store, embedder) as opened:
        memory = opened.bank(owner, timezone=zone).remember(text, at=parsed_time(at, "--at"))
    if json:
        emit_json(memory)
    else:
        out().print(f"remembered: {memory.id[:8]} in {store}", soft_wrap=True)


def edit(
    memory: Annotated[str, typer.Argument(help="Id of the memory, or its beginning.")],
    text: Annotated[str, typer.Argument(help="What it should say.")],
    owner: OwnerOption,
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
) -> None:
    """Correct a memory. The transcript stays as it was, and the old text is kept as an earlier version."""
    with existing_store(store, embedder) as opened:
        bank = known_bank(opened, owner)
        edited = bank.edit(by_prefix(bank, memory).id, text)
    if json:
        emit_json(edited)
    else:
        out().print(f"edited: {edited.id[:8]}, version {edited.version}")


def delete(
    ids: IdsArgument,
    owner: OwnerOption,
    yes: YesOption = False,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Destroy memories, turns together with their messages. Not to be undone."""
    with existing_store(store) as opened:
        bank = known_bank(opened, owner)
        found = [by_prefix(bank, given).id for given in ids]
        question = f"Destroy {counted(len(found), 'memory', 'memories')} of {owner!r}?"
        confirmed(question, yes=yes, json=json)
        erased = bank.delete(found)
    if json:
        emit_json({"owner": owner, "deleted": found, "erased": erased})
    else:
        out().print(
            f"deleted: {counted(erased.memories, 'memory', 'memories')}, "
            f"{counted(erased.messages, 'message')}, {counted(erased.vectors, 'vector')}"
        )
