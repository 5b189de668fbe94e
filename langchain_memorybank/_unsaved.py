"""Messages that could not be stored, kept until the next try.

``RunnableWithMessageHistory`` logs an error of ``add_messages`` and forgets the turn, and it usually makes a new
history object for every run. What failed is therefore kept beside the open store, not in the history object.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage

from langchain_memorybank._convert import to_message, with_id
from memorybank import MemoryBank, Message
from memorybank.records.database import Database

_MOST = 1_000  # messages kept of one session; the oldest go first


@dataclass
class _Kept:
    lock: threading.Lock = field(default_factory=threading.Lock)
    sessions: dict[tuple[str, str], list[tuple[BaseMessage, Message]]] = field(default_factory=dict)


# One entry per open store, gone with it: what is kept must outlive the history objects of single runs.
_KEPT: WeakKeyDictionary[Database, _Kept] = WeakKeyDictionary()


def outstanding(
    bank: MemoryBank, session: str, messages: Sequence[BaseMessage]
) -> list[tuple[BaseMessage, Message]]:
    """What failed before, then these messages, each under an id, so that any number of tries stores it once.

    A message object that failed before and is given again is the same message.
    """
    kept = _of(bank)
    with kept.lock:
        before = list(kept.sessions.get((bank.owner, session), ()))
    known = {id(message) for message, _ in before}
    fresh = [(m, with_id(to_message(m), uuid4().hex)) for m in messages if id(m) not in known]
    return [*before, *fresh]


def keep(bank: MemoryBank, session: str, items: Sequence[tuple[BaseMessage, Message]]) -> None:
    """Keep what could not be stored."""
    kept = _of(bank)
    with kept.lock:
        kept.sessions[(bank.owner, session)] = list(items)[-_MOST:]


def settle(bank: MemoryBank, session: str) -> None:
    """Everything is stored, or is not wanted any more."""
    kept = _of(bank)
    with kept.lock:
        kept.sessions.pop((bank.owner, session), None)


def _of(bank: MemoryBank) -> _Kept:
    return _KEPT.setdefault(bank.runtime.database, _Kept())
