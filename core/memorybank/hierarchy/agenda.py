"""What there is to do: which days and which texts above them are missing or stale. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from memorybank.clock import day_of, from_micros
from memorybank.models import Level
from memorybank.records.derived import Derived, TurnMark

DAILY = (Level.DAY_EVENTS, Level.DAY_PORTRAIT)
OVERALL = {Level.DAY_EVENTS: Level.EVENTS, Level.DAY_PORTRAIT: Level.PORTRAIT}


@dataclass(frozen=True, slots=True)
class Day:
    """A day's turns: ids by time, when it began and ended (microseconds), and the weight of its turns."""

    day: date
    turns: tuple[str, ...]
    began: int
    ended: int
    weight: int


@dataclass(frozen=True, slots=True)
class Task:
    """A day, the levels of it to write, and what is there now."""

    day: Day
    held: Mapping[Level, Derived | None]


@dataclass(frozen=True, slots=True)
class Agenda:
    """Days to write, oldest first, and summaries whose day has no turns any more (or which are doubled)."""

    tasks: tuple[Task, ...]
    obsolete: tuple[Derived, ...]


def days_of(marks: Sequence[TurnMark], zone: ZoneInfo) -> dict[date, Day]:
    """Turns by local day."""
    by_day: dict[date, list[TurnMark]] = {}
    for mark in marks:
        by_day.setdefault(day_of(from_micros(mark.began), zone), []).append(mark)
    return {
        day: Day(
            day,
            tuple(mark.id for mark in held),
            min(mark.began for mark in held),
            max(mark.ended for mark in held),
            sum(mark.weight for mark in held),
        )
        for day, held in by_day.items()
    }


def unseen(day: Day, held: Derived | None) -> bool:
    """Whether a day's summary is missing, or was written without some of its turns, or with others."""
    if held is None or held.stale or set(held.sources) != set(day.turns):
        return True
    return held.position is not None and held.position != day.weight


def agenda(
    marks: Sequence[TurnMark], held: Sequence[Derived], zone: ZoneInfo, until: date, since: date | None = None
) -> Agenda:
    """The days from ``since`` to ``until`` (inclusive) whose summary or portrait has to be written."""
    days = days_of(marks, zone)
    known: dict[tuple[Level, date], Derived] = {}
    obsolete: list[Derived] = []
    for one in held:
        if one.level not in DAILY:
            continue
        place = (one.level, day_of(from_micros(one.began), zone))
        if place[1] not in days or place in known:
            obsolete.append(one)
        else:
            known[place] = one
    tasks = []
    for day in sorted(days):
        if day > until or (since is not None and day < since):
            continue
        found = {level: known.get((level, day)) for level in DAILY}
        needed = {level: one for level, one in found.items() if unseen(days[day], one)}
        if needed:
            tasks.append(Task(days[day], needed))
    return Agenda(tuple(tasks), tuple(obsolete))
