"""A private PostgreSQL for tests, from the system's binaries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.servers import MissingServerError, PostgresServer

__all__ = ["PostgresServer", "running"]


def running() -> Iterator[PostgresServer]:
    """A server while the test runs; skips the test where it cannot be had. For fixtures."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    server = PostgresServer()
    try:
        try:
            server.start()
        except MissingServerError as error:
            pytest.skip(str(error))
        yield server
    finally:
        server.remove()
