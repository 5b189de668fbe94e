"""A Chroma folder that was cut short or written by another version, and a folder that others may enter."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import texts, user


def _filled(open_store: OpenStore, n: int = 260) -> MemoryStore:
    store = open_store(chroma=None, search="chroma")
    store.bank("gary").add([user(f"fact number{i}") for i in range(n)], session="s")
    store.flush()
    return store


def _truncated(chroma: Path) -> None:
    for file in chroma.rglob("*"):
        if file.is_file() and file.suffix in (".bin", ".sqlite3"):
            with file.open("r+b") as stream:
                stream.truncate(file.stat().st_size // 2)


def _of_a_newer_chroma(chroma: Path) -> None:
    """Its database has gone through a migration that is not known here."""
    with closing(sqlite3.connect(chroma / "chroma.sqlite3")) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(migrations)")]
        row = dict(zip(names, connection.execute("SELECT * FROM migrations").fetchone(), strict=True))
        row |= {
            "version": 99,
            "filename": "00099-of-the-future.sqlite.sql",
            "sql": "SELECT 1",
            "hash": "0" * 32,
        }
        marks = ",".join("?" * len(row))
        connection.execute(f"INSERT INTO migrations ({','.join(row)}) VALUES ({marks})", list(row.values()))
        connection.commit()


def _of_chroma_1_0(chroma: Path) -> None:
    """Its database as Chroma 1.0 and 1.1 leave it (compared with folders that these wrote)."""
    with closing(sqlite3.connect(chroma / "chroma.sqlite3")) as connection:
        connection.executescript(
            "ALTER TABLE collections DROP COLUMN schema_str;"
            "DROP TABLE embedding_metadata_array;"
            "DELETE FROM migrations WHERE (dir = 'sysdb' AND version >= 10) OR (dir = 'metadb' AND version >= 6);"
        )
        hnsw = {"space": "cosine", "ef_construction": 100, "ef_search": 400, "max_neighbors": 16}
        about = {
            "vector_index": {"hnsw": {**hnsw, "resize_factor": 1.2, "sync_threshold": 200}},
            "embedding_function": {"type": "legacy"},
        }
        connection.execute("UPDATE collections SET config_json_str = ?", [json.dumps(about)])
        connection.commit()


def _of_chroma_0_6(chroma: Path) -> None:
    """Its collections say in another way how they are compared: here not at all."""
    _of_chroma_1_0(chroma)
    with closing(sqlite3.connect(chroma / "chroma.sqlite3")) as connection:
        connection.execute("UPDATE collections SET config_json_str = '{}'")
        connection.commit()


@pytest.mark.slow
def test_a_chroma_folder_of_an_older_version_is_taken_over(
    open_store: OpenStore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Chroma brings its own tables up to date: nothing is missing, nothing repaired, and it goes on."""
    _filled(open_store).close()
    _of_chroma_1_0(folder / "chroma")
    store = open_store(chroma=None, search="chroma")
    bank = store.bank("gary")
    assert texts(bank.recall("fact number7", k=1, reinforce=False)) == ["user: fact number7"]
    assert store.doctor().ok
    bank.add([user("a new one")], session="s")
    assert store.flush() == 1
    assert not store.degraded
    assert "not available" not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage", [_truncated, _of_a_newer_chroma, _of_chroma_0_6], ids=["truncated", "newer", "0.6"]
)
def test_a_chroma_folder_that_cannot_be_read(open_store: OpenStore, folder: Path, damage: object) -> None:
    """Recall goes on exactly; the doctor rebuilds from the records and embeds nothing."""
    _filled(open_store).close()
    assert callable(damage)
    damage(folder / "chroma")
    embedder = HashEmbedder(64)
    store = open_store(chroma=None, search="chroma", embedder=embedder)
    bank = store.bank("gary")
    assert texts(bank.recall("fact number7", k=1, reinforce=False)) == ["user: fact number7"]
    embedder.embed_documents = lambda texts: pytest.fail("nothing is embedded again")  # type: ignore[method-assign]
    assert store.doctor(repair=True).ok
    assert store.doctor().ok
    assert texts(bank.recall("fact number7", k=1, reinforce=False)) == ["user: fact number7"]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_folder_that_others_may_enter(
    open_store: OpenStore, folder: Path, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    """A folder that is there keeps its mode, with a warning if others may enter; its files are private."""
    caplog.set_level(logging.WARNING, "memorybank.store")
    folder.mkdir()
    folder.chmod(mode)
    open_store().bank("gary").add([user("x")], session="s")
    assert folder.stat().st_mode & 0o777 == mode
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert any("other users may enter" in line for line in caplog.messages) is (mode == 0o755)
