"""``context(shown=…)``: what the prompt holds anyway is not told twice."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from memorybank import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder


def test_a_turn_that_the_prompt_shows_is_left_out_and_not_credited(tmp_path: Path) -> None:
    """A turn made of shown messages alone is neither in the block nor reinforced; other turns still are."""
    clock = FrozenClock()
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=clock) as store:
        bank = store.bank("gary", timezone="UTC")
        bank.add([{"role": "user", "content": "The cat Mochi sleeps on the piano."}], session="first")
        clock.advance(timedelta(days=1))
        here = bank.add(
            [
                {"role": "user", "content": "The cat Mochi ate a moth."},
                {"role": "assistant", "content": "Poor moth."},
            ],
            session="second",
        )
        ids = [message.id for message in here if message.id]
        context = bank.context("What about the cat Mochi?", session="second", shown=ids)
        assert "piano" in context.text
        assert "moth" not in context.text
        strengths = {memory.text: memory.strength for memory in bank.memories()}
        assert sorted(strengths.values()) == [1, 2]
        half = bank.context("What about the cat Mochi?", session="second", shown=ids[:1], reinforce=False)
        assert "moth" in half.text


def test_shown_turns_do_not_crowd_out_others(tmp_path: Path) -> None:
    """However many of the best hits are shown anyway, the block is filled with what is not."""
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=FrozenClock()) as store:
        bank = store.bank("gary", timezone="UTC")
        bank.add([{"role": "user", "content": "The cat is called Mochi, since spring."}], session="first")
        here = bank.add(
            [{"role": "user", "content": f"The cat is called Mochi {n}"} for n in range(30)], session="second"
        )
        context = bank.context(
            "The cat is called Mochi", session="second", shown=[m.id for m in here if m.id], k=3
        )
        assert "since spring" in context.text
        assert len(context.recalled) == 1
