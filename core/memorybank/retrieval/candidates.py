"""Candidates: the rows worth ranking, and what is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memorybank.retrieval.corpus import Corpus
from memorybank.retrieval.lexical import Match
from memorybank.retrieval.query import Query
from memorybank.retrieval.settings import RetrievalSettings

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]

_DATED_SCANNED = 256  # rows of the named days whose similarity is looked up, at most
_LEAST_SPREAD = 0.05  # hits whose cosines lie closer together are alike and must not be torn apart
_MOST_TERMS = 32  # of a long query, coverage looks at the rarest
_FEW = 512  # rows allowed by a filter that are compared one by one rather than searched for


class DenseSearch(Protocol):
    """One query's vector search over the rows of a corpus whose vectors are not resident."""

    def search(self, vector: NDArray[np.float32], n: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows of the ``n`` memories most similar to the unit ``vector``, best first, and their cosines.

        Fewer only if the bank has no more. Rows that must not be recalled may be among them.
        """
        ...

    def similarities(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosines of the query and these rows (0 for a row without a vector)."""
        ...


@dataclass(frozen=True)
class Candidates:
    """The candidates' rows, ascending, and per row: cosine; cosine and BM25 scaled to 0..1; coverage.

    ``coverage`` is the share (0..1) of the idf of the query that a row holds, ``surrounding`` the share that it
    holds together with the turns around it. ``relevance`` (n + 1,) is, for every row of the corpus, what it
    lends to its neighbours: 0 for all but the candidates, and at -1. ``before`` and ``after`` (steps, c) are
    the rows of the turns 1, 2, … steps before and after each candidate, -1 beyond the session.
    """

    rows: Rows
    similarity: Floats
    dense: Floats
    lexical: Floats
    coverage: Floats
    surrounding: Floats
    relevance: Floats
    before: Rows
    after: Rows

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def own(self) -> Floats:
        """Relevance of the candidates themselves."""
        own: Floats = self.relevance[self.rows]
        return own


def gather(
    query: Query,
    corpus: Corpus,
    settings: RetrievalSettings,
    eligible: NDArray[np.bool_],
    dense: DenseSearch | None,
) -> Candidates:
    """The best of the dense and of the lexical search, the best of the named days, and the turns beside them.

    ``eligible`` (n,) masks the rows that may be recalled; no other row has any influence on the result, but for
    the document frequencies, which are those of all living rows.
    """
    n = len(corpus)
    match = corpus.lexical.match(query.terms, corpus.alive).rarest(_MOST_TERMS)
    lexical: Floats = np.where(eligible, match.scores, np.float32(0.0)).astype(np.float32)
    known = _Similarities(query, corpus, dense if settings.on("dense") else None, settings.on("dense"))
    near, near_similarity = known.best(settings.candidates, eligible)
    best = _top(lexical, settings.candidates) if settings.on("lexical") else near[:0]
    hits = [near, best[lexical[best] > 0]]
    if query.days and settings.on("date"):
        hits.append(_dated(query, corpus, settings, eligible, lexical, known))
    rows = _with_neighbours(np.concatenate(hits), corpus, eligible)
    similarity = known.of(rows)
    scaled = _scaled(similarity, near_similarity)
    top = float(lexical.max(initial=0.0))
    bm25: Floats = lexical[rows] / np.float32(top or 1.0)
    steps = max(settings.context_steps, settings.association_steps, 1)
    before, after = _along(corpus.previous, rows, steps), _along(corpus.following, rows, steps)
    around = np.concatenate([before[: settings.context_steps], after[: settings.context_steps]])
    coverage, surrounding = _coverage(match, eligible, rows, around)
    relevance = np.zeros(n + 1, dtype=np.float32)
    relevance[rows] = (
        settings.dense_share * settings.on("dense") * scaled
        + settings.lexical_share * settings.on("lexical") * bm25
    )
    return Candidates(rows, similarity, scaled, bm25, coverage, surrounding, relevance, before, after)


class _Similarities:
    """Cosines of the query, from resident vectors or from a search: the same answers from both."""

    def __init__(self, query: Query, corpus: Corpus, search: DenseSearch | None, wanted: bool) -> None:
        self._vector = query.vector if wanted else None
        self._search = search
        self._all: Floats | None = None
        if self._vector is not None and corpus.vectors is not None:
            self._all = corpus.vectors @ self._vector

    def best(self, n: int, eligible: NDArray[np.bool_]) -> tuple[Rows, Floats]:
        """The ``n`` most similar eligible rows, in no order."""
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if self._all is not None:
            masked = np.where(eligible, self._all, np.float32(-2.0))
            rows = _top(masked, n)
            rows = rows[masked[rows] > -2.0]
            return rows, self._all[rows]
        if self._vector is None or self._search is None:
            return nothing
        if np.count_nonzero(eligible) <= _FEW:
            rows = np.flatnonzero(eligible)
            similarity = self.of(rows)
            best = _top(similarity, n)
            return rows[best], similarity[best]
        asked = n
        while True:
            found, similarity = self._search.search(self._vector, asked)
            keep = eligible[found]
            if np.count_nonzero(keep) >= n or found.shape[0] < asked:
                return found[keep][:n], similarity[keep][:n]
            asked *= 4

    def of(self, rows: Rows) -> Floats:
        """Cosines of these rows; zeros where there are no vectors at all."""
        if self._all is not None:
            picked: Floats = self._all[rows]
            return picked
        if self._vector is None or self._search is None or rows.shape[0] == 0:
            return np.zeros(rows.shape[0], dtype=np.float32)
        return self._search.similarities(rows).astype(np.float32, copy=False)


def _top(values: Floats | NDArray[np.int32], n: int) -> Rows:
    """Positions of the ``n`` greatest values, in no order."""
    if values.shape[0] <= n:
        return np.arange(values.shape[0])
    return np.argpartition(values, values.shape[0] - n)[values.shape[0] - n :]


def _scaled(similarity: Floats, near: Floats) -> Floats:
    """Cosines on 0..1 between the last and the first of the dense hits, whatever the embedder's own scale.

    What lies below the last hit is 0: it is here for other reasons than its vector.
    """
    if near.shape[0] == 0:
        return np.zeros_like(similarity)
    low, high = float(near.min()), float(near.max())
    scaled: Floats = (np.maximum(similarity - low, 0.0) / max(high - low, _LEAST_SPREAD)).astype(np.float32)
    return scaled


def _along(chain: NDArray[np.int32], rows: Rows, steps: int) -> Rows:
    """Rows 1, 2, … ``steps`` further along a chain of neighbours, (steps, c); -1 beyond its end."""
    along = np.empty((steps, rows.shape[0]), dtype=np.int64)
    at: NDArray[np.int64] = chain[rows].astype(np.int64)
    for step in range(steps):
        along[step] = at
        if step + 1 < steps:
            at = np.where(at < 0, at, chain[at])
    return along


def _coverage(match: Match, eligible: NDArray[np.bool_], rows: Rows, around: Rows) -> tuple[Floats, Floats]:
    """The share of the query's idf that each row holds, alone and together with the rows ``around`` it."""
    total = float(match.idf.sum())
    if total == 0.0:
        none = np.zeros(rows.shape[0], dtype=np.float32)
        return none, none
    share = match.idf / np.float32(total)
    holds = match.holds(eligible)
    held = holds[rows]
    together = holds[around].any(axis=0) | held
    return held @ share, together @ share


def _with_neighbours(hits: Rows, corpus: Corpus, eligible: NDArray[np.bool_]) -> Rows:
    around = np.concatenate([hits, corpus.previous[hits], corpus.following[hits]])
    around = np.unique(around[around >= 0])
    rows: Rows = around[eligible[around]].astype(np.int64)
    return rows


def _dated(
    query: Query,
    corpus: Corpus,
    settings: RetrievalSettings,
    eligible: NDArray[np.bool_],
    lexical: Floats,
    known: _Similarities,
) -> Rows:
    """The best rows of the days that the query names, by when they were said or by what they point at."""
    inside = np.zeros(len(corpus), dtype=np.bool_)
    for first, last in query.days:
        inside |= (corpus.day >= first) & (corpus.day <= last)
        pointing = (corpus.mention_first <= last) & (corpus.mention_last >= first)
        inside[corpus.mention_row[pointing]] = True
    rows = np.flatnonzero(inside & eligible)
    if query.only_days:
        return rows[_top(corpus.lexical.lengths[rows], settings.candidates)]
    if rows.shape[0] > _DATED_SCANNED:
        rows = rows[_top(lexical[rows], _DATED_SCANNED)]
    if rows.shape[0] <= settings.dated_candidates:
        return rows
    top = float(lexical.max(initial=0.0)) or 1.0
    value = known.of(rows) + lexical[rows] / np.float32(top)
    return rows[_top(value, settings.dated_candidates)]
