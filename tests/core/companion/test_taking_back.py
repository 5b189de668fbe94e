"""The last turn taken back or answered anew: the memory follows; what others said stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from memorybank.bank import MemoryBank
from memorybank.companion.speaking import Said
from memorybank.companion.taking_back import last_turn, take_back
from memorybank.companion.talk import Companion, Reply
from memorybank.testing import FrozenClock
from tests.core.talking import assistant, texts, user


def test_the_last_turn_goes(bank: MemoryBank, clock: FrozenClock) -> None:
    """Its messages and its memory, and nothing else; until there is none left."""
    bank.add([user("My cat is called Biscuit"), assistant("Noted")], session="s")
    clock.advance(timedelta(minutes=1))
    bank.add([user("My dog is called Rex"), assistant("Noted")], session="s")
    bank.add([user("Elsewhere")], session="other")
    taken = take_back(bank, "s")
    assert taken is not None
    assert (taken.words, taken.erased.messages, taken.erased.memories) == ("My dog is called Rex", 2, 1)
    assert texts(bank.history("s")) == ["My cat is called Biscuit", "Noted"]
    assert not [one for one in bank.recall("dog Rex", k=9) if "Rex" in one.memory.text]
    assert take_back(bank, "s") is not None
    assert take_back(bank, "s") is None
    assert take_back(bank, "never") is None
    assert texts(bank.memories()) == ["user: Elsewhere"]


def test_words_without_an_answer_go_alone(bank: MemoryBank) -> None:
    """A turn that failed is one turn; the one before it stays whole."""
    bank.add([user("one"), assistant("yes"), user("two")], session="s")
    assert texts(last_turn(bank, "s")) == ["two"]
    assert take_back(bank, "s") is not None
    assert texts(bank.history("s")) == ["one", "yes"]


def test_a_long_answer_is_one_turn(bank: MemoryBank) -> None:
    """However many messages follow the user's words."""
    bank.add([user("begin"), *(assistant(f"part {number}") for number in range(40))], session="s")
    assert len(last_turn(bank, "s")) == 41
    take_back(bank, "s")
    assert bank.history("s") == []
    assert bank.memories() == []


def test_what_was_made_of_it_is_emptied(bank: MemoryBank, clock: FrozenClock) -> None:
    """A summary that quotes the turn no longer does; the next consolidation knows nothing of it."""
    bank.add([user("My secret is marzipan"), assistant("Noted")], session="s")
    clock.advance(timedelta(days=1))
    bank.consolidate()
    assert any("marzipan" in text for text in texts(bank.memories()))
    take_back(bank, "s")
    assert bank.memories() == []
    bank.consolidate()
    assert bank.memories() == []


class Answers:
    """A model that gives one answer after the other."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    def __call__(self, messages: Sequence[Said]) -> Iterator[str]:
        yield self.answers.pop(0)


def test_answered_anew(bank: MemoryBank, clock: FrozenClock) -> None:
    """One user's message, one answer, the second; a memory that both drew on is credited once."""
    bank.add([user("My cat is called Biscuit"), assistant("Noted")], session="old")
    clock.advance(timedelta(days=2))
    model = Answers("She is called Biscuit.", "Biscuit, your cat.", "Your cat Biscuit.")
    companion = Companion(bank, "today", model, clock)
    first = list(companion.hear("What is my cat called?"))[-1]
    assert isinstance(first, Reply)
    assert len(first.used) == 1
    list(companion.again())
    last = list(companion.again())[-1]
    assert isinstance(last, Reply)
    assert texts(bank.history("today")) == ["What is my cat called?", "Your cat Biscuit."]
    assert [one.strength for one in bank.get(first.used)] == [2]


def test_again_without_a_turn_does_nothing(bank: MemoryBank, clock: FrozenClock) -> None:
    """No events, no messages."""
    companion = Companion(bank, "today", Answers(), clock)
    assert list(companion.again()) == []
    assert companion.take_back() is None


@pytest.mark.parametrize("answered", [True, False])
def test_taking_back_forgets_what_was_recalled(bank: MemoryBank, clock: FrozenClock, answered: bool) -> None:
    """The companion shows nothing of a turn that never was."""
    bank.add([user("My cat is called Biscuit"), assistant("Noted")], session="old")
    companion = Companion(bank, "today", Answers("Biscuit.") if answered else None, clock)
    list(companion.hear("What is my cat called?"))
    assert companion.recalled
    companion.take_back()
    assert companion.recalled == ()
    assert companion.used == ()
