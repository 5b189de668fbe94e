"""Memories: rows and their features (vector, postings)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam

from memorybank.clock import from_micros, to_micros
from memorybank.models import Level, Maker, Memory, Status
from memorybank.records.schema import Pending, first_key, last_key, memories, postings, sessions, vectors
from memorybank.records.statements import Statement
from memorybank.records.types import pack_vector


@dataclass(frozen=True, slots=True)
class Features:
    """What recall reads of a memory: hashed terms and counts of its own words, days they point at, its vector.

    ``mentions`` is (m, 2): first and last local day ordinal. ``vector`` is None until it could be embedded.
    """

    terms: NDArray[np.uint64]
    counts: NDArray[np.uint16]
    mentions: NDArray[np.int32]
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A memory with its place in the records."""

    key: int
    memory: Memory
    session: int | None
    position: int | None
    rev: int
    revised: int
    pending: int


_KEY, _ID = memories.c.key.type, memories.c.id.type
_INSERT = Statement(sa.insert(memories))
_PUT_POSTINGS = Statement(sa.insert(postings))
_PUT_VECTORS = Statement(sa.insert(vectors))
_DROP_POSTINGS = Statement(lambda keys: sa.delete(postings).where(postings.c.key.in_(keys)), ("p_keys", _KEY))
_DROP_VECTORS = Statement(lambda keys: sa.delete(vectors).where(vectors.c.key.in_(keys)), ("p_keys", _KEY))
_BY_KEYS = Statement(
    lambda keys: (
        sa.select(memories, sessions.c.name)
        .select_from(memories.outerjoin(sessions, sessions.c.key == memories.c.session))
        .where(memories.c.key.in_(keys))
    ),
    ("p_keys", _KEY),
)
_BY_IDS = Statement(
    lambda ids: sa.select(memories).where(memories.c.bank == bindparam("p_bank"), memories.c.id.in_(ids)),
    ("p_ids", _ID),
)
_TAIL = Statement(
    sa.select(memories)
    .where(memories.c.session == bindparam("p_session"), memories.c.level == Level.TURN.value)
    .order_by(memories.c.position.desc())
    .limit(1)
)
_KEYS = Statement(
    lambda ids: sa.select(memories.c.id, memories.c.key).where(
        memories.c.bank == bindparam("p_bank"), memories.c.id.in_(ids)
    ),
    ("p_ids", _ID),
)
_REINFORCE = Statement(
    lambda ids: (
        sa.update(memories)
        .where(memories.c.bank == bindparam("p_bank"), memories.c.id.in_(ids))
        .values(
            strength=memories.c.strength + 1,
            # The later of the two: a recall imported or replayed out of order never turns time back.
            last_recalled=sa.case(
                (memories.c.last_recalled > bindparam("p_now"), memories.c.last_recalled),
                else_=bindparam("p_now"),
            ),
            rev=bindparam("p_rev"),
        )
        .returning(memories.c.id, memories.c.key)
    ),
    ("p_ids", _ID),
)
_COMPLETE = Statement(
    sa.update(memories)
    .where(memories.c.key == bindparam("p_key"), memories.c.revised == bindparam("p_revised"))
    .values(
        text=bindparam("p_text"),
        sources=bindparam("p_sources"),
        ended=bindparam("p_ended"),
        pending=bindparam("p_pending"),
        rev=bindparam("p_rev"),
        revised=bindparam("p_rev"),
    )
)
_CHUNK = 500
_WIDTH = len(memories.c)
_SESSION = list(memories.c).index(memories.c.session)
T = TypeVar("T")


def _moment(micros: int | None) -> Any:
    return None if micros is None else from_micros(micros)


_LEVELS = {level.value: level for level in Level}
_STATUSES = {status.value: status for status in Status}
_MAKERS = {maker.value: maker for maker in Maker}


def row_of(row: Sequence[Any], owner: str, session_names: Mapping[int, str]) -> Row:
    """A ``Row`` from a row of the table ``memories``: its columns in their order, and none or more behind them."""
    (
        key, _, id_, level, text, began, ended, created, strength, recalled, status, archived_at, pinned,
        session, position, speaker, maker, stale, version, sources, rev, revised, pending,
    ) = row[:_WIDTH]  # fmt: skip
    memory = Memory(
        id=id_,
        owner=owner,
        level=_LEVELS[level],
        text=text,
        began=from_micros(began),
        ended=from_micros(ended),
        created=from_micros(created),
        strength=strength,
        last_recalled=_moment(recalled),
        status=_STATUSES[status],
        pinned=pinned,
        sources=sources,
        session=None if session is None else session_names.get(session),
        speaker=speaker,
        maker=_MAKERS[maker],
        stale=stale,
        version=version,
        archived_at=_moment(archived_at),
    )
    return Row(key, memory, session, position, rev, revised, pending)


def _values(row: Row, bank: int) -> dict[str, object]:
    memory = row.memory
    return {
        "key": row.key,
        "bank": bank,
        "id": memory.id,
        "level": memory.level.value,
        "text": memory.text,
        "began": to_micros(memory.began),
        "ended": to_micros(memory.ended),
        "created": to_micros(memory.created),
        "strength": memory.strength,
        "last_recalled": None if memory.last_recalled is None else to_micros(memory.last_recalled),
        "status": memory.status.value,
        "archived_at": None if memory.archived_at is None else to_micros(memory.archived_at),
        "pinned": memory.pinned,
        "session": row.session,
        "position": row.position,
        "speaker": memory.speaker,
        "maker": memory.maker.value,
        "stale": memory.stale,
        "version": memory.version,
        "sources": memory.sources,
        "rev": row.rev,
        "revised": row.revised,
        "pending": row.pending,
    }


def insert(connection: Connection, bank: int, rows: Sequence[Row]) -> None:
    """Add memories. Their features are written by ``put_features``."""
    if rows:
        _INSERT.many(connection, [_values(row, bank) for row in rows])


def replace(connection: Connection, bank: int, row: Row) -> None:
    """Overwrite a memory's row by key (an exchange that was completed, an edit, a new version)."""
    values = _values(row, bank)
    key = values.pop("key")
    connection.execute(sa.update(memories).where(memories.c.key == key).values(**values))


def put_features(
    connection: Connection, items: Sequence[tuple[int, Features]], *, replaces: Iterable[int] = ()
) -> None:
    """Write postings and vectors by key; ``replaces`` names the keys that may have some already."""
    old = list(replaces)
    if old:
        remove_features(connection, old)
    if not items:
        return
    _PUT_POSTINGS.many(
        connection,
        [
            {
                "key": key,
                "terms": f.terms.astype("<u8", copy=False).tobytes(),
                "counts": f.counts.astype("<u2", copy=False).tobytes(),
                "mentions": f.mentions.astype("<i4", copy=False).tobytes(),
            }
            for key, f in items
        ],
    )
    embedded = [{"key": key, "vector": pack_vector(f.vector)} for key, f in items if f.vector is not None]
    _PUT_VECTORS.many(connection, embedded)


def put_vectors(
    connection: Connection, items: Sequence[tuple[int, int, NDArray[np.float32]]], rev: int
) -> list[int]:
    """Set vectors of (key, revised, vector), where the text is still of that revision; returns the keys done."""
    done: list[int] = []
    for key, revised, vector in items:
        query = (
            sa.update(memories)
            .where(memories.c.key == key, memories.c.revised == revised)
            .values(pending=Pending.INDEX, rev=rev, revised=rev)
        )
        if connection.execute(query).rowcount:
            connection.execute(sa.delete(vectors).where(vectors.c.key == key))
            connection.execute(sa.insert(vectors).values(key=key, vector=pack_vector(vector)))
            done.append(key)
    return done


def remove_features(connection: Connection, keys: Sequence[int]) -> tuple[int, int]:
    """Delete postings and vectors; returns how many of each."""
    gone_postings = gone_vectors = 0
    for part in chunks(keys):
        gone_postings += _DROP_POSTINGS.count(connection, {"p_keys": part})
        gone_vectors += _DROP_VECTORS.count(connection, {"p_keys": part})
    return gone_postings, gone_vectors


def by_keys(connection: Connection, keys: Sequence[int], owner: str) -> dict[int, Row]:
    """Rows by key."""
    found: dict[int, Row] = {}
    for part in chunks(keys):
        for row in _BY_KEYS.all(connection, {"p_keys": part}):
            found[row[0]] = row_of(row, owner, {row[_SESSION]: row[-1]})
    return found


def by_ids(
    connection: Connection, bank: int, ids: Sequence[str], owner: str, session_names: Mapping[int, str]
) -> dict[str, Row]:
    """Rows of a bank by memory id; unknown ids are left out."""
    found: dict[str, Row] = {}
    for part in chunks(ids):
        for row in _BY_IDS.all(connection, {"p_bank": bank, "p_ids": part}):
            made = row_of(row, owner, session_names)
            found[made.memory.id] = made
    return found


def tail(connection: Connection, session: int, owner: str, session_name: str) -> Row | None:
    """The latest turn of a session: the one that a reply may complete."""
    row = _TAIL.first(connection, {"p_session": session})
    return None if row is None else row_of(row, owner, {session: session_name})


def of_session(
    connection: Connection, session: int, owner: str, session_name: str, *, level: Level | None = None
) -> list[Row]:
    """Rows of a session (its turns and its digest), optionally of one level, by key."""
    query = sa.select(memories).where(memories.c.session == session).order_by(memories.c.key)
    if level is not None:
        query = query.where(memories.c.level == level.value)
    return [row_of(row, owner, {session: session_name}) for row in connection.execute(query)]


def of_bank(
    connection: Connection,
    bank: int,
    owner: str,
    session_names: Mapping[int, str],
    *,
    levels: Sequence[Level] | None = None,
    began: int | None = None,
    before: int | None = None,
) -> list[Row]:
    """Rows of a bank by time, optionally of some levels and with ``began`` in [began, before) microseconds."""
    query = sa.select(memories).where(memories.c.key.between(first_key(bank), last_key(bank)))
    if levels is not None:
        query = query.where(memories.c.level.in_([level.value for level in levels]))
    if began is not None:
        query = query.where(memories.c.began >= began)
    if before is not None:
        query = query.where(memories.c.began < before)
    query = query.order_by(memories.c.began, memories.c.key)
    return [row_of(row, owner, session_names) for row in connection.execute(query)]


def keys_of(connection: Connection, bank: int, ids: Sequence[str]) -> dict[str, int]:
    """Keys of a bank's memories by id; unknown ids are left out."""
    found: dict[str, int] = {}
    for part in chunks(ids):
        found.update(_KEYS.all(connection, {"p_bank": bank, "p_ids": part}))
    return found


def reinforce(connection: Connection, bank: int, ids: Sequence[str], now: int, rev: int) -> dict[str, int]:
    """Strength + 1 and t = 0, in one statement (never read, then written); returns the keys by id."""
    found: dict[str, int] = {}
    for part in chunks(ids):
        values = {"p_bank": bank, "p_ids": part, "p_now": now, "p_rev": rev}
        found.update(_REINFORCE.all(connection, values))
    return found


def complete(
    connection: Connection,
    key: int,
    revised: int,
    rev: int,
    *,
    text: str,
    sources: Sequence[str],
    ended: int,
    pending: int,
) -> bool:
    """Replace an open exchange's text by the completed one; False if it has changed since ``revised``."""
    values = {
        "p_key": key,
        "p_revised": revised,
        "p_rev": rev,
        "p_text": text,
        "p_sources": sources,
        "p_ended": ended,
        "p_pending": pending,
    }
    return _COMPLETE.count(connection, values) == 1


def update(connection: Connection, keys: Sequence[int], rev: int, **values: object) -> int:
    """Set columns of many rows; returns how many."""
    done = 0
    for part in chunks(keys):
        query = sa.update(memories).where(memories.c.key.in_(part)).values(rev=rev, **values)
        done += connection.execute(query).rowcount
    return done


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Slices within the number of parameters that databases allow."""
    for i in range(0, len(items), _CHUNK):
        yield items[i : i + _CHUNK]
