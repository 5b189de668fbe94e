"""Real servers for the suites that every database and every index must pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorybank.records.database import Database, open_sqlite, open_url
from tests.contracts.chroma_server import ChromaServer
from tests.contracts.postgres_server import PostgresServer, running


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole run; each test makes databases of its own."""
    yield from running()


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for one test, which may stop it."""
    yield from running()


@pytest.fixture
def own_chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """A Chroma server for one test, which starts and stops it."""
    server = ChromaServer(tmp_path_factory.mktemp("own-chroma"))
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        made = open_sqlite(tmp_path / "records.db", read_only=False, synchronous="normal")
    else:
        made = open_url(request.getfixturevalue("postgres").make(), read_only=False)
    yield made
    made.close()
