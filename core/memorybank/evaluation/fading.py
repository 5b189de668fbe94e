"""What forgetting costs and saves: the same questions under every rule, asked at the end and through a year."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np

from memorybank.bank import MemoryBank
from memorybank.evaluation.cases import Case, Question
from memorybank.evaluation.lives import Ask, asks, cues
from memorybank.evaluation.metrics import RECALL_AT, Answered, mean_measures, ranks_of
from memorybank.evaluation.rules import OFF, Rule
from memorybank.evaluation.running import Progress, handed_over
from memorybank.evaluation.snapshots import Snapshots
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy, MemoryState, resolve_curve
from memorybank.models import Recalled, Status
from memorybank.store import MemoryStore

Credit = Literal["none", "all", "used", "evidence"]
CREDITS: tuple[Credit, ...] = ("none", "all", "used", "evidence")
"""What a recall in the simulated year credits: nothing; all it returned; what the answer drew on, as
``MemoryBank.reinforce(recalled, answer)`` finds out; the labelled evidence among it (an upper bound)."""

DRAWN_CREDITS: tuple[Credit, ...] = ("none", "all")
"""Where lots are drawn next to nothing survives to be credited: the finer distinctions are left out."""

SHOWN = 6
"""Memories that a recall hands over, and that may be credited: the default of ``recall``."""
FULL = ForgettingPolicy(rank_weight=1.0, curve=ForgettingCurve(timedelta(days=365_000)))
"""R at its full weight and about 1 for everything: from this order every soft rule's is worked out."""
FORGET_EVERY = timedelta(days=30)
_DEPTH = max(RECALL_AT)
EVERYTHING = 10_000
"""More than the candidates of any recall."""


@dataclass(frozen=True, slots=True)
class Faded:
    """A rule's outcome. ``measures`` over all questions, ``again`` over those asked before (year only).

    ``archived``: share of all memories that are archived at the end; ``unused_archived``: of those never
    credited; ``unused``: the share that never was.
    """

    rule: Rule
    reinforced: bool | Credit
    measures: dict[str, float]
    archived: float
    again: dict[str, float] | None = None
    unused: float | None = None
    unused_archived: float | None = None


def at_the_end(
    snapshots: Snapshots,
    cases: Sequence[Case],
    rules: Sequence[Rule],
    *,
    reinforced: bool,
    progress: Progress,
) -> list[Faded]:
    """Every question once, after the conversation, under each rule; results in the order of the rules.

    Unreinforced, nothing was recalled before. Reinforced, the talk itself has called memories to mind all
    along: each session's turns recalled (and credited) what came before, and each session began with ``forget``.
    Rules that archive nothing share one such past, that without any rule.
    """
    soft = [rule for rule in rules if not rule.archives]
    found = dict(zip(map(id, soft), _soft(snapshots, cases, soft, reinforced, progress), strict=True))
    hard = [rule for rule in rules if rule.archives]
    for number, rule in enumerate(hard, 1):
        found[id(rule)] = _hard(snapshots, cases, rule, reinforced)
        progress("archiving, reinforced" if reinforced else "archiving", number, len(hard))
    return [found[id(rule)] for rule in rules]


def _hard(snapshots: Snapshots, cases: Sequence[Case], rule: Rule, reinforced: bool) -> Faded:
    answered: list[Answered] = []
    total = archived = 0
    with snapshots.copy() as store:
        for case in cases:
            bank = store.bank(case.owner, policy=rule.policy)
            if reinforced:
                _talk(bank, case, archives=True)
            bank.forget(now=case.asked_at(case.questions[0]))
            answered += [_answer(bank, case, one) for one in case.questions if one.evidence]
            memories = bank.memories()
            total += len(memories)
            archived += sum(one.status is Status.ARCHIVED for one in memories)
    return Faded(rule, reinforced, mean_measures(answered), archived / max(total, 1))


def _soft(
    snapshots: Snapshots, cases: Sequence[Case], rules: Sequence[Rule], reinforced: bool, progress: Progress
) -> list[Faded]:
    """R enters the score as one more summand: each question is recalled once, and ordered anew for each rule."""
    answered: list[list[Answered]] = [[] for _ in rules]
    with snapshots.copy() as store:
        for case in cases:
            if reinforced:
                _talk(store.bank(case.owner, policy=OFF.policy), case, archives=False)
            bank = store.bank(case.owner, policy=FULL)
            questions = [one for one in case.questions if one.evidence]
            for number, question in enumerate(questions, 1):
                now = case.asked_at(question)
                recalled = bank.recall(question.text, EVERYTHING, now=now, reinforce=False)
                for rule, rows in zip(rules, answered, strict=True):
                    inside = handed_over(reordered(recalled, rule, now)[:_DEPTH])
                    ranks = tuple(ranks_of(way, inside) for way in question.evidence)
                    rows.append(Answered(question.qid, question.category, ranks))
                progress(f"ranking {case.owner}" + ", reinforced" * reinforced, number, len(questions))
    return [
        Faded(rule, reinforced, mean_measures(rows), 0.0) for rule, rows in zip(rules, answered, strict=True)
    ]


def reordered(recalled: Sequence[Recalled], rule: Rule, now: datetime) -> list[Recalled]:
    """What was recalled under ``FULL``, in the order in which a rule that archives nothing would recall it."""
    if not recalled:
        return []
    curve = resolve_curve(None, rule.policy)
    states = [MemoryState.of(one.memory) for one in recalled]
    elapsed = [max((now - state.since).total_seconds(), 0.0) for state in states]
    retained = curve.retentions([state.strength for state in states], elapsed)
    given = np.array([one.parts.get("retention", 0.0) for one in recalled])
    full = float(np.mean(given / [one.retention for one in recalled]))  # what a weight of 1 adds at R = 1
    scores = np.array([one.score for one in recalled]) - given + full * rule.policy.rank_weight * retained
    return [recalled[place] for place in np.argsort(-scores, kind="stable")]


def _answer(bank: MemoryBank, case: Case, question: Question) -> Answered:
    recalled = bank.recall(question.text, _DEPTH, now=case.asked_at(question), reinforce=False)
    inside = handed_over(recalled)
    return Answered(
        question.qid, question.category, tuple(ranks_of(way, inside) for way in question.evidence)
    )


def _talk(bank: MemoryBank, case: Case, *, archives: bool) -> None:
    for session in cues(case):
        if archives and session:
            bank.forget(now=session[0].at)
        for cue in session:
            bank.recall(cue.text, SHOWN, now=cue.at, until=cue.at, reinforce=True)


def through_a_year(
    snapshots: Snapshots,
    cases: Sequence[Case],
    rules: Sequence[Rule],
    credits_: Sequence[Credit],
    *,
    seed: int,
    count: int,
    progress: Progress,
) -> list[Faded]:
    """A year from each conversation's first message on, in which its questions come up again and again.

    ``count`` questions for each conversation, some often and most seldom (``lives.asks``), each put to what had
    been said by then; once a month ``forget``.
    """
    plans = [(case, asks(case, seed=seed, count=count)) for case in cases]
    found = []
    runs = [
        (rule, credit)
        for rule in rules
        for credit in credits_
        if rule.policy.draw is None or credit in DRAWN_CREDITS
    ]
    for number, (rule, credit) in enumerate(runs, 1):
        with snapshots.copy() as store:
            found.append(_year(store, plans, rule, credit))
        progress("years", number, len(runs))
    return found


def _year(
    store: MemoryStore, plans: Sequence[tuple[Case, Sequence[Ask]]], rule: Rule, credit: Credit
) -> Faded:
    every: list[Answered] = []
    again: list[Answered] = []
    total = archived = unused = unused_archived = 0
    for case, plan in plans:
        bank = store.bank(case.owner, policy=rule.policy)
        for ask, answered in _asked(bank, plan, credit, archives=rule.archives):
            every.append(answered)
            if ask.again:
                again.append(answered)
        memories = bank.memories()
        never = [one for one in memories if one.last_recalled is None]
        total, unused = total + len(memories), unused + len(never)
        archived += sum(one.status is Status.ARCHIVED for one in memories)
        unused_archived += sum(one.status is Status.ARCHIVED for one in never)
    return Faded(
        rule,
        credit,
        mean_measures(every),
        archived / max(total, 1),
        mean_measures(again),
        unused / max(total, 1),
        unused_archived / max(unused, 1),
    )


def _asked(
    bank: MemoryBank, plan: Sequence[Ask], credit: Credit, *, archives: bool
) -> list[tuple[Ask, Answered]]:
    found = []
    forgets_at = plan[0].at if plan else None
    for ask in plan:
        while archives and forgets_at is not None and forgets_at <= ask.at:
            bank.forget(now=forgets_at)
            forgets_at += FORGET_EVERY
        recalled = bank.recall(ask.question.text, _DEPTH, now=ask.at, until=ask.at, reinforce=False)
        inside = handed_over(recalled)
        ranks = tuple(ranks_of(way, inside) for way in ask.question.evidence)
        found.append((ask, Answered(ask.question.qid, ask.question.category, ranks)))
        _CREDITING[credit](bank, recalled[:SHOWN], ask)
    if archives and plan:
        bank.forget(now=plan[-1].at)
    return found


def _credit_nothing(bank: MemoryBank, recalled: Sequence[Recalled], ask: Ask) -> None:
    """A bank that is only read."""


def _credit_all(bank: MemoryBank, recalled: Sequence[Recalled], ask: Ask) -> None:
    bank.reinforce(recalled, now=ask.at)


def _credit_used(bank: MemoryBank, recalled: Sequence[Recalled], ask: Ask) -> None:
    bank.reinforce(recalled, ask.question.answer, now=ask.at)


def _credit_evidence(bank: MemoryBank, recalled: Sequence[Recalled], ask: Ask) -> None:
    evidence = {id_ for way in ask.question.evidence for turn in way for id_ in turn}
    bank.reinforce([one for one in recalled if evidence.intersection(one.memory.sources)], now=ask.at)


_CREDITING: dict[Credit, Callable[[MemoryBank, Sequence[Recalled], Ask], None]] = {
    "none": _credit_nothing,
    "all": _credit_all,
    "used": _credit_used,
    "evidence": _credit_evidence,
}
