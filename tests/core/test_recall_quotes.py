"""Extractive summaries quote turns; what is handed over as a turn is not handed over again as a quote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from memorybank import Level, MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder


def test_a_quote_gives_way_to_the_turn_it_quotes(tmp_path: Path) -> None:
    """A context holds the turn and not its quote; recall returns both, and summaries alone when asked."""
    clock = FrozenClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=clock, chroma=False) as store:
        bank = store.bank("gary", timezone="UTC")
        for place in ("museum", "harbour", "library"):
            bank.add([{"role": "user", "content": f"I visited the {place} with Anna."}], session=place)
            clock.advance(timedelta(days=1))
        assert len(bank.consolidate().made) >= 3

        context = bank.context("the museum with Anna", k=3, reinforce=False)
        assert [one.memory.level for one in context.recalled] == [Level.TURN] * 3
        found = {one.memory.level for one in bank.recall("the museum with Anna", k=6, reinforce=False)}
        assert found == {Level.TURN, Level.DAY_EVENTS}
        summaries = bank.recall("the museum with Anna", k=3, levels=["day_events"], reinforce=False)
        assert {one.memory.level for one in summaries} == {Level.DAY_EVENTS}
        assert "museum" in summaries[0].memory.text


def test_a_quote_stands_in_for_an_archived_turn(tmp_path: Path) -> None:
    """A summary whose turn is not recalled is handed over."""
    clock = FrozenClock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=clock, chroma=False) as store:
        bank = store.bank("gary", timezone="UTC")
        bank.add([{"role": "user", "content": "I visited the museum with Anna."}], session="a")
        clock.advance(timedelta(days=1))
        bank.consolidate()
        found = bank.recall("museum", k=3, session=None, levels=["day_events", "note"], reinforce=False)
        assert [one.memory.level for one in found] == [Level.DAY_EVENTS]
