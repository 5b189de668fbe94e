"""Each stage by itself: what it adds, and to what."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from memorybank.errors import InvalidInputError
from memorybank.retrieval.indexing import index_terms
from memorybank.retrieval.lexical import ASKS
from memorybank.retrieval.pipeline import make_query, rank
from memorybank.retrieval.query import named_speakers
from memorybank.retrieval.settings import RetrievalSettings
from memorybank.retrieval.signals import agreement, precision

from .banks import NOW, START, corpus_of

ONLY = RetrievalSettings()


def _part(question: str, texts: list[str], stage: str, **options: object) -> dict[int, float]:
    corpus = corpus_of(texts, **options)  # type: ignore[arg-type]  # options of the test at hand
    ranking = rank(make_query(question, None, NOW, corpus.speakers), corpus, ONLY, k=50)
    return dict(zip(ranking.rows.tolist(), ranking.parts[stage].tolist(), strict=True))


def test_the_speaker_who_is_named() -> None:
    """Rows of the one speaker that the question names gain what the others lose; two names change nothing."""
    texts = ["Ada: the boat trip", "Ben: the boat trip"]
    part = _part("What did Ada say about the boat?", texts, "speaker", speakers=("Ada", "Ben"))
    assert part[0] == -part[1] > 0
    assert set(
        _part("Did Ada and Ben like the boat?", texts, "speaker", speakers=("Ada", "Ben")).values()
    ) == {0.0}


@pytest.mark.parametrize(
    ("question", "speakers", "expected"),
    [
        ("What does Melanie like?", ("Melanie", "Tom"), (0,)),
        ("What does Mel like?", ("Melanie", "Tom"), (0,)),
        ("What does melanie like?", ("Melanie Smith", "Tom"), (0,)),
        ("Tom's car", ("Melanie", "Tom"), (1,)),
        ("Did the tomatoes grow?", ("Melanie", "Tom"), ()),
        ("小林喜欢什么？", ("小林", "陈静"), (0,)),
        ("What does Melanie like?", ("Melanie",), ()),
        ("", ("Melanie", "Tom"), ()),
        ("anything", ("", "!"), ()),
    ],
)
def test_named_speakers(question: str, speakers: tuple[str, ...], expected: tuple[int, ...]) -> None:
    """In full, by the first name, by a short form; in Chinese by the name; nobody where fewer than two speak."""
    assert named_speakers(question, speakers) == expected


def test_the_days_that_are_named() -> None:
    """A row said on a named day, or pointing at it, gains; the day is found though no word of it matches."""
    texts = ["Ada: the boat", "Ada: rain again", "Ada: an exam on 20 May 2023", "Ada: the market"]
    part = _part("What happened on 2 May 2023?", texts, "date", session_length=1)
    assert part[1] > 0
    assert max(part, key=lambda row: part[row]) == 1
    pointed = _part("What about 20 May 2023?", texts, "date", session_length=1)
    assert pointed[2] > 0


def test_long_spans_are_worth_less() -> None:
    """A day and a week count in full, a year little: it holds nearly every row."""
    assert precision(1) == precision(7) == 1.0
    assert 0 < precision(365) < precision(31) < 1


def test_the_first_and_the_last_talk() -> None:
    """A question about the first (last) talk is one about its day, in both languages."""
    texts = ["user: tea", "user: boats", "user: snow"]
    for question, row in (
        ("What did we talk about in our first conversation?", 0),
        ("我们第一次聊天说了什么？", 0),
        ("What was our last conversation about?", 2),
        ("上次聊天我们说了什么？", 2),
    ):
        assert rank(
            make_query(question, None, NOW), corpus_of(texts, session_length=1), ONLY, k=1
        ).rows.tolist() == [row]


def test_an_answer_follows_its_question() -> None:
    """The turn after a question that fits gains, though it shares no word with the query."""
    texts = [
        "Ada: Which instrument do you play?",
        "Ben: The cello, since I was six.",
        "Ada: Nice.",
        "Ben: Rain today.",
    ]
    part = _part("instrument", texts, "reply")
    assert part[1] > 0
    assert part[0] == part.get(2, 0.0) == 0.0


def test_relevance_is_lent_to_neighbours_of_the_same_session_only() -> None:
    """The nearer a turn stands to a hit the more it gains; the next session gains nothing."""
    texts = ["Ada: violin", "Ben: lovely", "Ada: yes", "Ben: good night", "Ada: morning"]
    part = _part("violin", texts, "association")
    assert part[1] > part.get(2, 0.0) >= 0
    assert 4 not in part


def test_context_counts_words_around() -> None:
    """Two turns that hold half of the question each count as holding all of it together."""
    texts = ["Ada: a violin", "Ben: in the garden", "Ada: x", "Ben: y", "Ada: violin", "Ben: snow"]
    part = _part("violin garden", texts, "context")
    assert part[0] == part[1] > part[4]


def test_links_carry_relevance() -> None:
    """A row linked to a hit gains from it; an unlinked one does not."""
    texts = ["Ada: violin lessons", "Ben: violin strings", "Ada: violin case"]
    corpus = replace(
        corpus_of(texts, session_length=1),
        link_from=np.array([0], dtype=np.int32),
        link_to=np.array([2], dtype=np.int32),
        link_weight=np.array([1.0], dtype=np.float32),
    )
    ranking = rank(make_query("violin lessons", None, NOW), corpus, ONLY, k=3)
    part = dict(zip(ranking.rows.tolist(), ranking.parts["links"].tolist(), strict=True))
    assert part[2] > part[1] == 0.0


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Do you?", True),
        ("真的吗？", True),
        ('He asked: "why?"', True),
        ("Why? Because.", False),
        ("", False),
    ],
)
def test_texts_that_end_in_a_question_are_marked(text: str, asks: bool) -> None:
    """The mark is set by the last sentence, quotes aside, in both languages."""
    assert (ASKS in index_terms(text)[0].tolist()) == asks


def test_the_mark_is_no_term() -> None:
    """Marked rows are questions; their length and their matches are those of their words."""
    corpus = corpus_of(["Ada: violin?", "Ada: violin."])
    assert corpus.lexical.asks.tolist() == [True, False]
    assert len(set(corpus.lexical.lengths.tolist())) == 1
    corpus.lexical.append(*index_terms("Ada: violin?"))
    assert corpus.lexical.asks.tolist() == [True, False, True]


def test_a_query_needs_an_aware_now() -> None:
    """A naive time is refused: days would be guessed."""
    with pytest.raises(InvalidInputError, match="naive"):
        make_query("yesterday", None, datetime(2023, 5, 1))
    assert make_query("yesterday", None, START.astimezone(UTC)).days == ((738640, 738640),)


def test_the_speaker_counts_as_far_as_the_best_rows_agree() -> None:
    """Where the best rows are the other speaker's the question has swapped them, and nothing is pushed down."""
    signal = np.array([0.5, -0.5, -0.5, 0.0], dtype=np.float32)
    agreeing = np.array([1.0, 0.2, 0.2, 3.0], dtype=np.float32)
    assert agreement(signal, agreeing, 0.08) > 0.99
    assert agreement(signal, 1 - agreeing, 0.08) == 0.0
    assert agreement(signal, np.zeros(4, dtype=np.float32), 0.08) == 0.0
    assert agreement(signal[3:], agreeing[3:], 0.08) == 0.0
    texts = ["Ada: nothing much", "Ben: a boat trip with a violin", "Ada: hm", "Ben: yes"]
    part = _part("Did Ada take a violin on the boat trip?", texts, "speaker", speakers=("Ada", "Ben"))
    assert set(part.values()) == {0.0}
