"""Whether consolidation has anything to do: asked after every turn, so it must cost next to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from memorybank.clock import day_bounds, to_micros
from memorybank.hierarchy.digesting import Digesting
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.hierarchy.writers import Quoting
from memorybank.records import banks, derived
from memorybank.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Done:
    """What the last complete run saw: the bank's revision when it began, and its last day."""

    rev: int
    until: date


def standing(runtime: Runtime, owner: str, until: date) -> Done | None:
    """The bank as a run that begins now sees it; None for an owner who has stored nothing."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
    return None if bank is None else Done(bank.rev, until)


def due(runtime: Runtime, owner: str, last: Done | None, until: date, now: datetime, zone: ZoneInfo) -> bool:
    """Whether a run for days up to ``until`` would write something that the run ``last`` did not.

    It would after a new day, after a change of an older day's turns or of a summary, after a deletion, and when a
    marked message has slid out of a session's window.
    """
    if last is None or last.until != until:
        return True
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        if bank is None or bank.rev == last.rev:
            return False
        before = to_micros(day_bounds(until, zone)[1])
        if bank.floor > last.rev or derived.touched(connection, bank.key, last.rev, before):
            return True
    settings = HierarchySettings()
    return Digesting(runtime, owner, zone, None, now, settings, Quoting(settings, runtime.counter)).due()
