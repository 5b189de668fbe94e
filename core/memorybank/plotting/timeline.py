"""The timeline: how many memories each day left, and how much of them is still there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
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
_TICKS = 8


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
    days: Sequence[DayCount], *, title: str | None = None, language: Language = "en"
) -> Figure:
    """A bar for each day, parted by state. Raises ImportError without matplotlib, naming the extra."""
    said = words(language)
    figure = page(9, 3.4)
    from matplotlib.ticker import MaxNLocator

    axes = figure.add_subplot()
    below = [0] * len(days)
    names = {"pinned": said.pinned, "fresh": said.fresh, "fading": said.fading, "archived": said.archived}
    for state, colour, hatch in _STATES:
        heights = [int(getattr(one, state)) for one in days]
        if any(heights):
            axes.bar(
                [one.day for one in days],  # type: ignore[arg-type]  # matplotlib converts dates
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
        _dates(figure, days)
        figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return dress(figure)


def plot_timeline(
    days: Sequence[DayCount], path: str | Path, *, title: str | None = None, language: Language = "en"
) -> Path:
    """Draw ``timeline_figure`` into a PNG and return its path. Raises ImportError as it does, StoreError."""
    return save(timeline_figure(days, title=title, language=language), path)


def _dates(figure: Figure, days: Sequence[DayCount]) -> None:
    """Ticks at whole days, named without words, so that no language is needed."""
    axes = figure.axes[0]
    step = max(1, -(-((days[-1].day - days[0].day).days + 1) // _TICKS))
    ticks = [days[0].day + timedelta(days=ahead) for ahead in range(0, step * _TICKS, step)]
    shown = [day for day in ticks if day <= days[-1].day]
    axes.set_xticks(shown, [day.isoformat() for day in shown])  # type: ignore[arg-type]  # matplotlib converts dates
    axes.tick_params(axis="x", labelsize=8)
    margin = timedelta(days=1)
    axes.set_xlim(days[0].day - margin, days[-1].day + margin)  # type: ignore[arg-type]  # dates, as above


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
