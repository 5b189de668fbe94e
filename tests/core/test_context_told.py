"""What portrait or events quote is not said a second time among the recalled memories, and counts as handed over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from memorybank import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder


def test_a_fact_stands_once_in_the_block(tmp_path: Path) -> None:
    """Quoted by the global events and recalled as a turn, a sentence stands once; the reply is not lost."""
    clock = FrozenClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=clock, chroma=False) as store:
        bank = store.bank("gary", timezone="UTC")
        bank.add(
            [
                {"role": "user", "content": "My sister Anna adopted a cat called Mochi."},
                {"role": "assistant", "content": "Please give Mochi a scratch from me."},
            ],
            session="monday",
        )
        clock.advance(timedelta(days=7))
        before = bank.context("What is the cat called?", max_tokens=500, reinforce=False)
        bank.consolidate()
        after = bank.context("What is the cat called?", max_tokens=500, reinforce=False)

    assert before.text.count("adopted a cat") == 1
    assert after.text.count("adopted a cat") == 1
    assert after.text.count("give Mochi a scratch") == 1
    assert [one.memory.id for one in after.recalled] == [one.memory.id for one in before.recalled]
