"""Putting a derived text into the records, in one small transaction, if what it was made from is still so."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from memorybank.clock import day_bounds, day_of, to_micros
from memorybank.models import Level, Maker, Memory, Status
from memorybank.records import banks, derived, erasure, links, memories, provenance
from memorybank.records.banks import BankRow
from memorybank.records.derived import Derived
from memorybank.records.memories import Row
from memorybank.records.schema import KEY_BITS, Pending
from memorybank.reinforcing import LINK_HALF_LIFE
from memorybank.runtime import Runtime
from memorybank.turns import features
from memorybank.writing import Vectors


@dataclass(frozen=True, slots=True)
class Draft:
    """A text to store. ``seen`` is each source's id and the text it had when it was read.

    ``position`` as in ``records.derived``; ``held`` is what the text replaces, as it was when the work began.
    """

    level: Level
    text: str
    maker: Maker
    seen: Mapping[str, str]
    began: datetime
    ended: datetime
    position: int | None
    held: Derived | None
    session: int | None = None
    session_name: str | None = None

    @property
    def searchable(self) -> bool:
        """Blocks of days are steps on the way to the global text: they are not recalled."""
        return bool(self.text) and not (
            self.level in (Level.EVENTS, Level.PORTRAIT) and self.position is not None
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """What was stored, whether it is new, and whether its text is another than before."""

    memory: Memory
    made: bool
    changed: bool


def place(
    runtime: Runtime, owner: str, draft: Draft, *, zone: ZoneInfo, now: datetime, linked: int = 0
) -> Placed | None:
    """Store a draft; None, storing nothing, if a source changed or went meanwhile or somebody else wrote it.

    The old text becomes an earlier version; what was made from it becomes stale, unless the text is the same.
    """
    vectors = Vectors(runtime)
    if draft.searchable:
        vectors.embed([draft.text])
    with runtime.database.write() as connection:
        found = banks.find(connection, owner)
        bank = None if found is None else banks.bump(connection, found.key, 1)
        if bank is None:
            return None
        vectors.check(bank)
        sources = memories.by_ids(connection, bank.key, list(draft.seen), owner, {})
        if {id_: row.memory.text for id_, row in sources.items()} != dict(draft.seen):
            return None
        present = _present(connection, bank, owner, draft, zone)
        if _mark(present) != _mark(draft.held) or not _session_stands(connection, draft):
            return None
        key = present.key if present else (bank.key << KEY_BITS) + bank.counter
        memory = _memory(draft, owner, present, list(sources.values()), now)
        _store(connection, bank, key, memory, draft, present, vectors, zone, now)
        provenance.put_sources(connection, key, [row.key for row in sources.values()])
        if linked and present is None:
            _link(connection, bank, key, draft, linked, now)
    runtime.indexer.notify(1)
    changed = present is None or present.memory.text != memory.text
    return Placed(memory, present is None, changed)


def _mark(held: Derived | Row | None) -> tuple[int, int] | None:
    if held is None:
        return None
    return held.key, held.version if isinstance(held, Derived) else held.memory.version


def _session_stands(connection: Connection, draft: Draft) -> bool:
    return draft.session is None or banks.session_stands(connection, draft.session)


def _present(connection: Connection, bank: BankRow, owner: str, draft: Draft, zone: ZoneInfo) -> Row | None:
    """What now stands where the draft belongs."""
    if draft.held is not None:
        return memories.by_keys(connection, [draft.held.key], owner).get(draft.held.key)
    if draft.session is not None:
        found = derived.digests(connection, bank.key, draft.session, owner, "")
        return found[0] if found else None
    if draft.level in (Level.DAY_EVENTS, Level.DAY_PORTRAIT):
        first, following = (to_micros(at) for at in day_bounds(day_of(draft.began, zone), zone))
        found = derived.standing(connection, bank.key, owner, draft.level, first, following)
    else:
        found = derived.standing(connection, bank.key, owner, draft.level)
        found = [row for row in found if row.position == draft.position]
    return found[0] if found else None


def _memory(draft: Draft, owner: str, present: Row | None, sources: Sequence[Row], now: datetime) -> Memory:
    lively = not sources or any(row.memory.status is Status.ACTIVE for row in sources)
    if present is None:
        memory = Memory(
            uuid.uuid4().hex,
            owner,
            draft.level,
            draft.text,
            draft.began,
            draft.ended,
            now,
            session=draft.session_name,
        )
    else:
        changed = present.memory.text not in ("", draft.text)
        memory = replace(
            present.memory,
            text=draft.text,
            began=draft.began,
            ended=draft.ended,
            version=present.memory.version + changed,
            session=draft.session_name,
        )
        if lively and memory.status is Status.ARCHIVED:
            memory = replace(memory, status=Status.ACTIVE, archived_at=None)
    return replace(memory, sources=tuple(draft.seen), maker=draft.maker, stale=False)


def _store(
    connection: Connection,
    bank: BankRow,
    key: int,
    memory: Memory,
    draft: Draft,
    present: Row | None,
    vectors: Vectors,
    zone: ZoneInfo,
    now: datetime,
) -> None:
    pending = vectors.pending(draft.text) if draft.searchable else Pending.NONE
    row = Row(key, memory, draft.session, draft.position, bank.rev, bank.rev, pending)
    if present is None:
        memories.insert(connection, bank.key, [row])
    else:
        if memory.version != present.memory.version:
            provenance.keep_version(connection, key, present.memory, to_micros(now))
        memories.replace(connection, bank.key, row)
        if memory.text != present.memory.text:
            provenance.mark_stale(connection, provenance.derived_from(connection, [key]), bank.rev)
    if draft.searchable:
        found = replace(features(draft.text, memory.began, zone), vector=vectors.of(draft.text))
        memories.put_features(connection, [(key, found)], replaces=[key] if present else ())
    elif present is not None:
        memories.remove_features(connection, [key])


def _link(connection: Connection, bank: BankRow, key: int, draft: Draft, linked: int, now: datetime) -> None:
    keys = derived.most_recalled(connection, bank.key, to_micros(draft.began), linked)
    for other in keys:
        links.co_recall(connection, bank.key, [key, other], to_micros(now), bank.rev, LINK_HALF_LIFE)


def withdraw(runtime: Runtime, owner: str, gone: Sequence[Derived]) -> int:
    """Remove derived texts that nothing stands behind any more; returns how many."""
    if not gone:
        return 0
    with runtime.database.write() as connection:
        found = banks.find(connection, owner)
        bank = None if found is None else banks.bump(connection, found.key)
        if bank is None:
            return 0
        rows = memories.by_ids(connection, bank.key, [one.id for one in gone], owner, {})
        erasure.remove(connection, bank.key, list(rows.values()), bank.rev)
    runtime.indexer.notify(len(rows))
    return len(rows)
