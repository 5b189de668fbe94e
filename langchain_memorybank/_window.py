"""The last messages of a session, cut so that chat models accept them."""

from __future__ import annotations

from collections.abc import Sequence

from memorybank import MemoryBank, Message, rewinding
from memorybank.hierarchy.window import recent


def last_messages(bank: MemoryBank, session: str, size: int) -> list[Message]:
    """At most ``size`` messages that begin with a user's and hold tool calls and results together.

    If the last exchange alone is longer than that, it is given whole.
    """
    end = rewinding.read_end(bank, session, lambda held: len(held) > 2 * size + 8 and bool(cut(held, size)))
    return cut(end.messages, size)


def cut(messages: Sequence[Message], size: int) -> list[Message]:
    """``last_messages`` of a list; empty if no user's message is in it."""
    kept = list(recent(messages, size))
    while kept and kept[0].role != "user":
        del kept[0]
    if kept:
        return kept
    start = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "user"), None)
    return [] if start is None else list(messages[start:])
