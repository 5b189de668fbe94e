"""PostgreSQL restarted while one process writes to the index: the right to be the only one is gone, and another
process writes first. What the first one then writes is old, and must not stay."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import StoreError
from memorybank.index import ChromaIndex
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.contracts.chroma_server import ChromaServer
from tests.contracts.postgres_server import PostgresServer
from tests.core.talking import user

Opening = Callable[[], MemoryStore]


@pytest.fixture
def opening(own_postgres: PostgresServer, chroma_server: ChromaServer) -> Iterator[Opening]:
    """Opens stores on one database and one Chroma server, as two processes would."""
    address, opened = own_postgres.make(), list[MemoryStore]()

    def open_one() -> MemoryStore:
        store = MemoryStore.open(database=address, chroma=chroma_server.url, embedder=HashEmbedder(32))
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


class Slow:
    """Holds back one call of an index, after the rows of it were read and before Chroma gets them."""

    def __init__(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
        self.reached, self.go = threading.Event(), threading.Event()
        index = store.runtime.indexer.index()
        assert isinstance(index, ChromaIndex)
        original = getattr(index, method)

        def held_back(*args: Any) -> Any:
            if not self.reached.is_set():
                self.reached.set()
                assert self.go.wait(60)
            return original(*args)

        monkeypatch.setattr(index, method, held_back)


def late(slow: Slow, store: MemoryStore, meanwhile: Callable[[], None]) -> None:
    """Flush, and before the rows arrive let something else happen; the flush says that it was overtaken."""
    said: list[Exception] = []

    def flush() -> None:
        try:
            store.flush()
        except StoreError as error:
            said.append(error)

    thread = threading.Thread(target=flush)
    thread.start()
    assert slow.reached.wait(60)
    try:
        meanwhile()
    finally:
        slow.go.set()
        thread.join(60)
    assert "went away" in str(said[0])


def restarted(server: PostgresServer) -> None:
    """As by a crash: sessions and their locks are gone."""
    server.stop()
    server.start()


def same(store: MemoryStore, bank: MemoryBank, texts: Sequence[str]) -> bool:
    """Whether the index finds each of these memories exactly where its text is now."""
    index, embedder = store.runtime.indexer.index(), HashEmbedder(32)
    uid = next(iter(index.contents()))
    wanted = embedder.embed_documents(list(texts))
    return all(float(np.asarray(index.search(uid, vector, 1).similarities)[0]) > 0.999 for vector in wanted)


def test_what_was_deleted_or_rewritten_meanwhile_does_not_come_back(
    own_postgres: PostgresServer, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late vectors of a deleted, an edited and an erased one: gone, new and gone after the next flush."""
    one, other = opening(), opening()
    bank = one.bank("gary")
    bank.add([user("My cat is Mochi"), user("My dog is Rex"), user("I live in Oslo")], session="s")
    one.bank("ada").add([user("My secret word is Arrakis")], session="s")
    ids = [memory.id for memory in bank.memories()]
    slow = Slow(one, monkeypatch, "upsert_many")

    def meanwhile() -> None:
        restarted(own_postgres)
        elsewhere = other.bank("gary")
        elsewhere.delete(ids[0])
        elsewhere.edit(ids[1], "My parrot is called Polly")
        other.erase("ada")
        other.flush()
        assert other.doctor().ok

    late(slow, one, meanwhile)
    one.flush()
    held = one.runtime.indexer.index().contents()
    assert {id_ for names in held.values() for id_ in names} == set(ids[1:])
    assert one.doctor().ok
    assert other.doctor().ok
    assert same(one, bank, ["My parrot is called Polly"])


def test_a_late_deletion_does_not_take_what_was_written_anew(
    own_postgres: PostgresServer, opening: Opening, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """A memory that was deleted and imported again under its id, before the deletion arrives: it is in the index."""
    one, other = opening(), opening()
    bank = one.bank("gary")
    bank.add([user("My cat is Mochi"), user("My dog is Rex")], session="s")
    one.flush()
    bank.export(tmp_path / "gary.jsonl")
    bank.delete([memory.id for memory in bank.memories()])
    slow = Slow(one, monkeypatch, "delete")

    def meanwhile() -> None:
        restarted(own_postgres)
        other.import_bank(tmp_path / "gary.jsonl")
        other.flush()

    late(slow, one, meanwhile)
    one.flush()
    assert one.bank("gary").stats().total == 2
    assert one.doctor().ok
