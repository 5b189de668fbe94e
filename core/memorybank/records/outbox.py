"""What the vector index has still to learn: vectors to write, tombstones to drop. Marked per row, idempotent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection

from memorybank.records.database import Database
from memorybank.records.memories import chunks
from memorybank.records.schema import (
    WAITING,
    Pending,
    banks,
    drops,
    first_key,
    last_key,
    memories,
    postings,
    tombstones,
    vectors,
)

_HELD = 200  # banks whose rows one transaction takes


@dataclass(frozen=True, slots=True)
class Unindexed:
    """A vector to write: the bank's uid, the memory's id, its key and the revision of its text."""

    uid: str
    id: str
    key: int
    revised: int
    vector: bytes


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A memory that still needs a vector."""

    bank: int
    key: int
    revised: int
    text: str


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A vector to drop."""

    uid: str
    id: str
    key: int
    bank: int
    rev: int


def unindexed(connection: Connection, limit: int) -> list[Unindexed]:
    """The next vectors to write, by key."""
    query = (
        sa.select(banks.c.uid, memories.c.id, memories.c.key, memories.c.revised, vectors.c.vector)
        .join(banks, memories.c.bank == banks.c.key)
        .join(vectors, vectors.c.key == memories.c.key)
        .where(WAITING, memories.c.pending == Pending.INDEX)
        .order_by(memories.c.key)
        .limit(limit)
    )
    return [Unindexed(*row) for row in connection.execute(query)]


def count(connection: Connection, state: int) -> int:
    """How many memories are pending in this state, not ``Pending.NONE``."""
    query = sa.select(sa.func.count()).select_from(memories).where(WAITING, memories.c.pending == state)
    return int(connection.execute(query).scalar_one())


def mark_indexed(connection: Connection, done: Sequence[Unindexed]) -> None:
    """Clear the mark of rows whose text is still the one that was written."""
    if not done:
        return
    if connection.dialect.name != "sqlite":
        # What a writer holds at this moment keeps its mark and is written again: so nobody waits for each other.
        written = sa.tuple_(memories.c.key, memories.c.revised).in_([(one.key, one.revised) for one in done])
        free = sa.select(memories.c.key).where(written).with_for_update(skip_locked=True)
        connection.execute(sa.update(memories).where(memories.c.key.in_(free)).values(pending=Pending.NONE))
        return
    query = (
        sa.update(memories)
        .where(memories.c.key == sa.bindparam("p_key"), memories.c.revised == sa.bindparam("p_revised"))
        .values(pending=Pending.NONE)
    )
    connection.execute(query, [{"p_key": item.key, "p_revised": item.revised} for item in done])


def mark_all(database: Database) -> int:
    """Have the whole index written again from the stored vectors; returns how many rows.

    Some banks at a time, each range a transaction: nobody's turn waits until all is done.
    """
    has_vector = sa.exists().where(vectors.c.key == memories.c.key)
    query = sa.update(memories).where(memories.c.pending == Pending.NONE, has_vector)
    done, after = 0, -1
    while True:
        with database.write() as connection:
            held = _hold(connection, after)
            if not held:
                return done
            own = memories.c.key.between(first_key(held[0]), last_key(held[-1]))
            done += connection.execute(query.where(own).values(pending=Pending.INDEX)).rowcount
        after = held[-1]


def _hold(connection: Connection, after: int, limit: int | None = _HELD) -> list[int]:
    """Keys of the next banks, whose rows are taken, in order: writers take their bank's row before all others."""
    query = sa.select(banks.c.key).where(banks.c.key > after).order_by(banks.c.key).limit(limit)
    return list(connection.execute(query.with_for_update()).scalars())


def mark_some(connection: Connection, uid: str, ids: Sequence[str]) -> int:
    """Have these memories of a bank written to the index again; returns how many there are."""
    bank = connection.execute(sa.select(banks.c.key).where(banks.c.uid == uid).with_for_update()).scalar()
    has_vector = sa.exists().where(vectors.c.key == memories.c.key)
    done = 0
    for part in chunks(ids):
        query = sa.update(memories).where(memories.c.bank == bank, memories.c.id.in_(part), has_vector)
        done += connection.execute(query.values(pending=Pending.INDEX)).rowcount
    return done


def present(connection: Connection, uid: str, ids: Sequence[str]) -> set[str]:
    """Which of these memories of a bank there are."""
    bank = sa.select(banks.c.key).where(banks.c.uid == uid).scalar_subquery()
    found: set[str] = set()
    for part in chunks(ids):
        query = sa.select(memories.c.id).where(memories.c.bank == bank, memories.c.id.in_(part))
        found.update(connection.execute(query).scalars())
    return found


def mark_banks(connection: Connection, uids: Sequence[str]) -> int:
    """Have everything of these banks written to the index again; returns how many rows."""
    has_vector = sa.exists().where(vectors.c.key == memories.c.key)
    done = 0
    for part in chunks(uids):
        own = memories.c.bank.in_(sa.select(banks.c.key).where(banks.c.uid.in_(part)))
        query = sa.update(memories).where(own, memories.c.pending == Pending.NONE, has_vector)
        done += connection.execute(query.values(pending=Pending.INDEX)).rowcount
    return done


def unembedded(connection: Connection, limit: int, after: int = -1) -> list[Unembedded]:
    """The next memories to embed, by key, beginning behind ``after``."""
    query = (
        sa.select(memories.c.bank, memories.c.key, memories.c.revised, memories.c.text)
        .where(WAITING, memories.c.pending == Pending.EMBED, memories.c.key > after)
        .order_by(memories.c.key)
        .limit(limit)
    )
    return [Unembedded(*row) for row in connection.execute(query)]


def vectorless(connection: Connection) -> int:
    """How many memories have words but no vector."""
    has_vector = sa.exists().where(vectors.c.key == memories.c.key)
    query = sa.select(sa.func.count()).select_from(memories).where(memories.c.text != "", ~has_vector)
    return int(connection.execute(query).scalar_one())


def mark_unembedded(connection: Connection) -> int:
    """Have every memory that can be recalled but has no vector embedded; returns how many."""
    has_vector = sa.exists().where(vectors.c.key == memories.c.key)
    has_terms = sa.exists().where(postings.c.key == memories.c.key)
    query = sa.update(memories).where(has_terms, ~has_vector).values(pending=Pending.EMBED)
    if connection.dialect.name != "sqlite":
        _hold(connection, -1, None)
    return connection.execute(query).rowcount


def bury(connection: Connection, bank: int, rows: Sequence[tuple[int, str]], rev: int) -> None:
    """Leave a tombstone for each deleted (key, id): no content, only what the index and caches must drop."""
    if rows:
        connection.execute(
            sa.insert(tombstones), [{"key": key, "bank": bank, "id": id_, "rev": rev} for key, id_ in rows]
        )


def buried(connection: Connection, limit: int) -> list[Tombstone]:
    """The next vectors to drop."""
    query = (
        sa.select(banks.c.uid, tombstones.c.id, tombstones.c.key, tombstones.c.bank, tombstones.c.rev)
        .join(banks, tombstones.c.bank == banks.c.key)
        .order_by(tombstones.c.key)
        .limit(limit)
    )
    return [Tombstone(*row) for row in connection.execute(query)]


def clear_tombstones(connection: Connection, done: Sequence[Tombstone]) -> None:
    """Remove tombstones that the index has obeyed; caches that have not seen them start anew (``floor``)."""
    floors: dict[int, int] = {}
    for item in done:
        floors[item.bank] = max(floors.get(item.bank, 0), item.rev)
    for bank, rev in sorted(floors.items()):  # banks before their rows, as every writer does
        connection.execute(sa.update(banks).where(banks.c.key == bank, banks.c.floor < rev).values(floor=rev))
    for part in chunks([item.key for item in done]):
        connection.execute(sa.delete(tombstones).where(tombstones.c.key.in_(part)))


def dropped(connection: Connection) -> list[str]:
    """Uids of erased banks whose vectors the index must still drop."""
    return list(connection.execute(sa.select(drops.c.uid)).scalars())


def clear_drops(connection: Connection, uids: Sequence[str]) -> None:
    """Forget erased banks that the index has dropped."""
    for part in chunks(uids):
        connection.execute(sa.delete(drops).where(drops.c.uid.in_(part)))
