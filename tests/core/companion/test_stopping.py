"""A reply that is stopped ends at once, whatever the model does; what was said is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from memorybank.bank import MemoryBank
from memorybank.companion.speaking import Said
from memorybank.companion.stopping import STOPPED, stoppable
from memorybank.companion.talk import CUT, Companion, Piece, Trouble
from memorybank.errors import LLMError
from memorybank.testing import FrozenClock
from tests.core.talking import texts


class Silent:
    """Says a word, then nothing until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.ended = threading.Event()

    def __call__(self, messages: Sequence[Said]) -> Iterator[str]:
        try:
            yield "First"
            self.go.wait(20)
            yield " second"
            yield " third"
        finally:
            self.ended.set()


def test_a_silent_model_is_left(bank: MemoryBank, clock: FrozenClock) -> None:
    """Stopped while the model says nothing: over within a moment, the first word kept and marked as cut."""
    model, stop = Silent(), threading.Event()
    companion = Companion(bank, "s", stoppable(model, stop.is_set), clock)
    events = companion.hear("Hello")
    assert any(isinstance(event, Piece) for event in events)
    stop.set()
    begun = time.monotonic()
    rest = list(events)
    assert time.monotonic() - begun < 2
    assert Trouble(STOPPED) in rest
    assert texts(bank.history("s")) == ["Hello", f"First{CUT}"]
    model.go.set()
    assert model.ended.wait(5), "the model's thread goes on although nobody listens"


def test_not_stopped_it_is_the_model(bank: MemoryBank) -> None:
    """Pieces in order, errors as they are."""

    def broken(messages: Sequence[Said]) -> Iterator[str]:
        yield "a"
        yield "b"
        raise LLMError("no more")

    heard = []
    with pytest.raises(LLMError, match="no more"):
        heard.extend(stoppable(broken, lambda: False)([]))
    reply = stoppable(lambda messages: ["a", "b"], lambda: False)
    assert list(reply([])) == ["a", "b"]
