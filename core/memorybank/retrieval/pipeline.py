"""From a query to the memories that answer it: candidates, stages, order. Pure: arrays in, arrays out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError
from memorybank.retrieval import signals
from memorybank.retrieval.candidates import Candidates, DenseSearch, Floats, Rows, gather
from memorybank.retrieval.corpus import Corpus
from memorybank.retrieval.query import Query, make_query
from memorybank.retrieval.settings import LEXICAL, Floor, RetrievalSettings

__all__ = ["Query", "Ranking", "make_query", "rank"]


@dataclass(frozen=True)
class Ranking:
    """The best rows, best first, with their scores; ``parts[stage]`` are aligned with them and add up to them.

    ``similarities`` are cosines (0 without vectors), ``retentions`` R (1 where none was given). ``evidence`` is
    what the floor looks at: absolute, so it may be compared between queries, which scores may not.
    """

    rows: Rows
    scores: Floats
    similarities: Floats
    retentions: Floats
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
    retention: NDArray[np.float64] | NDArray[np.float32] | None = None,
    rank_weight: float = 0.0,
    activation: NDArray[np.float64] | NDArray[np.float32] | None = None,
    dense: DenseSearch | None = None,
    min_score: float | Literal["auto"] | None = None,
    embedder: str = "",
) -> Ranking:
    """The ``k`` best memories for ``query``.

    ``allowed`` (n,) masks what may be recalled (levels, times, session, archived); None: all but the archived.
    ``retention`` and ``activation`` (n,) lie in 0..1; ``rank_weight`` is the policy's. Without resident vectors
    ``dense`` searches them; without either, or without a query vector, recall is lexical.
    ``min_score``: a least score; ``"auto"``: nothing at all unless there is evidence, by the floor of
    ``embedder`` (its name).
    """
    if k < 0:
        raise InvalidInputError(f"k is {k}; give 0 or more")
    eligible = corpus.alive & (~corpus.archived if allowed is None else allowed)
    if k == 0 or not eligible.any():
        return _empty()
    if query.refers_to is not None:
        query = _placed(query, corpus, eligible)
    candidates = gather(query, corpus, settings, eligible, dense)
    if len(candidates) == 0:
        return _empty()
    parts = _parts(query, corpus, settings, candidates)
    if settings.on("retention") and retention is not None and rank_weight:
        parts["retention"] = (settings.retention * rank_weight * retention[candidates.rows]).astype(
            np.float32
        )
    if settings.on("activation") and activation is not None:
        parts["activation"] = (settings.activation * activation[candidates.rows]).astype(np.float32)
    scores = np.zeros(len(candidates), dtype=np.float32)
    for part in parts.values():
        scores += part
    order = np.argsort(-scores, kind="stable")  # of equals the earlier row, whatever was searched
    floor = settings.floor(embedder if query.vector is not None else LEXICAL)
    evidence = _evidence(query, corpus, floor, candidates)
    if min_score == "auto":
        if evidence[order[: floor.looks_at]].max() < floor.threshold:
            order = order[:0]
    elif min_score is not None:
        order = order[scores[order] >= min_score]
    order = order[:k]
    rows = candidates.rows[order]
    return Ranking(
        rows,
        scores[order],
        candidates.similarity[order],
        np.ones(rows.shape[0], dtype=np.float32) if retention is None else retention[rows].astype(np.float32),
        evidence[order],
        {name: part[order] for name, part in parts.items()},
    )


def _placed(query: Query, corpus: Corpus, eligible: NDArray[np.bool_]) -> Query:
    """The query with the day of the first or the last talk among the days that it names."""
    days = corpus.day[eligible]
    day = int(days.min() if query.refers_to == "first" else days.max())
    return replace(query, days=(*query.days, (day, day)))


def _parts(
    query: Query, corpus: Corpus, settings: RetrievalSettings, candidates: Candidates
) -> dict[str, Floats]:
    s = settings
    parts: dict[str, Floats] = {}
    if s.on("dense"):
        parts["dense"] = s.cosine * candidates.dense
    if s.on("lexical"):
        parts["lexical"] = s.bm25 * candidates.lexical
    if s.on("context"):
        parts["context"] = s.context * candidates.surrounding
    if s.on("date"):
        parts["date"] = _date(query, corpus, s, candidates)
    if s.on("session"):
        parts["session"] = s.session * signals.sessions(corpus, candidates, s.session_best)
    if s.on("association"):
        parts["association"] = s.association * signals.neighbours(
            candidates, s.association_steps, s.association_decay
        )
    if s.on("reply"):
        parts["reply"] = s.reply * signals.replies(corpus, candidates)
    if s.on("form"):
        parts["form"] = s.question * signals.questions(corpus, candidates) + s.length * signals.lengths(
            corpus, candidates, s.length_cap
        )
    if s.on("links"):
        parts["links"] = s.links * signals.linked(corpus, candidates, s.damping, s.link_steps)
    if s.on("speaker"):
        parts["speaker"] = _speaker(query, corpus, s, candidates, parts)
    return {name: part.astype(np.float32, copy=False) for name, part in parts.items()}


def _speaker(
    query: Query,
    corpus: Corpus,
    settings: RetrievalSettings,
    candidates: Candidates,
    parts: dict[str, Floats],
) -> Floats:
    signal = signals.speakers(query, corpus, candidates)
    if len(query.named) != 1:
        return signal
    if query.only_days and settings.on("date"):
        return signal * np.float32(settings.only_days / 4)  # of the day's rows theirs come first
    others = np.zeros_like(signal)
    for part in parts.values():
        others += part
    agreement = signals.agreement(signal, others, settings.agreement)
    return signal * np.float32(settings.speaker * agreement)


def _date(query: Query, corpus: Corpus, settings: RetrievalSettings, candidates: Candidates) -> Floats:
    part = np.zeros(len(candidates), dtype=np.float32)
    if query.days:
        said = signals.said_on(query, corpus, candidates)
        part += settings.date * said
        part += settings.mention * signals.points_at(query, corpus, candidates)
        if query.only_days:
            much = signals.lengths(corpus, candidates, settings.salience_cap) / math.log1p(
                settings.salience_cap
            )
            part += (said > 0) * (settings.only_days + settings.salience * much)
    if query.asks_when:
        part += settings.when * signals.tells_when(corpus, candidates)
    return part


def _evidence(query: Query, corpus: Corpus, floor: Floor, candidates: Candidates) -> Floats:
    evidence: Floats = floor.similarity * candidates.similarity + floor.context * candidates.surrounding
    if query.days:
        weight = 1.0 if query.only_days else floor.date
        evidence = evidence + weight * signals.said_on(query, corpus, candidates)
    return evidence.astype(np.float32)


def _empty() -> Ranking:
    none = np.zeros(0, dtype=np.float32)
    return Ranking(np.zeros(0, dtype=np.int64), none, none, none, none, {})
