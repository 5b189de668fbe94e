"""Chroma servers for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorybank.index import ChromaIndex
from tests.contracts.chroma_server import ChromaServer


@pytest.fixture(autouse=True)
def closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test leaves open is closed after it: a socket that is only forgotten warns in a later test."""
    opened: list[ChromaIndex] = []
    original = ChromaIndex.__init__

    def kept(index: ChromaIndex, *args: Any, **kwargs: Any) -> None:
        original(index, *args, **kwargs)
        opened.append(index)

    monkeypatch.setattr(ChromaIndex, "__init__", kept)
    yield
    for index in opened:
        index.close()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ChromaServer]:
    """A server for one test, which may stop it."""
    server = ChromaServer(tmp_path)
    server.start()
    yield server
    server.stop()
