"""SQLite connections, kept open from one transaction to the next.

Opening, beginning and closing through SQLAlchemy costs 0.25 ms a transaction (measured), as much as
twenty statements. Here a transaction begins and ends by the driver; SQLAlchemy's own statements may still be used
inside it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Engine, event

_KEPT = 8
_DRAIN_SECONDS = 5.0


class Lending:
    """Open connections that nobody uses at the moment. Safe to use from many threads.

    None is open while the process forks: SQLite keeps a process's file locks in its memory, so a child that
    inherits a connection believes in locks that it does not have, and what it writes is lost when the parent closes.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: list[Connection] = []
        self._closed = False
        self._gate = threading.Condition()
        self._forking = False
        self._lent = 0
        event.listen(engine, "begin", _begin)
        _every.add(self)

    @contextlib.contextmanager
    def lend(self) -> Iterator[Connection]:
        """A connection outside of any transaction. After an error it is not used again."""
        with self._gate:
            while self._forking:
                self._gate.wait()
            self._lent += 1
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._engine.connect()
            try:
                yield connection
            except BaseException:  # cleaned up, and raised again
                connection.close()
                raise
            if self._closed or len(self._idle) >= _KEPT:
                connection.close()
            else:
                self._idle.append(connection)
        finally:
            with self._gate:
                self._lent -= 1
                if self._forking:
                    self._gate.notify_all()

    def close(self) -> None:
        """Close what is idle now, and the others as they come back."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    def before_fork(self) -> None:
        """Lend nothing more, wait for what is lent, and close everything.

        Not for ever: the thread that forks may itself be in the middle of a transaction.
        """
        with self._gate:
            self._forking = True
            self._gate.wait_for(lambda: self._lent == 0, _DRAIN_SECONDS)
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()

    def after_fork(self) -> None:
        """In the parent: go on."""
        with self._gate:
            self._forking = False
            self._gate.notify_all()

    def forked(self) -> None:
        """In the child: go on; threads that held or awaited something are the parent's."""
        self._gate = threading.Condition()
        self._forking = False
        self._lent = 0
        self._idle = []


# A fork is the process's and asks no store: the one place that knows them all.
_every: weakref.WeakSet[Lending] = weakref.WeakSet()


def _before_fork() -> None:
    for one in list(_every):
        one.before_fork()


def _after_fork() -> None:
    for one in list(_every):
        one.after_fork()


def _forked() -> None:
    for one in list(_every):
        one.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forked)


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
        except BaseException:  # cleaned up, and raised again
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
