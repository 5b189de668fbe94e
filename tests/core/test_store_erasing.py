"""Deleting leaves nothing behind, says how much it removed, and touches nobody else."""

from __future__ import annotations

import sqlite3
import time
from datetime import timedelta
from pathlib import Path

import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import EmbeddingError, OwnerError
from memorybank.models import Erased
from memorybank.records import banks, memories, provenance
from memorybank.store import MemoryStore
from memorybank.testing import BrokenEmbedder, FrozenClock
from tests.conftest import OpenStore
from tests.core.talking import assistant, bytes_of, held, loaded, texts, user

TOKEN = "xyzzyplugh"  # a word that is nowhere else


def summarise(store: MemoryStore, bank: MemoryBank, text: str) -> str:
    """A note made to derive from every turn of the bank, with an earlier version; returns its id."""
    note = bank.remember("first draft: " + text)
    bank.edit(note.id, text)
    database = store.runtime.database
    with database.write() as connection:
        row = banks.bump_owner(connection, bank.owner)
        assert row is not None
        keys = memories.keys_of(connection, row.key, [m.id for m in bank.memories()])
        sources = [key for id_, key in keys.items() if id_ != note.id]
        provenance.put_sources(connection, keys[note.id], sources)
    return note.id


def rows(folder: Path) -> dict[str, int]:
    """Rows of every table of a closed store."""
    connection = sqlite3.connect(folder / "memorybank.db")
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'"
        )
    ]
    found = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}
    connection.close()
    return found


def dump(folder: Path, bank_key: int) -> list[object]:
    """Every value of every row that belongs to one bank, of a closed store."""
    low, high = bank_key << 32, ((bank_key + 1) << 32) - 1
    connection = sqlite3.connect(folder / "memorybank.db")
    found: list[object] = []
    for table, column in (
        ("messages", "key"),
        ("memories", "key"),
        ("vectors", "key"),
        ("postings", "key"),
        ("links", "a"),
        ("versions", "memory"),
        ("derivations", "source"),
    ):
        query = f"SELECT * FROM {table} WHERE {column} BETWEEN ? AND ? ORDER BY 1, 2"
        found.append((table, connection.execute(query, (low, high)).fetchall()))
    found.append(connection.execute("SELECT * FROM banks WHERE key=?", (bank_key,)).fetchall())
    connection.close()
    return found


@pytest.mark.parametrize("way", ["delete", "clear", "erase"])
@pytest.mark.parametrize("close_first", [False, True])
def test_the_bytes_are_gone(open_store: OpenStore, folder: Path, way: str, close_first: bool) -> None:
    """After delete, clear or erase the words are in no file of the folder, log and index included, at once."""
    store = open_store(chroma=None)
    bank = store.bank("gary" if way != "erase" else f"gary-{TOKEN}")
    bank.add([user(f"My password is {TOKEN}", payload=f'{{"raw": "{TOKEN}"}}'), assistant("ok")], session="s")
    bank.add([user("My cat is Mochi"), assistant(f"And {TOKEN}?")], session="s")
    bank.add([user("Something else"), assistant("ok")], session="other")
    bank.recall(TOKEN)
    bank.edit(bank.memories()[0].id, f"user: It was {TOKEN}")
    store.flush()
    assert TOKEN.encode() in bytes_of(folder)
    if close_first:
        store.close()
        store = open_store(chroma=None)
        bank = store.bank(bank.owner)
    if way == "delete":
        erased = bank.delete([m.id for m in bank.memories() if TOKEN in m.text])
    elif way == "clear":
        erased = bank.clear("s")
    else:
        erased = store.erase(bank.owner)
    assert erased.memories == (3 if way == "erase" else 2)
    assert TOKEN.encode() not in bytes_of(folder)
    store.close()
    assert TOKEN.encode() not in bytes_of(folder)


def test_a_reader_elsewhere_does_not_hold_a_deletion_up(open_store: OpenStore, folder: Path) -> None:
    """With an old reader in another connection a deletion returns soon; the log is emptied by the next one."""
    store = open_store()
    bank = store.bank("gary")
    bank.add([user(f"My password is {TOKEN}"), user("My cat is Mochi")], session="s")
    reader = sqlite3.connect(folder / "memorybank.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchone()
    try:
        begun = time.monotonic()
        bank.delete(bank.memories()[0].id)
        assert time.monotonic() - begun < 10
    finally:
        reader.execute("COMMIT")
        reader.close()
    assert bank.recall(TOKEN, k=5, reinforce=False)[0].memory.text == "user: My cat is Mochi"
    store.close()
    assert TOKEN.encode() not in bytes_of(folder)


def test_deleted_is_gone_from_every_way_of_looking(open_store: OpenStore) -> None:
    """Recall in every mode, before and after the flush and after reopening; history; get."""
    for search in ("exact", "chroma"):
        store = open_store(search=search, chroma=None)
        bank = store.bank(f"gary-{search}")
        bank.add([user(f"{TOKEN} one"), assistant("ok"), user("cat two"), assistant("ok")], session="s")
        store.flush()
        bank.recall(TOKEN, k=9, reinforce=False)
        bank.delete(bank.memories()[0].id)
        for _ in range(2):
            found = bank.recall(TOKEN, k=9, reinforce=False, include_archived=True)
            assert texts(found) == ["user: cat two\nassistant: ok"]
            assert texts(bank.history("s")) == ["cat two", "ok"]
            store.flush()
        store.close()
        again = open_store(search=search, chroma=None)
        assert len(again.bank(f"gary-{search}").recall(TOKEN, k=9, reinforce=False)) == 1
        assert again.doctor().ok
        again.close()


def test_what_derives_from_the_deleted_is_emptied(store: MemoryStore, bank: MemoryBank, folder: Path) -> None:
    """A summary may quote: its text, vector, postings and earlier versions go, it is stale, others stay."""
    bank.add([user(f"My password is {TOKEN}"), user("My cat is Mochi")], session="s")
    other = bank.remember("Water the plants")
    summary = summarise(store, bank, f"The user's password is {TOKEN}")
    bank.recall(TOKEN, k=9, reinforce=False)
    secret = next(m for m in bank.memories() if m.text.startswith("user: My password"))
    bank.delete(secret.id)
    (left,) = bank.get(summary)
    assert (left.text, left.stale) == ("", True)
    assert bank.versions(summary) == []
    assert TOKEN.encode() not in bytes_of(folder)
    assert [r.memory.id for r in bank.recall(TOKEN, k=9, reinforce=False)].count(summary) == 0
    assert bank.get(other.id)[0].text == "Water the plants"
    assert held(store, bank) == loaded(store, bank)
    assert store.doctor().ok


def test_an_edit_marks_what_derives_from_it(store: MemoryStore, bank: MemoryBank) -> None:
    """Edited sources make a summary stale; its text stays until it is written anew."""
    bank.add([user("My cat is Mochi")], session="s")
    summary = summarise(store, bank, "A cat named Mochi")
    bank.edit(bank.memories()[0].id, "user: My cat is Momo")
    assert (bank.get(summary)[0].stale, bank.get(summary)[0].text) == (True, "A cat named Mochi")


def test_erase_counts_and_leaves_others_byte_identical(open_store: OpenStore, folder: Path) -> None:
    """1,234 memories go, the counts are exact, and every stored value of another owner is as it was."""
    store = open_store(chroma=None)
    keep, gone = store.bank("keep"), store.bank("gone")
    for bank, n in ((keep, 50), (gone, 617)):
        bank.add([user(f"fact {i} of {bank.owner}") for i in range(n)], session="a")
        bank.add([user(f"more {i} of {bank.owner}") for i in range(n)], session="b")
        bank.recall("fact 1", k=3, asking="a")
        bank.edit(bank.memories()[0].id, "user: edited")
    store.flush()
    with store.runtime.database.read() as connection:
        held_bank = banks.find(connection, "keep")
    assert held_bank is not None
    store.close()
    before = dump(folder, held_bank.key)
    store = open_store(chroma=None)
    erased = store.erase("gone")
    expected = Erased(1234, 1234, 1234, 1234, 3, 1, erased.indexed)
    assert erased == expected
    assert erased.indexed == 1234
    assert store.owners() == ["keep"]
    assert store.bank("gone").stats().total == 0
    assert store.bank("gone").recall("fact") == []
    assert store.doctor().ok
    store.close()
    assert dump(folder, held_bank.key) == before
    left = rows(folder)
    assert left["messages"] == left["memories"] == left["vectors"] == left["postings"] == 100
    assert left["drops"] == left["tombstones"] == left["staging"] == 0
    assert left["credits"] == 3


def test_erase_takes_what_a_reindex_has_gathered(open_store: OpenStore, folder: Path) -> None:
    """A reindex that was broken off keeps vectors beside the old ones: they go as well."""
    store = open_store()
    for owner in ("keep", "gone"):
        store.bank(owner).add([user(f"fact {i}") for i in range(200)], session="s")
    with pytest.raises(EmbeddingError):
        store.reindex(BrokenEmbedder(good_calls=4, dimension=32))
    store.erase("gone")
    store.bank("keep").delete([m.id for m in store.bank("keep").memories()])
    store.close()
    assert rows(folder)["staging"] == 0


def test_counts_of_delete_and_clear(store: MemoryStore, bank: MemoryBank) -> None:
    """Messages, memories, vectors, postings, links and versions that went; unknown ids are passed over."""
    bank.add([user("a cat"), assistant("b"), user("a dog"), assistant("d")], session="s")
    bank.add([user("a bird"), {"role": "system", "content": "x"}], session="t")
    bank.remember("a note")
    bank.recall("cat dog", k=2)
    first = next(m for m in bank.memories() if "cat" in m.text)
    bank.edit(first.id, "user: a cow")
    assert bank.delete([first.id, "no-such"]) == Erased(2, 1, 1, 1, 1, 1, 0)
    assert bank.delete(first.id) == Erased()
    assert bank.clear("t") == Erased(2, 1, 1, 1, 0, 0, 0)
    assert bank.clear("t") == Erased()
    assert bank.sessions() == ["s"]
    assert bank.stats().memories == {"turn": 1, "note": 1}
    assert held(store, bank) == loaded(store, bank)


def test_deleting_a_memory_leaves_the_neighbours(store: MemoryStore, bank: MemoryBank) -> None:
    """The chain of turns closes over the gap, in memory as after loading."""
    bank.add([user(f"fact {i}") for i in range(6)], session="s")
    bank.recall("fact", k=9, reinforce=False)
    listed = [m.id for m in bank.memories()]
    for id_ in (listed[2], listed[3], listed[0], listed[5]):
        bank.delete(id_)
        assert held(store, bank) == loaded(store, bank)
    bank.add([user("fact 6")], session="s")
    assert held(store, bank) == loaded(store, bank)


@pytest.mark.parametrize("owner", ["", "  ", "\u200b", "\n", None, 5, b"gary", ["gary"], "x" * 513])
def test_there_is_no_default_owner(store: MemoryStore, owner: object) -> None:
    """A blank or missing owner is refused everywhere: nothing is ever done to everyone."""
    store.bank("gary").add([user("x")])
    for door in (store.bank, store.erase):
        with pytest.raises(OwnerError, match="owner"):
            door(owner)  # type: ignore[operator]  # wrong on purpose
    assert store.owners() == ["gary"]


def test_an_erased_owner_may_start_anew(store: MemoryStore, clock: FrozenClock) -> None:
    """Nothing of before comes back; a bank held from before the erasure works on."""
    bank = store.bank("gary")
    bank.add([user("My cat is Mochi")], session="s")
    bank.recall("cat")
    assert store.erase("gary").memories == 1
    assert store.erase("gary") == Erased()
    assert bank.recall("cat") == []
    clock.advance(timedelta(days=1))
    bank.add([user("My dog is Rex")], session="s")
    (memory,) = bank.memories()
    assert (memory.text, memory.strength) == ("user: My dog is Rex", 1)
    assert [m.position for m in bank.history("s")] == [0]


def test_erasing_while_the_index_is_held_elsewhere(
    open_store: OpenStore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The records forget at once; who holds the index drops the vectors at its next flush."""
    holder = open_store(chroma=None)
    holder.bank("gary").add([user("My cat is Mochi")])
    holder.flush()
    other = open_store(chroma=None)
    assert other.erase("gary").memories == 1
    other.close()
    assert holder.bank("gary").recall("cat") == []
    holder.flush()
    holder.close()
    assert rows(folder)["drops"] == 0
