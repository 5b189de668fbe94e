"""A process that forks while it has a store open: nobody's messages are lost, and the child can write."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from memorybank import MemoryStore
from memorybank.testing import HashEmbedder

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def opened(folder: Path) -> MemoryStore:
    return MemoryStore.open(folder, embedder=HashEmbedder(32), chroma=False)


def said(words: str) -> list[dict[str, object]]:
    return [{"role": "user", "content": words}]


def child_of(work: object) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()  # type: ignore[operator]  # a function
        code = 0
    finally:
        os._exit(code)


def test_what_a_child_added_outlives_the_parents_store(tmp_path: Path) -> None:
    """SQLite keeps locks per process: an inherited connection wrote to a log that the parent's close removed."""
    store = opened(tmp_path)
    bank = store.bank("ann")
    bank.add(said("parent"), session="kid")
    ready, closed = tmp_path / "ready", tmp_path / "closed"

    def work() -> None:
        bank.add(said("child early"), session="kid")
        ready.touch()
        while not closed.exists():
            time.sleep(0.01)
        for i in range(5):
            bank.add(said(f"child {i}"), session="kid")

    child = child_of(work)
    while not ready.exists():
        time.sleep(0.01)
    store.close()
    closed.touch()
    assert os.waitpid(child, 0)[1] == 0
    with opened(tmp_path) as again:
        texts = [m.text for m in again.bank("ann").history("kid")]
        assert texts == ["parent", "child early", *(f"child {i}" for i in range(5))]
        assert again.doctor().ok


def test_a_child_forked_beside_busy_threads_can_write(tmp_path: Path) -> None:
    """Other threads' transactions end before the fork and go on after it; the child's locks are its own."""
    with opened(tmp_path) as store:
        bank = store.bank("ann")
        stop = threading.Event()
        added = [0, 0]

        def busy(number: int) -> None:
            while not stop.is_set():
                bank.add(said(f"thread {number} says {added[number]}"), session=f"t{number}")
                bank.recall("thread says")
                added[number] += 1

        threads = [threading.Thread(target=busy, args=(n,)) for n in range(2)]
        for one in threads:
            one.start()
        children = []
        for i in range(4):
            time.sleep(0.05)
            children.append(child_of(lambda i=i: bank.add(said(f"child {i}"), session="kids")))
        codes = [os.waitpid(child, 0)[1] for child in children]
        stop.set()
        for one in threads:
            one.join()
        assert codes == [0] * 4
        assert sorted(m.text for m in bank.history("kids")) == [f"child {i}" for i in range(4)]
        for n in range(2):
            assert len(bank.history(f"t{n}")) == added[n]
