"""Counting what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from memorybank.clock import from_micros
from memorybank.models import Stats, Status
from memorybank.records import transcript
from memorybank.records.schema import (
    WAITING,
    Pending,
    banks,
    first_key,
    last_key,
    links,
    memories,
    postings,
    sessions,
    vectors,
)


def stats(connection: Connection, bank: int) -> Stats:
    """Counts of one bank."""
    own = memories.c.key.between(first_key(bank), last_key(bank))
    by_level = sa.select(memories.c.level, sa.func.count()).where(own).group_by(memories.c.level)

    def count(condition: sa.ColumnElement[bool]) -> int:
        query = sa.select(sa.func.count()).select_from(memories).where(own, condition)
        return int(connection.execute(query).scalar_one())

    first, last = connection.execute(
        sa.select(sa.func.min(memories.c.began), sa.func.max(memories.c.ended)).where(own)
    ).one()
    return Stats(
        messages=transcript.count(connection, bank),
        sessions=_count(connection, sessions, sessions.c.bank == bank),
        memories=dict(map(tuple, connection.execute(by_level))),
        archived=count(memories.c.status == Status.ARCHIVED.value),
        pinned=count(memories.c.pinned),
        stale=count(memories.c.stale),
        unembedded=count(WAITING & (memories.c.pending == Pending.EMBED)),
        unindexed=count(WAITING & (memories.c.pending == Pending.INDEX)),
        links=_count(connection, links, links.c.bank == bank),
        first=None if first is None else from_micros(first),
        last=None if last is None else from_micros(last),
    )


def _count(connection: Connection, table: sa.Table, condition: sa.ColumnElement[bool]) -> int:
    return int(
        connection.execute(sa.select(sa.func.count()).select_from(table).where(condition)).scalar_one()
    )


def indexable(connection: Connection) -> dict[str, dict[str, bool]]:
    """By bank (uid) the ids of memories with a vector, and whether it is marked as written to the index."""
    query = (
        sa.select(banks.c.uid, memories.c.id, memories.c.pending == Pending.NONE)
        .join(banks, banks.c.key == memories.c.bank)
        .join(vectors, vectors.c.key == memories.c.key)
    )
    found: dict[str, dict[str, bool]] = {}
    for uid, id_, written in connection.execute(query):
        found.setdefault(uid, {})[id_] = bool(written)
    return found


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits: for the index, for the embedder, and since when the oldest that waits for the index."""

    owners: int
    index: int
    embed: int
    oldest: datetime | None


def backlog(connection: Connection) -> Backlog:
    """Of all banks together."""
    by_state = sa.select(memories.c.pending, sa.func.count(), sa.func.min(memories.c.created))
    found = {
        state: (n, oldest)
        for state, n, oldest in connection.execute(by_state.where(WAITING).group_by(memories.c.pending))
    }
    waiting, oldest = found.get(Pending.INDEX, (0, None))
    owners = int(connection.execute(sa.select(sa.func.count()).select_from(banks)).scalar_one())
    since = None if oldest is None else from_micros(oldest)
    return Backlog(owners, waiting, found.get(Pending.EMBED, (0, None))[0], since)


def orphans(connection: Connection) -> dict[str, int]:
    """Rows that belong to no memory, by table: there should be none."""
    found = {}
    for name, table in (("vectors", vectors), ("postings", postings)):
        query = (
            sa.select(sa.func.count())
            .select_from(table)
            .outerjoin(memories, memories.c.key == table.c.key)
            .where(memories.c.key.is_(None))
        )
        found[name] = int(connection.execute(query).scalar_one())
    return found


def vector_size(connection: Connection) -> int | None:
    """Bytes of a stored vector; None when there is none."""
    blob = connection.execute(sa.select(vectors.c.vector).limit(1)).scalar()
    return None if blob is None else len(blob)
