"""Marks set by hand on messages of a session, by position."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Connection

from memorybank.records.schema import marks, messages, sessions


def put(connection: Connection, session: int, position: int) -> None:
    """Mark a position; a mark that is there stays. Call after the bank's ``bump``: it guards against a twin."""
    if position not in of_session(connection, session):
        connection.execute(sa.insert(marks).values(session=session, position=position))


def of_session(connection: Connection, session: int) -> frozenset[int]:
    """The positions marked in a session."""
    query = sa.select(marks.c.position).where(marks.c.session == session)
    return frozenset(connection.execute(query).scalars())


def of_bank(connection: Connection, bank: int) -> list[tuple[str, str]]:
    """Session and id of every marked message of a bank that is still there."""
    query = (
        sa.select(sessions.c.name, messages.c.id)
        .select_from(marks)
        .join(sessions, sessions.c.key == marks.c.session)
        .join(messages, (messages.c.session == marks.c.session) & (messages.c.position == marks.c.position))
        .where(sessions.c.bank == bank)
        .order_by(marks.c.session, marks.c.position)
    )
    return [(name, id_) for name, id_ in connection.execute(query)]
