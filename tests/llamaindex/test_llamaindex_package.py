"""What the package gives, what it says without the framework, and that it type-checks as user code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import llamaindex_memorybank
from tests.typing.strict import passes

ROOT = Path(__file__).parents[2]

WITHOUT = """
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.startswith("llama_index") else real(name, *rest)
try:
    import llamaindex_memorybank
except ImportError as error:
    print(error)
"""


def test_all_names_exist() -> None:
    """``__all__`` is what the package gives: classes, wrappers and ``connect``."""
    assert sorted(llamaindex_memorybank.__all__) == llamaindex_memorybank.__all__
    for name in llamaindex_memorybank.__all__:
        assert getattr(llamaindex_memorybank, name) is not None


def test_without_the_framework_the_error_names_the_extra() -> None:
    """An ImportError that says what to install."""
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert "memorybank-core[llamaindex]" in run.stdout


def test_the_frameworks_namespace_is_left_alone() -> None:
    """A ``llama_index`` package of ours would hide the framework."""
    assert not (ROOT / "llama_index").exists()


@pytest.mark.slow
def test_user_code_type_checks() -> None:
    """tests/typing/llamaindex_usage.py passes mypy --strict with the installed LlamaIndex."""
    passes("llamaindex_usage.py")
