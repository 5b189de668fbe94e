"""Whether user code passes mypy --strict with the frameworks that are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def passes(name: str) -> None:
    """A file of this folder passes; skips where mypy is not installed."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    usage = ROOT / "tests" / "typing" / name
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(usage)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stdout + run.stderr
