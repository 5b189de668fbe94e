"""Simulated lives of a bank: which questions come up when, and what the talk itself calls to mind. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from random import Random

from memorybank.evaluation.cases import Case, Question, aware

YEAR = timedelta(days=365)
EXPONENT = 1.0
"""The question of rank r comes up in proportion to 1 / r: Zipf's law."""
CUE_EVERY = 16
"""The first turn of a session and every sixteenth after it call memories to mind, as the user's turns in a chat."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question at a time; ``again``: it has been asked before."""

    at: datetime
    question: Question
    again: bool


@dataclass(frozen=True, slots=True)
class Cue:
    """Words said at a time, which call memories to mind."""

    at: datetime
    text: str


def asks(case: Case, *, seed: int, count: int, span: timedelta = YEAR) -> list[Ask]:
    """``count`` questions spread evenly over ``span`` from the first message on, drawn by Zipf's law.

    Only questions whose evidence has all been said by then can come up. Which are the frequent ones is a
    shuffle by ``seed``; the same seed gives the same life.
    """
    random = Random(f"{seed}/{case.owner}")  # noqa: S311 - a simulation, nothing secret
    known = _known_from(case)
    ranked = [one for one in case.questions if one.qid in known]
    random.shuffle(ranked)
    first = min(aware(record.message.at) for record in case.records if record.message.at is not None)
    found: list[Ask] = []
    asked: set[str] = set()
    for number in range(1, count + 1):
        at = first + span * number / count
        open_ = [(1 / rank**EXPONENT, one) for rank, one in enumerate(ranked, 1) if known[one.qid] < at]
        if not open_:
            continue
        weights = list(accumulate(weight for weight, _ in open_))
        question = random.choices([one for _, one in open_], cum_weights=weights)[0]
        found.append(Ask(at, question, question.qid in asked))
        asked.add(question.qid)
    return found


def _known_from(case: Case) -> dict[str, datetime]:
    """For each answerable question when the last of its evidence was said (of the alternative known first)."""
    said = {one.message.id: aware(one.message.at) for one in case.records if one.message.at is not None}
    found = {}
    for question in case.questions:
        ways = [
            max(min(said[id_] for id_ in turn if id_ in said) for turn in way)
            for way in question.evidence
            if all(any(id_ in said for id_ in turn) for turn in way)
        ]
        if ways:
            found[question.qid] = min(ways)
    return found


def cues(case: Case, every: int = CUE_EVERY) -> list[list[Cue]]:
    """For each session but the first the turns that call what came before to mind, at the session's start."""
    found = []
    for records in list(case.sessions().values())[1:]:
        times = [aware(one.message.at) for one in records if one.message.at is not None]
        if times:
            found.append([Cue(min(times), one.message.text) for one in records[::every]])
    return found
