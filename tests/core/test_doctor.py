"""The doctor compares index and records id by id, and puts right what differs without embedding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorybank.errors import EmbeddingError
from memorybank.index import ChromaIndex
from memorybank.models import Finding
from memorybank.records import banks
from memorybank.store import MemoryStore
from memorybank.testing import BrokenEmbedder, HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import texts, user


class Counting(HashEmbedder):
    """Counts the texts that were embedded."""

    embedded = 0

    def embed_documents(self, texts: list[str]) -> Any:
        self.embedded += len(texts)
        return super().embed_documents(texts)


def _index(store: MemoryStore, *, repair: bool = False) -> Finding:
    return next(f for f in store.doctor(repair=repair).findings if f.check == "index")


def _uid(store: MemoryStore, owner: str = "gary") -> str:
    with store.runtime.database.read() as connection:
        row = banks.find(connection, owner)
    assert row is not None
    return row.uid


def _filled(open_store: OpenStore, embedder: Any = None) -> MemoryStore:
    store = open_store(chroma=None, embedder=embedder or HashEmbedder(64))
    for owner in ("gary", "mia"):
        store.bank(owner).add([user(f"{owner}'s fact number{i}") for i in range(30)], session="s")
    store.flush()
    return store


def test_ids_are_compared_not_counts(open_store: OpenStore) -> None:
    """One vector lost and another one left over make the same count, and are found and put right all the same."""
    embedder = Counting(64)
    store = _filled(open_store, embedder)
    index, uid = store.runtime.indexer.index(), _uid(store)
    lost = store.bank("gary").memories()[3].id
    index.delete(uid, [lost])
    index.upsert(uid, ["left-over"], embedder.embed_query("nothing")[None, :])
    before = embedder.embedded
    found = _index(store)
    assert not found.ok
    assert "missing from the index: 1 vector of 1 bank" in found.detail
    assert "in the index without a memory in the records: 1 vector of 1 bank" in found.detail
    repaired = _index(store, repair=True)
    assert repaired.repaired
    assert store.runtime.indexer.index().ids(uid) == {m.id for m in store.bank("gary").memories()}
    assert _index(store).ok
    assert embedder.embedded == before


def test_banks_that_the_records_do_not_know(open_store: OpenStore) -> None:
    """They are found, whatever their uid looks like, and a repair removes them; the known ones stay."""
    store = _filled(open_store)
    index = store.runtime.indexer.index()
    vector = np.eye(1, 64, dtype=np.float32)
    for stranger in ("f" * 32, "a:b/胡", "~x"):
        index.upsert(stranger, ["one", "two:three"], np.repeat(vector, 2, axis=0))
    found = _index(store)
    assert not found.ok
    assert "in the index for no bank of the records: 6 vectors of 3 banks" in found.detail
    assert _index(store, repair=True).repaired
    assert set(index.contents()) == {_uid(store), _uid(store, "mia")}
    assert _index(store).ok


def test_a_bank_whose_memories_are_all_gone(open_store: OpenStore) -> None:
    """What the index kept of a bank without memories is surplus, not a stranger's."""
    store = _filled(open_store)
    bank, uid = store.bank("gary"), _uid(store)
    bank.delete([m.id for m in bank.memories()])
    store.flush()
    index = store.runtime.indexer.index()
    index.upsert(uid, ["ghost"], np.eye(1, 64, dtype=np.float32))
    assert "without a memory in the records" in _index(store).detail
    assert _index(store, repair=True).repaired
    assert uid not in index.contents()


def test_when_most_is_missing_the_index_is_made_anew(open_store: OpenStore, folder: Path) -> None:
    """Beyond a share that is wrong the shorter way is to rebuild; nothing is embedded."""
    embedder = Counting(64)
    store = open_store(chroma=None, embedder=embedder)
    store.bank("gary").add([user(f"fact number{i}") for i in range(300)], session="s")
    store.flush()
    store.runtime.indexer.index().drop(_uid(store))
    assert "rebuilt with 300 vectors" in _index(store, repair=True).detail
    assert embedder.embedded == 300
    assert _index(store).ok


def test_an_index_that_was_lost_is_written_before_it_is_compared(open_store: OpenStore, folder: Path) -> None:
    """A process killed while it made the index anew leaves it empty: the doctor's look fills it, in one go."""
    store = open_store(chroma=None)
    store.bank("gary").add([user(f"fact number{i}") for i in range(20)], session="s")
    store.flush()
    store.close()
    ChromaIndex.open(folder / "chroma", reset=True).close()
    store = open_store(chroma=None)
    assert _index(store).ok
    assert store.bank("gary").stats().unindexed == 0
    assert store.runtime.indexer.index().count(_uid(store)) == 20


class Picky(Counting):
    """Refuses texts that hold a certain word, as content filters do."""

    def embed_documents(self, texts: list[str]) -> Any:
        if any("poison" in text for text in texts):
            raise RuntimeError("refused")
        return super().embed_documents(texts)


@pytest.mark.parametrize("poisoned", [[0], [299], list(range(20, 60)), list(range(300))])
def test_reindex_goes_on_behind_what_is_refused(open_store: OpenStore, poisoned: list[int]) -> None:
    """One text, the last, a row of forty, or all: the others get their vectors, those are found by their words."""
    store = open_store()
    bank = store.bank("gary")
    said = [f"{'poison' if i in set(poisoned) else 'fact'} number{i}" for i in range(300)]
    bank.add([user(text) for text in said], session="s")
    assert store.reindex(Picky(32)) == 300 - len(poisoned)
    assert bank.stats().unembedded == len(poisoned)
    assert texts(bank.recall(said[poisoned[0]], k=1, reinforce=False)) == [f"user: {said[poisoned[0]]}"]
    if len(poisoned) < 300:
        assert bank.recall("fact number150", k=1, reinforce=False)[0].similarity > 0.5
    bank.add([user("a later fact")], session="s")
    assert bank.stats().unembedded == len(poisoned)


def test_reindex_with_an_embedder_that_is_down_changes_nothing(open_store: OpenStore) -> None:
    """That no text at all is taken is no refusal of texts."""
    store = open_store()
    bank = store.bank("gary")
    bank.add([user("My cat is Mochi")], session="s")
    with pytest.raises(EmbeddingError):
        store.reindex(BrokenEmbedder("raises", dimension=32))
    assert bank.recall("Mochi cat", k=1, reinforce=False)[0].similarity > 0.5
