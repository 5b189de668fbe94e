"""Exchanges: a user's words are a memory at once; the reply completes it."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from memorybank.bank import MemoryBank
from memorybank.models import Level
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock
from tests.conftest import OpenStore
from tests.core.talking import assistant, held, loaded, texts, user


def turns(bank: MemoryBank) -> list[str]:
    return [m.text for m in bank.memories(levels=["turn"])]


def test_an_exchange_is_one_memory(bank: MemoryBank) -> None:
    """User and reply in one call make one memory of both, made from both messages."""
    stored = bank.add([user("Where is Oslo?"), assistant("In Norway.")], session="s")
    (memory,) = bank.memories()
    assert memory.text == "user: Where is Oslo?\nassistant: In Norway."
    assert memory.sources == tuple(m.id for m in stored)
    assert memory.level is Level.TURN
    assert memory.session == "s"


def test_a_reply_completes_the_memory_in_place(bank: MemoryBank, clock: FrozenClock) -> None:
    """The user's words are recallable before the answer; the answer changes the text, not the id or strength."""
    bank.add([user("My cat is called Mochi")], session="s")
    (open_turn,) = bank.recall("Mochi", k=3)
    clock.advance(timedelta(seconds=20))
    bank.add([assistant("What a lovely name")], session="s")
    (done,) = bank.memories()
    assert done.id == open_turn.memory.id
    assert done.text == "user: My cat is called Mochi\nassistant: What a lovely name"
    assert done.strength == 2
    assert done.ended - done.began == timedelta(seconds=20)
    assert texts(bank.recall("lovely name", k=1)) == [done.text]


def test_several_replies_belong_to_one_exchange(bank: MemoryBank) -> None:
    """An answer in parts (tool calls between) is one answer."""
    bank.add([user("Weather in Oslo?"), assistant("Let me look.")], session="s")
    bank.add([{"role": "tool", "content": "{rain}"}, assistant("It rains.")], session="s")
    assert turns(bank) == ["user: Weather in Oslo?\nassistant: Let me look.\nassistant: It rains."]


def test_two_users_messages_are_two_exchanges(bank: MemoryBank) -> None:
    """A reply answers the latest message."""
    bank.add([user("one"), user("two")], session="s")
    bank.add([assistant("reply")], session="s")
    assert turns(bank) == ["user: one", "user: two\nassistant: reply"]


def test_sessions_do_not_answer_each_other(bank: MemoryBank) -> None:
    """A reply in another session starts a memory there."""
    bank.add([user("question in a")], session="a")
    bank.add([assistant("answer in b")], session="b")
    assert sorted(turns(bank)) == ["assistant: answer in b", "user: question in a"]


def test_a_reply_after_twelve_hours_is_a_new_start(bank: MemoryBank, clock: FrozenClock) -> None:
    """What comes a day later does not answer."""
    bank.add([user("Good night")], session="s")
    bank.add([assistant("in time")], session="s", at=clock() + timedelta(hours=12))
    bank.add([assistant("Good morning")], session="s", at=clock() + timedelta(hours=25))
    assert turns(bank) == ["user: Good night\nassistant: in time", "assistant: Good morning"]


def test_other_roles_stay_in_the_transcript_only(bank: MemoryBank) -> None:
    """System and tool messages are kept verbatim and never remembered."""
    bank.add([{"role": "system", "content": "You are kind"}, {"role": "tool", "content": "42"}], session="s")
    assert texts(bank.history("s")) == ["You are kind", "42"]
    assert bank.memories() == []


def test_named_speakers_have_a_memory_per_message(bank: MemoryBank) -> None:
    """In a dialogue of named users each message is a unit."""
    bank.add([user("Hi", name="Ann"), user("Hello", name="Bob")], session="s")
    assert turns(bank) == ["Ann: Hi", "Bob: Hello"]
    assert [m.speaker for m in bank.memories()] == ["Ann", "Bob"]


def test_another_process_may_bring_the_reply(open_store: OpenStore) -> None:
    """Two stores on one folder: one adds the question, the other the answer; both recall the whole."""
    one, other = open_store(), open_store()
    a, b = one.bank("gary"), other.bank("gary")
    a.add([user("first words")], session="s")
    b.recall("first", reinforce=False)
    b.add([assistant("first reply")], session="s")
    a.add([user("second words")], session="s")
    b.add([assistant("second reply")], session="s")
    expected = [
        "user: first words\nassistant: first reply",
        "user: second words\nassistant: second reply",
    ]
    for store, bank in ((one, a), (other, b)):
        assert turns(bank) == expected
        assert texts(bank.recall("second reply", k=1, reinforce=False)) == expected[1:]
        assert held(store, bank) == loaded(store, bank)


def test_a_thread_may_bring_the_reply(store: MemoryStore, bank: MemoryBank) -> None:
    """The answer from another thread completes the same memory."""
    bank.add([user("question")], session="s")
    thread = threading.Thread(target=lambda: bank.add([assistant("answer")], session="s"))
    thread.start()
    thread.join()
    assert turns(bank) == ["user: question\nassistant: answer"]
    assert held(store, bank) == loaded(store, bank)


def test_a_reply_to_a_deleted_question_answers_no_other(bank: MemoryBank) -> None:
    """Its question gone, the answer stands alone: it was not said in answer to the exchange before."""
    bank.add([user("Is Oslo nice?"), assistant("Very.")], session="s")
    bank.add([user("My secret is beetroot")], session="s")
    (secret,) = [m for m in bank.memories() if "beetroot" in m.text]
    bank.delete(secret.id)
    bank.add([assistant("I will keep it to myself")], session="s")
    assert turns(bank) == [
        "user: Is Oslo nice?\nassistant: Very.",
        "assistant: I will keep it to myself",
    ]


def test_a_reply_in_a_cleared_session_stands_alone(bank: MemoryBank) -> None:
    """The session starts anew."""
    bank.add([user("question")], session="s")
    bank.clear("s")
    bank.add([assistant("answer")], session="s")
    assert turns(bank) == ["assistant: answer"]
    assert [m.position for m in bank.history("s")] == [0]


def test_a_reply_to_a_question_without_words_answers_no_other(bank: MemoryBank) -> None:
    """A user's message without text (a picture) ends the exchange before it, in one call and in two."""
    bank.add([user("Is Oslo nice?"), assistant("Very."), user(""), assistant("What a picture!")], session="s")
    bank.add([user("")], session="s")
    bank.add([assistant("Another one")], session="s")
    assert turns(bank) == [
        "user: Is Oslo nice?\nassistant: Very.",
        "assistant: What a picture!",
        "assistant: Another one",
    ]


def test_a_reply_completes_an_edited_question(bank: MemoryBank) -> None:
    """An edit before the answer is kept in the completed memory."""
    bank.add([user("I live in Olso")], session="s")
    bank.edit(bank.memories()[0].id, "user: I live in Oslo")
    bank.add([assistant("Nice")], session="s")
    assert turns(bank) == ["user: I live in Oslo\nassistant: Nice"]


def test_the_turn_in_progress_is_not_recalled_to_itself(bank: MemoryBank) -> None:
    """Asked in its own session the open question is left out, from elsewhere it is found; once answered, too."""
    bank.add([user("What is my cat called?")], session="s")
    assert bank.recall("What is my cat called?", asking="s") == []
    assert len(bank.recall("What is my cat called?", reinforce=False)) == 1
    bank.add([assistant("Mochi")], session="s")
    assert len(bank.recall("What is my cat called?", asking="s")) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_how_messages_are_batched_changes_nothing(open_store: OpenStore, tmp_path, size: int) -> None:  # type: ignore[no-untyped-def]  # Path
    """The same conversation in one call or in many makes the same memories."""
    talk = []
    for i in range(6):
        talk += [user(f"question {i}"), assistant(f"answer {i}"), {"role": "tool", "content": "x"}]
        talk += [assistant(f"more {i}")] if i % 2 else [user(f"and {i}")]
    whole = open_store(tmp_path / "whole").bank("gary")
    whole.add(talk, session="s")
    parts = open_store(tmp_path / "parts").bank("gary")
    for i in range(0, len(talk), size):
        parts.add(talk[i : i + size], session="s")
    assert turns(parts) == turns(whole)
