"""The inverted index: BM25 over living rows, whatever the history."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError
from memorybank.retrieval.lexical import BITS, K1, B, LexicalIndex

Row = tuple[NDArray[np.uint64], NDArray[np.uint16]]

rows_strategy = st.lists(
    st.dictionaries(st.integers(1, 12), st.integers(1, 5), max_size=6), min_size=0, max_size=40
)


def _row(counts: dict[int, int]) -> Row:
    terms = sorted(counts)
    return np.array(terms, dtype=np.uint64), np.array([counts[t] for t in terms], dtype=np.uint16)


def _by_hand(rows: list[dict[int, int]], query: list[int], alive: list[bool]) -> list[float]:
    """BM25 as its definition reads."""
    living = [row for row, lives in zip(rows, alive, strict=True) if lives]
    if not living:
        return [0.0] * len(rows)
    mean = sum(sum(row.values()) for row in living) / len(living) or 1.0
    scores = []
    for row, lives in zip(rows, alive, strict=True):
        score = 0.0
        for term in query:
            if lives and term in row:
                df = sum(term in other for other in living)
                idf = math.log(1 + (len(living) - df + 0.5) / (df + 0.5))
                norm = K1 * (1 - B + B * sum(row.values()) / mean)
                score += idf * row[term] * (K1 + 1) / (row[term] + norm)
        scores.append(score)
    return scores


@settings(deadline=None)
@given(rows_strategy, st.sets(st.integers(1, 14), max_size=5), st.data())
def test_scores_are_bm25_over_the_living_rows(
    rows: list[dict[int, int]], query: set[int], data: st.DataObject
) -> None:
    """Built at once or row by row, the scores are the definition's, counted over living rows only."""
    alive = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    split = data.draw(st.integers(0, len(rows)))
    terms = np.array(sorted(query), dtype=np.uint64)
    expected = _by_hand(rows, sorted(query), alive)
    index = LexicalIndex.build([_row(row) for row in rows[:split]])
    for number, row in enumerate(rows[split:], start=split):
        assert index.append(*_row(row)) == number
    scores = index.scores(terms, np.array(alive, dtype=bool))
    assert scores.dtype == np.float32
    assert scores == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert index.lengths.tolist() == [sum(row.values()) for row in rows]


def test_merging_the_tail_changes_nothing() -> None:
    """Rows appended one by one over several merges score as rows built at once."""
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(3000):
        terms, counts = np.unique(rng.integers(0, 500, 12), return_counts=True)
        rows.append((terms.astype(np.uint64), counts.astype(np.uint16)))
    grown = LexicalIndex()
    for row in rows:
        grown.append(*row)
    alive = rng.random(3000) > 0.2
    query = np.array([3, 77, 420], dtype=np.uint64)
    assert np.array_equal(grown.scores(query, alive), LexicalIndex.build(rows).scores(query, alive))


def test_an_older_snapshot_does_not_see_newer_rows() -> None:
    """A mask of n rows gives the scores of a bank of n rows, however many were appended since."""
    rows = [_row({1: 1, 2: 1}), _row({1: 2}), _row({2: 3})]
    index = LexicalIndex.build(rows)
    query, alive = np.array([1, 2], dtype=np.uint64), np.ones(3, dtype=bool)
    before = index.scores(query, alive)
    for _ in range(2500):
        index.append(*_row({1: 1}))
    assert np.array_equal(index.scores(query, alive), before)


def test_readers_are_undisturbed_by_a_writer() -> None:
    """While one thread appends (and merges), others read their snapshot's exact scores."""
    index = LexicalIndex.build([_row({t % 7: 1, t % 5 + 10: 2}) for t in range(200)])
    query, alive = np.array([1, 2, 12], dtype=np.uint64), np.ones(200, dtype=bool)
    expected = index.scores(query, alive)
    wrong: list[int] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            if not np.array_equal(index.scores(query, alive), expected):
                wrong.append(1)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for t in range(3000):
        index.append(*_row({t % 7: 1, 12: 3}))
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(index) == 3200


def test_matches_and_idf() -> None:
    """A match names every row and query term that meet; a rarer term weighs more, an unknown one most."""
    index = LexicalIndex.build([_row({1: 9}), _row({1: 1, 2: 1}), _row({3: 1})])
    match = index.match(np.array([1, 2, 99], dtype=np.uint64), np.ones(3, dtype=bool))
    held, idf = match.held()
    assert held.tolist() == [0b001, 0b011, 0, 0]
    assert idf.tolist() == match.idf.tolist()
    assert match.idf[2] > match.idf[1] > match.idf[0] > 0


def test_of_many_terms_the_rarest_tell_rows_apart() -> None:
    """Beyond ``BITS`` query terms those that most rows hold are left out of ``held``, not of the scores."""
    rows = [_row(dict.fromkeys(range(1, BITS + 3), 1)), _row({1: 1, 2: 1}), _row({1: 1, 2: 1})]
    terms = np.arange(1, BITS + 3, dtype=np.uint64)
    match = LexicalIndex.build(rows).match(terms, np.ones(3, dtype=bool))
    held, idf = match.held()
    assert len(idf) == BITS
    assert idf.min() >= np.sort(match.idf)[1:].min()
    assert [int(bits).bit_count() for bits in held.tolist()] == [BITS, 0, 0, 0]
    assert match.scores[1] > 0


def test_shapes_that_do_not_fit_are_refused() -> None:
    """Terms without a count each are an error, and the index stays as it was."""
    index = LexicalIndex()
    with pytest.raises(InvalidInputError, match="one length"):
        index.append(np.array([1, 2], dtype=np.uint64), np.array([1], dtype=np.uint16))
    assert len(index) == 0
