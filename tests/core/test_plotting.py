"""Retention drawn: the curve's own numbers, any width, no display, Chinese labels or a stand-in."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorybank.errors import InvalidInputError, StoreError
from memorybank.forgetting import ForgettingCurve
from memorybank.plotting import Trace, plot_retention, retention_lines, trace

START = datetime(2026, 1, 1, tzinfo=UTC)
CURVE = ForgettingCurve(unit=timedelta(days=10))


def make(label: str = "a", *recalls: int) -> Trace:
    times = [START + timedelta(days=day) for day in recalls]
    return trace(label, CURVE, START, times, start=START, until=START + timedelta(days=100))


def test_trace_follows_the_curve_and_its_recalls() -> None:
    """1 at the start and at each recall; slower after it; the last value is the curve's at S and t."""
    once, never = make("a", 20), make("b")
    assert never.retention[0] == 1
    assert never.retention[-1] == pytest.approx(CURVE.retention(1, timedelta(days=100)))
    assert once.retention[-1] == pytest.approx(CURVE.retention(2, timedelta(days=80)))
    at = once.days.index(20.0)
    assert once.retention[at] == 1
    assert once.retention[at - 1] == pytest.approx(CURVE.retention(1, timedelta(days=20)), rel=1e-3)
    assert (once.recalled, never.recalled) == (True, False)
    assert list(once.days) == sorted(once.days)


def test_recalls_outside_the_span_do_not_count() -> None:
    """Only what was recalled while the memory existed and the plot runs."""
    assert not make("a", -5, 400).recalled


def test_an_empty_span_is_refused() -> None:
    """``until`` must be later than ``began``."""
    with pytest.raises(InvalidInputError, match="later"):
        trace("a", CURVE, START, [], start=START, until=START)


@pytest.mark.parametrize("width", [1, 20, 72, 200])
def test_terminal_lines_fit(width: int) -> None:
    """No line is wider than asked (16 columns at least); both kinds of memories show."""
    lines = retention_lines([make("a", 20), make("b")], width=width, height=10)
    assert len(lines) == 12
    assert max(line.cell_len for line in lines) <= max(width, 16)
    text = "\n".join(line.plain for line in lines)
    assert "●" in text
    assert "·" in text
    assert "1.00" in lines[0].plain


def test_no_traces_draw_an_empty_plot(tmp_path: Path) -> None:
    """Nothing to show is no error."""
    assert len(retention_lines([])) == 14
    assert plot_retention([], tmp_path / "p.png").stat().st_size > 1000


def test_png_without_missing_glyphs(tmp_path: Path) -> None:
    """Chinese labels, dollar signs: no warning about glyphs, no formula errors, whatever fonts there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = plot_retention(
            [make("05-01 豆包的橘猫", 20), make("costs $5 and $x_1")], tmp_path / "p.png", threshold=0.1
        )
    assert path.read_bytes().startswith(b"\x89PNG")


def test_unwritable_place(tmp_path: Path) -> None:
    """Said in words."""
    with pytest.raises(StoreError, match="Cannot write the plot"):
        plot_retention([make()], tmp_path / "none" / "p.png")
