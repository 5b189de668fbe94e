"""A full disk: said to be one, taken for no damage, nothing acknowledged lost, and when there is room all goes on."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import IndexUnavailableError, StoreError
from memorybank.index import room
from memorybank.models import Finding
from memorybank.store import MemoryStore
from tests.conftest import OpenStore
from tests.core.talking import texts, user

Mount = Callable[[int], Path]
_KB = 1024


def filled(disk: Path, left: int) -> Path:
    """Fill the file system until ``left`` bytes are free; returns the file that takes the rest."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        while (free := os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize) > left:
            file.write(bytes(min(free - left, 64 * _KB)))
    return ballast


def test_a_full_disk_loses_nothing_and_says_so(open_store: OpenStore, small_disk: Path) -> None:
    """The add that does not fit raises and stores nothing; what was acknowledged stays; space freed, it goes on."""
    ballast = small_disk / "ballast"
    store = open_store(small_disk / "memory")
    bank = store.bank("gary")
    bank.add([user("My cat is Mochi")], session="s")
    ballast.write_bytes(bytes(1_500_000))
    acknowledged = 1
    while True:
        try:
            bank.add([user(f"fact {i} " + "x" * 5000) for i in range(10)], session="s")
        except StoreError as error:
            assert "full" in str(error)  # noqa: PT017 - how many fit is not the point
            break
        acknowledged += 10
        assert acknowledged < 10_000
    assert len(bank.history("s")) == acknowledged
    assert "Mochi" in bank.recall("cat Mochi", k=1, reinforce=False)[0].memory.text
    ballast.unlink()
    bank.add([user("There is room again")], session="s")
    assert len(bank.history("s")) == acknowledged + 1
    assert store.doctor().ok
    store.close()


@pytest.mark.parametrize("left", [0, 90 * _KB, 150 * _KB])
def test_a_deletion_on_a_full_disk_is_done_or_refused(open_store: OpenStore, mount: Mount, left: int) -> None:
    """Never half, and never done but told to be refused: also where only emptying the log finds no room."""
    disk = mount(12)
    store = open_store(disk / "memory")
    bank = store.bank("gary")
    bank.add([user(f"fact number{i} " + "x" * 200) for i in range(300)], session="s")
    ids = [memory.id for memory in bank.memories()]
    ballast = filled(disk, left)
    gone = 0
    for some in (ids[:1], ids[1:3], ids[3:60]):
        try:
            bank.delete(some)
        except StoreError as error:
            assert "disk is full" in str(error)  # noqa: PT017 - which of them fit is not the point
        else:
            gone += len(some)
        assert len(bank.history("s")) == 300 - gone
    ballast.unlink()
    bank.delete(ids[60:61])
    assert len(bank.history("s")) == 299 - gone
    assert (disk / "memory" / "memorybank.db-wal").stat().st_size == 0  # no copy stays in the log
    assert store.doctor().ok


def talking(open_store: OpenStore, disk: Path) -> tuple[MemoryStore, MemoryBank]:
    """A store on this disk with 260 memories in the index and 40 more that it has not got yet."""
    store = open_store(disk / "memory", chroma=None, search="chroma")
    bank = store.bank("gary")
    bank.add([user(f"fact number{i}") for i in range(260)], session="s")
    store.flush()
    bank.add([user(f"fact number{i}") for i in range(260, 300)], session="s")
    return store, bank


def of_the_index(store: MemoryStore, *, repair: bool = False) -> Finding:
    """What the doctor says of the index."""
    return next(one for one in store.doctor(repair=repair).findings if one.check == "index")


@pytest.mark.slow
def test_an_index_on_a_full_disk_is_not_taken_for_a_damaged_one(
    open_store: OpenStore, mount: Mount, caplog: pytest.LogCaptureFixture
) -> None:
    """Open or opened anew: a warning that says full, recall exact, a doctor that touches nothing; then it goes on."""
    caplog.set_level(logging.WARNING, "memorybank")
    disk = mount(32)
    store, bank = talking(open_store, disk)
    ballast = filled(disk, 1024 * _KB)
    for again in (False, True):
        if again:
            store.close()
            store = open_store(disk / "memory", chroma=None, search="chroma")
            bank = store.bank("gary")
        with pytest.raises(IndexUnavailableError, match="is full") as caught:
            store.flush()
        assert caught.value.reason == "full"
        assert texts(bank.recall("fact number290", k=1, reinforce=False)) == ["user: fact number290"]
        for repair in (False, True):
            found = of_the_index(store, repair=repair)
            assert not found.ok
            assert not found.repaired
            assert "is full" in found.detail
    assert "damaged" not in caplog.text
    ballast.unlink()
    assert store.flush() == 40
    assert store.doctor().ok
    assert bank.stats().unindexed == 0


@pytest.mark.slow
def test_a_disk_that_fills_while_chroma_writes(
    open_store: OpenStore, mount: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever Chroma says then, and whatever it leaves: called full, and whole again without embedding anew."""
    disk = mount(32)
    store, bank = talking(open_store, disk)
    bank.add([user(f"more {i}") for i in range(1000)], session="s")
    ballast = filled(disk, 150 * _KB)
    with monkeypatch.context() as patch:
        patch.setattr(room, "check_room", lambda folder: None)  # there was room a moment ago
        with pytest.raises(IndexUnavailableError) as caught:
            store.flush()
        assert caught.value.reason == "full"
    ballast.unlink()
    store.embedder.embed_documents = lambda texts: pytest.fail("nothing is embedded again")  # type: ignore[union-attr, method-assign]
    store.doctor(repair=True)
    assert store.doctor().ok
    assert bank.stats().unindexed == 0
    assert texts(bank.recall("fact number290", k=1, reinforce=False)) == ["user: fact number290"]
