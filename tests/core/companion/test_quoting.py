"""The companion without a language model: it quotes what the user said, or says that it found nothing."""

from __future__ import annotations

from datetime import timedelta

from memorybank.bank import MemoryBank
from memorybank.companion.quoting import quoting
from memorybank.companion.talk import Companion, Reply, TalkSettings
from memorybank.testing import FrozenClock
from memorybank.text.language import Language
from tests.core.talking import assistant, user


def answer(bank: MemoryBank, clock: FrozenClock, words: str, language: Language) -> str:
    companion = Companion(bank, "today", None, clock, TalkSettings(window=0))
    companion.model = quoting(lambda: companion.recalled, "UTC", language)
    reply = list(companion.hear(words))[-1]
    assert isinstance(reply, Reply)
    return reply.message.text


def test_it_quotes_the_users_words(bank: MemoryBank, clock: FrozenClock) -> None:
    """With the day, in the language asked for; never a question, never what the companion said itself."""
    bank.add([user("What is my cat called?"), assistant("My cat? I have no cat.")], session="old")
    bank.add([user("My cat is called Biscuit"), assistant("Noted")], session="old")
    clock.advance(timedelta(days=2))
    asked = "What is my cat called?"
    assert answer(bank, clock, asked, "en") == "On 01 January 2026 you said: “My cat is called Biscuit”"
    assert answer(bank, clock, asked, "zh") == "2026年01月01日你说过：“My cat is called Biscuit”"


def test_it_says_that_nothing_was_found(bank: MemoryBank, clock: FrozenClock) -> None:
    """And long words are shortened."""
    assert answer(bank, clock, "Hello", "zh").startswith("记下了")
    bank.remember("The boat " + "leaks and " * 60)
    assert len(answer(bank, clock, "boat leaks", "en")) < 220
