"""Export and import: a round trip is identical; what is damaged stores nothing."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import ImportFormatError, OwnerError, SchemaError, StoreError
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import assistant, bytes_of, scored, texts, user

POLICY = ForgettingPolicy(archive_below=0.1, curve=ForgettingCurve(unit=timedelta(days=1)))


def live(bank: MemoryBank, clock: FrozenClock) -> None:
    """A month of use: sessions, strange texts, recalls, links, edits, pins, notes, deletions, forgetting."""
    for day in range(12):
        clock.advance(timedelta(days=2, microseconds=7))
        talk = [user(f"I saw bird{day} 鸟", name=None if day % 2 else "Ann"), assistant(f"A fine bird {day}")]
        bank.add(talk, session=f"day {day % 3}")
        bank.recall(f"bird{day // 2}", k=3, asking="day 0")
    bank.add(
        [user("NUL \x00 surrogate \ud800 \x1a0041", id="给", payload="p\x00"), user("")],
        session="strange/会话",
    )
    bank.add(
        [{"role": "system", "content": "be kind"}, {"role": "tool", "content": "1"}], session="system only"
    )
    listed = [m.id for m in bank.memories()]
    bank.edit(listed[3], "Ann: I saw an owl")
    bank.edit(listed[3], "Ann: I saw a barn owl")
    bank.pin(listed[0])
    bank.delete(listed[5])
    bank.remember("My blood type is 0", at=datetime(2020, 5, 5, tzinfo=UTC))
    bank.forget()


def everything(bank: MemoryBank) -> dict[str, Any]:
    """All that can be read of a bank."""
    listed = bank.memories()
    return {
        "sessions": bank.sessions(),
        "messages": [replace(m, owner="") for s in bank.sessions() for m in bank.history(s)],
        "memories": [replace(m, owner="") for m in listed],
        "versions": [bank.versions(m.id) for m in listed],
        "stats": replace(bank.stats(), unindexed=0),
        "timezone": bank.timezone,
        "recall": scored(bank.recall("the bird3 in spring", k=20, include_archived=True, reinforce=False)),
        "again": scored(bank.recall("blood type", k=5, reinforce=False)),
    }


def test_a_round_trip_is_identical(open_store: OpenStore, tmp_path: Path, clock: FrozenClock) -> None:
    """Ids, times, strength, links, versions, vectors and so every recall; twice adds nothing; lines agree."""
    source = open_store(tmp_path / "source")
    bank = source.bank("gary", timezone="Asia/Shanghai", language="zh", policy=POLICY)
    live(bank, clock)
    file = tmp_path / "gary.jsonl"
    assert bank.export(file) == len(file.read_text(encoding="utf-8").splitlines())
    assert "我" not in file.read_text(encoding="utf-8")
    assert "鸟" in file.read_text(encoding="utf-8")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    class Deaf(HashEmbedder):
        def embed_documents(self, texts: list[str]) -> Any:
            raise AssertionError("vectors come with the export")

    target = open_store(tmp_path / "target", embedder=Deaf(64), policy=POLICY)
    copy = target.import_bank(file)
    assert everything(copy) == everything(bank)
    assert everything(target.import_bank(file)) == everything(bank)
    second = tmp_path / "second.jsonl"
    copy.export(second)
    first_lines, second_lines = (f.read_text(encoding="utf-8").splitlines()[1:] for f in (file, second))
    assert sorted(first_lines) == sorted(second_lines)
    assert target.doctor().ok


def test_an_import_may_take_another_name(open_store: OpenStore, tmp_path: Path) -> None:
    """owner= renames; the original and the copy share nothing afterwards."""
    store = open_store()
    bank = store.bank("gary")
    bank.add([user("My cat is Mochi")], session="s")
    bank.export(tmp_path / "x.jsonl")
    copy = store.import_bank(tmp_path / "x.jsonl", owner="张三/../x")
    assert copy.owner == "张三/../x"
    assert store.owners() == ["gary", "张三/../x"]
    copy.recall("cat")
    copy.delete([m.id for m in copy.memories()])
    assert texts(bank.recall("cat")) == ["user: My cat is Mochi"]
    assert bank.memories()[0].strength == 2
    with pytest.raises(OwnerError):
        store.import_bank(tmp_path / "x.jsonl", owner=" ")


def test_an_import_joins_what_is_there(open_store: OpenStore, tmp_path: Path, clock: FrozenClock) -> None:
    """Into a bank that has gone on: nothing twice, nothing lost, what is there is left as it is."""
    store = open_store()
    bank = store.bank("gary")
    bank.add([user("My cat is Mochi"), assistant("ok")], session="s")
    bank.export(tmp_path / "x.jsonl")
    bank.recall("cat")
    bank.add([user("My dog is Rex")], session="s")
    store.import_bank(tmp_path / "x.jsonl")
    assert texts(bank.history("s")) == ["My cat is Mochi", "ok", "My dog is Rex"]
    assert [m.strength for m in bank.memories()] == [2, 1]
    bank.delete(bank.memories()[0].id)
    store.import_bank(tmp_path / "x.jsonl")
    assert sorted(texts(bank.memories())) == ["user: My cat is Mochi\nassistant: ok", "user: My dog is Rex"]
    assert texts(bank.recall("cat", k=1)) == ["user: My cat is Mochi\nassistant: ok"]


def test_vectors_of_another_embedder_are_made_anew(open_store: OpenStore, tmp_path: Path) -> None:
    """The words come over at once, the vectors are embedded at the next flush."""
    source = open_store(tmp_path / "source")
    source.bank("gary").add([user("My cat is Mochi"), user("My dog is Rex")], session="s")
    source.bank("gary").export(tmp_path / "x.jsonl")
    target = open_store(tmp_path / "target", embedder=HashEmbedder(128))
    bank = target.import_bank(tmp_path / "x.jsonl")
    assert bank.stats().unembedded == 2
    assert texts(bank.recall("cat", k=1)) == ["user: My cat is Mochi"]
    target.flush()
    assert bank.stats().unembedded == 0
    assert bank.recall("cat", k=1)[0].similarity > 0.1


def bend(lines: list[str], how: str) -> list[str]:
    """An export, damaged."""
    if how == "cut":
        return lines[:-3]
    if how == "half a line":
        return [*lines[:-1], lines[-1][: len(lines[-1]) // 2]]
    if how == "no header":
        return lines[1:]
    if how == "two headers":
        return [lines[0], *lines]
    if how == "empty":
        return []
    if how == "not json":
        return [*lines[:2], "<html>", *lines[3:]]
    values = [json.loads(line) for line in lines]
    number = next(i for i, value in enumerate(values) if value["kind"] == "memory")
    changes: dict[str, tuple[str, Any]] = {
        "level": ("level", "dream"),
        "time": ("began", "yesterday"),
        "id": ("id", None),
        "surrogate id": ("id", "\ud800"),
        "blank id": ("id", " "),
        "long id": ("id", "x" * 5000),
        "strength": ("strength", "many"),
        "strength below 1": ("strength", -5),
        "huge strength": ("strength", 2**70),
        "position": ("position", "first"),
        "session": ("session", 5),
    }
    values[number] = {**values[number], changes[how][0]: changes[how][1]}
    return [json.dumps(value) for value in values]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of an export of more messages than go into one batch."""
    folder = tmp_path_factory.mktemp("exported")
    with MemoryStore.open(folder / "memory", embedder=HashEmbedder(16), chroma=False) as store:
        store.bank("gary").add([user(f"fact {i}") for i in range(600)], session="s")
        store.bank("gary").export(folder / "x.jsonl")
    return (folder / "x.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    "how",
    [
        "cut",
        "half a line",
        "no header",
        "two headers",
        "empty",
        "not json",
        "level",
        "time",
        "id",
        "surrogate id",
        "blank id",
        "long id",
        "strength",
        "strength below 1",
        "huge strength",
        "position",
        "session",
    ],
)
def test_a_damaged_import_stores_nothing(
    open_store: OpenStore, tmp_path: Path, exported: list[str], how: str
) -> None:
    """One clear error; no owner, no message, no memory appears; the store works on."""
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join(bend(exported, how)), encoding="utf-8")
    target = open_store(tmp_path / "target")
    with pytest.raises(ImportFormatError):
        target.import_bank(file)
    assert target.owners() == []
    target.bank("gary").add([user("hello")], session="s")
    assert target.doctor().ok


def test_other_files_are_refused(open_store: OpenStore, tmp_path: Path) -> None:
    """A folder, a missing file, bytes, a newer version: each its own clear error."""
    store = open_store()
    store.bank("gary").add([user("x")])
    file = tmp_path / "x.jsonl"
    (tmp_path / "bytes").write_bytes(bytes(range(256)) * 50)
    for path in (tmp_path, tmp_path / "missing", tmp_path / "bytes"):
        with pytest.raises(ImportFormatError):
            store.import_bank(path)
    store.bank("gary").export(file)
    header, *rest = file.read_text(encoding="utf-8").splitlines()
    newer = json.dumps({**json.loads(header), "version": 99})
    file.write_text("\n".join([newer, *rest]), encoding="utf-8")
    with pytest.raises(SchemaError, match="99"):
        store.import_bank(file)


def test_there_is_nothing_to_export_of_nobody(open_store: OpenStore, tmp_path: Path) -> None:
    """An owner without a bank, and a place that cannot be written, are errors; no file is left."""
    store = open_store()
    with pytest.raises(StoreError, match="nothing"):
        store.bank("nobody").export(tmp_path / "x.jsonl")
    store.bank("gary").add([user("x")])
    for path in (tmp_path / "no" / "such" / "folder.jsonl", tmp_path):
        with pytest.raises(StoreError):
            store.bank("gary").export(path)
    assert [p.name for p in tmp_path.iterdir()] == ["memory"]


def test_redact_applies_to_what_is_imported(open_store: OpenStore, tmp_path: Path) -> None:
    """A store with a hook stores nothing that has not passed it, wherever it comes from."""
    source = open_store(tmp_path / "source")
    bank = source.bank("gary")
    bank.add([user("My card is 4929-1234", payload="raw 4929-1234"), assistant("ok")], session="s")
    bank.edit(bank.memories()[0].id, "user: The card 4929-1234 is blue")
    bank.export(tmp_path / "x.jsonl")
    target = open_store(tmp_path / "target", redact=lambda text: text.replace("4929-1234", "[card]"))
    copy = target.import_bank(tmp_path / "x.jsonl")
    assert copy.memories()[0].text == "user: The card [card] is blue"
    assert copy.recall("card", k=1)[0].memory.text == "user: The card [card] is blue"
    target.close()
    assert b"4929-1234" not in bytes_of(tmp_path / "target")
