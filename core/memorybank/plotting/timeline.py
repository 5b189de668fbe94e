"""The timeline: how many memories each day left, and how much of them is still there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from memorybank.errors import InvalidInputError
from memorybank.forgetting import ForgettingCurve, MemoryState
from memorybank.models import Level, Memory, Status
from memorybank.plotting.canvas import dress, page, save
from memorybank.plotting.words import words
from memorybank.text.language import Language

if TYPE_CHECKING:
    from matplotlib.figure import Figure

State = Literal["pinned", "fresh", "fading", "archived"]
_STATES: tuple[tuple[State, str, str], ...] = (
    ("pinned", "#CC79A7", "xx"),
    ("fresh", "#0072B2", ""),
    ("fading", "#8EC6E8", "//"),
    ("archived", "#D0D4D8", ".."),
)
_FRESH = 0.5
_SPARSE = 4  # days of the calendar to one with memories


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many memories of talk (turns and notes) a day has, by state."""

    day: date
    pinned: int = 0
    fresh: int = 0
    fading: int = 0
    archived: int = 0


def day_counts(
    memories: Iterable[Memory], curve: ForgettingCurve, *, now: datetime, timezone: str
) -> list[DayCount]:
    """The days on which anything was said or noted, in order. Pure. ``timezone`` (IANA) separates the days."""
    if now.tzinfo is None:
        raise InvalidInputError(f"now is {now.isoformat()} without a time zone; give an aware datetime")
    zone = ZoneInfo(timezone)
    days: dict[date, Counter[State]] = {}
    for one in memories:
        if one.level in (Level.TURN, Level.NOTE):
            counter = days.setdefault(one.began.astimezone(zone).date(), Counter())
            counter[_state(one, curve, now)] += 1
    return [
        DayCount(day, counter["pinned"], counter["fresh"], counter["fading"], counter["archived"])
        for day, counter in sorted(days.items())
    ]


def timeline_figure(
    days: Sequence[DayCount], *, title: str | None = None, language: Language = "en", width: float = 9
) -> Figure:
    """A bar for each day, parted by state; where most days have none they stand side by side. ``width``: inches.

    Raises ImportError without matplotlib, naming the extra.
    """
    said = words(language)
    figure = page(width, 0.2 * width + 1.6)
    from matplotlib.ticker import MaxNLocator

    axes = figure.add_subplot()
    below = [0] * len(days)
    names = {"pinned": said.pinned, "fresh": said.fresh, "fading": said.fading, "archived": said.archived}
    for state, colour, hatch in _STATES:
        heights = [int(getattr(one, state)) for one in days]
        if any(heights):
            axes.bar(
                _places(days),
                heights,
                0.85,
                bottom=below,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.5,
                label=names[state],
            )
        below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.set(ylabel=said.memories, title=said.timeline_title if title is None else title)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", alpha=0.25)
    if days:
        _dates(figure, days, int(width))
        figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return dress(figure)


def plot_timeline(
    days: Sequence[DayCount], path: str | Path, *, title: str | None = None, language: Language = "en"
) -> Path:
    """Draw ``timeline_figure`` into a PNG and return its path. Raises ImportError as it does, StoreError."""
    return save(timeline_figure(days, title=title, language=language), path)


def _places(days: Sequence[DayCount]) -> list[int]:
    """Where each bar stands: by the calendar, or one after the other where most days have none."""
    ahead = [(one.day - days[0].day).days for one in days]
    return ahead if ahead[-1] < _SPARSE * len(days) else list(range(len(days)))


def _dates(figure: Figure, days: Sequence[DayCount], most: int) -> None:
    """Ticks at whole days, named without words, so that no language is needed."""
    axes = figure.axes[0]
    places = _places(days)
    step = max(1, -(-len(days) // most))
    shown = list(range(0, len(days), step))
    axes.set_xticks([places[one] for one in shown], [days[one].day.isoformat() for one in shown])
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlim(places[0] - 1, places[-1] + 1)


def _state(memory: Memory, curve: ForgettingCurve, now: datetime) -> State:
    if memory.status is Status.ARCHIVED:
        return "archived"
    if memory.pinned:
        return "pinned"
    return (
        "fresh"
        if curve.retention(memory.strength, now - MemoryState.of(memory).since) >= _FRESH
        else "fading"
    )
