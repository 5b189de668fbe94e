"""Skipped, with a reason, where LangChain is not installed."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

from memorybank.testing import FrozenClock

MISSING = [name for name in ("langchain_core", "langchain", "langgraph") if find_spec(name) is None]


class _Skipped(pytest.Module):
    def collect(self) -> NoReturn:
        pytest.skip(f"needs the extra langchain: {', '.join(MISSING)} not installed", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Every module of this folder is skipped, with a reason, where the framework is missing."""
    return _Skipped.from_parent(parent, path=module_path) if MISSING else None


@pytest.fixture
def clock() -> FrozenClock:
    """Monday, 2 March 2026, 9:00 UTC."""
    return FrozenClock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
