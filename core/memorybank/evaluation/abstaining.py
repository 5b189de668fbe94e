"""Abstention: does recall give nothing where nothing was said, and everything where it was?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal

from memorybank.evaluation.cases import ASKED_AFTER, Case, Question
from memorybank.evaluation.datasets import Report
from memorybank.evaluation.memo import MemoEmbedder
from memorybank.evaluation.running import Progress, fill, temporary_store
from memorybank.retrieval.settings import LEXICAL, RetrievalSettings
from memorybank.store import MemoryStore

Kind = Literal["answerable", "wrong bank", "wrong bank, own names", "wrong person", "never said"]
KEPT = 0.95
"""Share of the answerable questions that ``min_score="auto"`` must keep."""
OWN = "answerable"
SCALES = (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2.0)
"""Thresholds of the floor, in parts of the calibrated one."""


@dataclass(frozen=True, slots=True)
class Put:
    """A question put to a bank at a time, and whether that bank can answer it."""

    kind: Kind
    owner: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Floored:
    """A floor: ``threshold`` (of evidence), and for each kind of question the share that got anything."""

    scale: float
    threshold: float
    answered: dict[str, float]


def plan(cases: Sequence[Case], *, seed: int) -> list[Put]:
    """Each bank's own answerable questions, and as many of other banks; also what is labelled unanswerable.

    A question of another bank is easy to refuse while it names people who are not here; so, where people have
    names, it is put a second time with the names of this bank's people ("own names"). LoCoMo's category 5 (a
    question about one person put to the other) stands as "wrong person": the words were said, by someone else,
    so a floor of relevance cannot tell. A file with one conversation has no wrong bank.
    """
    random = Random(seed)  # noqa: S311 - a simulation, nothing secret
    found: list[Put] = []
    for case in cases:
        own = [one for one in case.questions if one.evidence and one.category != "5"]
        others = [
            (other, one)
            for other in cases
            if other is not case
            for one in other.questions
            if one.evidence and one.category != "5"
        ]
        found += [Put("answerable", case.owner, one.text, case.asked_at(one)) for one in own]
        now = case.ended + ASKED_AFTER
        for other, one in random.sample(others, min(len(own), len(others))):
            found.append(Put("wrong bank", case.owner, one.text, now))
            renamed = _renamed(one.text, _people(other), _people(case))
            if renamed != one.text:
                found.append(Put("wrong bank, own names", case.owner, renamed, now))
        for one in case.questions:
            kind = _unanswerable(one)
            if kind is not None:
                found.append(Put(kind, case.owner, one.text, case.asked_at(one)))
    return found


def _people(case: Case) -> list[str]:
    return list(dict.fromkeys(one.message.name for one in case.records if one.message.name))


def _renamed(text: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    """The text with the people of one bank called by the names of another's, first for first."""
    for name, own in zip(theirs, ours, strict=False):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", own, text)
    return text


def _unanswerable(question: Question) -> Kind | None:
    if question.category == "5":
        return "wrong person"
    return None if question.evidence else "never said"


def floors(
    cases: Sequence[Case],
    embedder: MemoEmbedder | None,
    *,
    seed: int,
    scales: Sequence[float] = SCALES,
    report: Report,
    progress: Progress,
) -> list[Floored]:
    """For each scale of the calibrated floor the share of the questions that got anything with ``"auto"``.

    Scale 1 is the floor as it stands.
    """
    settings = RetrievalSettings()
    name = LEXICAL if embedder is None else embedder.name
    floor = settings.floor(name)
    everything = plan(cases, seed=seed)
    still = everything
    found = []
    with TemporaryDirectory(prefix="memorybank-eval-") as made:
        with temporary_store(embedder, folder=Path(made)) as store:
            for case in cases:
                fill(store, case, report, progress)
        for number, scale in enumerate(sorted(scales), 1):
            scaled = replace(floor, threshold=floor.threshold * scale)
            retrieval = replace(settings, floors={**settings.floors, name: scaled})
            with temporary_store(embedder, retrieval, folder=Path(made)) as store:
                # What a floor leaves out a higher one leaves out too.
                still = [one for one in still if _answers(store, one)]
            found.append(Floored(scale, scaled.threshold, _shares(everything, still)))
            progress("floors", number, len(scales))
    return found


def _answers(store: MemoryStore, put: Put) -> bool:
    bank = store.bank(put.owner)
    return bool(bank.recall(put.text, 1, now=put.at, min_score="auto", reinforce=False))


def _shares(puts: Sequence[Put], answered: Sequence[Put]) -> dict[str, float]:
    asked, got = Counter(one.kind for one in puts), Counter(one.kind for one in answered)
    return {kind: got[kind] / count for kind, count in asked.items()}
