"""Chroma servers for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.chroma_server import ChromaServer


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ChromaServer]:
    """A server for one test, which may stop it."""
    server = ChromaServer(tmp_path)
    server.start()
    yield server
    server.stop()
