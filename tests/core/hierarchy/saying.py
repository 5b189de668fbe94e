"""Short ways to say something on a day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memorybank.bank import MemoryBank
from memorybank.models import Message

NOW = datetime(2026, 2, 1, 9, tzinfo=UTC)

OpenBank = Callable[..., MemoryBank]


def say(
    bank: MemoryBank, day: int, words: str, reply: str = "I see.", hour: int = 9, session: str = "s"
) -> list[Message]:
    """One exchange on a day of January 2026 (days beyond 31 run on)."""
    at = datetime(2026, 1, 1, hour, tzinfo=UTC) + timedelta(days=day - 1)
    return bank.add(
        [{"role": "user", "content": words}, {"role": "assistant", "content": reply}], session=session, at=at
    )
