"""A turn of talk: stored first, recalled, answered, credited; nothing that fails loses the user's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from memorybank.bank import MemoryBank
from memorybank.companion.speaking import ChatModel, Said
from memorybank.companion.talk import (
    CUT,
    Companion,
    Event,
    Heard,
    Piece,
    Recollection,
    Reply,
    TalkSettings,
    Trouble,
    alternating,
)
from memorybank.errors import LLMError
from memorybank.models import Message
from memorybank.testing import FrozenClock
from tests.conftest import OpenStore
from tests.core.talking import assistant, user


class Scripted:
    """A chat model that answers with given pieces and keeps what it was asked."""

    def __init__(self, *pieces: str | Exception) -> None:
        self.pieces = pieces
        self.asked: list[list[Said]] = []

    def __call__(self, messages: Sequence[Said]) -> Iterator[str]:
        self.asked.append(list(messages))
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece


def companion(bank: MemoryBank, clock: FrozenClock, model: ChatModel | None, **settings: Any) -> Companion:
    return Companion(bank, "today", model, clock, TalkSettings(**settings))


def kinds(events: Sequence[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


@pytest.fixture
def past(bank: MemoryBank, clock: FrozenClock) -> MemoryBank:
    """A bank in which something was said two days ago."""
    said = [
        user("My cat is called Biscuit"),
        assistant("A fine name"),
        user("I live in Leeds"),
        assistant("I see"),
    ]
    bank.add(said, session="old")
    clock.advance(timedelta(days=2))
    return bank


def test_a_turn(past: MemoryBank, clock: FrozenClock) -> None:
    """Words, recollection, pieces, reply, in this order; the reply is stored and what it used is credited."""
    model = Scripted("She is called ", "Biscuit.")
    events = list(companion(past, clock, model).hear("What is my cat called?"))
    assert kinds(events) == ["Heard", "Recollection", "Piece", "Piece", "Reply"]
    assert [(m.role, m.text) for m in past.history("today")] == [
        ("user", "What is my cat called?"),
        ("assistant", "She is called Biscuit."),
    ]
    reply = events[-1]
    assert isinstance(reply, Reply)
    (used,) = past.get(reply.used)
    assert "Biscuit" in used.text
    assert used.strength == 2
    assert [m.strength for m in past.memories(levels=["turn"]) if "Leeds" in m.text] == [1]


def test_what_the_model_reads(past: MemoryBank, clock: FrozenClock) -> None:
    """One system message: the instruction with the date, then the memories; then the session, the words last."""
    model = Scripted("Biscuit.")
    talk = companion(past, clock, model, system="Be kind {as ever}. Today is {today}.")
    list(talk.hear("What is my cat called?"))
    list(talk.hear("And where do I live?"))
    system, *rest = model.asked[1]
    assert system["role"] == "system"
    assert system["content"].startswith("Be kind {as ever}. Today is 2026-01-03.\n\n<")
    assert "Leeds" in system["content"]
    assert [one["role"] for one in rest] == ["user", "assistant", "user"]
    assert rest[-1]["content"] == "And where do I live?"
    assert "What is my cat called?" not in system["content"], "what stands in the prompt is not recalled too"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Scripted(LLMError("the server is down")), "the server is down"),
        (Scripted(OSError("secret words")), "the model raised OSError"),
        (Scripted(), ""),
        (Scripted(" \n"), ""),
    ],
)
def test_a_failing_model_loses_no_words(
    past: MemoryBank, clock: FrozenClock, model: Scripted, reason: str
) -> None:
    """The words are stored before the model is asked; the trouble is an event; no empty reply is stored."""
    events = list(companion(past, clock, model).hear("Remember the 9th of May."))
    assert events[-1] == Trouble(reason)
    assert [m.text for m in past.history("today")] == ["Remember the 9th of May."]
    assert past.recall("9th of May", k=1)[0].memory.text == "user: Remember the 9th of May."


def test_a_reply_that_breaks_off_is_kept_as_far_as_it_came(past: MemoryBank, clock: FrozenClock) -> None:
    """By the model or by whoever stops listening: what was shown is stored, and marked as cut."""
    events = list(companion(past, clock, Scripted("She is ", LLMError("broken"))).hear("My cat?"))
    assert kinds(events)[-2:] == ["Trouble", "Reply"]
    assert past.history("today")[-1].text == f"She is{CUT}"
    hearing = companion(past, clock, Scripted("Well, ", "let me think")).hear("My home?")
    for event in hearing:
        if isinstance(event, Piece):
            break
    hearing.close()
    assert past.history("today")[-1].text == f"Well,{CUT}"


def test_without_a_model_it_listens_and_recalls(past: MemoryBank, clock: FrozenClock) -> None:
    """Words are stored, what fits is shown, nothing is credited."""
    events = list(companion(past, clock, None).hear("What is my cat called?"))
    assert kinds(events) == ["Heard", "Recollection"]
    recollection = events[1]
    assert isinstance(recollection, Recollection)
    assert "Biscuit" in recollection.recalled[0].memory.text
    assert {m.strength for m in past.memories()} == {1}


def test_what_is_repeated_of_the_block_is_not_stored(past: MemoryBank, clock: FrozenClock) -> None:
    """A model that recites its memories does not make new ones of them."""
    model = Scripted()
    talk = companion(past, clock, model)
    list(talk.hear("What is my cat called?"))
    block = model.asked[0][0]["content"].split("\n\n", 1)[1]
    talk.model = Scripted(block, "\n\nBiscuit.")
    list(talk.hear("Well?"))
    assert past.history("today")[-1].text == "Biscuit."


def test_finished_days_are_summed_up_behind_the_first_turn_of_a_day(
    open_store: OpenStore, clock: FrozenClock
) -> None:
    """The day that is over gets its summary in the background, once a day."""
    with open_store() as store:
        bank = store.bank("gary", timezone="UTC")
        talk = companion(bank, clock, None)
        list(talk.hear("I bought a violin in Bergen."))
        clock.advance(timedelta(days=1))
        list(talk.hear("Good morning."))
        store.runtime.background.drain(20)
        events = bank.events("2026-01-01")
        assert events is not None
        assert "Bergen" in events.text


def test_the_window_keeps_to_its_budget(bank: MemoryBank, clock: FrozenClock) -> None:
    """Older messages give way; the words just said are always there, however long."""
    model = Scripted("Yes.")
    talk = companion(bank, clock, model, window=40)
    for number in range(6):
        list(talk.hear(f"The number is {number}, and that is all there is to say about it today."))
    assert 2 <= len(model.asked[-1]) <= 4
    list(talk.hear("word " * 200))
    assert model.asked[-1][-1]["content"] == ("word " * 200)
    assert len(model.asked[-1]) == 2


def test_roles_alternate() -> None:
    """User first; words that got no answer stand with the next ones; tools and blanks are left out."""
    said = [
        ("assistant", "a"),
        ("user", "b"),
        ("user", "c"),
        ("tool", "t"),
        ("assistant", " "),
        ("assistant", "d"),
    ]
    assert alternating([Message(role, text) for role, text in said]) == [
        {"role": "user", "content": "b\n\nc"},
        {"role": "assistant", "content": "d"},
    ]


def test_the_words_are_heard_before_anything_else(bank: MemoryBank, clock: FrozenClock) -> None:
    """The first event says that they are in the records."""
    events = companion(bank, clock, Scripted(LLMError("no"))).hear("Hello")
    first = next(events)
    assert isinstance(first, Heard)
    assert bank.history("today") == [first.message]
    events.close()
