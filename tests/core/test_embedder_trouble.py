"""An embedder that refuses some texts costs the others nothing; one that hangs holds up nothing but itself."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memorybank import MemoryStore
from memorybank.errors import StoreError
from memorybank.testing import HashEmbedder


class Refusing(HashEmbedder):
    """Takes no text with a word it does not like, and nothing at all while it is ``down``."""

    down = False

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        if self.down or any("poison" in text for text in texts):
            raise RuntimeError("refused")
        return super().embed_documents(texts)


class Hanging(HashEmbedder):
    """Answers when ``go`` is set."""

    def __init__(self) -> None:
        super().__init__(16)
        self.go = threading.Event()
        self.asked = threading.Event()
        self.fails = True

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        if self.fails:
            raise RuntimeError("down")
        self.asked.set()
        self.go.wait(120)
        return super().embed_documents(texts)


def said(texts: list[str]) -> list[dict[str, str]]:
    """Each text a memory of its own."""
    return [{"role": "user", "name": f"n{i % 2}", "content": text} for i, text in enumerate(texts)]


@pytest.mark.parametrize("refused", [2, 9, 70])
def test_refused_texts_at_the_front_do_not_block_the_others(tmp_path: Path, refused: int) -> None:
    """However many are refused in a row, whatever stands behind them gets its vector in one flush."""
    embedder = Refusing(16)
    with MemoryStore.open(tmp_path, embedder=embedder, chroma=False) as store:
        bank = store.bank("gary", timezone="UTC")
        embedder.down = True
        texts = [f"poison {i}" for i in range(refused)] + [f"a good day, number {i}" for i in range(100)]
        bank.add(said(texts), session="s")
        assert bank.stats().unembedded == refused + 100
        embedder.down = False
        store.flush()
        assert bank.stats().unembedded == refused


def within(seconds: float, call: Callable[[], object]) -> bool:
    """Whether the call returns in time."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_an_embedder_that_hangs_holds_up_neither_erase_nor_doctor_nor_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a flush waits for it, everything else goes on, and closing waits for a while only."""
    monkeypatch.setattr("memorybank.indexer._CLOSING", 0.5)
    embedder = Hanging()
    store = MemoryStore.open(tmp_path, embedder=embedder)
    store.bank("gary", timezone="UTC").add(said(["one", "two"]), session="s")
    store.bank("mia", timezone="UTC").add(said(["three"]), session="s")
    embedder.fails = False
    flushing = threading.Thread(target=lambda: _flushed_or_closed(store), daemon=True)
    flushing.start()
    assert embedder.asked.wait(30)
    assert within(60, lambda: store.erase("mia"))
    assert within(60, store.doctor)
    assert within(60, store.close)
    embedder.go.set()
    flushing.join(60)
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(16)) as again:
        assert len(again.bank("gary", timezone="UTC").history("s")) == 2


def _flushed_or_closed(store: MemoryStore) -> None:
    with contextlib.suppress(StoreError):  # closed meanwhile
        store.flush()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_in_mid_flush_hangs_nowhere(tmp_path: Path) -> None:
    """The flushing thread is not there any more, and the lock it held is not waited for."""
    embedder = Hanging()
    embedder.fails = False
    embedder.go.set()
    store = MemoryStore.open(tmp_path, embedder=embedder)
    store.bank("gary", timezone="UTC").add(said(["one"]), session="s")
    holder = _Holder(store)
    holder.start()
    assert holder.held.wait(30)
    pid = os.fork()
    if pid == 0:
        try:
            store.erase("gary")
            store.close()
        finally:
            os._exit(0)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        pytest.fail("the child hangs")
    assert status == 0
    holder.let_go.set()
    holder.join()
    store.close()


class _Holder(threading.Thread):
    """A thread that is inside a flush until it is told."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(daemon=True)
        self._store = store
        self.held = threading.Event()
        self.let_go = threading.Event()

    def run(self) -> None:
        with self._store.runtime.indexer._guard:
            self.held.set()
            self.let_go.wait(120)
