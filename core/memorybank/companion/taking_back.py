"""Taking back the last turn of a session: its messages go, and what was remembered of them goes too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memorybank.bank import MemoryBank
from memorybank.models import Erased, Level, Memory, Message


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What the user had said, and how much went."""

    words: str
    erased: Erased


def last_turn(bank: MemoryBank, session: str) -> list[Message]:
    """The user's last message in a session, and all that followed it; empty if the user said nothing there."""
    said = bank.history(session, role="user", last=1)
    if not said:
        return []
    size = 8
    while True:
        tail = bank.history(session, last=size)
        found = [one for one in tail if one.position >= said[0].position]
        if len(found) < len(tail) or len(tail) < size:
            return found
        size *= 4


def take_back(bank: MemoryBank, session: str) -> TakenBack | None:
    """Destroy the last turn, as if it had never been said; None if there is none.

    The memory made of it goes with its messages, and summaries that may quote it are emptied and written anew by
    the next ``consolidate``. What it had credited stays credited: the records keep neither when a memory was used
    before that, nor what its links weighed, so it could not be put back as it was.
    """
    turn = last_turn(bank, session)
    if not turn:
        return None
    ids = {message.id for message in turn}
    made = [memory.id for memory in _near(bank, turn) if ids.intersection(memory.sources)]
    return TakenBack(turn[0].text, bank.delete(made))


def _near(bank: MemoryBank, turn: Sequence[Message]) -> list[Memory]:
    """Turns of about that time; they are few, whatever the bank holds."""
    times = [message.at for message in turn if message.at is not None]
    return bank.memories(levels=[Level.TURN], since=min(times), until=max(times))
