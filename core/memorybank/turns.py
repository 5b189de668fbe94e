"""Turns: how messages become memories.

In a chat the unit is the exchange: what a user said and the reply to it (MemoryBank, section 2). Where named people
talk, each message is a unit of its own. The user's words are a memory at once; the reply completes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from memorybank.context import strip_context
from memorybank.models import Message
from memorybank.records.memories import Features
from memorybank.retrieval.indexing import index_terms
from memorybank.text.dates import find_dates

SPOKEN = frozenset({"user", "assistant"})
"""Roles whose messages are remembered; the others stay in the transcript only."""

# A reply that comes later than this is no answer but a new start (our choice).
REPLY_WITHIN = timedelta(hours=12)
_MENTION_SPAN_DAYS = 366 * 2


@dataclass(frozen=True, slots=True)
class Open:
    """The latest turn of a session, if a reply may complete it: its place in the records, what it says so far."""

    key: int
    revised: int
    id: str
    text: str
    sources: tuple[str, ...]
    began: datetime
    ended: datetime
    speaker: str | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A turn to store. ``completes`` is the open turn that it replaces, if any."""

    text: str
    sources: tuple[str, ...]
    began: datetime
    ended: datetime
    speaker: str | None
    position: int
    completes: Open | None = None
    starter: str = "user"


def spoken(message: Message) -> str:
    """What a message adds to a memory: its words, without recalled context that a framework echoed; or ""."""
    if message.role not in SPOKEN:
        return ""
    return strip_context(message.text).strip()


def wordless(message: Message) -> bool:
    """Whether a user said something without words (a picture): what answers it answers nothing before it.

    A message that held nothing but recalled context is not one: the question it was put beside is still open.
    """
    return message.role == "user" and not message.text.strip()


def line(message: Message, words: str) -> str:
    """A line of a memory's text: ``speaker: words``."""
    return f"{message.name or message.role}: {words}"


def draft_turns(messages: Sequence[Message], open_turn: Open | None) -> list[Draft]:
    """The turns that these messages of one session begin or complete, in order.

    Messages are in the order of the transcript, with ``at``, ``id`` and ``position`` set.
    """
    drafts: list[Draft] = []
    current: Draft | None = None
    if open_turn is not None:
        o = open_turn
        current = Draft(o.text, o.sources, o.began, o.ended, o.speaker, -1, completes=o)
    fresh = False  # whether ``current`` differs from what is stored
    for message in messages:
        words = spoken(message)
        if wordless(message):
            if current is not None and fresh:
                drafts.append(current)
            current, fresh = None, False
        if not words or message.at is None or message.id is None:
            continue
        if message.role == "assistant" and current is not None and _answers(message, current):
            current = replace(
                current,
                text=f"{current.text}\n{line(message, words)}",
                sources=(*current.sources, message.id),
                ended=max(current.ended, message.at),
            )
            fresh = True
            continue
        if current is not None and fresh:
            drafts.append(current)
        current = Draft(
            line(message, words),
            (message.id,),
            message.at,
            message.at,
            message.name,
            message.position,
            starter=message.role,
        )
        fresh = True
    if current is not None and fresh:
        drafts.append(current)
    return drafts


def _answers(message: Message, turn: Draft) -> bool:
    return turn.starter == "user" and message.at is not None and message.at - turn.ended <= REPLY_WITHIN


def features(text: str, at: datetime, zone: ZoneInfo) -> Features:
    """What recall reads of a memory's text: terms, and the days that the words point at, seen from ``at``."""
    hashes, counts = index_terms(text)
    local = at.astimezone(zone)
    spans = {
        (span.first.toordinal(), span.last.toordinal())
        for span in find_dates(text, local)
        if _useful(span.first, span.last)
    }
    mentions = np.array(sorted(spans), dtype=np.int32).reshape(-1, 2)
    return Features(hashes, counts, mentions)


def _useful(first: date, last: date) -> bool:
    return (last - first).days <= _MENTION_SPAN_DAYS
