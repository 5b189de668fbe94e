"""Retention over time: a curve for each memory, told apart by colour, dashes and a number on the curve."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memorybank.plotting.canvas import COLOURS, dress, fonts, page, save
from memorybank.plotting.traces import Trace, value_at
from memorybank.plotting.words import Words, words
from memorybank.text.language import Language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 58  # of a label: two of them fit beside each other
_NEAR = 0.01  # in R: less than the width of a line
_WIDER = 2.5  # points
_DASHES = ((5, 2), (3, 1.5), (7, 2, 1.5, 2), (9, 2))  # none dotted: so is the threshold


def retention_figure(
    traces: Sequence[Trace],
    *,
    title: str | None = None,
    threshold: float | None = None,
    language: Language = "en",
    legend: bool = True,
    ahead: bool = False,
    width: float = 9,
) -> Figure:
    """The traces as a matplotlib figure: recalled memories in solid lines, the others dashed.

    ``threshold``: the R below which memories are archived. ``ahead``: the days count from now. Without ``legend``
    the numbers on the curves alone tell which is which. ``width``: inches. What no
    installed font can draw is left out of labels. Raises ImportError without matplotlib, naming the extra.
    """
    said = words(language)
    figure = page(width, 5.6 if legend else 0.2 * width + 1.8)
    axes = figure.add_subplot()
    for number, (one, above) in enumerate(zip(traces, covers(traces), strict=True), 1):
        _draw(axes, one, number, len(traces), above, said)
    if traces:
        for style, name in (("-", said.recalled), ("--", said.not_recalled)):
            axes.plot([], [], color="#555555", linestyle=style, linewidth=1.6, label=name)
    if threshold:
        label = said.archived_below.format(level=threshold)
        axes.axhline(threshold, color="#b3261e", linewidth=1.2, linestyle=":", label=label)
    axes.set(xlabel=said.days_ahead if ahead else said.days, ylabel=said.retention, ylim=(0, 1.03))
    axes.set_title(said.retention_title if title is None else fonts().label(title, said.retention_title, 80))
    axes.set_xlim(left=min((one.days[0] for one in traces), default=0))
    axes.grid(alpha=0.25)
    if traces and legend:
        figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False, handlelength=3)
    return dress(figure)


def plot_retention(
    traces: Sequence[Trace],
    path: str | Path,
    *,
    title: str | None = None,
    threshold: float | None = None,
    language: Language = "en",
) -> Path:
    """Draw ``retention_figure`` into a PNG and return its path. Raises ImportError as it does, and StoreError if
    the file cannot be written."""
    figure = retention_figure(traces, title=title, threshold=threshold, language=language)
    return save(figure, path)


def covers(traces: Sequence[Trace]) -> list[int]:
    """How many later curves run along each one, in the same style: these would hide it. Pure."""
    return [
        sum(_along(one, later) for later in traces[place + 1 :] if later.recalled == one.recalled)
        for place, one in enumerate(traces)
    ]


def _along(one: Trace, other: Trace) -> bool:
    """Whether the other is too close to be seen beside this one for half of the way."""
    there = [value_at(other, day) for day in one.days]
    near = [
        value is not None and abs(value - own) < _NEAR
        for value, own in zip(there, one.retention, strict=True)
    ]
    return 2 * sum(near) >= len(near)


def _draw(axes: Axes, one: Trace, number: int, count: int, above: int, said: Words) -> None:
    label = fonts().label(one.label, said.memory.format(n=number), _COLUMNS)
    colour = COLOURS[(number - 1) % len(COLOURS)]
    axes.plot(
        one.days,
        one.retention,
        color=colour,
        # What runs beneath others is drawn wider, so that its colour shows at both sides.
        linewidth=(2 if one.recalled else 1.6) + _WIDER * above,
        linestyle="-" if one.recalled else (0, _DASHES[(number - 1) % len(_DASHES)]),
        label=f"{number}  {label}",
    )
    # Curves that run together are told apart by numbers, each at a place of its own along the way.
    day = one.days[0] + (one.days[-1] - one.days[0]) * number / (count + 1)
    at = min(bisect_left(one.days, day), len(one.days) - 1)
    axes.annotate(
        str(number),
        (one.days[at], one.retention[at]),
        color="white",
        fontsize=7,
        fontweight="bold",
        ha="center",
        va="center",
        bbox={"boxstyle": "circle,pad=0.25", "facecolor": colour, "edgecolor": "white", "linewidth": 0.8},
    )
