"""Keeping and letting go: pin, archive, restore, edit, delete, forget."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from memorybank.clock import to_micros
from memorybank.errors import NotFoundError
from memorybank.forgetting import Decisions, ForgettingCurve, ForgettingPolicy, MemoryState, decide
from memorybank.models import Erased, Forgotten, Level, Maker, Memory, Message, Status
from memorybank.records import banks, erasure, marks, memories, provenance, transcript
from memorybank.records.banks import BankRow
from memorybank.records.memories import Row
from memorybank.records.schema import KEY_BITS
from memorybank.runtime import Runtime
from memorybank.turns import features
from memorybank.writing import Vectors

Change = Callable[[Connection, BankRow, list[Row]], None]


def find(runtime: Runtime, owner: str, ids: Sequence[str]) -> dict[str, Memory]:
    """Memories by id; unknown ids are left out."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        if bank is None:
            return {}
        names = banks.session_map(connection, bank.key)
        rows = memories.by_ids(connection, bank.key, ids, owner, names)
    return {id_: row.memory for id_, row in rows.items()}


def change(runtime: Runtime, owner: str, ids: Sequence[str], apply: Change) -> None:
    """Change memories in one transaction. Raises NotFoundError, changing nothing, if one is not there."""
    with runtime.database.write() as connection:
        found = banks.find(connection, owner)
        bank = None if found is None else banks.bump(connection, found.key)
        rows = {} if bank is None else memories.by_ids(connection, bank.key, ids, owner, {})
        missing = [id_ for id_ in ids if id_ not in rows]
        if missing or bank is None:
            raise NotFoundError(
                f"this owner has no memory {missing[0]!r}"
                + (f" and {len(missing) - 1} more" if missing[1:] else "")
            )
        apply(connection, bank, [rows[id_] for id_ in ids])


def pin(runtime: Runtime, owner: str, ids: Sequence[str], *, pinned: bool) -> None:
    """Pin or unpin: a pinned memory is never archived or purged."""

    def apply(connection: Connection, bank: BankRow, rows: list[Row]) -> None:
        memories.update(connection, [row.key for row in rows], bank.rev, pinned=pinned)

    if ids:
        change(runtime, owner, ids, apply)


def restore(runtime: Runtime, owner: str, ids: Sequence[str], *, now: datetime) -> None:
    """Bring archived memories back; they start to fade anew at ``now``, with the strength they had."""

    def apply(connection: Connection, bank: BankRow, rows: list[Row]) -> None:
        keys = [row.key for row in rows if row.memory.status is Status.ARCHIVED]
        memories.update(
            connection,
            keys,
            bank.rev,
            status=Status.ACTIVE.value,
            archived_at=None,
            last_recalled=to_micros(now),
        )

    if ids:
        change(runtime, owner, ids, apply)


def mark(runtime: Runtime, owner: str, session: str, message: str | None) -> Message:
    """Mark a message of a session, by id or the newest, for the digest. Raises NotFoundError."""
    with runtime.database.write() as connection:
        bank = banks.bump_owner(connection, owner)
        held = None if bank is None else banks.find_session(connection, bank.key, session)
        if held is None:
            raise NotFoundError(f"this owner has no session {session!r}")
        if message is None:
            found = transcript.last(connection, held.key, 1, owner, session)
        else:
            found = list(transcript.by_ids(connection, held.key, [message], owner, session).values())
        if not found:
            what = "no messages" if message is None else f"no message {message!r}"
            raise NotFoundError(f"session {session!r} has {what}")
        marks.put(connection, held.key, found[0].position)
    return found[0]


def edit(runtime: Runtime, owner: str, id_: str, text: str, *, zone: ZoneInfo, now: datetime) -> Memory:
    """Correct a memory's text; the old one is kept as a version, and what was made from it becomes stale."""
    vectors = Vectors(runtime)
    vectors.embed([text])
    edited: list[Memory] = []

    def apply(connection: Connection, bank: BankRow, rows: list[Row]) -> None:
        row = rows[0]
        vectors.check(bank)
        provenance.keep_version(connection, row.key, row.memory, to_micros(now))
        memory = replace(row.memory, text=text, maker=Maker.USER, version=row.memory.version + 1, stale=False)
        changed = replace(row, memory=memory, rev=bank.rev, revised=bank.rev, pending=vectors.pending(text))
        memories.replace(connection, bank.key, changed)
        found = replace(features(text, memory.began, zone), vector=vectors.of(text))
        memories.put_features(connection, [(row.key, found)], replaces=[row.key])
        provenance.mark_stale(connection, provenance.derived_from(connection, [row.key]), bank.rev)
        edited.append(memory)

    change(runtime, owner, [id_], apply)
    runtime.indexer.notify(1)
    return find(runtime, owner, [id_]).get(id_, edited[0])


def remember(
    runtime: Runtime,
    owner: str,
    text: str,
    *,
    at: datetime,
    zone: ZoneInfo,
    language: str | None,
    now: datetime,
) -> Memory:
    """Store a note: what was told to be remembered."""
    vectors = Vectors(runtime)
    vectors.embed([text])
    memory = Memory(uuid.uuid4().hex, owner, Level.NOTE, text, at, at, now, maker=Maker.USER)
    found = features(text, at, zone)
    with runtime.database.write() as connection:
        made = banks.create(connection, owner, zone.key, language, to_micros(now), runtime.embedding.era)
        bank = banks.bump(connection, made.key, 1)
        if bank is None:
            raise NotFoundError("the owner was erased while the note was written; nothing was stored")
        key = (bank.key << KEY_BITS) + bank.counter
        vectors.check(bank)
        found = replace(found, vector=vectors.of(text))
        row = Row(key, memory, None, None, bank.rev, bank.rev, vectors.pending(text))
        memories.insert(connection, bank.key, [row])
        memories.put_features(connection, [(key, found)])
    runtime.residents.added(bank, [row], {key: found})
    runtime.indexer.notify(1)
    return memory


def delete(runtime: Runtime, owner: str, ids: Sequence[str]) -> Erased:
    """Destroy memories, turns together with their messages; unknown ids are passed over. Says how much went."""
    if not ids:
        return Erased()
    with runtime.database.write() as connection:
        found = banks.find(connection, owner)
        bank = None if found is None else banks.bump(connection, found.key)
        if bank is None:
            return Erased()
        rows = list(memories.by_ids(connection, bank.key, ids, owner, {}).values())
        erased = erasure.remove(connection, bank.key, rows, bank.rev)
    _after_removal(runtime, len(rows))
    return erased


def clear(runtime: Runtime, owner: str, session: str) -> Erased:
    """Destroy a session: its messages, the turns made of them and its digest. Notes and other sessions stay."""
    with runtime.database.write() as connection:
        found = banks.find(connection, owner)
        bank = None if found is None else banks.bump(connection, found.key)
        held = None if bank is None else banks.find_session(connection, bank.key, session)
        if bank is None or held is None:
            return Erased()
        rows = memories.of_session(connection, held.key, owner, session)
        erased = erasure.remove(connection, bank.key, rows, bank.rev)
        erased = replace(erased, messages=erased.messages + erasure.remove_session(connection, held.key))
    _after_removal(runtime, len(rows))
    return erased


def _after_removal(runtime: Runtime, rows: int) -> None:
    runtime.database.scrub()
    runtime.indexer.notify(rows)


def forget(
    runtime: Runtime,
    owner: str,
    *,
    curve: ForgettingCurve,
    policy: ForgettingPolicy,
    now: datetime,
    dry_run: bool,
) -> Forgotten:
    """Carry out what the policy decides at ``now``, or with ``dry_run`` only say it."""
    door = runtime.database.read() if dry_run else runtime.database.write()
    with door as connection:
        bank = banks.find(connection, owner) if dry_run else banks.hold(connection, owner)
        if bank is None:
            return Forgotten()
        rows = memories.of_bank(connection, bank.key, owner, {})
        by_id = {row.memory.id: row for row in rows}
        decisions = decide([MemoryState.of(row.memory) for row in rows], curve, policy, now)
        archived = decisions.archive + _orphaned(rows, decisions)
        gone = set(archived)
        kept = [id_ for id_ in decisions.keep if id_ not in gone]
        outcome = Forgotten(archived, decisions.purge, kept)
        if dry_run or not (outcome.archived or outcome.purged):
            return outcome
        bumped = banks.bump(connection, bank.key)
        if bumped is None:
            return Forgotten()
        keys = [by_id[id_].key for id_ in outcome.archived]
        memories.update(
            connection, keys, bumped.rev, status=Status.ARCHIVED.value, archived_at=to_micros(now)
        )
        erasure.remove(connection, bank.key, [by_id[id_] for id_ in outcome.purged], bumped.rev)
    if outcome.purged:
        _after_removal(runtime, len(outcome.purged))
    return outcome


def _orphaned(rows: Sequence[Row], decisions: Decisions) -> list[str]:
    """Day summaries all of whose sources are archived: they go with them (DESIGN: a summary follows its sources)."""
    archived = {row.memory.id for row in rows if row.memory.status is Status.ARCHIVED}
    going = archived | set(decisions.archive)
    kept = set(decisions.keep)
    known = {row.memory.id for row in rows}
    return [
        row.memory.id
        for row in rows
        if row.memory.level is Level.DAY_EVENTS
        and row.memory.id in kept
        and not row.memory.pinned
        and (sources := [source for source in row.memory.sources if source in known])
        and all(source in going for source in sources)
    ]
