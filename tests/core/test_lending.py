"""SQLite connections lent from one transaction to the next: all or nothing, nobody else's, durable as promised."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.pool import QueuePool

from memorybank.errors import StoreError
from memorybank.records import banks
from memorybank.records.database import Database, open_sqlite
from memorybank.records.migrations import prepare, read_meta, write_meta


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = open_sqlite(tmp_path / "records.db", read_only=False, synchronous="full")
    prepare(made)
    yield made
    made.close()


def synchronous(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())


def test_only_a_minor_write_does_not_wait_for_the_disk(database: Database) -> None:
    """FULL is 2, NORMAL 1; what a minor write sets is gone with it, also when it fails."""
    with database.write(minor=True) as connection:
        assert synchronous(connection) == 1
        write_meta(connection, "colour", "blue")
    with database.write() as connection:
        assert synchronous(connection) == 2
        assert read_meta(connection, "colour") == "blue"

    def fail() -> None:
        with database.write(minor=True) as connection:
            write_meta(connection, "colour", "red")
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError):
        fail()
    with database.write() as connection:
        assert synchronous(connection) == 2
        assert read_meta(connection, "colour") == "blue"


def test_a_failed_statement_leaves_a_connection_that_nobody_gets(database: Database) -> None:
    """After an error of the driver the next transaction begins clean."""

    def fail() -> None:
        with database.write() as connection:
            banks.create(connection, "gary", "UTC", None, 0, 0)
            connection.exec_driver_sql("INSERT INTO nowhere VALUES (1)")

    for _ in range(10):
        with pytest.raises(StoreError):
            fail()
    with database.read() as connection:
        assert banks.owners(connection) == []
    with database.write() as connection:
        banks.create(connection, "gary", "UTC", None, 0, 0)
    with database.read() as connection:
        assert banks.owners(connection) == ["gary"]


def test_transactions_inside_each_other_are_apart(database: Database) -> None:
    """A read inside a read, or beside a write, has a connection of its own, with its own state."""
    with database.read() as outer:
        assert banks.owners(outer) == []
        with database.write() as writer:
            banks.create(writer, "gary", "UTC", None, 0, 0)
            with database.read() as inner:
                assert banks.owners(inner) == []
        assert banks.owners(outer) == []
    with database.read() as later:
        assert banks.owners(later) == ["gary"]


def test_threads_have_a_connection_each(database: Database) -> None:
    """Twenty threads reading at once see one state each, and no more than eight connections stay open after."""
    gate = threading.Barrier(20)
    seen: list[object] = []

    def look() -> None:
        with database.read() as connection:
            gate.wait(30)
            seen.append(connection.execute(sa.text("SELECT count(*) FROM banks")).scalar_one())
            gate.wait(30)

    threads = [threading.Thread(target=look) for _ in range(20)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert seen == [0] * 20
    # Not by open files: SQLite itself keeps those of closed connections for the next.
    pool = database.engine.pool
    assert isinstance(pool, QueuePool)
    assert 1 <= pool.checkedout() <= 8


def test_nothing_is_lent_after_close(database: Database) -> None:
    """A transaction that outlives the store ends well, and its connection is closed."""
    with database.read() as connection:
        assert banks.owners(connection) == []
        database.close()
    assert connection.closed
    with pytest.raises(StoreError), database.read():
        pass
