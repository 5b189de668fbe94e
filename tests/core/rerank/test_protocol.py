"""What is a reranker, and what may come out of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memorybank.errors import InvalidInputError, RerankError
from memorybank.rerank import as_reranker, score
from memorybank.testing import WordOverlapReranker


class Giving:
    """A reranker that returns, or raises, one thing."""

    name = "giving"

    def __init__(self, what: Any) -> None:
        self.what = what

    def score(self, query: str, texts: list[str]) -> Any:
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


@pytest.mark.parametrize("wrong", [object(), "name", WordOverlapReranker, lambda query, texts: [1.0]])
def test_what_is_no_reranker_is_refused(wrong: object) -> None:
    """The message says what a reranker has."""
    with pytest.raises(InvalidInputError, match="score"):
        as_reranker(wrong)


def test_a_blank_name_is_refused() -> None:
    """The name says which model a figure belongs to."""
    blank = Giving([1.0])
    blank.name = "  "
    with pytest.raises(InvalidInputError, match="name"):
        as_reranker(blank)


def test_lists_and_arrays_are_taken() -> None:
    """Numbers in 0..1, one per text, become float32."""
    found = score(Giving([0, 0.5, 1]), "q", ["a", "b", "c"])
    assert found.dtype == np.float32
    assert found.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        [0.5],
        [0.5, float("nan")],
        [0.5, 1.5],
        [-0.1, 0.5],
        [[0.5, 0.5]],
        ["high", "low"],
        None,
        RuntimeError("x"),
    ],
)
def test_anything_else_is_an_error_of_one_kind(wrong: Any) -> None:
    """Wrong shapes, NaN, logits, words and exceptions are RerankErrors, which hold none of the texts."""
    with pytest.raises(RerankError) as caught:
        score(Giving(wrong), "q", ["a secret", "b"])
    assert "secret" not in str(caught.value)


def test_nothing_to_score_asks_nobody() -> None:
    """No texts, no call."""
    reranker = WordOverlapReranker()
    assert score(reranker, "q", []).shape == (0,)
    assert reranker.calls == 0


def test_word_overlap_counts_words_of_both_languages() -> None:
    """The reranker for tests: the share of the question's words that a text holds."""
    assert WordOverlapReranker().score(
        "the cat Mochi", ["Mochi is a cat", "a dog"]
    ).tolist() == pytest.approx([2 / 3, 0])
    assert WordOverlapReranker().score("猫", ["我的猫", "狗"]).tolist() == [1, 0]
