"""Shared parts: a clock that stands still, stores that are closed at the end, a bank to talk to, a Chroma server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import MemoryBankError
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder
from tests.contracts.chroma_server import ChromaServer

OpenStore = Callable[..., MemoryStore]


@pytest.fixture
def clock() -> FrozenClock:
    """1 January 2026, 9:00 UTC, until it is moved."""
    return FrozenClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the test's store lives."""
    return tmp_path / "memory"


@pytest.fixture
def open_store(folder: Path, clock: FrozenClock) -> Iterator[OpenStore]:
    """Opens stores (the test's folder, hashed embedder, frozen clock, no Chroma unless asked) and closes them."""
    opened: list[MemoryStore] = []

    def open_one(path: Path | None = None, **options: Any) -> MemoryStore:
        defaults: dict[str, Any] = {
            "embedder": HashEmbedder(64),
            "clock": clock,
            "chroma": False,
            "synchronous": "normal",
        }
        store = MemoryStore.open(path or folder, **{**defaults, **options})
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        with contextlib.suppress(MemoryBankError):  # the test may have taken its folder away
            store.close()


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    """A store in the test's folder, without Chroma."""
    return open_store()


@pytest.fixture
def bank(store: MemoryStore) -> MemoryBank:
    """The bank of one owner, days in UTC."""
    return store.bank("gary", timezone="UTC")


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    """One Chroma server for the whole run; tests keep apart by namespace."""
    server = ChromaServer(tmp_path_factory.mktemp("chroma-server"))
    server.start()
    yield server
    server.stop()
