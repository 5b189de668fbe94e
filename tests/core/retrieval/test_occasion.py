"""Questions about nothing but a day: the day decides, in both languages; anything else in them, and it does not."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from memorybank.retrieval.pipeline import make_query, rank
from memorybank.retrieval.settings import RetrievalSettings

from .banks import NOW, corpus_of, unit

DEFAULT = RetrievalSettings()
SPEAKERS = ("Ada", "Ben")


@pytest.mark.parametrize(
    "question",
    [
        "What did we talk about last Tuesday?",
        "what did I say on 7 May?",
        "Do you remember what we discussed yesterday?",
        "Last Tuesday, please remind me what you told me",
        "What happened on May 7th, 2023?",
        "What did Ada say on 7 May?",
        "What did we talk about in our first conversation?",
        "上周三我们聊了什么？",
        "你还记得我们5月3日说过些什么吗？",
        "昨天发生了什么事",
        "我们第一次聊天的时候聊了哪些话题？",
        "7 May",
    ],
)
def test_questions_about_a_day_alone(question: str) -> None:
    """Function words, words for talk and who said it name no subject."""
    assert make_query(question, None, NOW, SPEAKERS).only_days


@pytest.mark.parametrize(
    "question",
    [
        "What did we say about my cat last Tuesday?",
        "What did Ada do on 7 May?",
        "What did Cleo say on 7 May?",
        "What did we talk about?",
        "When did we talk last week?",
        "What did we talk about at 5 on 7 May?",
        "上周三我们聊了哪些关于猫的事？",
        "昨天我买了什么？",
        "我们聊了什么？",
        "?",
    ],
)
def test_questions_about_more_than_a_day(question: str) -> None:
    """A subject, a stranger's name, a number, a question for the time, or no day: the rest of the query counts."""
    assert not make_query(question, None, NOW, SPEAKERS).only_days


TEXTS = [
    "Ada: so what did we talk about last Tuesday?",  # Monday 1 May
    "Ben: we talked about last Tuesday, we talked and talked",
    "Ada: oranges and lemons in the old orchard behind the mill",  # Tuesday 2 May
    "Ben: hello",
    "Ben: talk to me on Tuesday, what did we talk about",  # Wednesday 3 May
    "Ada: let us talk about what we said",
]


@pytest.mark.parametrize(
    "question",
    ["What did we talk about last Tuesday?", "上周二我们聊了什么？", "What did Ben say last Tuesday?"],
)
@pytest.mark.parametrize("with_vectors", [True, False])
def test_the_day_decides(question: str, with_vectors: bool) -> None:
    """Rows of that day outrank all others, however well those fit; of them what says most comes first, or who is
    named."""
    now = datetime(2023, 5, 8, 8, tzinfo=UTC)
    vectors = unit(np.eye(6, 8) + 0.1) if with_vectors else None
    corpus = corpus_of(TEXTS, vectors, session_length=2, speakers=SPEAKERS)
    query = make_query(question, None if vectors is None else vectors[4], now, SPEAKERS)
    found = rank(query, corpus, DEFAULT, k=6).rows.tolist()
    assert found[:2] == ([3, 2] if "Ben" in question else [2, 3])
    assert len(found) > 2
    otherwise = rank(query, corpus, DEFAULT.without("date"), k=1).rows.tolist()
    assert otherwise not in ([2], [3])


def test_a_day_of_silence_decides_nothing() -> None:
    """Where nothing was said on the day, the ranking is that of the query's words; a floor holds as ever."""
    corpus = corpus_of(TEXTS, session_length=2)
    asked = make_query("What did we talk about on 20 May 2023?", None, NOW)
    assert asked.only_days
    assert len(rank(asked, corpus, DEFAULT, k=3)) == 3
    assert rank(asked, corpus, DEFAULT, k=3).scores.max() < DEFAULT.only_days


def test_a_day_is_evidence_enough() -> None:
    """ "auto" keeps the rows of the day, though they share no word with the question."""
    corpus = corpus_of(TEXTS, session_length=2)
    asked = make_query("What did I say on 2 May 2023?", None, NOW)
    assert set(rank(asked, corpus, DEFAULT, k=2, min_score="auto").rows.tolist()) == {2, 3}


def test_more_rows_than_the_dated_candidates() -> None:
    """A whole day is brought, not its first sixteen rows."""
    corpus = corpus_of([f"user: word{i} and more" for i in range(60)], session_length=30)
    found = rank(make_query("What did we talk about on 2 May 2023?", None, NOW), corpus, DEFAULT, k=30)
    assert set(found.rows.tolist()) == set(range(30, 60))
