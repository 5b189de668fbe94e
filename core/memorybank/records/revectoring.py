"""Giving every memory a vector of another embedder: gathered beside the old ones, switched in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from memorybank.records import outbox
from memorybank.records.database import Database
from memorybank.records.migrations import read_meta, write_meta
from memorybank.records.schema import Pending, banks, memories, postings, staging, vectors
from memorybank.records.types import pack_vector

_BATCH = 256
_FOR = "reindex_name"


def begin(database: Database, name: str) -> None:
    """Start gathering for the embedder of that name, or go on where a killed process stopped."""
    with database.write() as connection:
        if read_meta(connection, _FOR) != name:
            connection.execute(sa.delete(staging))
            write_meta(connection, _FOR, name)


def next_batch(connection: Connection, after: int = -1) -> list[tuple[int, int, str]]:
    """The next (key, revised, text) that has no new vector yet, by key, beginning behind ``after``."""
    done = sa.exists().where(staging.c.key == memories.c.key, staging.c.revised == memories.c.revised)
    query = (
        sa.select(memories.c.key, memories.c.revised, memories.c.text)
        .join(postings, postings.c.key == memories.c.key)
        .where(~done, memories.c.key > after)
        .order_by(memories.c.key)
        .limit(_BATCH)
    )
    return [(key, revised, text) for key, revised, text in connection.execute(query)]


def put(connection: Connection, rows: Sequence[tuple[int, int, NDArray[np.float32]]]) -> None:
    """Gather new vectors of (key, revised)."""
    connection.execute(sa.delete(staging).where(staging.c.key.in_([key for key, _, _ in rows])))
    if not rows:
        return
    connection.execute(
        sa.insert(staging),
        [{"key": key, "revised": revised, "vector": pack_vector(vector)} for key, revised, vector in rows],
    )


def finish(
    connection: Connection, name: str, dimension: int, refused: Collection[tuple[int, int]] = ()
) -> int | None:
    """Switch to the gathered vectors, all or none; returns the new era.

    ``refused`` are (key, revised) that the embedder does not take: they go without a vector, marked as to be
    embedded. None if something was added or changed meanwhile, which has to be embedded first.
    """
    # Taking every bank's row first keeps writers out until the switch is done; on PostgreSQL also new banks.
    if connection.dialect.name != "sqlite":
        connection.execute(sa.text("LOCK TABLE banks IN SHARE ROW EXCLUSIVE MODE"))
    connection.execute(sa.update(banks).values(rev=banks.c.rev + 1))
    if _open(connection, refused):
        return None
    era = int(read_meta(connection, "embedder_era") or 0) + 1
    connection.execute(sa.update(banks).values(floor=banks.c.rev, era=era))
    connection.execute(sa.delete(vectors))
    current = (
        sa.select(staging.c.key, staging.c.vector)
        .join(memories, memories.c.key == staging.c.key)
        .where(memories.c.revised == staging.c.revised)
    )
    connection.execute(sa.insert(vectors).from_select(["key", "vector"], current))
    has_vector = sa.exists().where(vectors.c.key == memories.c.key)
    connection.execute(sa.update(memories).where(has_vector).values(pending=Pending.INDEX))
    outbox.mark_unembedded(connection)
    connection.execute(sa.delete(staging))
    write_meta(connection, _FOR, "")
    write_meta(connection, "embedder_name", name)
    write_meta(connection, "embedder_dimension", str(dimension))
    write_meta(connection, "embedder_era", str(era))
    return era


def _open(connection: Connection, refused: Collection[tuple[int, int]]) -> bool:
    """Whether something that was not refused still has no new vector."""
    after = -1
    while batch := next_batch(connection, after):
        if any((key, revised) not in refused for key, revised, _ in batch):
            return True
        after = batch[-1][0]
    return False


def count(connection: Connection) -> int:
    """Vectors in the records."""
    return int(connection.execute(sa.select(sa.func.count()).select_from(vectors)).scalar_one())
