"""Opening: what is there, what is not, what is somebody else's, what is damaged, full or closed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memorybank.errors import (
    DamagedStoreError,
    InvalidInputError,
    MemoryBankError,
    ReadOnlyError,
    SchemaError,
    StoreError,
)
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import texts, user


def fill(open_store: OpenStore, n: int = 300, **options: Any) -> None:
    store = open_store(**options)
    store.bank("gary").add([user(f"fact {i} about topic{i}") for i in range(n)], session="s")
    store.close()


def test_nothing_is_removed_by_opening(open_store: OpenStore) -> None:
    """Opened twice, with other options, closed twice: everything stays."""
    fill(open_store)
    for options in ({}, {"search": "exact"}, {"synchronous": "full"}, {"embedder": None}, {"chroma": None}):
        store = open_store(**options)
        assert store.bank("gary").stats().total == 300
        assert len(store.bank("gary").recall("topic7", k=1)) == 1
        store.close()
        store.close()


def test_folder_and_files_are_private(open_store: OpenStore, folder: Path) -> None:
    """Mode 0700 for the folders and 0600 for every file, whatever the umask.

    (Files that Chroma makes while it is open get theirs at the close; nobody else can enter their folder.)
    """
    old = os.umask(0o022)
    try:
        store = open_store(chroma=None)
        store.bank("gary").add([user("My cat is Mochi")])
        store.flush()
        for moment in ("open", "closed"):
            found = folder.iterdir() if moment == "open" else folder.rglob("*")
            modes = {path.relative_to(folder): stat.S_IMODE(path.stat().st_mode) for path in found}
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            for name, mode in modes.items():
                assert mode in (0o600, 0o700), (moment, name, oct(mode))
            store.close()
    finally:
        os.umask(old)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "folder"),
        ({"path": ""}, "path"),
        ({"path": 5}, "path"),
        ({"path": b"x"}, "path"),
        ({"path": "x", "database": "postgresql://x"}, "not both"),
        ({"path": "x", "search": "fuzzy"}, "search='fuzzy'"),
        ({"path": "x", "llm": "gpt"}, "llm"),
        ({"path": "x", "clock": 5}, "clock"),
        ({"path": "x", "redact": "x"}, "redact"),
        ({"path": "x", "tokenizer": "cl100k"}, "tokenizer"),
        ({"path": "x", "embedder": "openai"}, "embedder="),
        ({"path": "x", "embedder": 5}, "embedder"),
        ({"path": "x", "synchronous": "off"}, "synchronous"),
        ({"database": "nonsense"}, "database"),
        ({"database": "mysql://host/x"}, "mysql"),
        ({"database": "sqlite:///x.db"}, "sqlite"),
        ({"path": "a\x00b"}, "path|folder"),
    ],
)
def test_wrong_options_are_named(
    given: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clear error of our tree for each, and no file is made."""
    monkeypatch.chdir(tmp_path)
    options = {"embedder": None, "chroma": False, **given}
    with pytest.raises(MemoryBankError, match=said):
        MemoryStore.open(**options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "Europe", 5, "UTC\x00"])
def test_zones_must_exist(open_store: OpenStore, zone: object) -> None:
    """An unknown time zone is refused when the bank is asked for."""
    with pytest.raises(InvalidInputError, match="timezone"):
        open_store().bank("gary", timezone=zone)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("language", ["english", "", 5, "EN"])
def test_languages_must_be_known(open_store: OpenStore, language: object) -> None:
    """English or Chinese, or found out."""
    with pytest.raises(InvalidInputError, match="language"):
        open_store().bank("gary", language=language)  # type: ignore[arg-type]  # wrong on purpose


def test_a_folder_that_is_a_file(open_store: OpenStore, folder: Path) -> None:
    """Refused, the file untouched; so is a folder inside a file, and a records file that is a folder."""
    folder.write_text("my thesis", encoding="utf-8")
    with pytest.raises(StoreError, match="is a file"):
        open_store()
    with pytest.raises(StoreError):
        open_store(folder / "inside")
    assert folder.read_text(encoding="utf-8") == "my thesis"
    folder.unlink()
    (folder / "memorybank.db").mkdir(parents=True)
    with pytest.raises(StoreError, match="not a file"):
        open_store()


def test_another_programs_database(open_store: OpenStore, folder: Path) -> None:
    """A SQLite file of someone else is refused and left as it is."""
    folder.mkdir()
    connection = sqlite3.connect(folder / "memorybank.db")
    connection.execute("CREATE TABLE invoices (number INTEGER)")
    connection.commit()
    connection.close()
    with pytest.raises(DamagedStoreError, match="another program"):
        open_store()
    connection = sqlite3.connect(folder / "memorybank.db")
    assert [n for (n,) in connection.execute("SELECT name FROM sqlite_master")] == ["invoices"]
    connection.close()


def test_a_file_that_is_no_database(open_store: OpenStore, folder: Path) -> None:
    """Garbage is refused and left as it is."""
    folder.mkdir()
    (folder / "memorybank.db").write_bytes(b"not a database at all" * 500)
    with pytest.raises(DamagedStoreError, match="damaged or is not"):
        open_store()
    assert (folder / "memorybank.db").read_bytes() == b"not a database at all" * 500


def test_an_empty_file_becomes_a_store(open_store: OpenStore, folder: Path) -> None:
    """Zero bytes are a database with nothing in it: what a killed first opening leaves."""
    folder.mkdir()
    (folder / "memorybank.db").touch()
    store = open_store()
    store.bank("gary").add([user("hello")])
    assert store.owners() == ["gary"]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_database(open_store: OpenStore, folder: Path, share: float) -> None:
    """Cut short, it is a DamagedStoreError at the latest when it is read, or doctor says so; never a traceback."""
    fill(open_store, 2000)
    file = folder / "memorybank.db"
    with file.open("r+b") as stream:
        stream.truncate(int(file.stat().st_size * share) // 4096 * 4096)
    try:
        store = open_store()
        report = store.doctor()
        assert not report.ok
        assert any(not f.ok and f.check == "records" for f in report.findings)
        store.bank("gary").history("s")
        store.bank("gary").memories()
        store.bank("gary").recall("fact")
    except StoreError as error:
        assert isinstance(error, DamagedStoreError)  # noqa: PT017 - either way is right


def test_garbage_inside_the_database_is_found_by_doctor(open_store: OpenStore, folder: Path) -> None:
    """Overwritten pages: doctor's finding, not an exception; nothing else is claimed to be in order."""
    fill(open_store, 2000)
    file = folder / "memorybank.db"
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.seek(size // 2 // 4096 * 4096)
        stream.write(os.urandom(40 * 4096))
    try:
        report = open_store().doctor()
    except DamagedStoreError:
        return
    assert not report.ok


def test_a_newer_schema_is_refused(open_store: OpenStore, folder: Path) -> None:
    """A store written by a later version says what to do, and is left alone."""
    fill(open_store, 3)
    connection = sqlite3.connect(folder / "memorybank.db")
    connection.execute("UPDATE meta SET value='99' WHERE name='schema_version'")
    connection.commit()
    connection.close()
    before = (folder / "memorybank.db").read_bytes()
    with pytest.raises(SchemaError, match="newer"):
        open_store()
    assert (folder / "memorybank.db").read_bytes() == before


@pytest.mark.parametrize("version", ["0", "-1", "one", ""])
def test_an_unknown_schema_is_refused(open_store: OpenStore, folder: Path, version: str) -> None:
    """A version from which there is no way, or that is none."""
    fill(open_store, 3)
    connection = sqlite3.connect(folder / "memorybank.db")
    connection.execute("UPDATE meta SET value=? WHERE name='schema_version'", (version,))
    connection.commit()
    connection.close()
    with pytest.raises(StoreError):
        open_store()


def test_read_only_needs_a_store(open_store: OpenStore, folder: Path) -> None:
    """Nothing is made by looking."""
    with pytest.raises(StoreError, match="read_only"):
        open_store(read_only=True)
    assert not folder.exists()


def test_a_read_only_store_sees_what_others_write(open_store: OpenStore) -> None:
    """Reading beside a writer: its commits are seen at once, nothing is written, the index is left alone."""
    writer = open_store(chroma=None)
    writer.bank("gary").add([user("My cat is Mochi")], session="s")
    reader = open_store(read_only=True, chroma=None)
    bank = reader.bank("gary", timezone="Asia/Tokyo")
    assert texts(bank.recall("cat")) == ["user: My cat is Mochi"]
    writer.bank("gary").add([user("My dog is Rex")], session="s")
    assert texts(bank.recall("dog", k=1)) == ["user: My dog is Rex"]
    with pytest.raises(ReadOnlyError):
        reader.erase("gary")
    with pytest.raises(ReadOnlyError):
        reader.reindex(HashEmbedder(32))
    assert reader.flush() == 0
    assert reader.doctor().ok
    reader.close()
    assert writer.bank("gary").timezone != "Asia/Tokyo"


def test_a_read_only_file_system(open_store: OpenStore, small_disk: Path) -> None:
    """On a disk that cannot be written, read_only works; opening for writing is a clear error."""
    store = open_store(small_disk / "memory")
    store.bank("gary").add([user("My cat is Mochi")], session="s")
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    reader = open_store(small_disk / "memory", read_only=True)
    assert texts(reader.bank("gary").recall("cat")) == ["user: My cat is Mochi"]
    assert reader.doctor().ok
    reader.close()
    with pytest.raises(StoreError):
        open_store(small_disk / "memory")
    with pytest.raises(StoreError, match="cannot be made"):
        open_store(small_disk / "elsewhere")


def test_a_read_only_copy_with_an_unwritten_log_is_not_read_in_part(
    open_store: OpenStore, small_disk: Path, folder: Path
) -> None:
    """A copy taken while the store was open: on a read-only disk either all of it is read, or an error says why."""
    fill(open_store, 3)
    store = open_store()
    store.bank("gary").add([user("My cat is Mochi")], session="s")
    (small_disk / "memory").mkdir()
    for name in ("memorybank.db", "memorybank.db-wal"):
        shutil.copy(folder / name, small_disk / "memory" / name)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    try:
        reader = open_store(small_disk / "memory", read_only=True)
    except StoreError:
        return
    assert texts(reader.bank("gary").history("s"))[3:] == ["My cat is Mochi"]
    reader.close()


def test_a_forked_child_may_go_on(open_store: OpenStore) -> None:
    """A store opened before a fork works in parent and child at once: servers are started like that."""
    store = open_store()
    bank = store.bank("gary")
    bank.add([user("before the fork")], session="s")
    bank.recall("fork")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for i in range(20):
                bank.add([user(f"child {i}")], session="s")
            status = 0 if len(bank.recall("child", k=50)) >= 20 else 2
        finally:
            os._exit(status)
    for i in range(20):
        bank.add([user(f"parent {i}")], session="s")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    said = texts(bank.history("s"))
    assert sorted(said) == sorted(
        ["before the fork", *(f"child {i}" for i in range(20)), *(f"parent {i}" for i in range(20))]
    )
    assert len(bank.recall("child", k=50, reinforce=False)) == 41
    assert store.doctor().ok


def test_a_closed_store_says_so(open_store: OpenStore) -> None:
    """After close every door raises StoreError instead of opening the file again."""
    store = open_store()
    bank = store.bank("gary")
    bank.add([user("My cat is Mochi")], session="s")
    store.close()
    for door in (
        lambda: bank.add([user("x")]),
        lambda: bank.recall("cat"),
        lambda: bank.history("s"),
        lambda: bank.stats(),
        lambda: store.bank("other"),
        lambda: store.owners(),
        lambda: store.erase("gary"),
        lambda: store.doctor(),
    ):
        with pytest.raises(StoreError, match="closed"):
            door()
    assert open_store().bank("gary").stats().messages == 1


def test_the_folder_may_be_named_anything(open_store: OpenStore, tmp_path: Path) -> None:
    """Spaces, Chinese, percent and question marks in the path are only letters."""
    for name in ("a b", "记忆", "100%41", "what?mode=ro", "#1"):
        store = open_store(tmp_path / name / "memory")
        store.bank("gary").add([user("hello")])
        store.close()
        assert (tmp_path / name / "memory" / "memorybank.db").is_file()
