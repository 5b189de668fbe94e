"""The measures, against figures worked out by hand."""

import math

import pytest

from memorybank.errors import InvalidInputError
from memorybank.evaluation.comparing import compare
from memorybank.evaluation.metrics import Answered, by_category, mean_measures, measures, percentile, ranks_of


def turn(*ids: str) -> frozenset[str]:
    return frozenset(ids)


def test_recall_is_the_share_of_the_evidence_and_all_wants_the_whole() -> None:
    """Evidence at ranks 2 and 8: half of it among the first 3, all of it among the first 10."""
    found = measures((2, 8))
    assert (found["recall@1"], found["recall@3"], found["recall@6"], found["recall@10"]) == (0, 0.5, 0.5, 1)
    assert (found["all@5"], found["all@10"], found["all@20"]) == (0, 1, 1)
    assert found["mrr"] == 0.5


def test_ndcg_by_hand() -> None:
    """nDCG@10 = (1/log2 3 + 1/log2 9) / (1 + 1/log2 3) for ranks 2 and 8."""
    ideal = 1 + 1 / math.log2(3)
    assert measures((2, 8))["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(9)) / ideal)
    assert measures((1, 2))["ndcg@10"] == pytest.approx(1)
    assert measures((11, None))["ndcg@10"] == 0


def test_what_is_not_found_counts_nothing_anywhere() -> None:
    """A turn without a rank is a miss in every measure."""
    assert set(measures((None,)).values()) == {0.0}
    assert measures((None, 1))["recall@20"] == 0.5


def test_a_question_without_evidence_has_no_measures() -> None:
    """An average over nothing would be a figure from nowhere."""
    with pytest.raises(ValueError, match="without evidence"):
        measures(())


def test_an_exchange_counts_for_each_turn_in_it_and_a_summary_for_none() -> None:
    """Ranks are of source turns: the summary at rank 1 takes its place and hands over nobody's words."""
    recalled = [(), ("a", "b"), ("c",), ("a",)]
    assert ranks_of([turn("b"), turn("c"), turn("d")], recalled) == (2, 3, None)
    assert ranks_of([turn("x", "a")], recalled) == (2,)


def test_the_best_alternative_counts() -> None:
    """Where evidence has alternatives, each measure is that of the best."""
    answered = Answered("q", "fact", ((None, 1), (4,)))
    found = answered.measures()
    assert found["mrr"] == 1
    assert found["recall@5"] == 1
    assert found["all@5"] == 1
    assert found["recall@3"] == 0.5


def test_means_are_over_questions_and_by_category() -> None:
    """A question counts once, however much evidence it has."""
    rows = [
        Answered("1", "a", ((1,),)),
        Answered("2", "b", ((None, None, None),)),
        Answered("3", "b", ((1, 2),)),
    ]
    assert mean_measures(rows)["recall@10"] == pytest.approx(2 / 3)
    assert by_category(rows)["b"]["n"] == 2
    assert by_category(rows)["b"]["recall@10"] == 0.5
    assert mean_measures([])["n"] == 0


def test_percentiles_are_values_that_occurred() -> None:
    """Nearest rank; nothing for nothing."""
    assert percentile([5.0, 1.0, 3.0, 2.0, 4.0], 0.5) == 3
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95
    assert percentile([], 0.5) == 0


def test_a_difference_that_every_question_shows_has_an_interval_above_zero() -> None:
    """Twenty questions, each better in the second run; the interval holds the difference and not 0."""
    first = [Answered(str(n), "a", ((4 + n % 2,),)) for n in range(20)]
    second = [Answered(str(n), "a", ((1,),)) for n in range(20)]
    row = next(one for one in compare(first, second, resamples=500) if one.measure == "mrr")
    assert row.low <= row.difference <= row.high
    assert row.low > 0
    assert row.worse == 0


def test_equal_runs_differ_by_nothing_and_one_seed_gives_one_interval() -> None:
    """Pairing takes the questions' own difficulty out; the same seed draws the same resamples."""
    first = [Answered(str(n), "a", ((n + 1,),)) for n in range(12)]
    assert all(one.low == one.high == 0 for one in compare(first, first, resamples=200))
    second = [Answered(str(n), "a", ((13 - n,),)) for n in range(12)]
    assert compare(first, second, seed=3, resamples=200) == compare(first, second, seed=3, resamples=200)
    assert compare(first, second, seed=3, resamples=200) != compare(first, second, seed=4, resamples=200)


def test_only_common_questions_are_compared() -> None:
    """Questions that one run lacks are left out; without any in common there is nothing to say."""
    first = [Answered("1", "a", ((1,),)), Answered("2", "a", ((None,),))]
    second = [Answered("1", "a", ((1,),))]
    assert all(one.difference == 0 for one in compare(first, second, resamples=50))
    with pytest.raises(InvalidInputError, match="no question in common"):
        compare(first, [Answered("9", "a", ((1,),))])
