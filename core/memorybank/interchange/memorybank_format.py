"""MemoryBank's release (MIT): ``{user: {"history": {date: [{"query", "response"}]}}}``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, time, timedelta
from typing import Any

from memorybank.interchange.source import Located
from memorybank.interchange.times import parse_day, steps
from memorybank.interchange.values import ImportOptions, ImportRecord, Item, Problem, Severity
from memorybank.models import Message

_FIRST = time(9)
_STEP = timedelta(minutes=1)
_SUMMARIES = ("summary", "personality", "overall_history", "overall_personality")
_ROLES = (("query", "user"), ("response", "assistant"))


def matches(value: Any) -> bool:
    """Whether this is one user's entry."""
    return isinstance(value, dict) and "history" in value


def parse(users: Iterable[Located], options: ImportOptions) -> Iterator[Item]:
    """The messages of every user, one session per date.

    Ids are ``DATE#INDEX/query`` and ``DATE#INDEX/response``; INDEX is the position in that date's list, so
    duplicated turns stay two turns. Times ascend from 09:00 in the bank's zone. Stored summaries and
    portraits are not messages: they are noted, and can be made again by consolidation.
    """
    seen: Counter[str] = Counter()
    for user in users:
        owner = str(user.key).strip()
        if options.owner is not None and owner != options.owner.strip():
            continue
        where = f"user {owner!r} (line {user.line})"
        if not owner:
            yield Problem(where, "the name is blank")
            continue
        if owner != user.key:
            yield Problem(where, "stray spaces around the name were dropped", Severity.NOTE)
        if not isinstance(user.value, dict) or not isinstance(user.value.get("history"), dict):
            yield Problem(where, "no history of the shape {date: [turns]}")
            continue
        seen[owner] += 1
        if seen[owner] > 1:
            yield Problem(
                where, "another user of the same name came before: kept in sessions of its own", Severity.NOTE
            )
        if any(user.value.get(part) for part in _SUMMARIES):
            yield Problem(where, "stored summaries and portraits are not messages: left out", Severity.NOTE)
        for label, turns in user.value["history"].items():
            yield from _day(owner, label.strip(), turns, seen[owner], f"user {owner!r}, {label.strip()}")


def _day(owner: str, label: str, turns: Any, copy: int, where: str) -> Iterator[Item]:
    day = parse_day(label)
    if day is None:
        yield Problem(where, "not a date of the form YYYY-MM-DD; its turns were left out")
        return
    if isinstance(turns, dict):
        turns = [turns]
    if not isinstance(turns, list):
        yield Problem(where, f"a list of turns was expected, not {type(turns).__name__}")
        return
    if not turns:
        yield Problem(where, "no turns on this day", Severity.NOTE)
    session = label if copy == 1 else f"{label}~{copy}"
    starts = steps(datetime.combine(day, _FIRST), len(turns), _STEP)
    reply = starts[1] - starts[0] if len(starts) > 1 else _STEP
    for index, (turn, start) in enumerate(zip(turns, starts, strict=True)):
        place = f"{where}, turn {index}"
        parts = _parts(turn)
        if parts is None:
            yield Problem(place, "a turn needs texts 'query' and 'response'")
            continue
        if not any(text.strip() for text in parts):
            yield Problem(place, "an empty turn")
        for (name, role), text, at in zip(_ROLES, parts, (start, start + reply / 3), strict=True):
            if text.strip():
                message = Message(role, text, at, f"{session}#{index}/{name}")
                yield ImportRecord(owner, session, message)


def _parts(turn: Any) -> tuple[str, str] | None:
    """Query and response of an object or a pair; a missing or null one is empty."""
    if isinstance(turn, dict):
        named = {str(key).strip().lower(): value for key, value in turn.items()}
        if not named.keys() & {"query", "response"}:
            return None
        pair = [named.get("query"), named.get("response")]
    elif isinstance(turn, list) and 1 <= len(turn) <= 2:
        pair = [*turn, None][:2]
    else:
        return None
    if not all(part is None or isinstance(part, str) for part in pair):
        return None
    return pair[0] or "", pair[1] or ""
