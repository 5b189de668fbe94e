"""The last messages of a session, cut so that chat models accept them."""

from __future__ import annotations

from collections.abc import Sequence

from memorybank import MemoryBank, Message
from memorybank.hierarchy.window import recent


def last_messages(bank: MemoryBank, session: str, size: int) -> list[Message]:
    """At most ``size`` messages that begin with a user's and hold tool calls and results together.

    If the last exchange alone is longer than that, it is given whole.
    """
    reach = 2 * size + 8  # wide enough for most exchanges; more is read if it was not
    while True:
        held = bank.history(session, last=reach)
        found = cut(held, size)
        if found or len(held) < reach:
            return found
        reach *= 4


def cut(messages: Sequence[Message], size: int) -> list[Message]:
    """``last_messages`` of a list; empty if no user's message is in it."""
    kept = list(recent(messages, size))
    while kept and kept[0].role != "user":
        del kept[0]
    if kept:
        return kept
    start = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "user"), None)
    return [] if start is None else list(messages[start:])
