"""LongMemEval (Wu et al., ICLR 2025): per question a haystack of chat sessions, in the published JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from memorybank.interchange.source import Located
from memorybank.interchange.times import parse_slashed, steps
from memorybank.interchange.values import ImportOptions, ImportRecord, Item, Problem, Severity
from memorybank.models import Message

_STEP = timedelta(seconds=20)
_ROLES = ("user", "assistant", "system")


def matches(value: Any) -> bool:
    """Whether this is one question with its haystack."""
    return isinstance(value, dict) and "haystack_sessions" in value


def parse(questions: Iterable[Located], options: ImportOptions) -> Iterator[Item]:
    """Every haystack: owner = ``question_id``, session = its id, message id = ``SESSION#INDEX``.

    Labels for scoring (``answer_session_ids``, ``has_answer``) and the question itself are not messages.
    """
    for question in questions:
        if not matches(question.value):
            yield Problem(question.where, "not a question with 'haystack_sessions'")
            continue
        owner = question.value.get("question_id")
        if not isinstance(owner, str) or not owner.strip():
            yield Problem(question.where, "no 'question_id' to name the owner")
            continue
        if options.owner is None or owner == options.owner:
            yield from _haystack(owner, question.value)


def _haystack(owner: str, question: dict[str, Any]) -> Iterator[Item]:
    sessions = question["haystack_sessions"]
    if not isinstance(sessions, list):
        yield Problem(owner, "'haystack_sessions' is not a list")
        return
    names, dates = _column(question, "haystack_session_ids"), _column(question, "haystack_dates")
    seen: Counter[str] = Counter()
    for index, turns in enumerate(sessions):
        name = names[index] if index < len(names) and isinstance(names[index], str) else f"session_{index}"
        seen[name] += 1
        session = name if seen[name] == 1 else f"{name}~{seen[name]}"
        where = f"{owner}, session {session}"
        start = parse_slashed(str(dates[index])) if index < len(dates) else None
        if start is None:
            yield Problem(where, "its date is missing or not like '2023/05/20 (Sat) 02:21'; left out")
        elif not isinstance(turns, list):
            yield Problem(where, f"a list of turns was expected, not {type(turns).__name__}")
        else:
            for position, (turn, at) in enumerate(zip(turns, steps(start, len(turns), _STEP), strict=True)):
                place = f"{where}, turn {position}"
                if not isinstance(turn, dict) or turn.get("role") not in _ROLES:
                    yield Problem(place, "a turn needs 'role' (user or assistant) and 'content'")
                elif not isinstance(turn.get("content"), str) or not turn["content"].strip():
                    yield Problem(place, "no text", Severity.NOTE)
                else:
                    message = Message(turn["role"], turn["content"], at, f"{session}#{position}")
                    yield ImportRecord(owner, session, message)


def _column(question: dict[str, Any], name: str) -> list[Any]:
    value = question.get(name)
    return value if isinstance(value, list) else []
