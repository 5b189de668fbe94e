"""The evaluation commands under test: words only unless a test names an embedder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from talks import LOCOMO, LONGMEMEVAL, MEMORYBANK, QUESTIONS, write_json, write_lines
from typer.testing import CliRunner

from memorybank.cli import app

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``memorybank eval …``; ``code`` is the exit code it must have."""
    monkeypatch.setenv("MEMORYBANK_EMBEDDER", "memorybank.testing:HashEmbedder")

    def call(*arguments: object, code: int = 0) -> Result:
        result = CliRunner().invoke(app, ["eval", *map(str, arguments)])
        assert result.exit_code == code, (
            f"{arguments}: {result.exit_code}\n{result.output}\n{result.exception!r}"
        )
        return result

    return call


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    return write_json(tmp_path / "locomo.json", LOCOMO)


@pytest.fixture
def memorybank(tmp_path: Path) -> Path:
    write_lines(tmp_path / "users_questions.jsonl", QUESTIONS)
    return write_json(tmp_path / "users.json", MEMORYBANK)


@pytest.fixture
def longmemeval(tmp_path: Path) -> Path:
    return write_json(tmp_path / "long.json", LONGMEMEVAL)
