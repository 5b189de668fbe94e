"""What was recalled for the turns in progress: in memory only.

It quotes other conversations, so it belongs neither into checkpoints, which outlive an erase, nor into the state
that LangGraph streams to clients. A turn that is resumed elsewhere, or after many others, recalls anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from memorybank import Context, MemoryBank

Turn = tuple[str, str, tuple[str, ...]]
"""Owner, session, ids of the user's messages."""


@dataclass(frozen=True)
class Held:
    """One turn's bank and what was recalled from it (None: not yet)."""

    bank: MemoryBank
    context: Context | None = None


class Recollections:
    """What is held by turn; the oldest go when there are more than ``most``. Safe to use from several threads."""

    def __init__(self, most: int = 1_024) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[Turn, Held] = OrderedDict()

    def put(self, turn: Turn, held: Held) -> None:
        """Hold what was recalled for a turn."""
        with self._lock:
            self._held[turn] = held
            self._held.move_to_end(turn)
            while len(self._held) > self._most:
                self._held.popitem(last=False)

    def get(self, turn: Turn) -> Held | None:
        """What was recalled for a turn, if it is still held."""
        with self._lock:
            return self._held.get(turn)

    def pop(self, turn: Turn) -> Held | None:
        """The same, and let go of it."""
        with self._lock:
            return self._held.pop(turn, None)

    def drop(self, owner: str) -> None:
        """Let go of everything of an owner."""
        with self._lock:
            for turn in [turn for turn in self._held if turn[0] == owner]:
                del self._held[turn]

    def __len__(self) -> int:
        with self._lock:
            return len(self._held)
