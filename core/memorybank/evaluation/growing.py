"""Growth: the same questions asked of one bank as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memorybank.errors import InvalidInputError
from memorybank.evaluation.cases import Case, pooled
from memorybank.evaluation.datasets import Report
from memorybank.evaluation.distractors import Copies, memory_texts, sessions
from memorybank.evaluation.memo import MemoEmbedder
from memorybank.evaluation.metrics import mean_measures
from memorybank.evaluation.results import latency
from memorybank.evaluation.running import Progress, add, ask, fill
from memorybank.runtime import Search
from memorybank.store import MemoryStore


@dataclass(frozen=True, slots=True)
class Grown:
    """A bank of ``memories`` (of which ``altered`` are copies with words altered) and what recall does in it."""

    memories: int
    altered: int
    measures: dict[str, float]
    latency_ms: dict[str, float]


@dataclass(frozen=True, slots=True)
class Growth:
    """The sizes in order; whose questions were asked; the mean cosine of altered copies and originals."""

    asked_of: tuple[str, ...]
    sizes: tuple[Grown, ...]
    near: float | None


def grow(
    cases: Sequence[Case],
    embedder: MemoEmbedder | None,
    sizes: Sequence[int],
    *,
    seed: int,
    search: Search,
    report: Report,
    progress: Progress,
) -> Growth:
    """Questions of the conversations that fit into the smallest size; the others are distractors.

    At least one conversation is asked about, at least one is not. Raises InvalidInputError for fewer than two.
    """
    if len(cases) < 2:
        raise InvalidInputError(
            "growth needs a file with two conversations or more: one to ask, others around it"
        )
    asked = _first(cases, min(sizes))
    target = pooled(asked, "grown")
    copies = None if embedder is None else Copies(embedder, seed)
    more = sessions(cases[len(asked) :], "grown", seed)
    found, altered = [], 0
    with (
        TemporaryDirectory(prefix="memorybank-eval-") as made,
        MemoryStore.open(
            Path(made),
            chroma=False if search == "exact" else None,
            embedder=copies,
            search=search,
            synchronous="normal",
        ) as store,
    ):
        bank = fill(store, target, report, progress)
        held = bank.stats().total
        for size in sorted(sizes):
            while held < size:
                records, pairs = next(more)
                if copies is not None:
                    copies.copied(pairs)
                part = records[: size - held]
                add(bank, part, report)
                more_held = len(memory_texts(part))
                held, altered = held + more_held, altered + more_held * bool(pairs)
                progress("storing distractors", held, max(sizes))
            held = bank.stats().total
            if search != "exact":
                store.flush()
            questions = [one for one in target.questions if one.evidence]
            bank.recall(
                questions[0].text, now=target.asked_at(questions[0]), reinforce=False
            )  # arrays loaded
            rows = []
            for number, question in enumerate(questions, 1):
                rows.append(ask(bank, target, question, copies))
                progress(f"asking among {held}", number, len(questions))
            found.append(Grown(held, altered, mean_measures(one.answered for one in rows), latency(rows)))
    return Growth(tuple(case.owner for case in asked), tuple(found), None if copies is None else copies.near)


def _first(cases: Sequence[Case], size: int) -> list[Case]:
    asked: list[Case] = []
    held = 0
    for case in cases[:-1]:
        held += len(case.records)
        if asked and held > size:
            break
        asked.append(case)
    return asked
