"""What is new in an agent's message list, and what of it belongs in memory: pure functions of messages and ids.

The list is not append-only: a summariser replaces it inside a run, tools and other middleware add to it. So the
place is kept as ids of the last messages that were dealt with, never as an index.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_memorybank._convert import is_spoken

_REMEMBERED = 16  # ids kept: one would do, were the last message never removed


@dataclass(frozen=True)
class Cursor:
    """Where a thread stands. ``seen``: ids of the last messages dealt with; ``asked``: ids of the user's turn."""

    session: str
    seen: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()

    def to_state(self) -> dict[str, object]:
        """As plain data, which every checkpointer can keep."""
        return {"session": self.session, "seen": list(self.seen), "asked": list(self.asked)}

    @classmethod
    def from_state(cls, state: object) -> Cursor | None:
        """The inverse; None for anything else."""
        if not isinstance(state, dict) or not isinstance(state.get("session"), str):
            return None
        return cls(state["session"], tuple(state.get("seen", ())), tuple(state.get("asked", ())))


def opening_turn(messages: Sequence[BaseMessage], cursor: Cursor | None) -> list[BaseMessage]:
    """At the start of a run: what came since the last one.

    The user's words are those after the last reply, and those of an earlier turn that could not be stored. In a
    thread that is new to us, what stands before them is history (or examples) that some client passes in with
    every call: it is not this user's new turn and left alone.
    """
    start = _end_of_replies(messages)
    known = None if cursor is None else _unsettled(messages, cursor)
    asked = cursor.asked if cursor is not None else ()
    fresh = messages[start:] if known is None else known
    trailing = {id(message) for message in messages[start:]}
    return [
        message
        for message in fresh
        if is_spoken(message)
        and (not isinstance(message, HumanMessage) or id(message) in trailing or message.id in asked)
    ]


def replies(messages: Sequence[BaseMessage], cursor: Cursor, *, last: bool) -> list[BaseMessage]:
    """During a run: what the model and the tools said since, and the user's turn if it is still to be stored.

    A message of a user's that appears inside a run was put there by the framework and is left alone. A call
    whose results are still to come waits for them (unless this is the ``last`` look), so that the transcript
    never holds one without the other.
    """
    fresh = _unsettled(messages, cursor)
    if fresh is None:
        fresh = messages[_last_human(messages) + 1 :]
    if not last:
        fresh = fresh[: _first_unanswered(fresh)]
    return [
        message
        for message in fresh
        if is_spoken(message) and (not isinstance(message, HumanMessage) or message.id in cursor.asked)
    ]


def name_of(message: BaseMessage) -> str:
    """The message's id, or what stands for one where the graph left it blank: its kind and words."""
    if message.id and message.id.strip():
        return message.id
    words = f"{message.type}\0{message.text}".encode("utf-8", "surrogatepass")
    return f"blank#{blake2b(words, digest_size=12).hexdigest()}"


def moved(cursor: Cursor, stored: Sequence[BaseMessage]) -> Cursor:
    """The cursor after these messages."""
    ids = (*cursor.seen, *(name_of(message) for message in stored))
    return Cursor(cursor.session, ids[-_REMEMBERED:], cursor.asked)


def user_turn(messages: Sequence[BaseMessage], asked: Collection[str]) -> list[BaseMessage]:
    """The user's messages of the present turn: the last run of those asked, or where they are gone the last one."""
    found: list[BaseMessage] = []
    for message in reversed(messages):
        if isinstance(message, HumanMessage) and message.id in asked:
            found.append(message)
        elif found and isinstance(message, AIMessage | ToolMessage):
            break
    if found:
        return found[::-1]
    end = _last_human(messages)
    return [] if end < 0 else [messages[end]]


def answer_to(messages: Sequence[BaseMessage], asked: Collection[str]) -> str:
    """What the model said in the present turn."""
    turn = user_turn(messages, asked)
    start = next((i + 1 for i in range(len(messages) - 1, -1, -1) if turn and messages[i] is turn[-1]), 0)
    return "\n".join(str(m.text) for m in messages[start:] if isinstance(m, AIMessage) and m.text)


def _unsettled(messages: Sequence[BaseMessage], cursor: Cursor) -> Sequence[BaseMessage] | None:
    """What follows the last message dealt with; if none of those is there, what begins with the user's turn."""
    for i in range(len(messages) - 1, -1, -1):
        if name_of(messages[i]) in cursor.seen:
            return messages[i + 1 :]
    return next((messages[i:] for i, message in enumerate(messages) if message.id in cursor.asked), None)


def _end_of_replies(messages: Sequence[BaseMessage]) -> int:
    for i in range(len(messages) - 1, -1, -1):
        if isinstance(messages[i], AIMessage | ToolMessage):
            return i + 1
    return 0


def _last_human(messages: Sequence[BaseMessage]) -> int:
    for i in range(len(messages) - 1, -1, -1):
        if isinstance(messages[i], HumanMessage) and is_spoken(messages[i]):
            return i
    return -1


def _first_unanswered(messages: Sequence[BaseMessage]) -> int:
    """Where the first call stands whose results are not all there; the length if there is none."""
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    for i, message in enumerate(messages):
        if isinstance(message, AIMessage) and any(call["id"] not in answered for call in message.tool_calls):
            return i
    return len(messages)
