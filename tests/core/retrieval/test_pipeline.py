"""Ranking as a whole: what it promises whatever the bank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybank.errors import InvalidInputError
from memorybank.retrieval.pipeline import make_query, rank
from memorybank.retrieval.settings import STAGES, RetrievalSettings

from .banks import NOW, WORDS, SearchBeside, corpus_of, random_bank, unit, without_vectors

DEFAULT = RetrievalSettings()
QUESTIONS = [
    "When did Ada take the train to the mountain?",
    "Which novel did Ben read on 3 May?",
    "what did we talk about in our first conversation",
    "violin garden",
    "?",
    "完全无关的问题",
]


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 150),
    k=st.integers(0, 30),
    seed=st.integers(0, 50),
    question=st.sampled_from(QUESTIONS),
    with_vector=st.booleans(),
    data=st.data(),
)
def test_a_ranking_keeps_its_promises(
    n: int, k: int, seed: int, question: str, with_vector: bool, data: st.DataObject
) -> None:
    """No row that is not allowed or not alive, none twice; best first; parts add up; nothing is NaN; at most k."""
    corpus, directions = random_bank(n, seed)
    rng = np.random.default_rng(seed)
    corpus = replace(corpus, alive=rng.random(n) > 0.1)
    allowed = rng.random(n) < data.draw(st.sampled_from([0.0, 0.2, 1.0]))
    query = make_query(question, unit(directions[seed % 20]) if with_vector else None, NOW, corpus.speakers)
    ranking = rank(
        query,
        corpus,
        DEFAULT,
        k=k,
        allowed=allowed,
        retention=rng.random(n),
        rank_weight=0.1,
        activation=rng.random(n),
    )
    assert len(ranking) <= k
    assert (corpus.alive & allowed)[ranking.rows].all()
    assert len(set(ranking.rows.tolist())) == len(ranking)
    assert (np.diff(ranking.scores) <= 0).all()
    for values in (ranking.scores, ranking.similarities, ranking.evidence, ranking.retentions):
        assert np.isfinite(values).all()
        assert len(values) == len(ranking)
    if len(ranking):
        assert set(ranking.parts) <= set(STAGES)
        assert np.sum(list(ranking.parts.values()), axis=0) == pytest.approx(ranking.scores, abs=1e-5)


@pytest.mark.parametrize("n", [1, 30, 700])
@pytest.mark.parametrize("question", QUESTIONS)
def test_resident_vectors_and_a_search_agree(n: int, question: str) -> None:
    """The same order and scores, whether the vectors are in memory or searched elsewhere, filtered or not."""
    corpus, directions = random_bank(n)
    rng = np.random.default_rng(3)
    for direction, allowed in ((directions[0], None), (directions[1], rng.random(n) > 0.6)):
        vector = unit(direction)
        query = make_query(question, vector, NOW, corpus.speakers)
        resident = rank(query, corpus, DEFAULT, k=20, allowed=allowed)
        assert corpus.vectors is not None
        searched = rank(
            query,
            without_vectors(corpus),
            DEFAULT,
            k=20,
            allowed=allowed,
            dense=SearchBeside(corpus.vectors, vector),
        )
        assert searched.rows.tolist() == resident.rows.tolist()
        assert searched.scores == pytest.approx(resident.scores, abs=1e-5)
        assert searched.similarities == pytest.approx(resident.similarities, abs=1e-5)


def test_the_answer_is_found_by_words_alone_and_by_the_vector_alone() -> None:
    """Either half of the search is enough to find what only it can see."""
    texts = [f"Ada: {word} every day" for word in WORDS]
    vectors = unit(np.eye(len(texts), 16) + 0.01)
    corpus = corpus_of(texts, vectors)
    by_words = rank(make_query("the dentist", None, NOW), corpus, DEFAULT, k=1)
    assert texts[by_words.rows[0]] == "Ada: dentist every day"
    by_vector = rank(make_query("zahnarzt", vectors[6], NOW), corpus, DEFAULT, k=1)
    assert by_vector.rows.tolist() == [6]
    assert by_vector.similarities[0] == pytest.approx(1.0, abs=1e-3)


def test_every_stage_can_be_switched_off() -> None:
    """A stage that is off adds no part; without all of them nothing is left to rank by."""
    corpus, directions = random_bank(60)
    query = make_query(QUESTIONS[0], unit(directions[0]), NOW, corpus.speakers)
    given_all = {"retention": np.ones(60), "rank_weight": 0.1, "activation": np.ones(60)}
    assert set(rank(query, corpus, DEFAULT, k=5, **given_all).parts) == set(STAGES)
    for stage in STAGES:
        ranking = rank(query, corpus, DEFAULT.without(stage), k=5, **given_all)
        assert set(ranking.parts) == set(STAGES) - {stage}
    assert len(rank(query, corpus, DEFAULT.only(), k=5)) == 0
    assert set(rank(query, corpus, DEFAULT.only("lexical"), k=5).parts) == {"lexical"}


def test_what_is_not_allowed_has_no_influence() -> None:
    """Scores of the allowed rows are the same whether the others are filtered out or differ in every way."""
    corpus, directions = random_bank(80)
    allowed = np.arange(80) % 4 != 1
    query = make_query(QUESTIONS[0], unit(directions[0]), NOW, corpus.speakers)
    assert corpus.vectors is not None
    changed = corpus.vectors.copy()
    changed[~allowed] = query.vector
    before = rank(query, corpus, DEFAULT, k=20, allowed=allowed)
    after = rank(query, replace(corpus, vectors=changed), DEFAULT, k=20, allowed=allowed)
    assert before.rows.tolist() == after.rows.tolist()
    assert before.scores == pytest.approx(after.scores)


def test_archived_rows_come_only_when_allowed() -> None:
    """Without a mask the archived are left out; a mask decides for itself."""
    corpus = corpus_of(["Ada: the boat", "Ada: the cat"])
    corpus = replace(corpus, archived=np.array([True, False]))
    query = make_query("boat", None, NOW)
    assert 0 not in rank(query, corpus, DEFAULT, k=5).rows
    assert rank(query, corpus, DEFAULT, k=5, allowed=np.ones(2, dtype=bool)).rows[0] == 0


def test_retention_is_a_prior_never_a_veto() -> None:
    """A clear hit that is all but forgotten still comes first; between equals the fresher one does."""
    texts = [
        "Ada: I play the violin",
        "Ben: we went to the market",
        "Ben: we saw snow",
        "Ada: I play the violin",
    ]
    corpus = corpus_of(texts, session_length=1)
    retention = np.array([0.9, 1.0, 1.0, 0.001])
    ranking = rank(
        make_query("violin", None, NOW), corpus, DEFAULT, k=4, retention=retention, rank_weight=0.1
    )
    assert ranking.rows[:2].tolist() == [0, 3]
    assert ranking.retentions[:2] == pytest.approx([0.9, 0.001])


def test_the_floor_refuses_what_has_no_evidence() -> None:
    """ "auto" gives nothing for a question about nothing that was said, and changes nothing otherwise."""
    corpus, _ = random_bank(40)
    known = make_query("the violin and the garden", None, NOW)
    unknown = make_query("quantum chromodynamics lecture", None, NOW)
    assert len(rank(unknown, corpus, DEFAULT, k=5, min_score="auto")) == 0
    assert rank(known, corpus, DEFAULT, k=5, min_score="auto").rows.tolist() == (
        rank(known, corpus, DEFAULT, k=5).rows.tolist()
    )
    scores = rank(known, corpus, DEFAULT, k=5).scores
    assert len(rank(known, corpus, DEFAULT, k=5, min_score=float(scores[1]))) == 2


def test_nothing_to_rank() -> None:
    """An empty bank, k of 0 and a bank without a living row give an empty ranking; a negative k is refused."""
    corpus, directions = random_bank(3)
    query = make_query("violin", unit(directions[0]), NOW)
    assert len(rank(query, corpus_of([]), DEFAULT, k=5)) == 0
    assert len(rank(query, corpus, DEFAULT, k=0)) == 0
    assert len(rank(query, replace(corpus, alive=np.zeros(3, dtype=bool)), DEFAULT, k=5)) == 0
    with pytest.raises(InvalidInputError, match="k is -1"):
        rank(query, corpus, DEFAULT, k=-1)


def test_unknown_stages_are_refused() -> None:
    """A misspelt stage is an error that lists the stages."""
    with pytest.raises(InvalidInputError, match="lexcial; stages are dense"):
        DEFAULT.without("lexcial")
    with pytest.raises(InvalidInputError, match="stages are"):
        DEFAULT.only("rerank")
