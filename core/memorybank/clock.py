"""Time: aware datetimes at the border, integer microseconds (UTC) in storage, days in a bank's own zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError, quoted

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A day's margin at both ends keeps every conversion to a local zone inside datetime's own range.
_EARLIEST = datetime(1, 1, 3, tzinfo=UTC)
_LATEST = datetime(9999, 12, 29, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SLOT = 900  # seconds; zones change their offset on quarter hours


def system_clock() -> datetime:
    """The current time, aware, UTC."""
    return datetime.now(UTC)


def zone_of(name: str | None) -> ZoneInfo:
    """The IANA zone of that name; None means the machine's own.

    Raises InvalidInputError for a name that the zone database does not have.
    """
    if name is None:
        import tzlocal

        name = tzlocal.get_localzone_name() or "UTC"
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError) as error:
        raise InvalidInputError(
            f"timezone {quoted(name)} is not an IANA zone; give a name such as 'Europe/Berlin' or 'Asia/Shanghai'"
        ) from error


def to_utc(value: object, zone: ZoneInfo, what: str = "at") -> datetime:
    """An aware UTC datetime from a datetime or an ISO 8601 text; a naive one is taken in ``zone``.

    Raises InvalidInputError for other types, unreadable texts and years that cannot be converted.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise InvalidInputError(f"{what}={quoted(value)} is not an ISO 8601 date and time") from error
    if not isinstance(value, datetime):
        raise InvalidInputError(
            f"{what} must be a datetime or an ISO 8601 text, not {type(value).__name__}: {quoted(value)}"
        )
    try:
        moment = (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidInputError(f"{what}={quoted(value)} is outside the years 1 to 9999") from error
    if not _EARLIEST <= moment <= _LATEST:
        raise InvalidInputError(f"{what}={quoted(value)} is outside the years 1 to 9999 (a few days' margin)")
    return moment


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch of an aware datetime, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The aware UTC datetime of that many microseconds since the epoch."""
    return _EPOCH + timedelta(microseconds=micros)


def day_of(moment: datetime, zone: ZoneInfo) -> date:
    """The local day of an aware datetime."""
    return moment.astimezone(zone).date()


def day_bounds(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """When a local day begins and when the next one does (UTC). A day is 23 or 25 hours where clocks change."""
    try:
        begins = datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)
        ends = datetime.combine(day + timedelta(days=1), time(), tzinfo=zone).astimezone(UTC)
    except OverflowError as error:
        raise InvalidInputError(f"day={day} is at the edge of what dates can express") from error
    return begins, ends


def local_ordinals(seconds: NDArray[np.float64], zone: ZoneInfo) -> NDArray[np.int32]:
    """Local proleptic day ordinals of many times (seconds since the epoch); one zone look-up per quarter hour."""
    slots = np.floor(seconds / _SLOT).astype(np.int64)
    unique, inverse = np.unique(slots, return_inverse=True)
    days = np.empty(unique.shape[0], dtype=np.int32)
    for i, slot in enumerate(unique.tolist()):
        days[i] = local_ordinal(slot * _SLOT, zone)
    return days[inverse]


def local_ordinal(seconds: float, zone: ZoneInfo) -> int:
    """The local proleptic day ordinal of one time (seconds since the epoch)."""
    return (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).toordinal()
