"""Skipped, with a reason, where LlamaIndex is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

from memorybank import MemoryBank, MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder

MISSING = find_spec("llama_index") is None
collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_report_header() -> str | None:
    return "tests/llamaindex: not collected, llama-index-core is not installed" if MISSING else None


@pytest.fixture
def clock() -> FrozenClock:
    """Monday, 2 March 2026, 9:00 UTC."""
    return FrozenClock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))


@pytest.fixture
def store(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "memory", embedder=HashEmbedder(), clock=clock, chroma=False) as opened:
        yield opened


@pytest.fixture
def bank(store: MemoryStore) -> MemoryBank:
    return store.bank("gary", timezone="UTC")
