"""Spans of days: the calendar arithmetic behind the days that a text names.

A span is its first and last day, both included. Weeks begin on Monday; seasons are the meteorological ones of
the northern half of the earth. A day, month or season without a year is the latest that has begun by the
reference day: memories are asked about the past.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Span = tuple[date, date]
Needs = Literal["", "next", "previous"]
Spread = Callable[[date], Span]
"""What a phrase means, seen from a reference day; ValueError or OverflowError where there is no such day."""

Handler = Callable[["re.Match[str]"], Spread | None]
"""What a match means; None if it is no date after all."""

Rule = tuple[str, Handler, str]
"""A regular expression, its reader, and the words of which the text must have one for it to be worth a try."""

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase of a text that names days. ``end`` is exclusive.

    ``explicit``: names a calendar date ("7 May"), not a distance from today ("last week"). ``needs``: it
    means something only beside another ("the week before" ... "3 August"): the one that follows or
    precedes; ``after`` tells which side of that one is meant.
    """

    start: int
    end: int
    spread: Spread
    explicit: bool = False
    needs: Needs = ""
    after: bool = False


def days(reference: date, first: int, last: int | None = None) -> Span:
    """From ``first`` to ``last`` days after the reference day (negative: before)."""
    return reference + timedelta(first), reference + timedelta(first if last is None else last)


def week(reference: date, shift: int = 0) -> Span:
    """The reference day's week, Monday to Sunday, or the one ``shift`` weeks after it."""
    monday = reference + timedelta(7 * shift - reference.weekday())
    return monday, monday + timedelta(6)


def weekend(reference: date, shift: int = 0) -> Span:
    """Saturday and Sunday of the reference day's week, shifted by weeks."""
    first, last = week(reference, shift)
    return first + timedelta(5), last


def month(year: int, number: int) -> Span:
    """A calendar month; ``number`` may lie outside 1 to 12 and then counts into other years."""
    year, index = year + (number - 1) // 12, (number - 1) % 12
    return date(year, index + 1, 1), date(year, index + 1, monthrange(year, index + 1)[1])


def months(reference: date, shift: int) -> Span:
    """The calendar month ``shift`` months after that of the reference day."""
    return month(reference.year, reference.month + shift)


def year(number: int) -> Span:
    """A calendar year."""
    return date(number, 1, 1), date(number, 12, 31)


def season(number: int, name: str) -> Span:
    """A season of a year; winter begins in December of its year."""
    first = SEASONS[name]
    return month(number, first)[0], month(number, first + 2)[1]


def past_day(reference: date, month_number: int, day: int) -> Span:
    """The latest such day that is not after the reference day (29 February: of the latest leap year)."""
    for back in range(9):
        try:
            found = date(reference.year - back, month_number, day)
        except ValueError:
            if month_number == 2 and day == 29:
                continue
            raise
        if found <= reference:
            return found, found
    raise ValueError(f"no day {month_number}-{day}")


def past_month(reference: date, number: int) -> Span:
    """The latest such month that has begun by the reference day."""
    return month(reference.year - (number > reference.month), number)


def past_season(reference: date, name: str, *, finished: bool = False) -> Span:
    """The latest such season that has begun (or is over) by the reference day."""
    found = season(reference.year, name)
    while found[1 if finished else 0] >= reference + timedelta(0 if finished else 1):
        found = season(found[0].year - 1, name)
    return found


def past_weekday(reference: date, weekday: int, *, today: bool) -> Span:
    """The latest such weekday (Monday is 0) before the reference day, or on it if ``today``."""
    back = (reference.weekday() - weekday) % 7
    return days(reference, -(back if back or today else 7))


def next_weekday(reference: date, weekday: int, *, today: bool) -> Span:
    """The first such weekday after the reference day, or on it if ``today``."""
    ahead = (weekday - reference.weekday()) % 7
    return days(reference, ahead if ahead or today else 7)


def ago(reference: date, count: int, unit: str) -> Span:
    """``count`` days, weeks, months or years before: as exact as people are when they say so.

    Days are exact, weeks give the seven days around, months the calendar month, years the calendar year.
    Negative counts look ahead.
    """
    if unit == "day":
        return days(reference, -count)
    if unit == "week":
        return days(reference, -7 * count - 3, -7 * count + 3)
    if unit == "month":
        return months(reference, -count)
    return year(reference.year - count)


def lately(reference: date, count: int, unit: str) -> Span:
    """The ``count`` days, weeks, months or years that end with the reference day."""
    return days(reference, -count * {"day": 1, "week": 7, "month": 30, "year": 365}[unit], 0)


def part(span: Span, which: str) -> Span:
    """The early, middle or late third of a span, or its first or second half."""
    length = (span[1] - span[0]).days + 1
    cut = {
        "early": (0, 1 / 3),
        "middle": (1 / 3, 2 / 3),
        "late": (2 / 3, 1),
        "first": (0, 0.5),
        "second": (0.5, 1),
    }
    low, high = cut[which]
    return span[0] + timedelta(round(low * length)), span[0] + timedelta(round(high * length) - 1)
