"""Messages: the append-only transcript, verbatim and in order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, bindparam

from memorybank.clock import from_micros, to_micros
from memorybank.models import Message
from memorybank.records.schema import RARE, last_key, messages, sessions
from memorybank.records.statements import Statement

_COLUMNS = (
    messages.c.position,
    messages.c.id,
    messages.c.role,
    messages.c.name,
    messages.c.text,
    messages.c.at,
    messages.c.payload,
)
_INSERT = Statement(sa.insert(messages))
_BY_ID = Statement(
    lambda ids: sa.select(*_COLUMNS).where(
        messages.c.session == bindparam("p_session"), messages.c.id.in_(ids)
    ),
    ("p_ids", messages.c.id.type),
)
_LAST = Statement(
    sa.select(*_COLUMNS)
    .where(messages.c.session == bindparam("p_session"))
    .order_by(messages.c.position.desc())
    .limit(bindparam("p_n"))
)


def _of_role() -> sa.Select[Any]:
    return (
        sa.select(*_COLUMNS)
        .where(messages.c.session == bindparam("p_session"), messages.c.role == bindparam("p_role"))
        .order_by(messages.c.position.desc())
        .limit(bindparam("p_n"))
    )


def of_rare_role() -> sa.Select[Any]:
    """The last messages of a role but "user" and "assistant", by an index of their own."""
    return _of_role().where(sa.text(RARE))


_LAST_OF_ROLE = Statement(_of_role())
_LAST_OF_RARE = Statement(of_rare_role())
_FREQUENT = ("user", "assistant")


def _message(row: Any, owner: str, session: str) -> Message:
    position, id_, role, name, text, at, payload = row
    return Message(role, text, from_micros(at), id_, name, payload, owner, session, position)


def insert(connection: Connection, session: int, rows: Sequence[tuple[int, Message]]) -> None:
    """Append messages (each with its key); their positions are already set."""
    _INSERT.many(
        connection,
        [
            {
                "key": key,
                "session": session,
                "position": message.position,
                "id": message.id,
                "role": message.role,
                "name": message.name,
                "text": message.text,
                "at": to_micros(message.at) if message.at else 0,
                "payload": message.payload,
            }
            for key, message in rows
        ],
    )


def by_ids(
    connection: Connection, session: int, ids: Sequence[str], owner: str, session_name: str
) -> dict[str, Message]:
    """Messages of a session by id; unknown ids are left out."""
    found: dict[str, Message] = {}
    for part in _parts(ids):
        for row in _BY_ID.all(connection, {"p_session": session, "p_ids": part}):
            message = _message(row, owner, session_name)
            found[message.id or ""] = message
    return found


def last(
    connection: Connection,
    session: int,
    n: int | None,
    owner: str,
    session_name: str,
    role: str | None = None,
) -> list[Message]:
    """The last ``n`` messages of a session (all of them for None), oldest first; with ``role`` only its own."""
    if role is not None:
        found = last_of_role(connection, session, n, role)
        return [_message(row, owner, session_name) for row in reversed(found)]
    if n is None:
        query = sa.select(*_COLUMNS).where(messages.c.session == session).order_by(messages.c.position)
        return [_message(row, owner, session_name) for row in connection.execute(query)]
    rows = _LAST.all(connection, {"p_session": session, "p_n": n})
    return [_message(row, owner, session_name) for row in reversed(rows)]


def last_of_role(connection: Connection, session: int, n: int | None, role: str) -> Sequence[Any]:
    """Rows of one role, newest first. Costs as much as there are rows of it, but for "user" and "assistant", which
    are looked for from the end."""
    most = last_key(0) if n is None else n  # more than a bank has keys for
    statement = _LAST_OF_ROLE if role in _FREQUENT else _LAST_OF_RARE
    return statement.all(connection, {"p_session": session, "p_role": role, "p_n": most})


def of_bank(connection: Connection, bank: int, owner: str) -> list[Message]:
    """Every message of a bank, by session and position."""
    query = (
        sa.select(*_COLUMNS, sessions.c.name.label("session_name"))
        .join(sessions, messages.c.session == sessions.c.key)
        .where(sessions.c.bank == bank)
        .order_by(sessions.c.key, messages.c.position)
    )
    return [_message(row[:-1], owner, row[-1]) for row in connection.execute(query)]


def count(connection: Connection, bank: int) -> int:
    """How many messages a bank holds."""
    query = (
        sa.select(sa.func.count())
        .select_from(messages)
        .join(sessions, messages.c.session == sessions.c.key)
        .where(sessions.c.bank == bank)
    )
    return int(connection.execute(query).scalar_one())


def remove(connection: Connection, session: int, ids: Sequence[str]) -> int:
    """Delete messages of a session by id; returns how many."""
    done = 0
    for part in _parts(ids):
        query = sa.delete(messages).where(messages.c.session == session, messages.c.id.in_(part))
        done += connection.execute(query).rowcount
    return done


def _parts(ids: Sequence[str], size: int = 500) -> list[list[str]]:
    # Databases bound the number of parameters of a statement.
    iterator = iter(ids)
    return list(iter(lambda: list(islice(iterator, size)), []))


_LAST_USER = Statement(
    sa.select(messages.c.position)
    .where(messages.c.session == bindparam("p_session"), messages.c.role == "user")
    .order_by(messages.c.position.desc())  # from the end, not through the whole session
    .limit(1)
)


def last_user_position(connection: Connection, session: int) -> int:
    """Position of the latest user message of a session: it names the user turn; -1 before the first."""
    found = _LAST_USER.first(connection, {"p_session": session})
    return -1 if found is None else int(found[0])
