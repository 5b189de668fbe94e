"""Resident banks: readers that began earlier, memory that is bounded, other zones and embedders."""

from __future__ import annotations

import contextlib
import threading
from datetime import UTC, datetime

import pytest

from memorybank.arrays import Arrays
from memorybank.bank import MemoryBank
from memorybank.clock import zone_of
from memorybank.records import banks
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import held, loaded, texts, user


def test_a_reader_that_began_earlier_spoils_nothing(store: MemoryStore, bank: MemoryBank) -> None:
    """The first to load the vectors may see an older state than the arrays have: later readers see all."""
    bank.add([user("a cat")], session="s")
    runtime = store.runtime
    with runtime.database.read() as connection:
        row = banks.find(connection, "gary")
        assert row is not None
        resident = runtime.residents.of(row, zone_of("UTC"), runtime.dimension)
        resident.snapshot(connection, row, vectors=False)
        thread = threading.Thread(target=lambda: bank.add([user("a dog")], session="s"))
        thread.start()
        thread.join()
        early = resident.snapshot(connection, row, vectors=True)
        assert early.corpus.vectors is not None
    assert held(store, bank) == loaded(store, bank)
    assert bank.recall("dog", k=1)[0].similarity > 0.2


def test_rows_of_a_snapshot_outlive_a_new_load(store: MemoryStore, bank: MemoryBank) -> None:
    """A reader's rows mean the same memories while others delete and everything is loaded anew."""
    bank.add([user(f"fact {i}") for i in range(5)], session="s")
    runtime = store.runtime
    listed = [m.id for m in bank.memories()]
    bank.recall("fact", reinforce=False)
    with runtime.database.read() as connection:
        row = banks.find(connection, "gary")
        assert row is not None
        resident = runtime.residents.of(row, zone_of("UTC"), runtime.dimension)
        snapshot = resident.snapshot(connection, row, vectors=False)
        before = snapshot.rows_of(listed[3:])

        def others() -> None:
            bank.delete(listed[0])
            with runtime.database.write() as connection:
                banks.raise_floor(connection, row.key)
            bank.recall("fact", reinforce=False)

        thread = threading.Thread(target=others)
        thread.start()
        thread.join()
        assert snapshot.rows_of(listed[3:]) == before
        assert [int(key) for key in snapshot.keys[before]] == [
            int(key) for key in snapshot.keys[snapshot.rows_of_keys(snapshot.keys[before].tolist())]
        ]
    assert held(store, bank) == loaded(store, bank)


def test_memory_is_bounded_and_every_bank_still_answers(open_store: OpenStore) -> None:
    """With room for a few banks the least recently used leave; all of them go on answering."""
    store = open_store(memory_limit=200_000)
    all_banks = [store.bank(f"owner {i}", timezone="UTC") for i in range(30)]
    for i, one in enumerate(all_banks):
        one.add([user(f"My number is {i}"), *(user(f"fact {j}") for j in range(30))], session="s")
        one.recall("number", k=1)
    assert store.runtime.residents.nbytes <= 400_000
    assert len(store.runtime.residents) < 30
    for i, one in enumerate(all_banks):
        assert texts(one.recall("My number", k=1)) == [f"user: My number is {i}"]


def test_two_zones_of_one_bank_in_one_process(store: MemoryStore) -> None:
    """Each bank object counts days in its own zone, by turns."""
    at = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    utc = store.bank("gary", timezone="UTC")
    utc.add([user("a late cat"), user("a dog")], session="s", at=at)
    shanghai = store.bank("gary", timezone="Asia/Shanghai")
    for _ in range(2):
        assert {row["day"] for row in held(store, utc).values()} == {at.toordinal()}
        assert {row["day"] for row in held(store, shanghai).values()} == {at.toordinal() + 1}
    assert store.bank("gary").timezone == "Asia/Shanghai"


def test_a_new_embedder_starts_the_arrays_anew(open_store: OpenStore) -> None:
    """After a reindex in this process, arrays have the new vectors' length."""
    store = open_store()
    bank = store.bank("gary")
    bank.add([user("a cat"), user("a dog")], session="s")
    bank.recall("cat")
    assert store.reindex(HashEmbedder(128)) == 2
    bank.add([user("a bird")], session="s")
    assert texts(bank.recall("bird", k=1)) == ["user: a bird"]
    assert bank.recall("cat", k=1)[0].similarity > 0.2
    assert held(store, bank) == loaded(store, bank)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("step", ["_join", "_register", "corpus"])
def test_a_change_that_is_broken_off_is_made_anew(
    error: type[BaseException], step: str, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever interrupts a change of the arrays, the message is stored, and the next recall is whole."""
    bank = store.bank("gary", timezone="UTC")
    for i in range(6):
        bank.add([{"role": "user", "content": f"cat number {i}"}], session="s")
    bank.recall("cat")
    real, calls = getattr(Arrays, step), []

    def once(self: Arrays, *given: object) -> object:
        calls.append(step)
        if len(calls) == 1:
            raise error
        return real(self, *given)

    monkeypatch.setattr(Arrays, step, once)
    with contextlib.suppress(error):
        bank.add([{"role": "user", "content": "a dog called Rex"}], session="s")
        bank.recall("dog")
    assert calls
    for _ in range(2):
        assert bank.recall("dog called Rex", k=1)[0].memory.text.endswith("a dog called Rex")
    assert len(bank.recall("cat", k=20, min_score=None)) >= 6
