"""Banks and sessions: who owns what, and the change counter."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection, bindparam
from sqlalchemy.exc import IntegrityError

from memorybank.records.migrations import read_meta
from memorybank.records.schema import banks, sessions
from memorybank.records.statements import Statement
from memorybank.records.types import VerbatimText


@dataclass(frozen=True, slots=True)
class BankRow:
    """One owner's bank as stored. ``rev`` counts its changes, ``counter`` the keys it has given out."""

    key: int
    uid: str
    owner: str
    timezone: str
    language: str | None
    rev: int
    floor: int
    counter: int
    era: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session; ``length`` is the next position."""

    key: int
    name: str
    length: int


_COLUMNS = (
    banks.c.key,
    banks.c.uid,
    banks.c.owner,
    banks.c.timezone,
    banks.c.language,
    banks.c.rev,
    banks.c.floor,
    banks.c.counter,
    banks.c.era,
)
_BY_OWNER = Statement(sa.select(*_COLUMNS).where(banks.c.owner == bindparam("p_owner")))
_HOLD = sa.select(*_COLUMNS).where(banks.c.owner == bindparam("p_owner")).with_for_update()
_SESSION = Statement(
    sa.select(sessions.c.key, sessions.c.name, sessions.c.length).where(
        sessions.c.bank == bindparam("p_bank"), sessions.c.name == bindparam("p_name")
    )
)
_LOCATE = Statement(
    sa.select(*_COLUMNS, sessions.c.key.label("session"), sessions.c.length)
    .select_from(
        banks.outerjoin(
            sessions,
            (sessions.c.bank == banks.c.key) & (sessions.c.name == bindparam("p_name", type_=VerbatimText)),
        )
    )
    .where(banks.c.owner == bindparam("p_owner"))
)
_STANDS = Statement(sa.select(sessions.c.key).where(sessions.c.key == bindparam("p_key")))
_BUMP = Statement(
    sa.update(banks)
    .where(banks.c.key == bindparam("p_key"))
    .values(rev=banks.c.rev + 1, counter=banks.c.counter + bindparam("p_keys"))
    .returning(*_COLUMNS)
)
_BUMP_OWNER = Statement(
    sa.update(banks)
    .where(banks.c.owner == bindparam("p_owner"))
    .values(rev=banks.c.rev + 1, counter=banks.c.counter + bindparam("p_keys"))
    .returning(*_COLUMNS)
)
_GROW = Statement(
    sa.update(sessions)
    .where(sessions.c.key == bindparam("p_key"))
    .values(length=sessions.c.length + bindparam("p_n"))
)
_GROW_NAMED = Statement(
    sa.update(sessions)
    .where(sessions.c.bank == bindparam("p_bank"), sessions.c.name == bindparam("p_name"))
    .values(length=sessions.c.length + bindparam("p_n"))
    .returning(sessions.c.key, sessions.c.length)
)


def find(connection: Connection, owner: str) -> BankRow | None:
    """The bank of this owner, or None if it has stored nothing yet."""
    row = _BY_OWNER.first(connection, {"p_owner": owner})
    return None if row is None else BankRow(*row)


def hold(connection: Connection, owner: str) -> BankRow | None:
    """``find`` that also takes the bank's row: its other writers wait until this transaction ends."""
    row = connection.execute(_HOLD, {"p_owner": owner}).first()
    return None if row is None else BankRow(*row)


def locate(connection: Connection, owner: str, session: str) -> tuple[BankRow | None, SessionRow | None]:
    """The bank of this owner and its session of that name, as far as they exist."""
    row = _LOCATE.first(connection, {"p_owner": owner, "p_name": session})
    if row is None:
        return None, None
    bank = BankRow(*row[:-2])
    return bank, None if row[-2] is None else SessionRow(row[-2], session, row[-1])


def create(
    connection: Connection, owner: str, timezone: str, language: str | None, now: int, era: int
) -> BankRow:
    """The bank of this owner, made if it is not there yet."""
    found = find(connection, owner)
    if found is not None:
        return found
    # Another process may have reindexed since this one opened the store: vectors made here would be of the old era.
    era = max(era, int(read_meta(connection, "embedder_era") or 0))
    try:
        with connection.begin_nested():
            connection.execute(
                sa.insert(banks).values(
                    uid=uuid.uuid4().hex,
                    owner=owner,
                    timezone=timezone,
                    language=language,
                    rev=0,
                    floor=0,
                    counter=0,
                    era=era,
                    created=now,
                )
            )
    except IntegrityError:
        pass  # another process made it between our look and our insert
    made = find(connection, owner)
    if made is None:
        raise LookupError("a bank that was just made is gone: it was erased at the same moment")
    return made


def bump(connection: Connection, key: int, keys: int = 0) -> BankRow | None:
    """Count one change and reserve ``keys`` keys, the last of them ``counter``; None if the bank was erased.

    The first statement of every write: it takes the bank's row, so that writers of one bank take turns.
    """
    row = _BUMP.first(connection, {"p_key": key, "p_keys": keys})
    return None if row is None else BankRow(*row)


def bump_owner(connection: Connection, owner: str, keys: int = 0) -> BankRow | None:
    """``bump`` by the owner's name; None if there is no such bank."""
    row = _BUMP_OWNER.first(connection, {"p_owner": owner, "p_keys": keys})
    return None if row is None else BankRow(*row)


def raise_floor(connection: Connection, key: int) -> None:
    """Have every cache of this bank start anew."""
    connection.execute(
        sa.update(banks).where(banks.c.key == key).values(rev=banks.c.rev + 1, floor=banks.c.rev + 1)
    )


def configure(connection: Connection, key: int, timezone: str | None, language: str | None) -> None:
    """Change the zone or language that a bank keeps."""
    values: dict[str, str] = {}
    if timezone is not None:
        values["timezone"] = timezone
    if language is not None:
        values["language"] = language
    if values:
        connection.execute(sa.update(banks).where(banks.c.key == key).values(**values))


def owners(connection: Connection) -> list[str]:
    """Every owner, sorted."""
    return sorted(connection.execute(sa.select(banks.c.owner)).scalars())


def every(connection: Connection) -> list[BankRow]:
    """Every bank, by key."""
    return [BankRow(*row) for row in connection.execute(sa.select(*_COLUMNS).order_by(banks.c.key))]


def find_session(connection: Connection, bank: int, name: str) -> SessionRow | None:
    """The session of that name, or None."""
    row = _SESSION.first(connection, {"p_bank": bank, "p_name": name})
    return None if row is None else SessionRow(*row)


def create_session(connection: Connection, bank: int, name: str, now: int) -> SessionRow:
    """The session of that name, made if it is not there yet. Call after ``bump``: it guards against a twin."""
    found = find_session(connection, bank, name)
    if found is not None:
        return found
    connection.execute(sa.insert(sessions).values(bank=bank, name=name, length=0, began=now))
    made = find_session(connection, bank, name)
    if made is None:
        raise LookupError("a session that was just made is gone")
    return made


def grow_session(connection: Connection, session: int, n: int) -> None:
    """Reserve ``n`` positions."""
    _GROW.count(connection, {"p_key": session, "p_n": n})


def grow_named(connection: Connection, bank: int, name: str, n: int, now: int) -> SessionRow:
    """Reserve ``n`` positions of a session, made if it is not there; its ``length`` is the first of them."""
    values = {"p_bank": bank, "p_name": name, "p_n": n}
    row = _GROW_NAMED.first(connection, values)
    if row is None:
        create_session(connection, bank, name, now)
        row = _GROW_NAMED.first(connection, values)
    if row is None:
        raise LookupError("a session that was just made is gone")
    return SessionRow(row[0], name, row[1] - n)


def session_names(connection: Connection, bank: int) -> list[str]:
    """Names of a bank's sessions, in order of their making."""
    query = sa.select(sessions.c.name).where(sessions.c.bank == bank).order_by(sessions.c.key)
    return list(connection.execute(query).scalars())


def session_map(connection: Connection, bank: int) -> dict[int, str]:
    """Session keys and names of a bank."""
    query = sa.select(sessions.c.key, sessions.c.name).where(sessions.c.bank == bank)
    return dict(map(tuple, connection.execute(query)))


def session_stands(connection: Connection, session: int) -> bool:
    """Whether there still is a session of that key."""
    return _STANDS.first(connection, {"p_key": session}) is not None
