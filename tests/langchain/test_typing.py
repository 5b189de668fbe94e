"""The public API type-checks as user code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_user_code_type_checks() -> None:
    """tests/typing/langchain_usage.py passes mypy --strict with the installed LangChain."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    usage = ROOT / "tests" / "typing" / "langchain_usage.py"
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(usage)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stdout + run.stderr
