"""Retention drawn: the curve's own numbers, any width, no display, Chinese labels or a stand-in."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorybank.errors import InvalidInputError, StoreError
from memorybank.forgetting import ForgettingCurve
from memorybank.models import Level, Link, Memory, Status
from memorybank.plotting import (
    Trace,
    canvas,
    day_counts,
    outlook,
    plot_recall_map,
    plot_retention,
    plot_timeline,
    png,
    recall_map,
    retention_figure,
    retention_lines,
    timeline_figure,
    trace,
)
from memorybank.plotting.canvas import Fonts, fonts
from memorybank.text.language import Language

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


def test_a_curve_beneath_another_shows() -> None:
    """Curves that run together for half of the way or more: the lower one is wider, and no other."""
    figure = retention_figure([make("a", 20), make("b", 20), make("c", 20, 90), make("d"), make("e", 60)])
    widths = [line.get_linewidth() for line in figure.axes[0].lines[:5]]
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] == widths[4] == 2
    assert widths[3] < 2


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


def memory(id_: str, day: int = 0, text: str = "user: Biscuit", **more: Any) -> Memory:
    at = START + timedelta(days=day)
    return Memory(id_, "gary", more.pop("level", Level.TURN), text, at, at, at, **more)


def test_outlook_is_the_curve_ahead() -> None:
    """From now on, as if it were not recalled again."""
    since = START - timedelta(days=10)
    drawn = outlook("a", CURVE, 2, since, now=START, days=30)
    assert (drawn.days[0], drawn.days[-1], drawn.recalled) == (0, 30, True)
    assert drawn.retention[0] == pytest.approx(CURVE.retention(2, timedelta(days=10)))
    assert drawn.retention[-1] == pytest.approx(CURVE.retention(2, timedelta(days=40)))
    with pytest.raises(InvalidInputError, match="more than 0"):
        outlook("a", CURVE, 1, START, now=START, days=0)


def test_curves_are_told_apart() -> None:
    """Eight curves, eight colours, a number on each; recalled ones solid, the others dashed in several ways."""
    figure = retention_figure([make(f"m{number}", *([20] if number < 4 else [])) for number in range(8)])
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 2]
    assert len({line.get_color() for line in lines}) == 8
    assert [line.get_linestyle() == "-" for line in lines] == [True] * 4 + [False] * 4
    dashes = {line._unscaled_dash_pattern for line in lines[4:]}  # type: ignore[attr-defined]  # has no getter
    assert len(dashes) == 4
    assert {text.get_text() for text in figure.axes[0].texts} == {str(number) for number in range(1, 9)}


def test_labels_keep_to_what_can_be_drawn() -> None:
    """Without a Chinese font the date stays; single strange characters become boxes; width is counted in columns."""
    latin = Fonts(("DejaVu Sans",), frozenset(range(32, 127)) | {0x25A1, 0x2026})
    assert latin.label("05-01 豆包的橘猫", "memory 2") == "05-01 (memory 2)"
    assert latin.label("豆包的橘猫很可爱", "memory 3") == "memory 3"
    assert latin.label("I like my cat 🐈 a lot", "memory 1") == "I like my cat □ a lot"
    assert latin.label("x" * 60, "", 20) == "x" * 19 + "…"
    assert latin.label("a\nb  $5", "") == r"a b \$5"
    assert not latin.chinese


@pytest.fixture(params=["as installed", "no Chinese font"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A machine with the fonts that are here, or with matplotlib's own alone."""
    fonts.cache_clear()
    if request.param != "as installed":
        monkeypatch.setattr(canvas, "_chinese_font", lambda: None)
    yield request.param
    fonts.cache_clear()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_character_of_every_picture_has_a_font(
    machine: str, language: Language, tmp_path: Path
) -> None:
    """No missing glyph in titles, axes, legends and labels of either language, whatever fonts there are."""
    assert machine == "as installed" or not fonts().chinese
    texts = ["user: 豆包 and Biscuit 🐈", "日记：今天", "עברית 한국어", "$x$"]
    memories = [memory(str(day), day, text, strength=day + 1) for day, text in enumerate(texts)]
    links = [Link("0", "1", "next"), Link("0", "3", "co_recalled", 2.5), Link("1", "2", "derived")]
    days = day_counts(memories, CURVE, now=START + timedelta(days=9), timezone="UTC")
    traces = [make(text, 20) for text in texts]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in (
            plot_retention(traces, tmp_path / "r.png", threshold=0.1, language=language),
            plot_timeline(days, tmp_path / "t.png", language=language),
            plot_recall_map(recall_map(memories, links), tmp_path / "m.png", language=language),
        ):
            assert path.read_bytes().startswith(b"\x89PNG")


def test_chinese_words_where_a_font_has_them() -> None:
    """Chinese axes with a Chinese font, English ones without."""
    axes = retention_figure([make()], language="zh").axes[0]
    assert (axes.get_xlabel() == "天") is fonts().chinese


def test_days_are_counted_by_state() -> None:
    """By the owner's days; turns and notes only; fresh from R = 1/2."""
    memories = [
        memory("old"),
        memory("often", strength=9),
        memory("pinned", pinned=True),
        memory("archived", status=Status.ARCHIVED),
        memory("day", level=Level.DAY_EVENTS),
        memory("note", 1, level=Level.NOTE),
    ]
    found = day_counts(memories, CURVE, now=START + timedelta(days=10), timezone="America/New_York")
    assert [(one.day.isoformat(), one.pinned, one.fresh, one.fading, one.archived) for one in found] == [
        ("2025-12-31", 1, 1, 1, 1),
        ("2026-01-01", 0, 0, 1, 0),
    ]
    with pytest.raises(InvalidInputError, match="time zone"):
        day_counts([], CURVE, now=datetime(2026, 1, 1), timezone="UTC")


def test_days_far_apart_stand_side_by_side() -> None:
    """A month between two days of talk leaves no month of nothing."""
    days = day_counts([memory("a"), memory("b", 300)], CURVE, now=START, timezone="UTC")
    assert timeline_figure(days).axes[0].get_xlim() == (-1, 2)
    assert png(timeline_figure([])).startswith(b"\x89PNG")


def test_the_map_shows_what_matters() -> None:
    """Those chosen and what links to them, in order of time; links to what is not shown are left out."""
    memories = [memory(str(day), day) for day in (3, 1, 2, 9)]
    links = [Link("1", "2", "next"), Link("2", "3", "co_recalled", 3.0), Link("3", "gone", "derived")]
    drawn = recall_map(memories, links, chosen=["2", "unknown"])
    assert [one.id for one in drawn.memories] == ["1", "2", "3"]
    assert drawn.links == tuple(links[:2])
    assert drawn.chosen == {"2"}
    few = recall_map(memories, links, chosen=["2"], most=2)
    assert [one.id for one in few.memories] == ["2", "3"]
