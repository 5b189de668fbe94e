"""BM25 over a growable inverted index of hashed terms.

Rows are memories. A row never changes and never goes away; whoever asks masks the dead ones, and document
frequencies, the number of documents and their mean length are counted over the living rows only. So every
process that holds the same living rows computes the same scores, whatever happened before.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError

Terms = NDArray[np.uint64]
Counts = NDArray[np.uint16]

K1 = 0.9  # saturation of repeated terms: measured on LoCoMo, recall@10 .614 against .606 with 1.2 and 0.75
B = 0.4  # strength of the length norm (same measurement; as Anserini uses them for short passages)

ASKS = 0
"""The mark of a text that ends in a question, given among its hashes. It is no term: see ``LexicalIndex.asks``."""

BITS = 32
"""Terms of a query of which ``Match.held`` tells rows apart."""
_POWERS = 2.0 ** np.arange(BITS)

_MERGE_ROWS = (
    1024  # the tail is merged at this many rows, or at a quarter of the merged part when that is more
)
_INITIAL_ROWS = 64


@dataclass(frozen=True)
class _Segment:
    """Postings sorted by term, then by row: those of ``terms[i]`` are ``start[i]:start[i + 1]``."""

    terms: Terms
    start: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: Counts

    def slices(self, wanted: Terms) -> list[tuple[int, int]]:
        """Begin and end of the postings of each wanted term (empty where the term is unknown)."""
        if self.terms.shape[0] == 0:
            return [(0, 0)] * wanted.shape[0]
        at = self.terms.searchsorted(wanted)
        found = (self.terms.take(at, mode="clip") == wanted).tolist()
        begin = self.start[at].tolist()
        end = self.start.take(at + 1, mode="clip").tolist()
        return [(b, e if f else b) for b, e, f in zip(begin, end, found, strict=True)]


class _State(NamedTuple):
    """What readers take in one step: the merged postings, the rows since, and every row's length."""

    merged: _Segment
    tail: dict[int, tuple[array[int], array[int]]]
    lengths: NDArray[np.int32]
    asks: NDArray[np.bool_]


class Census(NamedTuple):
    """How many rows of a snapshot are alive, and how many terms they have together."""

    living: int
    terms: int


class Match(NamedTuple):
    """BM25 of every row, and what it is made of.

    ``scores`` float32 (n,), 0 where nothing matches or the row is dead. ``idf`` float32 (terms,): the weight of
    each query term among the living rows; an unknown term weighs most. ``rows`` are the living rows that hold
    the first term, then those that hold the second, and so on; ``sizes`` (terms,) how many each.
    """

    scores: NDArray[np.float32]
    idf: NDArray[np.float32]
    rows: NDArray[np.int32]
    sizes: NDArray[np.int64]

    def held(self) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Which query terms each row holds, as the bits of a whole number (n + 1,), and the terms' idf by bit.

        Of more than ``BITS`` terms only the rarest count. The last row, at -1, holds none.
        """
        q, idf = self.idf.shape[0], self.idf
        bits = _POWERS[:q]
        if q > BITS:
            kept = np.argsort(-idf, kind="stable")[:BITS]
            bits, idf = np.zeros(q), idf[kept]
            bits[kept] = _POWERS
        n = self.scores.shape[0]
        held = np.bincount(self.rows, np.repeat(bits, self.sizes), n + 1)
        return held.astype(np.float64, copy=False), idf


class LexicalIndex:
    """Inverted index over hashed terms. One writer at a time; any number of readers at any time.

    A reader passes the ``alive`` mask of the snapshot it holds; rows appended since are beyond its end and
    ignored.
    """

    __slots__ = ("_pending", "_rows", "_state")

    def __init__(self) -> None:
        self._rows = 0
        self._pending = 0
        self._state = _State(
            _empty_segment(),
            {},
            np.zeros(_INITIAL_ROWS, dtype=np.int32),
            np.zeros(_INITIAL_ROWS, dtype=np.bool_),
        )

    @classmethod
    def build(cls, rows: Sequence[tuple[Terms, Counts]]) -> LexicalIndex:
        """Index many rows at once: ``rows[r]`` are the unique term hashes of row r and their counts.

        A hash ``ASKS`` among them marks the row as a question and is not indexed.
        """
        if not rows:
            return cls()
        sizes = np.fromiter((terms.shape[0] for terms, _ in rows), dtype=np.int64, count=len(rows))
        owner = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
        terms = np.concatenate([terms for terms, _ in rows])
        return cls.from_flat(len(rows), owner, terms, np.concatenate([counts for _, counts in rows]))

    @classmethod
    def from_flat(cls, rows: int, owner: NDArray[np.int32], terms: Terms, counts: Counts) -> LexicalIndex:
        """``build`` from postings laid end to end: posting i says that row ``owner[i]`` holds ``terms[i]``."""
        index = cls()
        asks = np.zeros(max(_INITIAL_ROWS, rows), dtype=np.bool_)
        marked = terms == ASKS
        asks[owner[marked]] = True
        terms, counts, owner = terms[~marked], counts[~marked], owner[~marked]
        lengths = np.zeros(asks.shape[0], dtype=np.int32)
        lengths[:rows] = np.bincount(owner, weights=counts, minlength=rows).astype(np.int32)
        index._rows = rows
        index._state = _State(_segment(terms, owner, counts), {}, lengths, asks)
        return index

    def __len__(self) -> int:
        return self._rows

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Number of terms of every row, repetitions counted."""
        return self._state.lengths[: self._rows]

    @property
    def asks(self) -> NDArray[np.bool_]:
        """Whether the text of each row ends in a question."""
        return self._state.asks[: self._rows]

    def append(self, terms: Terms, counts: Counts) -> int:
        """Add one row and return its number. Cheap; now and then it merges the tail (50 ms at 100,000)."""
        if terms.shape != counts.shape or terms.ndim != 1:
            raise InvalidInputError(
                f"terms and counts must be vectors of one length, not shapes {terms.shape} and {counts.shape}"
            )
        row = self._rows
        merged, tail, lengths, asks = self._state
        if row == lengths.shape[0]:
            lengths = np.concatenate([lengths, np.zeros_like(lengths)])
            asks = np.concatenate([asks, np.zeros_like(asks)])
            self._state = _State(merged, tail, lengths, asks)
        length = 0
        for term, count in zip(terms.tolist(), counts.tolist(), strict=True):
            if term == ASKS:
                asks[row] = True
                continue
            length += count
            posting = tail.get(term)
            if posting is None:
                tail[term] = (array("i", (row,)), array("H", (count,)))
            else:  # the count first: whoever reads the rows finds a count for each
                posting[1].append(count)
                posting[0].append(row)
        lengths[row] = length
        self._rows = row + 1
        self._pending += 1
        if self._pending >= max(_MERGE_ROWS, (self._rows - self._pending) // 4):
            self._merge()
        return row

    def _merge(self) -> None:
        merged, tail, lengths, asks = self._state
        if tail:
            sizes = np.fromiter((len(rows) for rows, _ in tail.values()), dtype=np.int64, count=len(tail))
            terms = np.repeat(np.fromiter(tail, dtype=np.uint64, count=len(tail)), sizes)
            rows = np.frombuffer(b"".join(rows.tobytes() for rows, _ in tail.values()), dtype=np.int32)
            counts = np.frombuffer(b"".join(counts.tobytes() for _, counts in tail.values()), dtype=np.uint16)
            merged = _join(merged, _segment(terms, rows, counts))
        self._state = _State(merged, {}, lengths, asks)
        self._pending = 0

    def scores(self, query_terms: Terms, alive: NDArray[np.bool_]) -> NDArray[np.float32]:
        """BM25 of every row of the snapshot ``alive`` (n,): float32 (n,), 0 where dead or nothing matches."""
        return self.match(query_terms, alive).scores

    def census(self, alive: NDArray[np.bool_]) -> Census:
        """What ``match`` needs to know of the living rows; pass it on where the same snapshot is asked often."""
        n = alive.shape[0]
        living = int(np.count_nonzero(alive))
        lengths = self._state.lengths[:n]
        return Census(living, int((lengths if living == n else lengths[alive]).sum()))

    def match(
        self,
        query_terms: Terms,
        alive: NDArray[np.bool_],
        *,
        census: Census | None = None,
        k1: float = K1,
        b: float = B,
    ) -> Match:
        """BM25 with the idf and the matches it is made of. ``query_terms`` uint64 (q,) unique hashes."""
        n, q = alive.shape[0], query_terms.shape[0]
        state = self._state
        living, total = census or self.census(alive)
        if n == 0 or q == 0 or living == 0:
            none = np.zeros(0, dtype=np.int32)
            return Match(
                np.zeros(n, dtype=np.float32), np.zeros(q, dtype=np.float32), none, np.zeros(q, np.int64)
            )
        rows, counts, sizes = _postings(state, query_terms, n)
        if living < n:
            keep = alive[rows]
            rows, counts = rows[keep], counts[keep]
            ends = np.concatenate([[0], np.cumsum(keep)])[np.cumsum(sizes)]
            sizes = np.diff(ends, prepend=0)
        idf = np.log1p((living - sizes + 0.5) / (sizes + 0.5))
        norm = state.lengths[rows] * (k1 * b / (total / living or 1.0))
        norm += k1 * (1.0 - b)
        norm += counts
        weights = np.repeat(idf * (k1 + 1.0), sizes)
        weights *= counts
        weights /= norm
        scores = np.bincount(rows, weights=weights, minlength=n)
        return Match(scores.astype(np.float32), idf.astype(np.float32), rows, sizes)


def _empty_segment() -> _Segment:
    return _Segment(
        np.zeros(0, dtype=np.uint64),
        np.zeros(1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        np.zeros(0, dtype=np.uint16),
    )


def _segment(terms: Terms, rows: NDArray[np.int32], counts: Counts) -> _Segment:
    """Sort loose postings, whose rows ascend within each term, into a segment."""
    order = np.argsort(terms, kind="stable")
    ordered = terms[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if ordered.size else order
    start = np.append(first, ordered.shape[0]).astype(np.int64)
    return _Segment(ordered[first], start, rows[order].astype(np.int32), counts[order].astype(np.uint16))


def _join(older: _Segment, newer: _Segment) -> _Segment:
    """Merge two segments; every row of ``newer`` follows those of ``older``. Linear: no sort of postings."""
    terms = np.union1d(older.terms, newer.terms)
    at_older, at_newer = np.searchsorted(terms, older.terms), np.searchsorted(terms, newer.terms)
    size_older, size_newer = np.diff(older.start), np.diff(newer.start)
    sizes = np.zeros(terms.shape[0], dtype=np.int64)
    sizes[at_older] += size_older
    offset = np.zeros_like(sizes)
    offset[at_older] = size_older  # within one term the newer postings stand behind the older
    sizes[at_newer] += size_newer
    start = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.empty(int(start[-1]), dtype=np.int32)
    counts = np.empty(int(start[-1]), dtype=np.uint16)
    for part, at, size, shift in (
        (older, at_older, size_older, 0),
        (newer, at_newer, size_newer, offset[at_newer]),
    ):
        place = np.arange(part.rows.shape[0]) + np.repeat(start[at] + shift - part.start[:-1], size)
        rows[place] = part.rows
        counts[place] = part.counts
    return _Segment(terms, start, rows, counts)


def _postings(
    state: _State, query_terms: Terms, n: int
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Rows below n that hold each query term, their counts, and how many there are per term."""
    merged, tail = state.merged, state.tail
    rows: list[NDArray[np.int32]] = []
    counts: list[Counts] = []
    sizes = [0] * query_terms.shape[0]
    for number, (begin, end) in enumerate(merged.slices(query_terms)):
        if begin < end:
            part = merged.rows[begin:end]
            stop = int(part.searchsorted(n)) if part[-1] >= n else end - begin
            rows.append(part[:stop])
            counts.append(merged.counts[begin : begin + stop])
            sizes[number] = stop
        posting = tail.get(int(query_terms[number])) if tail else None
        if posting is not None:
            part = np.frombuffer(posting[0].tobytes(), dtype=np.int32)
            stop = int(part.searchsorted(n))
            rows.append(part[:stop])
            counts.append(np.frombuffer(posting[1].tobytes(), dtype=np.uint16)[:stop])
            sizes[number] += stop
    if not rows:
        return np.zeros(0, dtype=np.int32), np.zeros(0), np.array(sizes, dtype=np.int64)
    return np.concatenate(rows), np.concatenate(counts).astype(np.float64), np.array(sizes, dtype=np.int64)
