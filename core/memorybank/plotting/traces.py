"""Retention over time as numbers, and in the terminal as text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rich.cells import cell_len
from rich.text import Text

from memorybank.errors import InvalidInputError
from memorybank.forgetting import ForgettingCurve


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


def outlook(
    label: str,
    curve: ForgettingCurve,
    strength: int,
    since: datetime,
    *,
    now: datetime,
    days: float,
    points: int = 120,
) -> Trace:
    """Retention over the coming ``days`` if the memory is not recalled meanwhile; day 0 is ``now``. Pure.

    ``since``: when it was last recalled, or happened. Times are aware.
    """
    if days <= 0:
        raise InvalidInputError(f"days is {days:g}; give more than 0")
    ahead = [days * step / points for step in range(points + 1)]
    retained = [curve.retention(strength, now - since + timedelta(days=one)) for one in ahead]
    return Trace(label, tuple(ahead), tuple(retained), strength > 1)


def retention_lines(
    traces: Sequence[Trace], *, width: int = 72, height: int = 12, day: str = "day {n:.0f}"
) -> list[Text]:
    """The traces as lines of text, ``width`` columns at most: 1 at the top, 0 at the bottom, days along.

    ``day`` names the first and the last day below the axis.

    Recalled memories are drawn with ``●`` and the others with ``·``; where both fall, the recalled one shows.
    """
    columns = max(width - 6, 10)
    height = max(height, 4)
    first = min((one.days[0] for one in traces), default=0.0)
    last = max((one.days[-1] for one in traces), default=1.0)
    cells: dict[tuple[int, int], bool] = {}
    for one in sorted(traces, key=lambda one: one.recalled):
        for column in range(columns):
            at = first + (last - first) * column / max(columns - 1, 1)
            if one.days[0] <= at <= one.days[-1]:
                row = round((1 - _at(one, at)) * (height - 1))
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
    begin, end = f"     {day.format(n=first)}", day.format(n=last)
    gap = 5 + columns - cell_len(begin) - cell_len(end)
    scale = f"{begin}{' ' * gap}{end}" if gap >= 5 else begin
    lines.append(Text(scale, style="dim", no_wrap=True))
    return lines


def _style(recalled: bool | None) -> str:
    return "" if recalled is None else "bold cyan" if recalled else "red"


def _at(one: Trace, day: float) -> float:
    """Retention at the last point that is not after ``day``."""
    return one.retention[max(bisect_right(one.days, day) - 1, 0)]


def value_at(one: Trace, day: float) -> float | None:
    """Retention on a day of the trace, to the point before it; None before its first and after its last day."""
    return _at(one, day) if one.days[0] <= day <= one.days[-1] else None
