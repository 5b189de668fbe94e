"""What is made from memories: summaries and portraits of days, of blocks of days, of all days; digests.

Columns that turns use for their place mean here: ``position`` of a day's summary is the weight of the turns it
has seen (see ``TurnMark``), of a block of days its code (see ``hierarchy.grouping``), of a global text null, of
a digest the position in the session up to which it covers. A text may be empty: nothing to say, or (stale)
taken away because a source was deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection, bindparam

from memorybank.models import Level, Maker
from memorybank.records.memories import Row, row_of
from memorybank.records.schema import first_key, last_key, memories, messages, sessions, tombstones
from memorybank.records.statements import Statement
from memorybank.records.types import IdList


@dataclass(frozen=True, slots=True)
class TurnMark:
    """A turn without its text: ``began`` and ``ended`` in microseconds; ``weight`` grows when a reply joins it."""

    key: int
    id: str
    began: int
    ended: int
    weight: int


@dataclass(frozen=True, slots=True)
class Derived:
    """A summary or portrait without its text; ``length`` is that of the text, in characters."""

    key: int
    id: str
    level: Level
    began: int
    ended: int
    maker: Maker
    stale: bool
    version: int
    position: int | None
    sources: tuple[str, ...]
    length: int


@dataclass(frozen=True, slots=True)
class SessionMark:
    """A session: its key, name, and the position of the next message."""

    key: int
    name: str
    length: int


# Spelled out, so that the database sees that its index of what is derived applies.
_NO_TURN = memories.c.level != sa.literal_column("'turn'")
_ALWAYS = 2**62
_OWN = memories.c.key.between(bindparam("p_first"), bindparam("p_last"))
_TURNS = (
    sa.select(
        memories.c.key,
        memories.c.id,
        memories.c.began,
        memories.c.ended,
        sa.func.length(sa.type_coerce(memories.c.sources, sa.Text), type_=sa.Integer),
    )
    .where(_OWN, memories.c.level == Level.TURN.value)
    .order_by(memories.c.began, memories.c.key)
)
_DERIVED = (
    sa.select(
        memories.c.key,
        memories.c.id,
        memories.c.level,
        memories.c.began,
        memories.c.ended,
        memories.c.maker,
        memories.c.stale,
        memories.c.version,
        memories.c.position,
        sa.type_coerce(memories.c.sources, IdList),
        sa.func.length(sa.type_coerce(memories.c.text, sa.Text), type_=sa.Integer),
    )
    .where(
        memories.c.bank == bindparam("p_bank"),
        memories.c.level.in_(bindparam("p_levels", expanding=True)),
        _NO_TURN,
    )
    .order_by(memories.c.began, memories.c.key)
)
_STANDING = Statement(
    sa.select(memories)
    .where(
        memories.c.bank == bindparam("p_bank"),
        memories.c.level == bindparam("p_level"),
        memories.c.began >= bindparam("p_first"),
        memories.c.began < bindparam("p_before"),
        _NO_TURN,
    )
    .order_by(memories.c.began, memories.c.key)
)
# By the index of what is derived: a session's own rows are as many as its turns.
_DIGEST = Statement(
    sa.select(memories)
    .where(
        memories.c.bank == bindparam("p_bank"),
        memories.c.level == Level.DIGEST.value,
        memories.c.session == bindparam("p_session"),
        _NO_TURN,
    )
    .order_by(memories.c.key)
)
_SESSIONS = (
    sa.select(sessions.c.key, sessions.c.name, sessions.c.length)
    .where(
        sessions.c.bank == bindparam("p_bank"),
        sessions.c.length > bindparam("p_longer"),
        sa.exists().where(messages.c.session == sessions.c.key, messages.c.at >= bindparam("p_since")),
    )
    .order_by(sessions.c.key)
)
_ROLES = sa.select(messages.c.id, messages.c.role, messages.c.name).where(
    messages.c.session == bindparam("p_session"), messages.c.id.in_(bindparam("p_ids", expanding=True))
)
_LIVELY = (
    sa.select(memories.c.key)
    .where(
        _OWN,
        memories.c.level.in_([Level.TURN.value, Level.NOTE.value]),
        memories.c.last_recalled >= bindparam("p_since"),
    )
    .order_by(memories.c.strength.desc(), memories.c.last_recalled.desc(), memories.c.key)
    .limit(bindparam("p_n"))
)


def _range(bank: int) -> dict[str, int]:
    return {"p_first": first_key(bank), "p_last": last_key(bank)}


def touched(connection: Connection, bank: int, rev: int, before: int) -> bool:
    """Whether, after a revision, a turn begun before a time (microseconds) was added or changed, a summary became
    stale, or anything was deleted."""
    own = (memories.c.bank == bank) & (memories.c.rev > rev)
    turn = (memories.c.level == Level.TURN.value) & (memories.c.revised > rev) & (memories.c.began < before)
    changed = sa.select(memories.c.key).where(own, turn | memories.c.stale).limit(1)
    gone = sa.select(tombstones.c.key).where(tombstones.c.bank == bank, tombstones.c.rev > rev).limit(1)
    return any(connection.execute(query).first() is not None for query in (changed, gone))


def turn_marks(connection: Connection, bank: int) -> list[TurnMark]:
    """Every turn of a bank, by time."""
    return [TurnMark(*row) for row in connection.execute(_TURNS, _range(bank))]


def of_levels(connection: Connection, bank: int, levels: Sequence[Level]) -> list[Derived]:
    """Everything derived of these levels, by time."""
    wanted = {"p_bank": bank, "p_levels": [level.value for level in levels]}
    return [
        Derived(key, id_, Level(level), began, ended, Maker(maker), stale, version, position, sources, length)
        for key, id_, level, began, ended, maker, stale, version, position, sources, length in connection.execute(
            _DERIVED, wanted
        )
    ]


def standing(
    connection: Connection,
    bank: int,
    owner: str,
    level: Level,
    began: int = -_ALWAYS,
    before: int = _ALWAYS,
) -> list[Row]:
    """Rows of one derived level with ``began`` in [began, before) microseconds, by time."""
    values = {"p_bank": bank, "p_level": level.value, "p_first": began, "p_before": before}
    return [row_of(row, owner, {}) for row in _STANDING.all(connection, values)]


def digests(connection: Connection, bank: int, session: int, owner: str, session_name: str) -> list[Row]:
    """The digest of a session, or none."""
    rows = _DIGEST.all(connection, {"p_bank": bank, "p_session": session})
    return [row_of(row, owner, {session: session_name}) for row in rows]


def lively_sessions(connection: Connection, bank: int, longer_than: int, since: int) -> list[SessionMark]:
    """Sessions of more than so many messages, with one at or after ``since`` (microseconds)."""
    values = {"p_bank": bank, "p_longer": longer_than, "p_since": since}
    return [SessionMark(*row) for row in connection.execute(_SESSIONS, values)]


def roles(connection: Connection, session: int, ids: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Role and name of messages of a session, by id."""
    found: dict[str, tuple[str, str | None]] = {}
    for at in range(0, len(ids), 500):
        rows = connection.execute(_ROLES, {"p_session": session, "p_ids": list(ids[at : at + 500])})
        found.update((id_, (role, name)) for id_, role, name in rows)
    return found


def most_recalled(connection: Connection, bank: int, since: int, n: int) -> list[int]:
    """Keys of the strongest turns and notes recalled at or after ``since`` (microseconds)."""
    return list(connection.execute(_LIVELY, {**_range(bank), "p_since": since, "p_n": n}).scalars())
