"""Recall through the bank: its own writes, filters, what is credited, and what is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memorybank import reinforcing
from memorybank.bank import MemoryBank
from memorybank.errors import InvalidInputError, ReadOnlyError, StoreError
from memorybank.models import Level
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock
from tests.conftest import OpenStore
from tests.core.talking import assistant, held, ids, loaded, scored, texts, user


def test_recall_sees_its_own_writes_before_and_after_the_flush(open_store: OpenStore) -> None:
    """A memory is recalled as soon as it is added, whether the index has it, will have it, or is not used."""
    for search in ("exact", "chroma"):
        store = open_store(search=search, chroma=None)
        bank = store.bank(f"gary-{search}")
        for i in range(30):
            bank.add([user(f"fact{i} about thing{i}"), assistant("noted")], session="s")
            assert f"fact{i}" in bank.recall(f"thing{i}", k=1, reinforce=False)[0].memory.text
            if i == 15:
                assert store.flush() > 0
        assert store.flush() > 0
        for i in range(30):
            assert f"fact{i}" in bank.recall(f"thing{i}", k=1, reinforce=False)[0].memory.text
        store.close()


def test_at_most_k_and_best_first(bank: MemoryBank) -> None:
    """k bounds the answer; scores fall; parts add up to the score."""
    bank.add([user(f"Mochi the cat did thing {i}") for i in range(20)], session="s")
    for k in (1, 6, 50):
        found = bank.recall("Mochi cat", k=k, reinforce=False)
        assert len(found) == min(k, 20)
        assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
        assert all(sum(r.parts.values()) == pytest.approx(r.score, abs=1e-4) for r in found)


@pytest.mark.parametrize("query", ["", "   \n", "\u3000"])
def test_a_blank_query_recalls_nothing(bank: MemoryBank, query: str) -> None:
    """Nothing asked, nothing found, nothing credited."""
    bank.add([user("something")], session="s")
    assert bank.recall(query) == []
    assert bank.memories()[0].strength == 1


@pytest.mark.parametrize(
    "query", ["\x00", "\ud800", "???", "🐈", "猫", "%_'\"", "a" * 1_000_000, "the of and", "\u200b"]
)
def test_strange_queries_are_answered(bank: MemoryBank, query: str) -> None:
    """No text of a question raises."""
    bank.add([user("My cat 猫 is called Mochi"), assistant("\x00 \ud800")], session="s")
    assert len(bank.recall(query, reinforce=False)) <= 1


def test_an_owner_who_stored_nothing_recalls_nothing(store: MemoryStore) -> None:
    """Every way of reading an empty bank gives nothing, and makes nothing."""
    bank = store.bank("nobody")
    assert bank.recall("anything") == []
    assert bank.history("s") == []
    assert bank.sessions() == []
    assert bank.memories() == []
    assert bank.context("anything").text == ""
    assert bank.stats().total == 0
    assert bank.events() is None
    assert bank.portrait("2026-01-01") is None
    assert bank.forget().archived == []
    assert store.owners() == []


def fill(bank: MemoryBank) -> None:
    for day in range(1, 11):
        at = datetime(2026, 1, day, 12, tzinfo=UTC)
        bank.add([user(f"cat diary {day}"), assistant("meow")], session=f"s{day % 2}", at=at)
    bank.remember("cat note", at=datetime(2026, 1, 5, 12, tzinfo=UTC))


def test_filters_by_time_are_inclusive(bank: MemoryBank) -> None:
    """since and until bound what a memory is about, both ends included."""
    fill(bank)
    found = bank.recall(
        "cat diary",
        k=50,
        since=datetime(2026, 1, 3, 12, tzinfo=UTC),
        until=datetime(2026, 1, 6, 12, tzinfo=UTC),
        levels=["turn"],
        reinforce=False,
    )
    assert sorted(int(t.split()[3]) for t in texts(found)) == [3, 4, 5, 6]
    assert bank.recall("cat", since="2026-02-01", reinforce=False) == []
    assert bank.recall("cat", until="2025-12-31", reinforce=False) == []


def test_filters_by_level_and_session(bank: MemoryBank) -> None:
    """levels and session narrow; a session that is not there has nothing."""
    fill(bank)
    assert texts(bank.recall("cat", levels=[Level.NOTE], reinforce=False)) == ["cat note"]
    assert len(bank.recall("cat", k=50, levels=["turn", "note"], reinforce=False)) == 11
    odd = bank.recall("cat", k=50, session="s1", reinforce=False)
    assert {r.memory.session for r in odd} == {"s1"}
    assert len(odd) == 5
    assert bank.recall("cat", session="elsewhere", reinforce=False) == []
    assert bank.recall("cat", levels="portrait", reinforce=False) == []


def test_filters_work_the_same_through_the_index(open_store: OpenStore) -> None:
    """search="chroma" obeys the filters as search="exact" does."""
    exact = open_store(search="exact", chroma=None)
    fill(exact.bank("gary", timezone="UTC"))
    exact.flush()
    wanted = {"k": 50, "reinforce": False, "levels": ["turn"], "since": "2026-01-03", "session": "s1"}
    expected = scored(exact.bank("gary").recall("cat diary", **wanted))  # type: ignore[arg-type]  # kinds as above
    exact.close()
    chroma = open_store(search="chroma", chroma=None)
    assert scored(chroma.bank("gary").recall("cat diary", **wanted)) == expected  # type: ignore[arg-type]  # kinds as above
    assert len(expected) == 4


def test_what_is_returned_is_credited(store: MemoryStore, bank: MemoryBank, clock: FrozenClock) -> None:
    """Strength + 1 and t = 0 for what was returned, nothing for the rest, nothing with reinforce=False."""
    bank.add([user("Mochi is a cat"), user("Rex is a dog"), user("Polly is a parrot")], session="s")
    clock.advance(timedelta(days=2))
    for _ in range(3):
        bank.recall("Mochi cat", k=1)
    bank.recall("Rex dog", k=1, reinforce=False)
    strengths = {m.text: (m.strength, m.last_recalled) for m in bank.memories()}
    assert strengths == {
        "user: Mochi is a cat": (4, clock()),
        "user: Rex is a dog": (1, None),
        "user: Polly is a parrot": (1, None),
    }
    assert held(store, bank) == loaded(store, bank)


def test_credit_is_once_per_user_turn(store: MemoryStore, bank: MemoryBank) -> None:
    """However often a framework asks within one user turn of a session, a memory is credited once."""
    bank.add([user("Mochi is a cat"), assistant("Nice")], session="old")
    for turn in range(3):
        bank.add([user(f"Tell me of Mochi {turn}")], session="now")
        for _ in range(4):
            bank.recall("Mochi", asking="now", session="old")
        bank.add([assistant("She is a cat")], session="now")
    assert bank.memories()[0].strength == 4
    assert held(store, bank) == loaded(store, bank)


def test_a_later_use_is_not_turned_back(bank: MemoryBank, clock: FrozenClock) -> None:
    """A recall that is replayed with an earlier now adds strength and leaves the later time."""
    bank.add([user("Mochi is a cat")], session="s")
    late = clock() + timedelta(days=10)
    bank.recall("Mochi", now=late)
    bank.recall("Mochi", now=late - timedelta(days=5))
    assert (bank.memories()[0].strength, bank.memories()[0].last_recalled) == (3, late)


def test_reinforce_credits_what_the_answer_draws_on(bank: MemoryBank) -> None:
    """With an answer only its sources are credited; without one, all that was recalled; deleted ones pass."""
    bank.add([user("My sister Anna lives in Bergen with her dog"), user("I work at the bakery")], session="s")
    recalled = bank.recall("Anna Bergen bakery", reinforce=False)
    assert len(recalled) == 2
    credited = bank.reinforce(recalled, answer="Your sister Anna lives in Bergen.")
    assert [m.strength for m in bank.memories()] == [2, 1]
    assert credited == [bank.memories()[0].id]
    bank.delete(credited)
    assert bank.reinforce(recalled) == ids(bank.memories())


def test_links_between_what_is_recalled_together_fade(
    store: MemoryStore, bank: MemoryBank, clock: FrozenClock
) -> None:
    """Memories used together are linked; a link halves in 30 days before the next use adds to it."""
    bank.add([user("Mochi is a cat"), user("Mochi eats fish")], session="s")
    for _ in range(3):
        bank.recall("Mochi", k=2)
        clock.advance(timedelta(days=30))
    (arrays, fresh) = held(store, bank), loaded(store, bank)
    assert arrays == fresh
    weights = [w for row in fresh.values() for _, w in row["links"]]
    assert weights == [pytest.approx(1.75)]


def test_a_read_only_store_recalls_and_credits_nothing(open_store: OpenStore) -> None:
    """Reading works with the defaults; whatever writes says that the store is read-only."""
    writer = open_store()
    writer.bank("gary").add([user("Mochi is a cat"), assistant("ok")], session="s")
    writer.close()
    bank = open_store(read_only=True).bank("gary")
    (found,) = bank.recall("Mochi")
    assert "Mochi" in bank.context("Mochi", session="s").text
    assert bank.memories()[0].strength == 1
    for write in (
        lambda: bank.add([user("x")]),
        lambda: bank.remember("x"),
        lambda: bank.reinforce([found]),
        lambda: bank.edit(found.memory.id, "x"),
        lambda: bank.pin(found.memory.id),
        lambda: bank.delete(found.memory.id),
        lambda: bank.clear("s"),
        lambda: bank.forget(),
    ):
        with pytest.raises(ReadOnlyError, match="read_only"):
            write()
    assert bank.forget(dry_run=True).kept == [found.memory.id]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": 0}, "k=0"),
        ({"k": -1}, "k=-1"),
        ({"k": True}, "whole number"),
        ({"k": 2.0}, "whole number"),
        ({"k": "6"}, "whole number"),
        ({"levels": []}, "levels is empty"),
        ({"levels": ["turns"]}, "unknown level 'turns'"),
        ({"levels": "nope"}, "unknown level"),
        ({"levels": [None]}, "unknown level"),
        ({"levels": 5}, "levels"),
        ({"since": "yesterday"}, "ISO 8601"),
        ({"until": 5}, "datetime"),
        ({"session": " "}, "session is blank"),
        ({"session": 5}, "session"),
        ({"asking": ""}, "asking is blank"),
        ({"now": "soon"}, "now="),
        ({"min_score": "high"}, "min_score"),
        ({"min_score": True}, "min_score"),
        ({"min_score": float("nan")}, "min_score"),
    ],
)
def test_wrong_arguments_of_recall_are_named(bank: MemoryBank, given: dict[str, object], said: str) -> None:
    """What was given and what is allowed, as one error of our tree; nothing is credited."""
    bank.add([user("Mochi")], session="s")
    with pytest.raises(InvalidInputError, match=said):
        bank.recall("Mochi", **given)  # type: ignore[arg-type]  # wrong on purpose
    assert bank.memories()[0].strength == 1


@pytest.mark.parametrize("query", [None, 5, b"Mochi", ["Mochi"]])
def test_a_query_is_a_string(bank: MemoryBank, query: object) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidInputError, match="query must be a string"):
        bank.recall(query)  # type: ignore[arg-type]  # wrong on purpose


def test_words_that_the_question_said_already_are_no_sign_of_use(bank: MemoryBank) -> None:
    """With ``query`` an answer that only repeats the question's words credits by what it adds to them."""
    bank.add(
        [user("Anna's violin teacher is Mr Petrov"), user("Anna plays the violin in Bergen harbour")],
        session="s",
    )
    question = "Where does Anna play the violin?"
    recalled = bank.recall(question, reinforce=False)
    assert len(recalled) == 2
    answer = "Anna plays the violin in Bergen harbour."
    assert len(bank.reinforce(recalled, answer + " Her violin teacher told me.")) == 2
    credited = bank.reinforce(recalled, answer, query=question)
    assert [m.text for m in bank.get(credited)] == ["user: Anna plays the violin in Bergen harbour"]
    bank.add([user(question)], session="now")
    assert bank.reinforce(recalled, answer, asking="now") == credited, "what was said last is what was asked"


def test_the_language_of_the_block_is_that_of_the_memories(store: MemoryStore, clock: FrozenClock) -> None:
    """A question in another language does not change the block's words, nor the prefix that caches keep."""
    bank = store.bank("小满", timezone="UTC")
    bank.add([user("我的猫叫豆包，住在成都。"), assistant("好名字。")], session="s")
    assert "以往对话的记忆" in bank.context("Where does 豆包 live?", reinforce=False).text
    clock.advance(timedelta(days=1))
    bank.consolidate()
    texts = [
        bank.context(query, reinforce=False).text
        for query in ("豆包住在哪里？", "Where does 豆包 live?", "hello")
    ]
    prefixes = {text.split("【与这条消息有关的记忆")[0].rstrip() for text in texts[:2]}
    assert len(prefixes) == 1
    assert texts[2].startswith(prefixes.pop()[:200])
    english = store.bank("小满", language="en")
    assert "Memories of earlier conversations" in english.context("豆包住在哪里？", reinforce=False).text


def test_what_was_found_is_returned_though_it_cannot_be_credited(
    store: MemoryStore, bank: MemoryBank, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a full disk reading goes on: the credit is lost, with a warning, and not the turn."""
    bank.add([user("My cat is called Mochi.")], session="s")

    def full(*given: object, **more: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(reinforcing, "reinforce", full)
    assert bank.recall("cat")[0].memory.strength == 1
    assert "Mochi" in bank.context("What is my cat called?").text
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "Mochi" not in caplog.text
