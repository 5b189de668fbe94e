"""Blending: the order by score + weight * reranker's score, and parts that still add up."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.models import Level, Memory, Recalled
from memorybank.rerank import rerank

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHARES = st.floats(0, 1, width=32)


def recalled(scores: list[float]) -> list[Recalled]:
    """Memories 0, 1, … with these scores, which have one part each."""
    return [
        Recalled(
            Memory(str(i), "gary", Level.TURN, "text", NOW, NOW, NOW), score, 0.0, 1.0, {"lexical": score}
        )
        for i, score in enumerate(scores)
    ]


def order(found: list[Recalled]) -> list[int]:
    """Which memories, in order."""
    return [int(one.memory.id) for one in found]


def test_the_readers_choice_comes_first() -> None:
    """A row moves up by weight * score; the rest keep their order."""
    found = rerank(recalled([0.6, 0.5, 0.4]), np.array([0, 0, 1], np.float32), weight=0.3)
    assert order(found) == [2, 0, 1]
    assert found[0].score == pytest.approx(0.7)
    assert found[0].parts == {"lexical": 0.4, "rerank": pytest.approx(0.3)}


def test_rows_beyond_the_scores_stay_behind_their_equals() -> None:
    """What the reranker did not read gets a part of 0."""
    found = rerank(recalled([0.5, 0.4, 0.4, 0.3]), np.array([0, 0], np.float32), weight=0.3)
    assert order(found) == [0, 1, 2, 3]
    assert all(one.parts["rerank"] == 0 for one in found)


def test_of_equals_the_first_stays_first() -> None:
    """The order of recall decides between equals."""
    assert order(rerank(recalled([0.5, 0.5, 0.5]), np.full(3, 0.2, np.float32), 1.0)) == [0, 1, 2]


def test_other_parts_count_for_their_share() -> None:
    """Where a reranker reads, matched words count for less and the speaker for more, in rows it did not read too."""
    found = [
        replace(one, score=sum(parts.values()), parts=parts)
        for one, parts in zip(
            recalled([0, 0]),
            [{"lexical": 0.6, "speaker": 0.0}, {"lexical": 0.3, "speaker": 0.2}],
            strict=True,
        )
    ]
    moved = rerank(found, np.array([0.5], np.float32), 0.2, {"lexical": 0.5, "speaker": 2.0, "absent": 9.0})
    assert order(moved) == [1, 0]
    assert moved[0].score == pytest.approx(0.55)
    assert moved[0].parts == {"lexical": 0.15, "speaker": 0.4, "rerank": 0.0}
    assert moved[1].score == pytest.approx(0.4)


@given(st.lists(st.tuples(SHARES, SHARES), max_size=12), st.floats(0, 2), st.integers(0, 12))
def test_nothing_is_lost_and_parts_add_up(rows: list[tuple[float, float]], weight: float, top: int) -> None:
    """For any scores: the same memories, scores that fall, parts that add up; weight 0 changes no order."""
    before = recalled(sorted((score for score, _ in rows), reverse=True))
    scores = np.array([share for _, share in rows], np.float32)[:top]
    found = rerank(before, scores, weight)
    assert sorted(order(found)) == list(range(len(rows)))
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert all(sum(one.parts.values()) == pytest.approx(one.score) for one in found)
    assert order(rerank(before, scores, 0.0)) == list(range(len(rows)))
