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
from memorybank.similarity import cosines

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]

_DATED_SCANNED = 256  # rows of the named days whose similarity is looked up, at most
_LEAST_SPREAD = 0.05  # hits whose cosines lie closer together are alike and must not be torn apart
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
class Eligible:
    """The rows that may be recalled: their mask (n,), how many they are, and whether they are all."""

    mask: NDArray[np.bool_]
    count: int
    all: bool

    @classmethod
    def of(cls, mask: NDArray[np.bool_]) -> Eligible:
        """Counted once."""
        count = int(np.count_nonzero(mask))
        return cls(mask, count, count == mask.shape[0])


@dataclass(frozen=True)
class Candidates:
    """The candidates' rows, ascending, and per row: cosine; cosine and BM25 scaled to 0..1; the words around.

    ``surrounding`` is the share (0..1) of the query's idf that a row holds together with the turns around it.
    ``relevance`` (n + 1,) is, for every row of the corpus, what it lends to its neighbours: 0 for all but the
    candidates, and at n. ``around`` (1 + steps, 2, c) are the rows of the turns 0, 1, 2, … steps before and after
    each candidate, n beyond the session; ``lent`` of the same shape is their relevance.
    """

    rows: Rows
    similarity: Floats
    dense: Floats
    lexical: Floats
    surrounding: Floats
    relevance: Floats
    around: Rows
    lent: Floats

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def own(self) -> Floats:
        """Relevance of the candidates themselves."""
        own: Floats = self.lent[0, 0]
        return own


def gather(
    query: Query,
    corpus: Corpus,
    settings: RetrievalSettings,
    eligible: Eligible,
    dense: DenseSearch | None,
) -> Candidates | None:
    """The best of the dense and of the lexical search, the best of the named days, and the turns beside them.

    No row but the eligible has any influence on the result, but for the document frequencies, which are those
    of all living rows. None: nothing was found.
    """
    match = corpus.lexical.match(query.terms, corpus.alive, census=corpus.census)
    lexical = match.scores if eligible.all else np.where(eligible.mask, match.scores, np.float32(0.0))
    top = float(lexical.max(initial=0.0))
    known = _Similarities(query, corpus, dense if settings.on("dense") else None, settings.on("dense"))
    near, near_similarity = known.best(settings.candidates, eligible)
    hits = [near]
    if top > 0.0 and settings.on("lexical"):
        matching = lexical.nonzero()[0]
        if matching.shape[0] > settings.candidates:
            matching = matching[_top(lexical[matching], settings.candidates)]
        hits.append(matching)
    if query.days and settings.on("date"):
        hits.append(_dated(query, corpus, settings, eligible.mask, lexical, known))
    rows = _with_neighbours(np.concatenate(hits), corpus, eligible)
    if rows.shape[0] == 0:
        return None
    similarity = known.of(rows)
    scaled = _scaled(similarity, near_similarity)
    bm25: Floats = lexical[rows]
    bm25 /= np.float32(top or 1.0)
    relevance = np.zeros(len(corpus) + 1, dtype=np.float32)
    relevance[rows] = (
        settings.dense_share * settings.on("dense") * scaled
        + settings.lexical_share * settings.on("lexical") * bm25
    )
    around = _along(corpus, rows, max(settings.context_steps, settings.association_steps, 1))
    surrounding = _surrounding(match, eligible, around[: settings.context_steps + 1])
    return Candidates(rows, similarity, scaled, bm25, surrounding, relevance, around, relevance[around])


class _Similarities:
    """Cosines of the query, from resident vectors or from a search: the same answers from both."""

    def __init__(self, query: Query, corpus: Corpus, search: DenseSearch | None, wanted: bool) -> None:
        self._vector = query.vector if wanted else None
        self._search = search
        self._all: Floats | None = None
        if self._vector is not None and corpus.vectors is not None:
            self._all = cosines(corpus.vectors, self._vector)

    def best(self, n: int, eligible: Eligible) -> tuple[Rows, Floats]:
        """The ``n`` most similar eligible rows, in no order."""
        if self._all is not None:
            masked = self._all if eligible.all else np.where(eligible.mask, self._all, np.float32(-2.0))
            rows = _top(masked, min(n, eligible.count))
            return rows, self._all[rows]
        if self._vector is None or self._search is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        if eligible.count <= _FEW:
            rows = np.flatnonzero(eligible.mask)
            similarity = self.of(rows)
            best = _top(similarity, n)
            return rows[best], similarity[best]
        asked = n
        while True:
            found, similarity = self._search.search(self._vector, asked)
            if eligible.all:
                return found[:n], similarity[:n]
            keep = eligible.mask[found]
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
    size = values.shape[0]
    if size <= n:
        return np.arange(size)
    least = np.partition(values, size - n)[size - n]
    rows: Rows = (values >= least).nonzero()[0]
    surplus = rows.shape[0] - n
    if surplus:  # of equals the earlier
        keep = np.ones(rows.shape[0], dtype=np.bool_)
        keep[(values[rows] == least).nonzero()[0][-surplus:]] = False
        rows = rows[keep]
    return rows


def _scaled(similarity: Floats, near: Floats) -> Floats:
    """Cosines on 0..1 between the last and the first of the dense hits, whatever the embedder's own scale.

    What lies below the last hit is 0: it is here for other reasons than its vector.
    """
    if near.shape[0] == 0:
        return np.zeros_like(similarity)
    low, high = float(near.min()), float(near.max())
    scaled: Floats = np.maximum(similarity - np.float32(low), np.float32(0.0))
    scaled /= np.float32(max(high - low, _LEAST_SPREAD))
    return scaled


def _along(corpus: Corpus, rows: Rows, steps: int) -> Rows:
    """Rows 0, 1, 2, … ``steps`` further along both chains of neighbours, (1 + steps, 2, c); n beyond their ends."""
    n, chains = len(corpus), corpus.chains
    along = np.empty((1 + steps, 2, rows.shape[0]), dtype=np.intp)
    along[0, 0] = rows
    np.add(rows, n + 1, out=along[0, 1])
    for step in range(steps):
        chains.take(along[step], out=along[step + 1], mode="clip")  # anything but "raise" spares a copy
    along[:, 1] -= n + 1
    return along


def _surrounding(match: Match, eligible: Eligible, around: Rows) -> Floats:
    """The share of the query's idf that each row holds together with the rows ``around`` it."""
    if match.rows.shape[0] == 0:
        return np.zeros(around.shape[2], dtype=np.float32)
    held, idf = match.held()
    bits = held[around].astype(np.uint32)
    if not eligible.all:
        bits[~eligible.mask.take(around, mode="clip")] = 0
    together = np.bitwise_or.reduce(bits, axis=(0, 1))
    bytewise = together.astype("<u4", copy=False).view(np.uint8).reshape(-1, 4)
    holds = np.unpackbits(bytewise, axis=1, count=idf.shape[0], bitorder="little").astype(np.float32)
    share: Floats = holds @ (idf / idf.sum())
    return share


def _with_neighbours(hits: Rows, corpus: Corpus, eligible: Eligible) -> Rows:
    near = np.zeros(len(corpus) + 1, dtype=np.bool_)
    near[hits] = True
    near[corpus.previous[hits]] = True  # -1, for none, is the place at the end
    near[corpus.following[hits]] = True
    near = near[:-1]
    if not eligible.all:
        near &= eligible.mask
    rows: Rows = near.nonzero()[0]
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
