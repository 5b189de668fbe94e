"""What is evaluated: conversations with labelled questions, as values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from memorybank.evaluation.metrics import Turn
from memorybank.interchange import ImportRecord

ASKED_AFTER = timedelta(days=1)
"""Questions are put this long after the last message, unless the file says when."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its evidence: alternatives, each a list of turns. No alternatives: unanswerable."""

    qid: str
    text: str
    category: str
    evidence: tuple[tuple[Turn, ...], ...]
    answer: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation, which becomes one bank, and the questions that are asked of it."""

    owner: str
    records: tuple[ImportRecord, ...]
    questions: tuple[Question, ...]

    @property
    def ended(self) -> datetime:
        """When its last message was said (aware; times without a zone are taken as UTC)."""
        return max(aware(record.message.at) for record in self.records if record.message.at is not None)

    def asked_at(self, question: Question) -> datetime:
        """When a question is put."""
        return question.at or self.ended + ASKED_AFTER

    def sessions(self) -> dict[str, list[ImportRecord]]:
        """The records by session, in order."""
        found: dict[str, list[ImportRecord]] = {}
        for record in self.records:
            found.setdefault(record.session, []).append(record)
        return found


def aware(moment: datetime) -> datetime:
    """The moment, in UTC where it names no zone."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def pooled(cases: Iterable[Case], owner: str = "everyone") -> Case:
    """All conversations as one: sessions and ids get the conversation's name in front, so that none collide."""
    records: list[ImportRecord] = []
    questions: list[Question] = []
    for case in cases:
        moved = prefixed(case, owner)
        records += moved.records
        # Each is asked when it was: relative days ("yesterday") would else be taken from another's end.
        questions += (replace(one, at=case.asked_at(one)) for one in moved.questions)
    return Case(owner, tuple(records), tuple(questions))


def prefixed(case: Case, owner: str) -> Case:
    """The conversation in ``owner``'s bank, under names that say where it came from."""

    def named(id_: str | None) -> str:
        return f"{case.owner}/{id_}"

    def turns(alternative: Sequence[Turn]) -> tuple[Turn, ...]:
        return tuple(frozenset(named(id_) for id_ in turn) for turn in alternative)

    records = tuple(
        ImportRecord(owner, named(one.session), replace(one.message, id=named(one.message.id)))
        for one in case.records
    )
    questions = tuple(
        replace(one, evidence=tuple(turns(alternative) for alternative in one.evidence))
        for one in case.questions
    )
    return Case(owner, records, questions)
