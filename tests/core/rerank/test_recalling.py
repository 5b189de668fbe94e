"""Recall with a reranker: the order, the parts, languages, failures, and what it reads."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest

from memorybank.errors import InvalidInputError, RerankError
from memorybank.rerank import cross_encoder
from memorybank.rerank.blending import EXCHANGE_WEIGHT, WEIGHT
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder, WordOverlapReranker
from tests.conftest import OpenStore
from tests.core.talking import assistant, scored, texts, user


class Preferring:
    """Gives 1 to texts that hold a word, 0 to the others, and notes what it read."""

    name = "preferring"

    def __init__(self, word: str) -> None:
        self._word = word
        self.read: list[str] = []

    def score(self, query: str, texts: list[str]) -> list[float]:
        self.read += texts
        return [float(self._word in text) for text in texts]


class Failing:
    """Raises until mended."""

    name = "failing"

    def __init__(self) -> None:
        self.mended = False

    def score(self, query: str, texts: list[str]) -> list[float]:
        if not self.mended:
            raise RuntimeError("the reranking service is down")
        return [0.5] * len(texts)


def cats(store: MemoryStore, n: int = 12) -> None:
    """``n`` turns about a cat, each with a word of its own."""
    bank = store.bank("gary", timezone="UTC")
    bank.add([user(f"Mochi the cat did thing number{i}") for i in range(n)], session="s")


def test_what_the_reranker_prefers_comes_first(open_store: OpenStore) -> None:
    """A memory outside the first k is brought in; scores fall and parts, "rerank" among them, add up."""
    cats(open_store())
    plain = open_store().bank("gary").recall("Mochi cat", k=12, reinforce=False)
    last = plain[-1].memory.text
    bank = open_store(reranker=Preferring(last.split()[-1])).bank("gary")
    found = bank.recall("Mochi cat", k=3, reinforce=False)
    assert len(found) == 3
    assert last in texts(found)
    assert found[0].parts["rerank"] > 0
    assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
    assert all(sum(r.parts.values()) == pytest.approx(r.score, abs=1e-4) for r in found)


def test_more_than_the_best_are_still_recalled(open_store: OpenStore) -> None:
    """k beyond what is reranked: the rest follow, as they were."""
    cats(open_store(), 60)
    bank = open_store(reranker=WordOverlapReranker()).bank("gary")
    found = bank.recall("Mochi cat", k=50, reinforce=False)
    assert len({r.memory.id for r in found}) == 50
    assert found[-1].parts["rerank"] == 0


def test_the_order_does_not_depend_on_k(open_store: OpenStore) -> None:
    """The first three of twelve are those of three."""
    cats(open_store())
    bank = open_store(reranker=WordOverlapReranker()).bank("gary")
    few, many = (bank.recall("Mochi thing number7", k=k, reinforce=False) for k in (3, 12))
    assert scored(few) == scored(many)[:3]


def test_a_text_is_read_alone_and_after_what_was_said_before(open_store: OpenStore) -> None:
    """The turn before gives an answer its sense; a session's first turn, and another session's, have none."""
    reranker = Preferring("Lyon")
    bank = open_store(reranker=reranker).bank("gary")
    bank.add(
        [{**user("Where were you born?"), "name": "Ann"}, {**user("In Lyon."), "name": "Bo"}], session="s"
    )
    bank.add([{**user("Where is Lyon?"), "name": "Ann"}], session="t")
    found = bank.recall("Where was Bo born?", reinforce=False)
    assert sorted(reranker.read) == [
        "Ann: Where is Lyon?",
        "Ann: Where were you born?",
        "Ann: Where were you born?\nBo: In Lyon.",
        "Bo: In Lyon.",
    ]
    assert {r.memory.text: r.parts["rerank"] > 0 for r in found} == {
        "Ann: Where were you born?": False,
        "Bo: In Lyon.": True,
        "Ann: Where is Lyon?": True,
    }


def test_an_exchange_is_read_alone(open_store: OpenStore) -> None:
    """It holds its question: each is read once, with nothing before it."""
    reranker = Preferring("Mochi")
    bank = open_store(reranker=reranker).bank("gary")
    bank.add(
        [user("I have a cat."), assistant("Its name?"), user("Mochi."), assistant("Sweet!")], session="s"
    )
    bank.recall("cat Mochi", reinforce=False)
    assert sorted(reranker.read) == [
        "user: I have a cat.\nassistant: Its name?",
        "user: Mochi.\nassistant: Sweet!",
    ]


def test_a_long_text_before_does_not_crowd_out_the_text(open_store: OpenStore) -> None:
    """Of what was said before only the end is read."""
    reranker = Preferring("Lyon")
    bank = open_store(reranker=reranker).bank("gary")
    long = "blah " * 500 + "Where were you born?"
    bank.add([{**user(long), "name": "Ann"}, {**user("In Lyon."), "name": "Bo"}], session="s")
    bank.recall("Bo born Lyon", reinforce=False)
    leaning = [text for text in reranker.read if "\n" in text]
    assert len(leaning) == 1
    assert len(leaning[0]) < 350
    assert leaning[0].endswith("Where were you born?\nBo: In Lyon.")


def test_erased_words_are_not_read(open_store: OpenStore) -> None:
    """What was deleted is no context for its neighbour either."""
    reranker = Preferring("x")
    bank = open_store(reranker=reranker).bank("gary")
    bank.add(
        [{**user("My secret is 1234."), "name": "Ann"}, {**user("Thanks, Ann."), "name": "Bo"}], session="s"
    )
    secret = next(one for one in bank.memories() if "1234" in one.text)
    bank.delete([secret.id])
    bank.recall("Ann", reinforce=False)
    assert reranker.read
    assert not any("1234" in text for text in reranker.read)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("猫叫什么名字", "我的猫叫做麻薯"),
        ("What is the cat called?", "我的猫叫做麻薯"),
        ("猫", "My cat is Mochi"),
    ],
)
def test_it_steps_aside_for_a_language_it_does_not_read(
    open_store: OpenStore, query: str, words: str
) -> None:
    """A Chinese question, or Chinese memories: the English reranker is not asked, results are as without it."""
    reranker = WordOverlapReranker(languages={"en"})
    bank = open_store(reranker=reranker).bank("gary")
    bank.add([user(words), assistant("好" if words[0] == "我" else "good")], session="s")
    found = bank.recall(query, reinforce=False)
    assert found
    assert reranker.calls == 0
    plain = open_store().bank("gary").recall(query, reinforce=False)
    assert [(r.memory.id, r.score, r.parts) for r in found] == [
        (r.memory.id, r.score, r.parts) for r in plain
    ]


def test_it_is_asked_in_its_own_language(open_store: OpenStore) -> None:
    """English question, English memories."""
    reranker = WordOverlapReranker(languages={"en"})
    cats(open_store(reranker=reranker))
    assert open_store(reranker=reranker).bank("gary").recall("Mochi cat", reinforce=False)
    assert reranker.calls == 1


def test_a_failing_reranker_never_breaks_recall(
    open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    """Results are as without it; one warning until it works again."""
    cats(open_store())
    plain = open_store().bank("gary").recall("Mochi cat", reinforce=False)
    reranker = Failing()
    bank = open_store(reranker=reranker).bank("gary")
    with caplog.at_level(logging.WARNING, logger="memorybank"):
        for _ in range(3):
            assert scored(bank.recall("Mochi cat", reinforce=False)) == scored(plain)
        assert len(caplog.records) == 1
        reranker.mended = True
        assert bank.recall("Mochi cat", reinforce=False)[0].parts["rerank"] > 0
        reranker.mended = False
        bank.recall("Mochi cat", reinforce=False)
        assert len(caplog.records) == 2


def test_a_reranker_says_how_many_it_reads(open_store: OpenStore) -> None:
    """``top`` of the reranker: the rows beyond get nothing."""
    cats(open_store())
    reranker = Preferring("Mochi")
    reranker.top = 4  # type: ignore[attr-defined]  # optional
    bank = open_store(reranker=reranker).bank("gary")
    found = bank.recall("Mochi cat", k=12, reinforce=False)
    assert sum(r.parts["rerank"] > 0 for r in found) == 4
    reranker.top = 0  # type: ignore[attr-defined]  # wrong on purpose
    with pytest.raises(InvalidInputError, match="top"):
        open_store(reranker=reranker)


def test_exchanges_are_moved_less_than_single_messages(open_store: OpenStore) -> None:
    """Recall orders exchanges well by itself: the reranker's word has less weight there."""
    bank = open_store(reranker=Preferring("Mochi")).bank("gary")
    bank.add([user("Mochi is a cat.")], session="s")
    single = bank.recall("Mochi", reinforce=False)[0].parts["rerank"]
    bank.add([assistant("Sweet!")], session="s")
    exchange = bank.recall("Mochi", reinforce=False)[0].parts["rerank"]
    assert single == pytest.approx(WEIGHT)
    assert exchange == pytest.approx(EXCHANGE_WEIGHT)
    assert EXCHANGE_WEIGHT < WEIGHT


def test_what_the_prompt_shows_is_not_read(open_store: OpenStore) -> None:
    """context(shown=…) leaves out what the prompt holds; the reranker orders the rest."""
    cats(open_store())
    reranker = Preferring("number3")
    bank = open_store(reranker=reranker).bank("gary")
    shown = [id_ for one in bank.memories() if "number3" in one.text for id_ in one.sources]
    found = bank.context("Mochi cat", shown=shown, reinforce=False)
    assert len(found.recalled) == 11
    assert not any("number3" in one.memory.text for one in found.recalled)


def test_the_records_are_free_while_a_model_thinks(open_store: OpenStore) -> None:
    """Another thread writes while the reranker is at it."""

    class Writing:
        name = "writing"
        seen = 0

        def score(self, query: str, texts: list[str]) -> np.ndarray:
            thread = threading.Thread(target=lambda: bank.remember("written meanwhile"))
            thread.start()
            thread.join(timeout=20)
            self.seen = len(bank.memories())
            return np.zeros(len(texts))

    reranker = Writing()
    store = open_store(reranker=reranker)
    cats(store)
    bank = store.bank("gary")
    assert len(bank.recall("Mochi cat", reinforce=False)) == 6
    assert reranker.seen == 13


@pytest.mark.parametrize("wrong", ["best", object(), 3])
def test_what_is_no_reranker_is_refused_at_opening(open_store: OpenStore, wrong: object) -> None:
    """Before anything is made."""
    with pytest.raises(InvalidInputError, match="rerank"):
        open_store(reranker=wrong)


def test_the_default_says_what_to_install(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for and not there: an error that names the extra, not a silent recall without."""
    monkeypatch.setattr(cross_encoder.CrossEncoder, "available", staticmethod(lambda: False))
    with pytest.raises(RerankError, match=r"memorybank-core\[rerank\]"):
        open_store(reranker="default")


def test_no_reranker_unless_asked_for(open_store: OpenStore, clock: FrozenClock) -> None:
    """By default nothing is reranked: no part of that name."""
    store = open_store(embedder=HashEmbedder(64), clock=clock)
    cats(store)
    assert all("rerank" not in r.parts for r in store.bank("gary").recall("Mochi", reinforce=False))
