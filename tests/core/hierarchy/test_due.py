"""Consolidation in the background runs when there is something to write, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorybank import MemoryBank, MemoryStore
from memorybank.hierarchy.due import due, standing
from memorybank.testing import FrozenClock, HashEmbedder


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(datetime(2026, 3, 1, 9, tzinfo=UTC))


@pytest.fixture
def store(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=clock, chroma=False) as opened:
        yield opened


def _say(bank: MemoryBank, text: str, session: str = "s", at: datetime | None = None) -> None:
    bank.add(
        [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}],
        session=session,
        at=at,
    )


def _due(bank: MemoryBank, clock: FrozenClock) -> bool:
    until = clock().date() - timedelta(days=1)
    return due(
        bank.runtime, bank.owner, bank.runtime.background.done.get(bank.owner), until, clock(), bank._zone
    )


def _settle(bank: MemoryBank) -> None:
    bank.consolidate_soon()
    assert bank.runtime.background.drain(30) == 0


def test_it_is_due_for_a_new_day_and_not_for_each_turn(store: MemoryStore, clock: FrozenClock) -> None:
    """The first turn of a day makes it due; further turns and recalls of that day do not."""
    bank = store.bank("gary", timezone="UTC")
    _say(bank, "I visited the museum with Anna.")
    clock.advance(timedelta(days=1))
    assert _due(bank, clock)
    _settle(bank)
    assert bank.events("2026-03-01") is not None
    assert not _due(bank, clock)
    for n in range(3):
        _say(bank, f"Today I read page {n} of my book.")
        bank.recall("the museum")
        assert not _due(bank, clock)
    clock.advance(timedelta(days=1))
    assert _due(bank, clock)


@pytest.mark.parametrize("change", ["late turn", "edit", "delete"])
def test_it_is_due_after_a_change_of_an_older_day(
    store: MemoryStore, clock: FrozenClock, change: str
) -> None:
    """A late turn, a correction and a deletion of a finished day each make it due, and a run settles it."""
    bank = store.bank("gary", timezone="UTC")
    _say(bank, "I visited the museum with Anna.")
    clock.advance(timedelta(days=1))
    _settle(bank)
    found = bank.recall("museum", levels=["turn"], reinforce=False)[0].memory
    match change:
        case "late turn":
            _say(bank, "We also saw the harbour.", session="late", at=clock() - timedelta(days=1))
        case "edit":
            bank.edit(found.id, "user: I visited the gallery with Anna.")
        case "delete":
            bank.delete(found.id)
    assert _due(bank, clock)
    _settle(bank)
    _settle(bank)  # a run that withdrew a summary is followed by one that finds nothing
    assert not _due(bank, clock)


def test_it_is_due_when_a_marked_message_slid_out(store: MemoryStore, clock: FrozenClock) -> None:
    """A long talk of one day makes a digest due."""
    bank = store.bank("gary", timezone="UTC")
    _say(bank, "I visited the museum with Anna.")
    _settle(bank)
    for n in range(12):
        _say(bank, f"Room number {n} had blue paintings in it.")
    assert _due(bank, clock)
    _settle(bank)
    assert bank.window("s").digest is not None
    assert not _due(bank, clock)


def test_an_owner_without_a_bank_owes_nothing(store: MemoryStore) -> None:
    """Nothing stored, nothing due."""
    assert standing(store.runtime, "nobody", datetime(2026, 3, 1).date()) is None
