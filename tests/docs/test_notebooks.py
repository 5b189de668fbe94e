"""Every notebook of the cookbook runs from a clean kernel, offline, and is small as it is committed."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="needs nbclient and ipykernel (the group dev)")
pytest.importorskip("ipykernel", reason="needs nbclient and ipykernel (the group dev)")

COOKBOOK = Path(__file__).parents[2] / "cookbook"
RUN: dict[str, Any] = run_path(str(COOKBOOK / "run.py"), run_name="cookbook_run")
NOTEBOOKS: list[Path] = RUN["notebooks"]()
_NEEDS = {"langchain": "langchain", "llama_index": "llamaindex", "matplotlib": "plot"}
_LARGEST = 200_000  # bytes of a notebook, its pictures included


@pytest.fixture(autouse=True)
def nothing_of_the_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model, no server, no tracing of whoever runs the tests: the notebooks' own parts."""
    for name in list(os.environ):
        if name.startswith(("MEMORYBANK_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    """No cell fails, the notebook's own asserts included; outputs are not compared."""
    for module in _imported(path):
        pytest.importorskip(module, reason=f"needs the extra {_NEEDS[module]}")
    RUN["execute"](path, tmp_path)


def _imported(path: Path) -> list[str]:
    code = "".join("".join(cell["source"]) for cell in _cells(path) if cell["cell_type"] == "code")
    return [module for module in _NEEDS if f"import {module}" in code or f"from {module}" in code]


def _cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    return found


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_with_outputs_and_small(path: Path) -> None:
    """Readers see results without running it; the file stays under 200 kB; no error and no machine's path in it."""
    assert path.stat().st_size < _LARGEST
    code = [cell for cell in _cells(path) if cell["cell_type"] == "code" and cell["source"]]
    assert any(cell["outputs"] for cell in code)
    shown = json.dumps([cell["outputs"] for cell in code])
    assert all(out["output_type"] != "error" for cell in code for out in cell["outputs"])
    assert "Traceback" not in shown
    assert tempfile.gettempdir() not in shown
    assert str(Path.home()) not in shown


def test_the_notebooks_are_there() -> None:
    """Numbered without gaps, in the order in which they are read."""
    assert [int(path.name[:2]) for path in NOTEBOOKS] == list(range(1, len(NOTEBOOKS) + 1))
    assert NOTEBOOKS
