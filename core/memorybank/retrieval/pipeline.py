"""From a query to the memories that answer it: candidates, stages, order. Pure: arrays in, arrays out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError
from memorybank.retrieval import signals
from memorybank.retrieval.candidates import Candidates, DenseSearch, Eligible, Floats, Rows, gather
from memorybank.retrieval.corpus import Corpus
from memorybank.retrieval.query import Query, make_query
from memorybank.retrieval.settings import LEXICAL, STAGES, Floor, RetrievalSettings, Stage

__all__ = ["Query", "Ranking", "make_query", "rank"]


Retention = Callable[[Rows], NDArray[np.float64]]


@dataclass(frozen=True)
class Ranking:
    """The best rows, best first, with their scores; ``parts[stage]`` are aligned with them and add up to them.

    ``similarities`` are cosines (0 without vectors), ``retentions`` R (1 where none was given). ``evidence`` is
    what the floor looks at: absolute, so it may be compared between queries, which scores may not.
    """

    rows: Rows
    scores: Floats
    similarities: Floats
    retentions: NDArray[np.float64]
    evidence: Floats
    parts: Mapping[str, Floats]

    def __len__(self) -> int:
        return int(self.rows.shape[0])


def rank(
    query: Query,
    corpus: Corpus,
    settings: RetrievalSettings,
    *,
    k: int,
    allowed: NDArray[np.bool_] | None = None,
    retention: Retention | NDArray[np.float64] | NDArray[np.float32] | None = None,
    rank_weight: float = 0.0,
    activation: NDArray[np.float64] | NDArray[np.float32] | None = None,
    dense: DenseSearch | None = None,
    min_score: float | Literal["auto"] | None = None,
    embedder: str = "",
) -> Ranking:
    """The ``k`` best memories for ``query``.

    ``allowed`` (n,) masks what may be recalled (levels, times, session, archived); None: all but the archived.
    ``retention`` and ``activation`` (n,) lie in 0..1; ``retention`` may be a function of rows, asked only of those
    that come into question; ``rank_weight`` is the policy's. Without resident vectors ``dense`` searches them;
    without either, or without a query vector, recall is lexical.
    ``min_score``: a least score; ``"auto"``: nothing at all unless there is evidence, by the floor of
    ``embedder`` (its name).
    """
    if k < 0:
        raise InvalidInputError(f"k is {k}; give 0 or more")
    mask = corpus.alive & (~corpus.archived if allowed is None else allowed)
    eligible = Eligible.of(mask)
    if k == 0 or eligible.count == 0:
        return _empty()
    if query.refers_to is not None:
        query = _placed(query, corpus, mask)
    candidates = gather(query, corpus, settings, eligible, dense)
    if candidates is None:
        return _empty()
    said = signals.said_on(query, corpus, candidates) if query.days else None
    sheet = _stages(query, corpus, settings, candidates, said)
    if settings.on("retention") and retention is not None and rank_weight:
        sheet.add("retention", settings.retention * rank_weight, _of(retention, candidates.rows))
    if settings.on("activation") and activation is not None:
        sheet.add("activation", settings.activation, activation[candidates.rows])
    scores = sheet.total()
    order = (-scores).argsort(kind="stable")  # of equals the earlier row, whatever was searched
    floor = settings.floor(embedder if query.vector is not None else LEXICAL)
    order = order[: max(k, floor.looks_at)]
    evidence = _evidence(query, floor, candidates, said, order)
    if min_score == "auto":
        if evidence[: floor.looks_at].max() < floor.threshold:
            return _empty()
    elif min_score is not None:
        order = order[scores[order].astype(np.float64) >= min_score]
    order = order[:k]
    rows = candidates.rows[order]
    return Ranking(
        rows,
        scores[order],
        candidates.similarity[order],
        np.ones(rows.shape[0]) if retention is None else np.asarray(_of(retention, rows), dtype=np.float64),
        evidence[: rows.shape[0]],
        sheet.parts(order),
    )


class _Sheet:
    """What each stage adds to each of ``size`` candidates: one line a stage."""

    def __init__(self, size: int) -> None:
        self._names: list[str] = []
        self._lines: Floats = np.zeros((len(STAGES), size), dtype=np.float32)

    def add(self, stage: Stage, weight: float, signal: NDArray[np.floating] | None) -> None:
        """A line of ``weight`` times the signal; of zeros where there is none."""
        if signal is not None:
            np.multiply(signal, weight, out=self._lines[len(self._names)], casting="same_kind")
        self._names.append(stage)

    def total(self) -> Floats:
        """The sum of all lines so far."""
        total: Floats = self._lines[: len(self._names)].sum(axis=0)
        return total

    def parts(self, order: Rows) -> dict[str, Floats]:
        """The lines of some candidates by stage."""
        return dict(zip(self._names, self._lines[: len(self._names), order], strict=True))


def _placed(query: Query, corpus: Corpus, eligible: NDArray[np.bool_]) -> Query:
    """The query with the day of the first or the last talk among the days that it names."""
    days = corpus.day[eligible]
    day = int(days.min() if query.refers_to == "first" else days.max())
    return replace(query, days=(*query.days, (day, day)))


def _stages(
    query: Query, corpus: Corpus, settings: RetrievalSettings, candidates: Candidates, said: Floats | None
) -> _Sheet:
    s, sheet = settings, _Sheet(len(candidates))
    if s.on("dense"):
        sheet.add("dense", s.cosine, candidates.dense)
    if s.on("lexical"):
        sheet.add("lexical", s.bm25, candidates.lexical)
    if s.on("context"):
        sheet.add("context", s.context, candidates.surrounding)
    if s.on("date"):
        sheet.add("date", 1.0, _date(query, corpus, s, candidates, said))
    if s.on("session"):
        sheet.add("session", s.session, signals.sessions(corpus, candidates, s.session_best))
    if s.on("association"):
        lent = signals.neighbours(candidates, s.association_steps, s.association_decay)
        sheet.add("association", s.association, lent)
    if s.on("reply"):
        sheet.add("reply", s.reply, signals.replies(corpus, candidates))
    if s.on("form"):
        form = s.length * signals.lengths(corpus, candidates, s.length_cap)
        form += np.float32(s.question) * signals.questions(corpus, candidates)
        sheet.add("form", 1.0, form)
    if s.on("links"):
        linked = None
        if corpus.link_from.shape[0]:
            linked = signals.linked(corpus, candidates, s.damping, s.link_steps)
        sheet.add("links", s.links, linked)
    if s.on("speaker"):
        _speaker(query, corpus, s, candidates, sheet)
    return sheet


def _speaker(
    query: Query, corpus: Corpus, settings: RetrievalSettings, candidates: Candidates, sheet: _Sheet
) -> None:
    signal = weight = None
    if len(query.named) == 1:
        signal = signals.speakers(query.named[0], corpus, candidates)
        if query.only_days and settings.on("date"):
            weight = settings.only_days / 4  # of the day's rows theirs come first
        else:
            weight = settings.speaker * signals.agreement(signal, sheet.total(), settings.agreement)
    sheet.add("speaker", weight or 0.0, signal if weight else None)


def _date(
    query: Query, corpus: Corpus, settings: RetrievalSettings, candidates: Candidates, said: Floats | None
) -> Floats | None:
    if said is None and not query.asks_when:
        return None
    part = np.zeros(len(candidates), dtype=np.float32)
    if said is not None:
        part += settings.date * said
        part += settings.mention * signals.points_at(query, corpus, candidates)
        if query.only_days:
            cap = settings.salience_cap
            much = signals.lengths(corpus, candidates, cap) / np.float32(math.log1p(cap))
            part += (said > 0) * (settings.only_days + settings.salience * much)
    if query.asks_when:
        part += settings.when * signals.tells_when(corpus, candidates)
    return part


def _evidence(query: Query, floor: Floor, candidates: Candidates, said: Floats | None, rows: Rows) -> Floats:
    evidence: Floats = floor.similarity * candidates.similarity[rows]
    evidence += floor.context * candidates.surrounding[rows]
    if said is not None:
        evidence += (1.0 if query.only_days else floor.date) * said[rows]
    return evidence


def _empty() -> Ranking:
    none = np.zeros(0, dtype=np.float32)
    return Ranking(np.zeros(0, dtype=np.int64), none, none, np.zeros(0), none, {})


def _of(
    retention: Retention | NDArray[np.float64] | NDArray[np.float32], rows: Rows
) -> NDArray[np.float64] | NDArray[np.float32]:
    return retention(rows) if callable(retention) else retention[rows]
