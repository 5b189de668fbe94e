"""Whole columns of a bank at once: what the arrays in memory are filled and kept up to date from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection, bindparam

from memorybank.records.memories import Features
from memorybank.records.schema import (
    WAITING,
    Pending,
    first_key,
    last_key,
    memories,
    postings,
    tombstones,
    vectors,
)
from memorybank.records.statements import Statement

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
_ALL = Statement(sa.select(*_META).where(memories.c.key.between(*_RANGE)).order_by(memories.c.key))
_SINCE = Statement(
    sa.select(*_META)
    .where(memories.c.bank == bindparam("p_bank"), memories.c.rev > bindparam("p_rev"))
    .order_by(memories.c.key)
)
_POSTINGS = sa.select(postings.c.key, postings.c.terms, postings.c.counts, postings.c.mentions)
_ALL_POSTINGS = Statement(_POSTINGS.where(postings.c.key.between(*_RANGE)).order_by(postings.c.key))
_KEYS = ("p_keys", memories.c.key.type)
_SOME_POSTINGS = Statement(lambda keys: _POSTINGS.where(postings.c.key.in_(keys)), _KEYS)
_VECTORS = sa.select(vectors.c.key, vectors.c.vector)
_ALL_VECTORS = Statement(_VECTORS.where(vectors.c.key.between(*_RANGE)).order_by(vectors.c.key))
_SOME_VECTORS = Statement(lambda keys: _VECTORS.where(vectors.c.key.in_(keys)), _KEYS)
_GONE = Statement(
    sa.select(tombstones.c.key).where(
        tombstones.c.bank == bindparam("p_bank"), tombstones.c.rev > bindparam("p_rev")
    )
)
_TAIL = Statement(
    sa.select(memories.c.key).where(
        WAITING, memories.c.pending == Pending.INDEX, memories.c.key.between(*_RANGE)
    )
)


def _range(bank: int) -> dict[str, int]:
    return {"p_first": first_key(bank), "p_last": last_key(bank)}


def meta(connection: Connection, bank: int) -> Sequence[Any]:
    """Rows with the fields of ``arrays.Meta``, by key."""
    return _ALL.all(connection, _range(bank))


def meta_since(connection: Connection, bank: int, rev: int) -> Sequence[Any]:
    """The same, of the rows changed after a revision."""
    return _SINCE.all(connection, {"p_bank": bank, "p_rev": rev})


def all_postings(connection: Connection, bank: int) -> Sequence[Any]:
    """(key, terms, counts, mentions) of a bank as stored, by key."""
    return _ALL_POSTINGS.all(connection, _range(bank))


def all_vectors(connection: Connection, bank: int) -> Sequence[Any]:
    """(key, vector) of a bank, by key."""
    return _ALL_VECTORS.all(connection, _range(bank))


def some_postings(connection: Connection, keys: Sequence[int]) -> dict[int, Features]:
    """Postings by key, without vectors."""
    return {key: _features(row) for key, row in _some(connection, _SOME_POSTINGS, keys).items()}


def _features(row: Sequence[Any]) -> Features:
    _, terms, counts, mentions = row
    return Features(
        np.frombuffer(terms, "<u8"),
        np.frombuffer(counts, "<u2"),
        np.frombuffer(mentions, "<i4").reshape(-1, 2),
    )


def some_vectors(connection: Connection, keys: Sequence[int]) -> dict[int, bytes]:
    """Vectors by key, as stored."""
    return {key: row[1] for key, row in _some(connection, _SOME_VECTORS, keys).items()}


def _some(
    connection: Connection, query: Statement, keys: Sequence[int], size: int = 500
) -> dict[int, Sequence[Any]]:
    found: dict[int, Sequence[Any]] = {}
    for i in range(0, len(keys), size):
        for row in query.all(connection, {"p_keys": keys[i : i + size]}):
            found[row[0]] = row
    return found


def gone_since(connection: Connection, bank: int, rev: int) -> list[int]:
    """Keys deleted after a revision (of which tombstones are still kept: see ``BankRow.floor``)."""
    return [key for (key,) in _GONE.all(connection, {"p_bank": bank, "p_rev": rev})]


def unindexed(connection: Connection, bank: int) -> list[int]:
    """Keys of a bank whose vectors the index does not hold yet."""
    return [key for (key,) in _TAIL.all(connection, _range(bank))]
