"""The command line under test: real store, no embedder unless a test wants one."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from memorybank.cli import app

TALK = {
    "Ann": {
        "history": {
            "2024-05-01": [
                {"query": "My cat is called Biscuit.", "response": "A fine name."},
                {"query": "I live in Leeds.", "response": "How is the weather?"},
            ],
            "2024-05-02": [{"query": "I moved to Glasgow.", "response": "Welcome there."}],
        }
    },
    "小满": {"history": {"2024-05-01": [{"query": "我的猫叫豆包。", "response": "好名字。"}]}},
}

Run = Callable[..., Result]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """The command line sets up the process's logging; the tests that follow in this process have their own."""
    names = ("memorybank", "memorybank.consolidation")
    before = [(logging.getLogger(name).handlers[:], logging.getLogger(name).level) for name in names]
    yield
    for name, (handlers, level) in zip(names, before, strict=True):
        logging.getLogger(name).handlers[:] = handlers
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def run(store: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on the test's store; ``code`` is the exit code it must have."""
    monkeypatch.setenv("MEMORYBANK_EMBEDDER", "none")
    monkeypatch.setenv("MEMORYBANK_STORE", str(store))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("MEMORYBANK_OWNER", raising=False)

    def call(*arguments: str, code: int = 0, input: str | None = None) -> Result:
        result = CliRunner().invoke(app, list(arguments), input=input)
        assert result.exit_code == code, (
            f"{arguments}: {result.exit_code}\n{result.output}\n{result.exception!r}"
        )
        assert "Traceback" not in result.output
        return result

    return call


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK, ensure_ascii=False), "utf-8")
    return path


@pytest.fixture
def filled(run: Run, talk: Path) -> Run:
    """``run`` on a store that has the talk."""
    run("import", str(talk), "--timezone", "Europe/London")
    return run


def data(result: Result) -> Any:
    """The JSON that a command printed on stdout."""
    return json.loads(result.stdout)
