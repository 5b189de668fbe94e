"""Storing what can be stored of a turn: a message that is refused costs neither the others nor the turn.

A redaction may raise for one message, or one may not be what a message has to be. ``MemoryBank.add`` stores all or
nothing, which is right for a caller who can correct it, and wrong for a framework's hook, which cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memorybank.bank import MemoryBank
from memorybank.clock import zone_of
from memorybank.errors import InvalidInputError, StoreError
from memorybank.intake import to_messages
from memorybank.models import Message


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was ``stored``, and what was not: the positions in what was given, and ``why`` (kinds of errors)."""

    stored: tuple[Message, ...]
    refused: tuple[int, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def error(self) -> InvalidInputError | None:
        """What to report, without a word of the messages; None if all are stored."""
        if not self.refused:
            return None
        return InvalidInputError(
            f"{len(self.refused)} of {len(self.stored) + len(self.refused)} messages are refused "
            f"({', '.join(self.why)}) and not stored; the others are. See to the redaction (redact=)"
        )


def accept(bank: MemoryBank, messages: Sequence[Message], session: str) -> Accepted:
    """Store these messages in order, in one transaction, without those that are refused.

    Raises StoreError if nothing can be stored at present, and what the first refusal raised if every message is
    refused: then the redaction itself may be what fails, and trying again may help.
    """
    try:
        return Accepted(tuple(bank.add(messages, session=session)))
    except StoreError:
        raise
    except (
        Exception
    ):  # a redaction may raise anything; raised again unless it is only some messages that are refused
        refused = {i: why for i, one in enumerate(messages) if (why := _refusal(bank, one)) is not None}
        good = [one for i, one in enumerate(messages) if i not in refused]
        if not refused or not good:
            raise
        stored = bank.add(good, session=session)
    return Accepted(tuple(stored), tuple(refused), tuple(sorted(set(refused.values()))))


def _refusal(bank: MemoryBank, message: Message) -> str | None:
    """The kind of error with which a message is refused before anything is stored; None if it is taken."""
    runtime = bank.runtime
    try:
        to_messages([message], at=runtime.clock(), zone=zone_of(bank.timezone), redact=runtime.redact)
    except Exception as error:  # noqa: BLE001 - whatever a redaction raises is a refusal, told by its kind
        return type(error).__name__
    return None
