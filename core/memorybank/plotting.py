"""Pictures of forgetting: retention over time, in the terminal and as a PNG (extra ``plot``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from memorybank.errors import InvalidInputError, StoreError
from memorybank.forgetting import ForgettingCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RECALLED_COLOUR = "#1b6ca8"
_FADING_COLOUR = "#c0392b"
_CJK = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Microsoft YaHei",
    "SimHei",
    "Arial Unicode MS",
)


@dataclass(frozen=True, slots=True)
class Trace:
    """One memory's retention over time: ``days`` since the start of the plot, R in (0, 1] at each."""

    label: str
    days: tuple[float, ...]
    retention: tuple[float, ...]
    recalled: bool


def trace(
    label: str,
    curve: ForgettingCurve,
    began: datetime,
    recalls: Sequence[datetime],
    *,
    start: datetime,
    until: datetime,
    points: int = 240,
) -> Trace:
    """Retention from ``began`` to ``until``: S starts at 1, each recall adds 1 and sets t to 0. Pure.

    Times are aware. Both sides of each recall are among the points, so that the jump back to 1 shows.
    """
    if until <= began:
        raise InvalidInputError(f"until ({until.isoformat()}) must be later than began ({began.isoformat()})")
    span = until - began
    moments = {began + span * (step / points) for step in range(points + 1)}
    uses = sorted(recall for recall in recalls if began <= recall <= until)
    for use in uses:
        moments |= {use, use - timedelta(seconds=1)} if use > began else {use}
    days, retained = [], []
    for moment in sorted(moments):
        past = [use for use in uses if use <= moment]
        since = past[-1] if past else began
        days.append((moment - start) / timedelta(days=1))
        retained.append(curve.retention(1 + len(past), moment - since))
    return Trace(label, tuple(days), tuple(retained), bool(uses))


def retention_lines(traces: Sequence[Trace], *, width: int = 72, height: int = 12) -> list[Text]:
    """The traces as lines of text, ``width`` columns at most: 1 at the top, 0 at the bottom, days along.

    Recalled memories are drawn with ``●`` and the others with ``·``; where both fall, the recalled one shows.
    """
    columns = max(width - 6, 10)
    height = max(height, 4)
    first = min((one.days[0] for one in traces), default=0.0)
    last = max((one.days[-1] for one in traces), default=1.0)
    cells: dict[tuple[int, int], bool] = {}
    for one in sorted(traces, key=lambda one: one.recalled):
        for column in range(columns):
            day = first + (last - first) * column / max(columns - 1, 1)
            if one.days[0] <= day <= one.days[-1]:
                row = round((1 - _at(one, day)) * (height - 1))
                cells[row, column] = one.recalled
    lines = []
    for row in range(height):
        label = f"{1 - row / (height - 1):4.2f} "
        line = Text(label, style="dim", no_wrap=True)
        for column in range(columns):
            recalled = cells.get((row, column))
            line.append(" " if recalled is None else "●" if recalled else "·", _style(recalled))
        lines.append(line)
    axis = "─" * columns
    lines.append(Text(f"     {axis}", style="dim", no_wrap=True))
    begin, end = f"     day {first:.0f}", f"day {last:.0f}"
    scale = begin.ljust(5 + columns - len(end)) + end if columns >= len(begin) + len(end) else begin
    lines.append(Text(scale, style="dim", no_wrap=True))
    return lines


def _style(recalled: bool | None) -> str:
    return "" if recalled is None else "bold cyan" if recalled else "red"


def _at(one: Trace, day: float) -> float:
    """Retention at the last point that is not after ``day``."""
    low, high = 0, len(one.days)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if one.days[middle] <= day else (low, middle)
    return one.retention[low]


def plot_retention(
    traces: Sequence[Trace],
    path: str | Path,
    *,
    title: str = "Retention over time",
    threshold: float | None = None,
) -> Path:
    """Draw the traces into a PNG and return its path. ``threshold``: the R below which memories are archived.

    Needs no display. Labels whose characters no installed font has are replaced by numbers. Raises
    ``ImportError`` without matplotlib, naming the extra, and ``StoreError`` if the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "memorybank-core[plot]"') from error
    font = _cjk_font()
    figure = Figure(figsize=(9, 5.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, one in enumerate(traces, 1):
        _draw(axes, one, number, font)
    if threshold:
        axes.axhline(
            threshold, color="grey", linewidth=1, linestyle=":", label=f"archived below {threshold:g}"
        )
    axes.set(xlabel="days", ylabel="retention R", ylim=(0, 1.03), title=title)
    axes.set_xlim(left=min((one.days[0] for one in traces), default=0))
    axes.grid(alpha=0.25)
    legend = (
        None if not traces else figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    )
    if font and legend is not None:
        for text in legend.get_texts():
            text.set_fontfamily([font, "DejaVu Sans"])
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        raise StoreError(f"Cannot write the plot to {path}: {error.strerror or error}") from None
    return Path(path)


def _draw(axes: Axes, one: Trace, number: int, font: str | None) -> None:
    colour = _RECALLED_COLOUR if one.recalled else _FADING_COLOUR
    kind = "recalled" if one.recalled else "not recalled"
    label = one.label if font or not _CJK.search(one.label) else _readable(one.label) or f"memory {number}"
    label = label.replace("$", r"\$")
    axes.plot(
        one.days,
        one.retention,
        color=colour,
        linewidth=2 if one.recalled else 1.2,
        linestyle="-" if one.recalled else "--",
        alpha=0.9 if one.recalled else 0.7,
        label=f"{label} ({kind})",
    )


def _readable(label: str) -> str:
    """The part of a label before its first Chinese character: a date, if it begins with one."""
    return _CJK.split(label, maxsplit=1)[0].strip()


def _cjk_font() -> str | None:
    """The first installed font that has Chinese characters."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return next((name for name in _CJK_FONTS if name in installed), None)
