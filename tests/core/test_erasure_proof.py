"""After ``erase`` an owner's words and vectors are in no byte of any file, and in no log."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memorybank.bank import MemoryBank
from memorybank.models import Memory
from memorybank.records import banks
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock
from tests.conftest import OpenStore
from tests.core.index.test_slack import remaining, soiled
from tests.core.talking import assistant, bytes_of, texts, user

TOKENS = ("xyzzyplugh", "蘑菇密語", "qu'ux--fnord")
OTHERS = 5
START = 4
"""Numbers of a vector that have to follow each other to be a find: a chance hit is less likely than 1e-12."""


class Dense:
    """Every text a direction of its own, with no number zero: a vector's bytes are those of no other text."""

    name = "dense"
    dimension = 64

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector = np.random.default_rng(list(text.encode())).normal(size=self.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def _embedded(texts: Sequence[str]) -> NDArray[np.float32]:
    return Dense().embed_documents(list(texts))


def traces(folder: Path, vectors: NDArray[np.float32]) -> dict[str, int]:
    """How many of these vectors begin somewhere in the bytes of each file, up to rounding; files without are left
    out. Chroma normalises anew, so the last bit may differ."""
    found: dict[str, int] = {}
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        hits = sum(_begins(data, vector) for vector in vectors)
        if hits:
            found[path.relative_to(folder).as_posix()] = hits
    return found


def _begins(data: bytes, vector: NDArray[np.float32]) -> bool:
    head = vector[:START]
    for offset in range(4):
        numbers = (
            np.frombuffer(data, "<f4", (len(data) - offset) // 4, offset) if len(data) > offset + 16 else ()
        )
        if len(numbers) <= START:
            continue
        places = np.flatnonzero(np.isclose(numbers[:-START], head[0], rtol=0, atol=1e-6))
        for step in range(1, START):
            places = places[np.abs(numbers[places + step] - head[step]) < 1e-6]
        if len(places):
            return True
    return False


def live(bank: MemoryBank, clock: FrozenClock, token: str) -> list[Memory]:
    """A life with everything in it: turns, notes, versions, summaries, links, archived ones, payloads."""
    bank.add(
        [
            message
            for i in range(12)
            for message in (
                user(f"{token} number{i} is mine", payload=f'{{"raw": "{token}"}}', id=f"{token}-{i}"),
                assistant(f"noted {token} number{i}"),
            )
        ],
        session=f"about {token}",
    )
    note = bank.remember(f"remember {token}")
    bank.edit(note.id, f"remember {token} better")
    bank.recall(token, asking=f"about {token}")
    clock.advance(timedelta(days=1))
    bank.consolidate()
    bank.add([user(f"{token} once more")], session="later")
    bank.recall(f"{token} once more", asking="later")
    bank.delete(bank.memories()[2].id)
    bank.forget()
    return bank.memories()


def _dump(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "memorybank.db")) as connection:
        return "\n".join(connection.iterdump())


@pytest.mark.parametrize("when", ["while open", "index held back"])
def test_nothing_is_left(
    open_store: OpenStore, folder: Path, clock: FrozenClock, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    """Words and vectors of the erased owner: not in the SQL dump, the file, its log, Chroma's files, our logs."""
    caplog.set_level(logging.DEBUG)
    store = open_store(embedder=Dense(), chroma=None)
    owner = f"gary-{TOKENS[0]}"
    for i in range(OTHERS):
        store.bank(f"other{i}").add([user(f"other{i} fact{n}") for n in range(30)], session="s")
    bank = store.bank(owner, timezone="UTC")
    said = [memory.text for token in TOKENS for memory in live(bank, clock, token)]
    store.flush()
    vectors = _embedded([text for text in said if text])
    assert any(name.startswith("chroma/") for name in traces(folder, vectors))
    assert all(token.encode() in bytes_of(folder) for token in TOKENS)
    if when != "while open":
        store.close()
        store = open_store(embedder=Dense(), chroma=False)
    erased = store.erase(owner)
    assert erased.messages > 60
    if when == "index held back":
        store.close()
        store = open_store(embedder=Dense(), chroma=None)
        store.flush()
    for _ in range(2):
        held = bytes_of(folder)
        assert not [token for token in TOKENS if token.encode() in held]
        assert traces(folder, vectors) == {}
        store.close()
    assert not [token for token in TOKENS if token in _dump(folder)]
    assert not [token for token in TOKENS if token in caplog.text]


def test_the_others_keep_everything(open_store: OpenStore, folder: Path) -> None:
    """Neighbours of the erased owner in the index are searched exactly meanwhile, and are back in it afterwards,
    without embedding."""
    store = open_store(embedder=Dense(), chroma=None, search="chroma")
    for i in range(40):
        store.bank(f"other{i}").add([user(f"other{i} fact number{n}") for n in range(8)], session="s")
    store.bank("gary").add([user("gary's fact")], session="s")
    store.flush()
    expected = {
        i: texts(store.bank(f"other{i}").recall("fact number3", k=3, reinforce=False)) for i in range(40)
    }
    embedder: Any = store.embedder
    embedder.embed_documents = lambda texts: pytest.fail("nothing is embedded again")
    store.erase("gary")
    for i in range(40):
        assert texts(store.bank(f"other{i}").recall("fact number3", k=3, reinforce=False)) == expected[i]
    store.flush()
    assert store.doctor().ok
    index = store.runtime.indexer.index()
    with store.runtime.database.read() as connection:
        assert set(index.contents()) == {bank.uid for bank in banks.every(connection)}
    for i in range(40):
        assert texts(store.bank(f"other{i}").recall("fact number3", k=3, reinforce=False)) == expected[i]


def test_what_was_in_memory_is_not_in_files_made_since(open_store: OpenStore, folder: Path) -> None:
    """Chroma makes the neighbours' files anew from memory in which the erased vectors may lie: they are blanked."""
    store = open_store(embedder=Dense(), chroma=None)
    for i in range(80):  # more banks than shards: the erased one has neighbours
        store.bank(f"other{i}").add([user(f"other{i} fact")], session="s")
    store.bank("gary").add([user("gary's fact")], session="s")
    store.flush()
    store.erase("gary")
    store.runtime.indexer.flush()
    assert soiled(folder)
    store.bank("gary").add([user("gary is back")], session="s")
    store.flush()
    store.erase("gary")
    store.flush()
    assert remaining(folder) == []
    assert store.doctor().ok
    assert texts(store.bank("other7").recall("fact", reinforce=False)) == ["user: other7 fact"]


def test_many_owners_are_compacted_together(open_store: OpenStore, folder: Path) -> None:
    """``compact=False`` drops at once and leaves the bytes to the next flush."""
    store = open_store(embedder=Dense(), chroma=None)
    said = {f"owner{i}": [f"owner{i} says fact{n}" for n in range(6)] for i in range(6)}
    for owner, lines in said.items():
        store.bank(owner).add([user(text) for text in lines], session="s")
    store.flush()
    for owner in list(said)[:5]:
        assert store.erase(owner, compact=False).indexed == 6
    store.flush()
    gone = _embedded([f"user: {text}" for owner in list(said)[:5] for text in said[owner]])
    assert traces(folder, gone) == {}
    store.flush()
    assert traces(folder, _embedded([f"user: {text}" for text in said["owner5"]]))
    assert store.doctor().ok


def test_a_failure_in_between_is_made_up_for(open_store: OpenStore, folder: Path, monkeypatch: Any) -> None:
    """If compaction fails the owner is erased all the same, and the next process compacts."""
    from memorybank.errors import IndexUnavailableError
    from memorybank.index import chroma

    def fail(*_: object) -> None:
        raise IndexUnavailableError("no", "damaged")

    store: MemoryStore = open_store(embedder=Dense(), chroma=None)
    lines = [f"gary says fact{n}" for n in range(6)]
    store.bank("gary").add([user(text) for text in lines], session="s")
    store.bank("mia").add([user("mia's fact")], session="s")
    store.flush()
    monkeypatch.setattr(chroma, "compact", fail)
    assert store.erase("gary").memories == 6
    assert store.owners() == ["mia"]
    assert texts(store.bank("mia").recall("fact", reinforce=False)) == ["user: mia's fact"]
    store.close()
    monkeypatch.undo()
    store = open_store(embedder=Dense(), chroma=None)
    store.flush()
    assert traces(folder, _embedded([f"user: {text}" for text in lines])) == {}
    assert store.doctor().ok
