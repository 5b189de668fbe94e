"""What a session shows: the transcript only grows, and a reset or a rewrite of it is one more message in it.

A framework's chat engine resets its history, or sets it to another one. What was said stays said: the messages
and the memories made of them remain, and a mark (a system message without words) tells what the session shows
from there on: no earlier message (a reset), or these ones (a rewrite), and everything that follows the mark.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memorybank.bank import MemoryBank
from memorybank.models import Message

_MARK = "memorybank-shows:"
# Ids are spelled in letters, so that a redaction of long numbers leaves them alone.
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
_DIGITS = str.maketrans("abcdefghijklmnop", "0123456789abcdef")
_FIRST_READ = 64  # messages; most windows of a prompt are shorter


@dataclass(frozen=True, slots=True)
class Shown:
    """The end of what a session shows, oldest first. ``head`` are the system messages it begins with, where
    the messages do not reach back to its beginning (``whole`` is False)."""

    messages: tuple[Message, ...]
    head: tuple[Message, ...] = ()
    whole: bool = True


def new_id() -> str:
    """A random id of a message."""
    return uuid.uuid4().hex.translate(_LETTERS)


def mark(ids: Sequence[str] = ()) -> Message:
    """The message that says: from here on show these earlier messages, and what follows."""
    spelled = json.dumps(list(ids)).encode().hex().translate(_LETTERS)
    return Message("system", "", id=new_id(), payload=_MARK + spelled)


def marked(message: Message) -> list[str] | None:
    """The ids that a mark lists; None for any other message."""
    if message.payload is None or not message.payload.startswith(_MARK):
        return None
    return [str(one) for one in json.loads(bytes.fromhex(message.payload[len(_MARK) :].translate(_DIGITS)))]


def shown(messages: Sequence[Message]) -> list[Message]:
    """What a whole transcript shows: the marks carried out, and left out."""
    found: list[Message] = []
    by_id: dict[str | None, Message] = {}
    for message in messages:
        ids = marked(message)
        if ids is None:
            found.append(message)
            by_id[message.id] = message
        else:
            found = [by_id[one] for one in ids if one in by_id]
    return found


def read(bank: MemoryBank, session: str) -> list[Message]:
    """Everything that the session shows, oldest first."""
    return shown(bank.history(session))


def read_end(bank: MemoryBank, session: str, enough: Callable[[Sequence[Message]], bool]) -> Shown:
    """The end of what the session shows, long enough for ``enough``, or all of it.

    Cost grows with what is returned, not with the session.
    """
    size = _FIRST_READ
    while True:
        tail = bank.history(session, last=size)
        if len(tail) < size:
            return Shown(tuple(shown(tail)))
        marks = [i for i, message in enumerate(tail) if marked(message) is not None]
        if marks and marked(tail[marks[-1]]):
            return Shown(tuple(read(bank, session)))
        if marks:
            return Shown(tuple(tail[marks[-1] + 1 :]))
        if enough(tail):
            break
        size *= 4
    system = bank.history(session, role="system")
    if any(marked(message) is not None for message in system):
        if any(marked(message) for message in system):
            return Shown(tuple(read(bank, session)))
        last = max(i for i, message in enumerate(system) if marked(message) is not None)
        return Shown(tuple(tail), _leading(system[last + 1 :], system[last].position + 1), whole=False)
    return Shown(tuple(tail), _leading(system, 0), whole=False)


def _leading(system: Sequence[Message], position: int) -> tuple[Message, ...]:
    """Those that stand one after another from a position on."""
    return tuple(message for i, message in enumerate(system) if message.position == position + i)


def reset(bank: MemoryBank, session: str) -> None:
    """Let the session show nothing; its messages and memories stay."""
    if read_end(bank, session, bool).messages:
        bank.add([mark()], session=session)


def rewrite(bank: MemoryBank, session: str, messages: Sequence[Message]) -> list[Message]:
    """Let the session show exactly these messages, with as little writing as possible; returns them as stored.

    Messages are the same if role, name, text and payload are. What was stored before, shown or not, is not
    stored again; what is no longer shown stays in the transcript. One transaction; twice is once.
    """
    stored = bank.history(session)
    before = shown(stored)
    order = _matched(stored, before, [_redacted(bank, one) for one in messages], messages)
    if order[: len(before)] == before and not any(one.position >= 0 for one in order[len(before) :]):
        added = order[len(before) :]
        return before + (bank.add(added, session=session) if added else [])
    fresh = [one for one in order if one.position < 0]
    stored = bank.add([*fresh, mark([one.id or "" for one in order])], session=session)
    by_id = {one.id: one for one in stored}
    return [by_id.get(one.id, one) for one in order]


def _matched(
    stored: Sequence[Message], before: Sequence[Message], keys: Sequence[Message], given: Sequence[Message]
) -> list[Message]:
    """For each message the stored one that equals it, what is shown before what is not; else a new one."""
    visible = {one.id for one in before}
    pool: dict[tuple[str | None, ...], deque[Message]] = defaultdict(deque)
    for one in [*before, *(one for one in stored if one.id not in visible and marked(one) is None)]:
        pool[_key(one)].append(one)
    found = [pool[_key(key)].popleft() if pool[_key(key)] else None for key in keys]
    return [old or replace(new, id=new.id or new_id()) for old, new in zip(found, given, strict=True)]


def _redacted(bank: MemoryBank, message: Message) -> Message:
    redact = bank.runtime.redact
    if redact is None:
        return message
    return replace(
        message,
        text=redact(message.text),
        payload=None if message.payload is None else redact(message.payload),
    )


def _key(message: Message) -> tuple[str | None, ...]:
    return (message.role, message.name, message.text, message.payload)
