"""The vector index behind the store: whatever happens to it, answers stay exact and nothing is embedded again."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import EmbedderMismatchError, EmbeddingError, IndexUnavailableError, InvalidInputError
from memorybank.records import outbox
from memorybank.records.schema import Pending
from memorybank.store import MemoryStore
from memorybank.testing import BrokenEmbedder, HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import assistant, scored, texts, user

TOPICS = ["cat", "garden", "Oslo", "piano", "bread", "sailing", "exam", "grandmother", "茶", "下雨"]
QUERIES = [
    "the cat in the garden",
    "playing piano in Oslo",
    "grandmother's bread",
    "喝茶下雨",
    "sailing exam",
]


class Counting(HashEmbedder):
    """Counts how many texts were embedded."""

    def __init__(self, dimension: int = 64) -> None:
        super().__init__(dimension)
        self.embedded = 0

    def embed_documents(self, texts: list[str]) -> Any:
        self.embedded += len(texts)
        return super().embed_documents(texts)


def sentences(n: int) -> list[str]:
    """Sentences that share words as real ones do, no two alike."""
    draw = np.random.default_rng(7)
    return [" ".join(draw.choice(TOPICS, size=4)) + f" in week {i % 52}, entry{i}" for i in range(n)]


def fill(store: MemoryStore, n: int = 700) -> MemoryBank:
    bank = store.bank("gary", timezone="UTC")
    bank.add([user(text) for text in sentences(n)], session="s")
    return bank


def answers(bank: MemoryBank) -> list[list[tuple[str, float, int]]]:
    return [scored(bank.recall(query, k=8, reinforce=False)) for query in QUERIES]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of 700 memories, all of them in its index."""
    place = tmp_path_factory.mktemp("filled") / "memory"
    with MemoryStore.open(place, embedder=HashEmbedder(64), synchronous="normal") as store:
        fill(store)
    return place


@pytest.fixture
def copy(filled: Path, folder: Path) -> Path:
    """A copy of it, to be damaged."""
    shutil.copytree(filled, folder, copy_function=shutil.copy2)
    return folder


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def damage(folder: Path, how: str) -> None:
    chroma = folder / "chroma"
    if how == "missing":
        shutil.rmtree(chroma)
    elif how == "no database":
        (chroma / "chroma.sqlite3").unlink()
    elif how == "garbage":
        (chroma / "chroma.sqlite3").write_bytes(os.urandom(100_000))
    elif how == "foreign":
        shutil.rmtree(chroma)
        chroma.mkdir()
        (chroma / "thesis.txt").write_text("my thesis", encoding="utf-8")
    elif how == "a file":
        shutil.rmtree(chroma)
        chroma.write_text("my thesis", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["missing", "no database", "garbage", "foreign", "a file"])
def test_a_damaged_index_costs_nothing_but_a_warning(
    open_store: OpenStore, copy: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Exact answers, at most one warning however often it is asked; doctor says so and rebuilds without embedding."""
    expected_store = open_store(search="exact", chroma=False)
    expected = answers(expected_store.bank("gary"))
    expected_store.close()
    damage(copy, how)
    caplog.clear()
    embedder = Counting()
    store = open_store(search="chroma", chroma=None, embedder=embedder)
    bank = store.bank("gary")
    assert answers(bank) == expected
    assert answers(bank) == expected
    bank.add([user("an addition meanwhile")], session="s")
    added = embedder.embedded
    assert len([w for w in warnings(caplog) if "index" in w and "not available" in w]) <= 1
    if how != "missing":  # a folder that is not there is made anew, silently
        assert not store.doctor().ok
    report = store.doctor(repair=True)
    assert embedder.embedded == added == 1
    if how == "a file":  # nothing of anybody's is overwritten
        assert not report.ok
        assert (copy / "chroma").read_text(encoding="utf-8") == "my thesis"
        return
    assert report.ok
    assert store.doctor().ok
    assert store.runtime.indexer.index().count(_uid(store)) == 701
    bank.delete(bank.recall("an addition meanwhile", k=1, reinforce=False)[0].memory.id)
    assert [found[0] for found in answers(bank)][:2] == [found[0] for found in expected][:2]
    if how == "foreign":
        assert [p.read_text(encoding="utf-8") for p in copy.rglob("thesis.txt")] == ["my thesis"]


def _uid(store: MemoryStore) -> str:
    from memorybank.records import banks

    with store.runtime.database.read() as connection:
        row = banks.find(connection, "gary")
    assert row is not None
    return row.uid


HOLDER = """
import sys
from memorybank.index import ChromaIndex
index = ChromaIndex.open(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
index.close()
"""


@pytest.fixture
def held_elsewhere(copy: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the index."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(copy / "chroma")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    if process.poll() is None:
        process.communicate("\n", timeout=60)


def test_an_index_that_another_process_holds(
    open_store: OpenStore, held_elsewhere: subprocess.Popen[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Exact answers with exactly one warning; doctor says who; when it is let go, doctor takes it up again."""
    store = open_store(search="chroma", chroma=None)
    bank = store.bank("gary")
    found = answers(bank)
    assert answers(bank) == found
    bank.add([user("said meanwhile")], session="s")
    assert texts(bank.recall("said meanwhile", k=1, reinforce=False)) == ["user: said meanwhile"]
    with pytest.raises(IndexUnavailableError, match="in use"):
        store.flush()
    assert len(warnings(caplog)) == 1
    report = store.doctor(repair=True)
    assert not report.ok
    assert any("in use" in f.detail for f in report.findings)
    held_elsewhere.communicate("\n", timeout=60)
    assert store.doctor().ok
    assert store.runtime.indexer.usable
    assert bank.stats().unindexed == 0
    assert texts(bank.recall("said meanwhile", k=1, reinforce=False)) == ["user: said meanwhile"]


def test_through_the_index_as_exactly(open_store: OpenStore, copy: Path) -> None:
    """On texts that share words the index gives the exact scan's answers, with deletions and additions pending."""
    exact = open_store(search="exact", chroma=False)
    chroma = open_store(search="chroma", chroma=None)
    one, other = exact.bank("gary"), chroma.bank("gary")
    assert answers(one) == answers(other)
    gone = [r.memory.id for query in QUERIES for r in one.recall(query, k=2, reinforce=False)]
    other.delete(gone)
    other.add([user(text + " again") for text in sentences(30)], session="t")
    assert answers(one) == answers(other)
    chroma.flush()
    assert answers(one) == answers(other)
    assert chroma.runtime.indexer.usable


def test_the_planner_takes_the_index_above_its_limit(open_store: OpenStore, copy: Path) -> None:
    """search="auto": exact up to exact_limit, through the index above it; the same answers."""
    small = open_store(search="auto", chroma=None, exact_limit=10_000)
    expected = answers(small.bank("gary"))
    assert small.runtime.indexer._index is None
    small.close()
    large = open_store(search="auto", chroma=None, exact_limit=500)
    assert answers(large.bank("gary")) == expected
    assert large.runtime.indexer._index is not None


def test_a_search_does_not_wait_for_a_flush(open_store: OpenStore, copy: Path) -> None:
    """A recall through the index goes on while a long flush is at work."""
    store = open_store(search="chroma", chroma=None)
    bank = store.bank("gary")
    bank.recall("cat", reinforce=False)
    with store.runtime.indexer._guard:
        import threading

        done: list[float] = []

        def ask() -> None:
            begun = time.monotonic()
            bank.recall("cat garden", reinforce=False)
            done.append(time.monotonic() - begun)

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(timeout=20)
        assert done


def test_a_failing_embedder_costs_no_message(open_store: OpenStore, caplog: pytest.LogCaptureFixture) -> None:
    """Kept, found by words, one warning each; embedded when it works again, then found by similarity."""
    embedder = BrokenEmbedder("raises", dimension=64)
    store = open_store(embedder=embedder)
    bank = store.bank("gary")
    bank.add([user("My cat is Mochi"), assistant("ok")], session="s")
    note = bank.remember("My dog is Rex")
    bank.edit(note.id, "My dog is Max")
    assert texts(bank.recall("Mochi", k=1, reinforce=False)) == ["user: My cat is Mochi\nassistant: ok"]
    assert (bank.stats().unembedded, bank.stats().total) == (2, 2)
    assert not store.doctor().ok
    assert not any("Mochi" in r.getMessage() for r in caplog.records)
    embedder.mend()
    assert store.doctor(repair=True).ok
    assert bank.stats().unembedded == 0
    assert bank.recall("Max", k=1, reinforce=False)[0].similarity > 0.1


@pytest.mark.parametrize("fault", ["nan", "inf", "zero", "dimension", "rows", "ragged", "none"])
def test_wrong_vectors_are_never_stored(open_store: OpenStore, fault: Any) -> None:
    """Whatever an embedder gives that is no vector: the words are kept without one."""
    embedder = BrokenEmbedder(fault, dimension=64)
    store = open_store(embedder=embedder)
    bank = store.bank("gary")
    bank.add([user("My cat is Mochi"), user("My dog is Rex")], session="s")
    assert bank.stats().unembedded == 2
    assert len(bank.recall("Mochi cat", reinforce=False)) >= 1
    embedder.mend()
    store.flush()
    assert bank.stats().unembedded == 0


class Picky(HashEmbedder):
    """Refuses texts that hold a certain word, as content filters and length limits do."""

    def embed_documents(self, texts: list[str]) -> Any:
        if any("poison" in text for text in texts):
            raise RuntimeError("refused")
        return super().embed_documents(texts)


def test_one_text_that_cannot_be_embedded_holds_up_no_other(open_store: OpenStore) -> None:
    """The others of its batch get their vectors; it is found by its words."""
    store = open_store(embedder=Picky(64))
    bank = store.bank("gary")
    bank.add([user("poison"), *(user(f"fact {i}") for i in range(100))], session="s")
    bank.add([user("more poison")], session="s")
    bank.add([user("fact 101")], session="s")
    store.flush()
    assert bank.stats().unembedded == 2
    assert "more poison" in bank.recall("more poison", k=1)[0].memory.text


def test_another_embedder_is_refused(open_store: OpenStore, copy: Path) -> None:
    """By name or dimension; the message says what to do; without any, recall is by words."""

    class Other(HashEmbedder):
        def __init__(self) -> None:
            super().__init__(64)
            self.name = "other"

    for embedder in (HashEmbedder(32), Other()):
        with pytest.raises(EmbedderMismatchError, match="reindex"):
            open_store(embedder=embedder)
    bank = open_store(embedder=None).bank("gary")
    assert "piano" in bank.recall("piano", k=1, reinforce=False)[0].memory.text
    bank.add([user("stored without a vector")], session="s")
    again = open_store().bank("gary")
    assert again.stats().unembedded == 1


def test_reindex_gives_every_memory_the_new_vector(open_store: OpenStore, copy: Path) -> None:
    """Afterwards the new embedder is the store's, in the records and in the index; the old one is refused."""
    store = open_store(chroma=None, embedder=None)
    new = Counting(32)
    assert store.reindex(new) == 700
    assert new.embedded >= 600  # equal texts may be embedded once
    bank = store.bank("gary")
    assert bank.recall("grandmother piano", k=1, reinforce=False)[0].similarity > 0.2
    assert store.doctor().ok
    store.close()
    with pytest.raises(EmbedderMismatchError):
        open_store()
    again = open_store(chroma=None, embedder=HashEmbedder(32), search="chroma")
    assert again.doctor().ok
    exact = open_store(chroma=False, embedder=HashEmbedder(32), search="exact")
    assert answers(again.bank("gary")) == answers(exact.bank("gary"))


def test_a_broken_off_reindex_changes_nothing_and_goes_on(open_store: OpenStore, copy: Path) -> None:
    """The store is as it was; the next call embeds only what is missing, changes of meanwhile included."""
    store = open_store()
    bank = store.bank("gary")
    expected = answers(bank)
    with pytest.raises(EmbeddingError):
        store.reindex(BrokenEmbedder("raises", good_calls=5, dimension=32))
    assert answers(bank) == expected
    with store.runtime.database.read() as connection:
        assert outbox.count(connection, Pending.EMBED) == 0
    bank.edit(bank.memories()[0].id, "user: a hippopotamus")
    bank.delete(bank.memories()[1].id)
    bank.add([user("a new rhinoceros")], session="s")

    class Same(Counting):
        name = "hash-32"

    rest = Same(32)
    assert store.reindex(rest) == 700
    assert rest.embedded <= 700 - 256 + 2
    assert bank.recall("hippopotamus", k=1, reinforce=False)[0].similarity > 0.3
    assert bank.recall("rhinoceros", k=1, reinforce=False)[0].similarity > 0.3
    assert store.doctor().ok


def test_a_reindex_of_the_same_name_and_another_length_starts_over(open_store: OpenStore, copy: Path) -> None:
    """Vectors gathered for one length are not mixed with another's."""

    class Named(BrokenEmbedder):
        def __init__(self, dimension: int, good_calls: int) -> None:
            super().__init__("raises", good_calls, dimension)
            self.name = "named"

    store = open_store()
    with pytest.raises(EmbeddingError):
        store.reindex(Named(32, 5))
    assert store.reindex(Named(48, 10_000)) == 700
    assert store.doctor().ok
    assert len(store.bank("gary").recall("piano", reinforce=False)) == 6


REINDEXER = """
import os, sys
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder

class Killed(HashEmbedder):
    calls = 0
    def embed_documents(self, texts):
        Killed.calls += 1
        if Killed.calls > 6:
            os.kill(os.getpid(), 9)
        return super().embed_documents(texts)

MemoryStore.open(sys.argv[1], embedder=None, chroma=False).reindex(Killed(32))
"""


def test_a_killed_reindex_goes_on(open_store: OpenStore, copy: Path) -> None:
    """kill -9 in the middle: the old embedder still opens the store; a second reindex finishes the first."""
    done = subprocess.run([sys.executable, "-c", REINDEXER, str(copy)], check=False, timeout=120)
    assert done.returncode == -9
    before = open_store()
    assert before.doctor().ok
    before.close()
    store = open_store(embedder=None)
    new = Counting(32)
    assert store.reindex(new) == 700
    assert new.embedded < 600
    assert store.doctor().ok


def test_an_index_of_other_vectors_is_not_trusted(
    open_store: OpenStore, copy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A reindex that was killed before the index was rebuilt leaves vectors of another length there."""
    store = open_store(embedder=None)
    store.reindex(HashEmbedder(32))
    store.close()
    chroma = open_store(chroma=None, search="chroma", embedder=HashEmbedder(32))
    exact = open_store(chroma=False, search="exact", embedder=HashEmbedder(32))
    assert answers(chroma.bank("gary")) == answers(exact.bank("gary"))
    assert len(warnings(caplog)) <= 1
    report = chroma.doctor(repair=True)
    assert report.ok
    assert chroma.doctor().ok
    assert answers(chroma.bank("gary")) == answers(exact.bank("gary"))


@pytest.mark.parametrize("embedder", [None, "default", 5, HashEmbedder])
def test_reindex_needs_an_embedder(open_store: OpenStore, embedder: object) -> None:
    """Anything else is refused before anything happens."""
    with pytest.raises(InvalidInputError, match="embedder"):
        open_store().reindex(embedder)  # type: ignore[arg-type]  # wrong on purpose


def test_memories_of_a_store_without_embedder_are_embedded_later(open_store: OpenStore) -> None:
    """Opened first without an embedder, then with one: everything gets its vector, also what a store that was
    open all along adds afterwards."""
    without = open_store(embedder=None)
    without.bank("gary").add([user("My cat is Mochi")], session="s")
    store = open_store()
    without.bank("gary").add([user("My dog is Rex")], session="s")
    assert store.doctor(repair=True).ok
    assert store.bank("gary").stats().unembedded == 0
    for query in ("My cat is Mochi", "My dog is Rex"):
        assert store.bank("gary").recall(query, k=1, reinforce=False)[0].similarity > 0.5


CHILD = textwrap.dedent("""
    import sys, time
    from memorybank.store import MemoryStore
    from memorybank.testing import HashEmbedder
    store = MemoryStore.open(sys.argv[1], embedder=HashEmbedder(64), synchronous="normal")
    bank = store.bank("gary")
    bank.add([{"role": "user", "content": f"late fact {i}"} for i in range(600)], session="late")
    print("ready", flush=True)
    store.flush()
    time.sleep(60)
""")


@pytest.mark.slow
def test_a_killed_process_leaves_an_index_that_is_put_right(open_store: OpenStore, copy: Path) -> None:
    """kill -9 during the write to Chroma: the next process answers exactly, and doctor finds all in order."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(copy)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.kill()
    child.wait()
    store = open_store(chroma=None, search="chroma")
    exact = open_store(chroma=False, search="exact")
    assert store.bank("gary").stats().total == 1300
    assert answers(store.bank("gary")) == answers(exact.bank("gary"))
    assert store.doctor(repair=True).ok
    assert store.doctor().ok
    assert answers(store.bank("gary")) == answers(exact.bank("gary"))
