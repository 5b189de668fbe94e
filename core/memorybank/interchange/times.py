"""Times as files write them. A time without a zone stays naive: local time in the bank's zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

_DAY = re.compile(r"\s*(\d{4})\s*[-/.年]\s*(\d{1,2})\s*[-/.月]\s*(\d{1,2})\s*日?\s*")
_CLOCK = re.compile(r"\s*(?:\([^)]{1,12}\)\s*)?(\d{1,2}):(\d{2})(?::(\d{2}))?\s*")
_SPOKEN = re.compile(
    r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([A-Za-z]{3,9})\.?,?\s+(\d{4})\s*",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MILLISECONDS_FROM = 1e11  # as seconds this is the year 5138: larger numbers are milliseconds


def parse_day(text: str) -> date | None:
    """``2023-04-27``, ``2023/4/27``, ``2023.4.27``, ``2023年4月27日``; None when it is no day."""
    match = _DAY.fullmatch(text)
    if match is None:
        return None
    try:
        return date(*(int(part) for part in match.groups()))
    except ValueError:
        return None


def parse_slashed(text: str) -> datetime | None:
    """``2023/05/20 (Sat) 02:21`` (LongMemEval); weekday and clock (else 09:00) optional, or None."""
    match = _DAY.match(text)
    day = parse_day(match.group()) if match else None
    if match is None or day is None:
        return None
    rest = text[match.end() :]
    if not rest.strip():
        return datetime.combine(day, time(9))
    clock = _CLOCK.fullmatch(rest)
    if clock is None:
        return None
    try:
        hour, minute, second = (int(part or 0) for part in clock.groups())
        return datetime.combine(day, time(hour, minute, second))
    except ValueError:
        return None


def parse_spoken(text: str) -> datetime | None:
    """``1:56 pm on 8 May, 2023`` (LoCoMo); None if malformed."""
    match = _SPOKEN.fullmatch(text)
    if match is None:
        return None
    hour, minute, half, day, month, year = match.groups()
    if not 1 <= int(hour) <= 12 or month[:3].lower() not in _MONTHS:
        return None
    afternoon = 12 if half.lower() == "p" else 0
    try:
        number = _MONTHS.index(month[:3].lower()) + 1
        return datetime(int(year), number, int(day), int(hour) % 12 + afternoon, int(minute))  # noqa: DTZ001 - the file names no zone
    except ValueError:
        return None


def parse_time(value: Any) -> datetime | None:
    """ISO 8601 text, or seconds or milliseconds since the epoch (number or digits); None if it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
        try:
            value = float(text)
        except ValueError:
            return parse_slashed(text)
    if isinstance(value, int | float):
        try:
            return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
        except (ValueError, OverflowError, OSError):
            return None
    return None


def steps(start: datetime, count: int, step: timedelta) -> list[datetime]:
    """``count`` ascending times from ``start``, ``step`` apart or closer, so that all stay on the same day.

    Files give one time for a whole session; order within it must be strict, and the day must not change.
    """
    midnight = datetime.combine(start.date(), time.max, start.tzinfo)
    step = min(step, (midnight - start) / max(count, 1))
    return [start + index * step for index in range(count)]
