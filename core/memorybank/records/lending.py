"""SQLite connections, kept open from one transaction to the next.

Opening, beginning and closing through SQLAlchemy costs 0.25 ms a transaction (measured), as much as
twenty statements. Here a transaction begins and ends by the driver; SQLAlchemy's own statements may still be used
inside it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, event

_KEPT = 8


class Lending:
    """Open connections that nobody uses at the moment. Safe to use from many threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: list[Connection] = []
        self._parents: list[Connection] = []
        self._closed = False
        event.listen(engine, "begin", _begin)

    @contextlib.contextmanager
    def lend(self) -> Iterator[Connection]:
        """A connection outside of any transaction. After an error it is not used again."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._engine.connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        if self._closed or len(self._idle) >= _KEPT:
            connection.close()
        else:
            self._idle.append(connection)

    def forked(self) -> None:
        """In a forked child: leave the parent's connections alone, closing included."""
        self._parents.extend(self._idle)
        self._idle = []

    def close(self) -> None:
        """Close what is idle now, and the others as they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


@contextlib.contextmanager
def transaction(connection: Connection, *, write: bool, hasty: bool = False) -> Iterator[None]:
    """All of the block or nothing. A ``write`` takes its lock at once: an upgrade from a read in mid-transaction
    could not wait its turn. ``hasty`` does not wait for the disk: see ``Database.write``."""
    driver = _driver(connection)
    if hasty:
        driver.execute("PRAGMA synchronous=NORMAL")
    try:
        driver.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
        except BaseException:
            if connection.in_transaction():
                connection.rollback()
            elif driver.in_transaction:  # some errors make SQLite roll back by itself
                driver.rollback()
            raise
        if connection.in_transaction():
            connection.commit()
        else:
            driver.commit()
    finally:
        if hasty:
            driver.execute("PRAGMA synchronous=FULL")


def _begin(connection: Connection) -> None:
    # SQLAlchemy begins at its first statement; inside ``transaction`` that has happened already.
    if not _driver(connection).in_transaction:
        connection.exec_driver_sql("BEGIN")


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection
