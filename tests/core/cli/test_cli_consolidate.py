"""``memorybank consolidate``: counts, exit codes, models, and what ``show`` then shows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_quotes_are_written_once_and_shown(filled: Run) -> None:
    """Without a model the days are quoted; a second run makes nothing; ``show`` has portrait and events."""
    done = json.loads(filled("consolidate", "--owner", "Ann", "--json").stdout)
    levels = [memory["level"] for memory in done["made"]]
    assert levels.count("day_events") == 2
    assert {"events", "portrait"} <= set(levels)
    assert (done["calls"], done["failed"]) == (0, [])
    again = filled("consolidate", "--owner", "Ann")
    assert "nothing to do: every day up to " in again.stdout
    shown = json.loads(filled("show", "portrait", "--owner", "Ann", "--json").stdout)
    assert "Glasgow" in shown["portrait"]["text"]


def test_until_bounds_the_days(filled: Run) -> None:
    """Only days up to the given one are written."""
    done = json.loads(filled("consolidate", "--owner", "Ann", "--until", "2024-05-01", "--json").stdout)
    assert [memory["level"] for memory in done["made"]].count("day_events") == 1


def test_a_model_of_ones_own(filled: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``package.module:name`` writes; calls and tokens are told; a failing one exits 1 and says so."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "models.py").write_text(
        "def good(prompt):\n    return 'Ann has a cat, Biscuit.'\n\ndef bad(prompt):\n    raise OSError(prompt)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    failed = filled("consolidate", "--owner", "Ann", "--model", "own.models:bad", code=1)
    assert "the model raised OSError" in failed.stderr
    assert "Biscuit" not in failed.stderr
    good = filled("consolidate", "--owner", "Ann", "--model", "own.models:good")
    assert "6 calls of the model" in good.stdout


@pytest.mark.parametrize(
    "which", ["nonsense", "own.missing:name", "json.decoder:nothing", "noprovider:model"]
)
def test_unknown_models_are_usage_errors(filled: Run, which: str) -> None:
    """A name that is no model is told in one line, with exit code 2."""
    assert "model" in filled("consolidate", "--owner", "Ann", "--model", which, code=2).stderr
