"""``memorybank eval … --rerank``: the offline reranker in a run, each pair read once."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from memorybank.evaluation import memo
from memorybank.evaluation.memo import MemoReranker
from memorybank.testing import WordOverlapReranker

Run = Callable[..., Result]


def test_a_run_says_which_reranker_and_counts_its_time(
    run: Run, locomo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings name it (None without); the same questions are asked."""
    monkeypatch.setattr(memo, "default_reranker", WordOverlapReranker)
    plain, reranked = (
        json.loads(run("locomo", locomo, "--json", *more).stdout) for more in ([], ["--rerank"])
    )
    assert plain["settings"]["reranker"] is None
    assert reranked["settings"]["reranker"] == "word-overlap"
    assert [one["qid"] for one in plain["questions"]] == [one["qid"] for one in reranked["questions"]]


def test_without_the_extra_nothing_is_measured(
    run: Run, locomo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A figure measured without the reranker by accident would be worse than none."""
    monkeypatch.setattr(memo, "default_reranker", lambda: None)
    done = run("locomo", locomo, "--json", "--rerank", code=1)
    assert "memorybank-core[rerank]" in done.stderr


def test_each_pair_is_read_once_a_run() -> None:
    """Scores are those of the reranker, in order; seconds are noted once."""
    inner = WordOverlapReranker()
    reranker = MemoReranker(inner)
    texts = ["the cat sat", "a dog", "the cat sat"]
    first = reranker.score("the cat", texts)
    noted = dict(reranker.seconds)
    assert (
        first.tolist() == inner.score("the cat", texts).tolist() == reranker.score("the cat", texts).tolist()
    )
    assert inner.calls == 2
    assert reranker.seconds == noted
    assert reranker.score("a dog", ["a dog"]).tolist() == [1]
