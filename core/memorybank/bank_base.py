"""What every part of a bank stands on: whose it is, its zone, and how it reads times and texts."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from memorybank.clock import to_utc
from memorybank.errors import InvalidInputError
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy
from memorybank.intake import redacted
from memorybank.runtime import Running, Runtime

Time = datetime | str


class BankBase(Running):
    """An owner in a store. See ``MemoryBank``."""

    def __init__(
        self,
        runtime: Runtime,
        owner: str,
        *,
        zone: ZoneInfo,
        language: str | None,
        curve: ForgettingCurve,
        policy: ForgettingPolicy,
    ) -> None:
        self._runtime = runtime
        self._owner = owner
        self._zone = zone
        self._language = language
        self._curve = curve
        self._policy = policy

    def __repr__(self) -> str:
        return f"{type(self).__name__}(owner={self._owner!r}, timezone={self._zone.key!r})"

    @property
    def owner(self) -> str:
        """Whose memory this is."""
        return self._owner

    @property
    def timezone(self) -> str:
        """The IANA zone whose midnights separate the days."""
        return self._zone.key

    @property
    def language(self) -> str | None:
        """ "en", "zh", or None where it is found out from the texts."""
        return self._language

    @property
    def curve(self) -> ForgettingCurve:
        """How memories fade."""
        return self._curve

    @property
    def policy(self) -> ForgettingPolicy:
        """What follows from fading."""
        return self._policy

    def _now(self, now: Time | None) -> datetime:
        return to_utc(self._runtime.clock() if now is None else now, self._zone, "now")

    def _text(self, text: object) -> str:
        if not isinstance(text, str):
            raise InvalidInputError(f"text must be a string, not {type(text).__name__}")
        if not text.strip():
            raise InvalidInputError("text is blank; there is nothing to remember")
        return redacted(text, self._runtime.redact)

    def _yesterday(self, now: datetime) -> date:
        return now.astimezone(self._zone).date() - timedelta(days=1)

    def _day(self, value: object, what: str) -> date:
        """A local day from a date, a datetime or an ISO 8601 text of either."""
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        if isinstance(value, str) and len(value.strip()) == len("YYYY-MM-DD"):
            try:
                return date.fromisoformat(value.strip())
            except ValueError as error:
                raise InvalidInputError(
                    f"{what}={value!r} is not a date; give a date or 'YYYY-MM-DD'"
                ) from error
        if not isinstance(value, str | datetime):
            raise InvalidInputError(f"{what} must be a date, not {type(value).__name__}")
        return to_utc(value, self._zone, what).astimezone(self._zone).date()
