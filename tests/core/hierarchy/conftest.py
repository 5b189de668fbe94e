"""A store in a temporary folder, with a frozen clock and a way to say things on a day."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memorybank.bank import MemoryBank
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder
from tests.core.hierarchy.saying import NOW, OpenBank


@pytest.fixture
def open_bank(tmp_path: Path) -> Iterator[OpenBank]:
    """Opens the store of the test (again and again, with other options) and gives one owner's bank."""
    opened: list[MemoryStore] = []

    def open_(
        llm: Callable[[str], str] | None = None,
        owner: str = "gary",
        timezone: str | None = "UTC",
        language: str | None = None,
        now: datetime = NOW,
        **options: Any,
    ) -> MemoryBank:
        defaults: dict[str, Any] = {"embedder": HashEmbedder(64), "chroma": False, "synchronous": "normal"}
        store = MemoryStore.open(
            tmp_path / "store", llm=llm, clock=FrozenClock(now), **{**defaults, **options}
        )
        opened.append(store)
        return store.bank(owner, timezone=timezone, language=language)

    open_.store = lambda: opened[-1]  # type: ignore[attr-defined]  # for what a bank cannot do itself
    yield open_
    for store in opened:
        store.close()
