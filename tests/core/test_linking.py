"""What links to what: used together, made from one another, said one after the other; never another owner's."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memorybank.bank import MemoryBank
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock
from tests.core.talking import assistant, user


@pytest.fixture
def told(bank: MemoryBank, clock: FrozenClock) -> MemoryBank:
    """Three turns of one session, a day ago."""
    for words in ("My cat is called Biscuit", "Biscuit likes tuna", "I live in Leeds"):
        bank.add([user(words), assistant("Noted")], session="s")
        clock.advance(timedelta(minutes=5))
    clock.advance(timedelta(days=1))
    return bank


def kinds(bank: MemoryBank, id_: str) -> dict[str, set[str]]:
    """Ids at the other end, by kind."""
    found: dict[str, set[str]] = {}
    for link in bank.links(id_):
        found.setdefault(link.kind, set()).add(link.b if link.a == id_ else link.a)
    return found


def test_three_kinds(told: MemoryBank, clock: FrozenClock) -> None:
    """Next in the talk at once; together after a common use; derived once a day is summed up."""
    first, second, third = (one.id for one in told.memories())
    assert kinds(told, second) == {"next": {first, third}}
    assert kinds(told, first) == {"next": {second}}
    told.reinforce(told.recall("What does Biscuit like?", k=2, levels=["turn"], reinforce=False))
    together = [link for link in told.links(first) if link.kind == "co_recalled"]
    assert [{link.a, link.b} for link in together] == [{first, second}]
    assert together[0].weight == pytest.approx(1.0)
    faded = [link for link in told.links(first, clock() + timedelta(days=30)) if link.kind == "co_recalled"]
    assert faded[0].weight == pytest.approx(0.5)
    assert "co_recalled" not in {link.kind for link in told.links(first, clock() + timedelta(days=300))}
    told.consolidate()
    day = next(one for one in told.memories() if one.level == "day_events")
    assert day.id in kinds(told, first)["derived"]


def test_only_ones_own(told: MemoryBank, store: MemoryStore) -> None:
    """Another owner's ids have no links here, and neither have unknown ones or those of what was deleted."""
    first, second, _ = (one.id for one in told.memories())
    assert store.bank("other").links([first]) == []
    assert told.links(["unknown"]) == []
    assert told.links([]) == []
    told.delete([second])
    assert second not in {end for link in told.links(first) for end in (link.a, link.b)}
