"""What waits for the index or the embedder is looked for by its own small index, however many memories there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from memorybank.records import census, columns, outbox
from memorybank.records.database import Database
from memorybank.records.migrations import prepare
from memorybank.records.schema import Pending, memories

ASKED: dict[str, Callable[[Connection], object]] = {
    "the next to index": lambda connection: outbox.unindexed(connection, 10),
    "the next to embed": lambda connection: outbox.unembedded(connection, 10),
    "how many": lambda connection: outbox.count(connection, Pending.INDEX),
    "the backlog": census.backlog,
    "a bank's tail": lambda connection: columns.unindexed(connection, 1),
}


def row(key: int) -> dict[str, Any]:
    """A memory that waits for nothing."""
    plain = dict.fromkeys(("strength", "version"), 1) | dict.fromkeys(("pinned", "stale"), False)
    texts = {"id": f"m{key}", "level": "turn", "text": "x", "status": "active", "maker": "verbatim"}
    numbers = dict.fromkeys(("began", "ended", "created", "rev", "revised", "position"), 0)
    known = {**plain, **texts, **numbers, "key": key, "bank": 1, "pending": Pending.NONE, "sources": []}
    return {column.name: known.get(column.name) for column in memories.columns}


@pytest.fixture
def filled(database: Database) -> Database:
    """Five thousand memories, none of which waits."""
    prepare(database)
    with database.write() as connection:
        connection.execute(sa.insert(memories), [row((1 << 32) + n) for n in range(5000)])
    with database.write() as connection:
        connection.execute(sa.text("ANALYZE"))
    return database


def sent(database: Database, ask: Callable[[Connection], object]) -> list[tuple[str, Any]]:
    """The statements that reach the driver, with their values."""
    found: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, values: Any, *rest: Any) -> None:
        found.append((statement, values))

    with database.read() as connection:
        driver: Any = connection.connection.driver_connection
        if database.is_sqlite:
            driver.set_trace_callback(lambda statement: found.append((statement, ())))
        else:
            sa.event.listen(database.engine, "before_cursor_execute", note)
        try:
            ask(connection)
        finally:
            if database.is_sqlite:
                driver.set_trace_callback(None)
            else:
                sa.event.remove(database.engine, "before_cursor_execute", note)
    return [(statement, values) for statement, values in found if "pending" in statement]


@pytest.mark.parametrize("what", ASKED)
def test_what_waits_is_found_by_its_index(filled: Database, what: str) -> None:
    """No statement reads the table: its plan names the index of what waits."""
    if what == "a bank's tail" and not filled.is_sqlite:
        pytest.skip("this statement goes straight to the driver; SQLite shows that it is the right one")
    statements = sent(filled, ASKED[what])
    assert statements
    explain = "EXPLAIN QUERY PLAN " if filled.is_sqlite else "EXPLAIN "
    with filled.read() as connection:
        for statement, values in statements:
            plan = str(connection.exec_driver_sql(explain + statement, values).all())
            assert "memories_pending" in plan, plan
