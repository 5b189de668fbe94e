"""Whole columns of a bank at once: what the arrays in memory are filled and kept up to date from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection, Select, bindparam

from memorybank.records.memories import Features
from memorybank.records.schema import Pending, first_key, last_key, memories, postings, tombstones, vectors

_META = (
    memories.c.key,
    memories.c.id,
    memories.c.level,
    memories.c.began,
    memories.c.ended,
    memories.c.strength,
    memories.c.last_recalled,
    memories.c.status,
    memories.c.session,
    memories.c.speaker,
    memories.c.revised,
)
_RANGE: tuple[Any, Any] = (bindparam("p_first"), bindparam("p_last"))
_ALL = sa.select(*_META).where(memories.c.key.between(*_RANGE)).order_by(memories.c.key)
_SINCE = (
    sa.select(*_META)
    .where(memories.c.bank == bindparam("p_bank"), memories.c.rev > bindparam("p_rev"))
    .order_by(memories.c.key)
)
_POSTINGS = sa.select(postings.c.key, postings.c.terms, postings.c.counts, postings.c.mentions)
_ALL_POSTINGS = _POSTINGS.where(postings.c.key.between(*_RANGE)).order_by(postings.c.key)
_SOME_POSTINGS = _POSTINGS.where(postings.c.key.in_(bindparam("p_keys", expanding=True)))
_VECTORS = sa.select(vectors.c.key, vectors.c.vector)
_ALL_VECTORS = _VECTORS.where(vectors.c.key.between(*_RANGE)).order_by(vectors.c.key)
_SOME_VECTORS = _VECTORS.where(vectors.c.key.in_(bindparam("p_keys", expanding=True)))
_GONE = sa.select(tombstones.c.key).where(
    tombstones.c.bank == bindparam("p_bank"), tombstones.c.rev > bindparam("p_rev")
)
_TAIL = sa.select(memories.c.key).where(memories.c.pending == Pending.INDEX, memories.c.key.between(*_RANGE))


def _range(bank: int) -> dict[str, int]:
    return {"p_first": first_key(bank), "p_last": last_key(bank)}


def meta(connection: Connection, bank: int) -> Sequence[Any]:
    """Rows with the fields of ``arrays.Meta``, by key."""
    return connection.execute(_ALL, _range(bank)).all()


def meta_since(connection: Connection, bank: int, rev: int) -> Sequence[Any]:
    """The same, of the rows changed after a revision."""
    return connection.execute(_SINCE, {"p_bank": bank, "p_rev": rev}).all()


def all_postings(connection: Connection, bank: int) -> Sequence[Any]:
    """(key, terms, counts, mentions) of a bank as stored, by key."""
    return connection.execute(_ALL_POSTINGS, _range(bank)).all()


def all_vectors(connection: Connection, bank: int) -> Sequence[Any]:
    """(key, vector) of a bank, by key."""
    return connection.execute(_ALL_VECTORS, _range(bank)).all()


def some_postings(connection: Connection, keys: Sequence[int]) -> dict[int, Features]:
    """Postings by key, without vectors."""
    return {key: _features(row) for key, row in _some(connection, _SOME_POSTINGS, keys).items()}


def _features(row: Any) -> Features:
    return Features(
        np.frombuffer(row.terms, "<u8"),
        np.frombuffer(row.counts, "<u2"),
        np.frombuffer(row.mentions, "<i4").reshape(-1, 2),
    )


def some_vectors(connection: Connection, keys: Sequence[int]) -> dict[int, Any]:
    """Vectors by key."""
    return _some(connection, _SOME_VECTORS, keys)


def _some(connection: Connection, query: Select[Any], keys: Sequence[int], size: int = 500) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for i in range(0, len(keys), size):
        for row in connection.execute(query, {"p_keys": list(keys[i : i + size])}):
            found[row[0]] = row
    return found


def gone_since(connection: Connection, bank: int, rev: int) -> list[int]:
    """Keys deleted after a revision (of which tombstones are still kept: see ``BankRow.floor``)."""
    return list(connection.execute(_GONE, {"p_bank": bank, "p_rev": rev}).scalars())


def unindexed(connection: Connection, bank: int) -> list[int]:
    """Keys of a bank whose vectors the index does not hold yet."""
    return list(connection.execute(_TAIL, _range(bank)).scalars())
