"""Running an evaluation: conversations into banks, questions asked, ranks and times noted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memorybank.bank import MemoryBank
from memorybank.errors import EmbeddingError
from memorybank.evaluation.cases import Case, Question
from memorybank.evaluation.datasets import Report
from memorybank.evaluation.memo import MemoEmbedder, MemoReranker
from memorybank.evaluation.metrics import DEPTH, Answered, ranks_of
from memorybank.interchange import ImportRecord, load
from memorybank.models import Level, Recalled
from memorybank.retrieval.settings import RetrievalSettings
from memorybank.store import MemoryStore

Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it, and of how much (0: not known)."""

OWN_WORDS = frozenset({Level.TURN, Level.NOTE})


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, answered: where its evidence was, how long recall took, what the context held.

    ``seconds`` of a recall of the default length with the query's vector at hand; ``embedding`` seconds for
    that vector. ``tokens`` of the default context, and ``shown``: the share of the evidence that it holds.
    """

    answered: Answered
    seconds: float
    embedding: float
    tokens: int
    shown: float


@contextmanager
def temporary_store(
    embedder: MemoEmbedder | None,
    retrieval: RetrievalSettings | None = None,
    *,
    folder: Path | None = None,
    reranker: MemoReranker | None = None,
) -> Iterator[MemoryStore]:
    """A store that is gone afterwards. No Chroma: these banks are small, and compared exactly in any case."""
    with TemporaryDirectory(prefix="memorybank-eval-") as made:
        place = folder or Path(made)
        with MemoryStore.open(
            place,
            chroma=False,
            embedder=embedder,
            retrieval=retrieval,
            reranker=reranker,
            synchronous="normal",
        ) as store:
            yield store


def fill(store: MemoryStore, case: Case, report: Report, progress: Progress) -> MemoryBank:
    """The conversation as a bank of the store, in UTC, session by session."""
    bank = store.bank(case.owner, timezone="UTC")
    done = 0
    for records in case.sessions().values():
        add(bank, records, report)
        done += len(records)
        progress(f"storing {case.owner}", done, len(case.records))
    if store.embedder is not None and bank.stats().unembedded:
        raise EmbeddingError("the embedder failed while the conversation was stored; nothing was measured")
    return bank


def add(bank: MemoryBank, records: Sequence[ImportRecord], report: Report) -> None:
    """Records of one session, as an import adds them."""
    loaded = load(iter(records), lambda _: bank, batch=len(records) + 1)
    for problem in loaded.problems:
        report(problem)


def handed_over(recalled: Sequence[Recalled]) -> list[tuple[str, ...]]:
    """For each rank the messages whose words are there: those of turns; of a summary, none."""
    return [one.memory.sources if one.memory.level in OWN_WORDS else () for one in recalled]


def ask(
    bank: MemoryBank,
    case: Case,
    question: Question,
    embedder: MemoEmbedder | None,
    *,
    reinforce: bool = False,
    reranker: MemoReranker | None = None,
) -> Asked:
    """Put a question with evidence to its bank."""
    now = case.asked_at(question)
    deep = handed_over(bank.recall(question.text, DEPTH, now=now, reinforce=False))
    ranks = tuple(ranks_of(way, deep) for way in question.evidence)
    start = time.perf_counter()
    bank.recall(question.text, now=now, reinforce=reinforce)
    seconds = time.perf_counter() - start
    context = bank.context(question.text, now=now, reinforce=False)
    inside = handed_over(context.recalled)
    shown = max(
        sum(rank is not None for rank in ranks_of(way, inside)) / len(way) for way in question.evidence
    )
    cost = 0.0 if embedder is None else embedder.query_seconds.get(question.text, 0.0)
    if reranker is not None:
        seconds += reranker.seconds.get(question.text, 0.0)  # its scores were there from the deep recall
    return Asked(Answered(question.qid, question.category, ranks), seconds, cost, context.tokens, shown)


def evaluate(
    cases: Iterable[Case],
    embedder: MemoEmbedder | None,
    *,
    retrieval: RetrievalSettings | None = None,
    reranker: MemoReranker | None = None,
    reinforce: bool = False,
    consolidate: bool = False,
    report: Report = lambda _: None,
    progress: Progress = lambda *_: None,
) -> list[Asked]:
    """Each conversation into a bank of its own, each answerable question put to it, in order.

    ``reinforce`` credits what each recall returns. ``consolidate`` first writes the daily summaries.
    """
    asked = []
    with temporary_store(embedder, retrieval, reranker=reranker) as store:
        for case in cases:
            questions = [one for one in case.questions if one.evidence]
            if not questions:
                continue
            bank = fill(store, case, report, progress)
            if consolidate:
                bank.consolidate(now=case.asked_at(questions[0]))
            bank.recall(questions[0].text, now=case.asked_at(questions[0]), reinforce=False)  # arrays loaded
            for number, question in enumerate(questions, 1):
                asked.append(ask(bank, case, question, embedder, reinforce=reinforce, reranker=reranker))
                progress(f"asking {case.owner}", number, len(questions))
    return asked
