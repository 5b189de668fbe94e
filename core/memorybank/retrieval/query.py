"""A query, analysed once: its terms, the days and the speakers that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError
from memorybank.retrieval.occasion import only_the_day
from memorybank.text.dates import find_dates
from memorybank.text.terms import hash_terms, terms

_WHEN = re.compile(
    r"\bwhen\b|\bhow long ago\b|\b(?:what|which) (?:day|date|month|year|time)\b"
    r"|什么时候|啥时候|何时|什么时间|多久|几号|几月|几点|哪一?天|哪个?月|哪一?年|什么日子|星期几|周几",
    re.IGNORECASE,
)
_FIRST_TALK = re.compile(
    r"\bfirst (?:ever )?(?:conversation|chat|talk|session|discussion)\b"
    r"|\bfirst time (?:that )?we (?:talked|chatted|spoke|met)\b|\bwhen we first (?:talked|chatted|spoke|met)\b"
    r"|第一次的?(?:对话|聊天|谈话|交谈|聊|说话|见面)|(?:最初|最开始|刚开始)(?:的时候)?(?:对话|聊|认识)|初次(?:对话|聊天|见面)",
    re.IGNORECASE,
)
_LAST_TALK = re.compile(
    r"\b(?:last|latest|previous) (?:conversation|chat|talk|session|discussion)\b"
    r"|\blast time (?:that )?we (?:talked|chatted|spoke|met)\b"
    r"|(?:上一?次|上回|最近一次)的?(?:对话|聊天|谈话|交谈|聊|说话|见面)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_HAN = re.compile(r"[\u3400-\u9fff]")
_SHORT_NAME = 3  # letters of the shortest short form that counts ("Mel" for Melanie)
_MOST_SPEAKERS = 64  # beyond, a name in the query says little and looking for all of them costs


@dataclass(frozen=True)
class Query:
    """What ranking reads of a query.

    ``vector`` unit float32 (d,) or None; ``terms`` uint64 (q,) unique hashes; ``days`` first and last local
    ordinal of each span of days that it names; ``asks_when``: it asks for a time; ``named``: codes of the
    speakers that it names; ``refers_to``: it speaks of the first or of the last talk as such; ``only_days``: it
    is about nothing but those days or that talk.
    """

    text: str
    vector: NDArray[np.float32] | None
    terms: NDArray[np.uint64]
    days: tuple[tuple[int, int], ...] = ()
    asks_when: bool = False
    named: tuple[int, ...] = ()
    refers_to: Literal["first", "last"] | None = None
    only_days: bool = False


def make_query(
    text: str, vector: NDArray[np.float32] | None, now: datetime, speakers: Sequence[str] = ()
) -> Query:
    """Analyse ``text``, asked at ``now`` (aware, in the bank's time zone). ``speakers`` are those of the corpus."""
    if now.tzinfo is None:
        raise InvalidInputError("now is a naive datetime; give an aware one, in the time zone of the bank")
    hashes, _ = hash_terms(terms(text))
    dates = find_dates(text, now)
    days = tuple(dict.fromkeys((span.first.toordinal(), span.last.toordinal()) for span in dates))
    spans = [(span.start, span.end) for span in dates]
    refers_to: Literal["first", "last"] | None = None
    if talk := _FIRST_TALK.search(text):
        refers_to = "first"
    elif talk := _LAST_TALK.search(text):
        refers_to = "last"
    if talk:
        spans.append(talk.span())
    named = named_speakers(text, speakers)
    asks_when = bool(_WHEN.search(text))
    only_days = bool(spans) and not asks_when
    if only_days:
        only_days = only_the_day(text, spans, [speakers[code].casefold() for code in named])
    return Query(text, vector, hashes, days, asks_when, named, refers_to, only_days)


def named_speakers(text: str, speakers: Sequence[str]) -> tuple[int, ...]:
    """Codes of the speakers that ``text`` names: in full, by the first name, or by a short form of it.

    Nobody is meant where fewer than two speak, or so many that it is a crowd.
    """
    if not 2 <= len(speakers) <= _MOST_SPEAKERS:
        return ()
    folded = text.casefold()
    words = {word.casefold() for word in _WORD.findall(text)}
    capitalised = {w.casefold() for w in _WORD.findall(text) if w[0].isupper() and len(w) >= _SHORT_NAME}
    return tuple(
        code
        for code, name in enumerate(speakers)
        if _is_named(name.casefold().strip(), folded, words, capitalised)
    )


def _is_named(name: str, folded: str, words: set[str], capitalised: set[str]) -> bool:
    if not name:
        return False
    if _HAN.search(name):
        return name in folded
    first = _WORD.match(name)
    if first is None:
        return name in folded
    return first[0] in words or any(first[0].startswith(word) for word in capitalised)
