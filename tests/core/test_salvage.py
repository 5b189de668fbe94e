"""Of a damaged SQLite file everything readable is saved, as exports that a new store imports; the damage is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from memorybank.cli import app
from memorybank.errors import DamagedStoreError, StoreError
from memorybank.salvage import Salvaged
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import assistant, texts, user

PAGE = 4096
OWNERS = {"gary": 400, "u/../x": 40, "胡": 5}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of three owners, with everything in it."""
    place = tmp_path_factory.mktemp("whole") / "memory"
    with MemoryStore.open(place, embedder=HashEmbedder(64), chroma=False, synchronous="normal") as store:
        for owner, n in OWNERS.items():
            bank = store.bank(owner, timezone="Asia/Shanghai")
            for i in range(0, n, 10):
                said = [
                    m for k in range(i, i + 10) for m in (user(f"{owner} fact{k} 茶"), assistant("noted"))
                ]
                bank.add(said[: 2 * n], session=f"s{i // 100}")
            note = bank.remember(f"{owner}'s note")
            bank.edit(note.id, f"{owner}'s better note")
            bank.recall("fact3", asking="s0")
    return place


def _copy(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "memory")
    return tmp_path / "memory"


def _damage(folder: Path, how: str) -> None:
    file = folder / "memorybank.db"
    size = file.stat().st_size
    if how == "truncated":
        with file.open("r+b") as stream:
            stream.truncate(size * 2 // 3 // PAGE * PAGE)
    elif how == "cut in a page":
        with file.open("r+b") as stream:
            stream.truncate(size * 4 // 5 + 123)
    elif how == "garbage inside":
        draw = np.random.default_rng(3)
        with file.open("r+b") as stream:
            for page in sorted(draw.choice(np.arange(60, size // PAGE), size=12, replace=False)):
                stream.seek(int(page) * PAGE)
                stream.write(draw.bytes(PAGE))


def _contents(store: MemoryStore, owner: str) -> dict[str, object]:
    bank = store.bank(owner)
    return {
        "history": {name: texts(bank.history(name)) for name in bank.sessions()},
        "memories": {m.id: (m.text, m.strength, m.began, m.level) for m in bank.memories()},
        "zone": bank.timezone,
        "links": bank.stats().links,
    }


def _imported(open_store: OpenStore, found: Salvaged, place: Path) -> MemoryStore:
    store = open_store(place)
    for one in found.saved:
        assert one.path is not None
        assert store.import_bank(one.path).owner == one.owner
    return store


def test_of_a_sound_file_everything(open_store: OpenStore, whole: Path, tmp_path: Path) -> None:
    """Salvaging what is not damaged gives back messages, memories, versions, strengths, vectors."""
    found = MemoryStore.salvage(whole, tmp_path / "saved")
    assert found.complete
    assert [one.owner for one in found.saved] == list(OWNERS)
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        f"owner-000{i}.jsonl" for i in (1, 2, 3)
    ]
    again = _imported(open_store, found, tmp_path / "new")
    original = open_store(whole, read_only=True)
    for owner in OWNERS:
        assert _contents(again, owner) == _contents(original, owner)
        note = next(m.id for m in again.bank(owner).memories() if m.text.endswith("better note"))
        assert [version.text for version in again.bank(owner).versions(note)] == [f"{owner}'s note"]
        assert again.bank(owner).stats().unembedded == 0


@pytest.mark.parametrize("how", ["truncated", "cut in a page", "garbage inside"])
def test_of_a_damaged_file_what_can_be_read(
    open_store: OpenStore, whole: Path, tmp_path: Path, how: str
) -> None:
    """Most of it, nothing invented, the loss is said; the damaged store itself is not changed."""
    folder = _copy(whole, tmp_path)
    _damage(folder, how)
    before = (folder / "memorybank.db").read_bytes()
    found = MemoryStore.salvage(folder, tmp_path / "saved")
    assert not found.complete
    assert (folder / "memorybank.db").read_bytes() == before
    again = _imported(open_store, found, tmp_path / "new")
    original = open_store(whole, read_only=True)
    saved = 0
    for owner in OWNERS:
        if owner in again.owners():
            true = {(m.text, m.strength, m.began, m.level) for m in original.bank(owner).memories()}
            had = {(m.text, m.strength, m.began, m.level) for m in again.bank(owner).memories()}
            assert had <= true
            saved += len(had)
    assert saved > 100


def test_what_is_no_store_at_all(tmp_path: Path) -> None:
    """A file of garbage, another program's database, no file: a clear error, nothing written."""
    folder = tmp_path / "memory"
    folder.mkdir()
    with pytest.raises(StoreError, match="no file"):
        MemoryStore.salvage(folder, tmp_path / "saved")
    (folder / "memorybank.db").write_bytes(np.random.default_rng(1).bytes(50_000))
    with pytest.raises(DamagedStoreError, match="restore a backup"):
        MemoryStore.salvage(folder, tmp_path / "saved")
    (folder / "memorybank.db").write_bytes(b"")
    with pytest.raises(DamagedStoreError, match="nothing to save"):
        MemoryStore.salvage(folder, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_the_command(whole: Path, tmp_path: Path) -> None:
    """``doctor`` of a damaged store says what can be saved; ``--salvage`` saves it; the import takes it."""
    folder = _copy(whole, tmp_path)
    _damage(folder, "truncated")
    runner = CliRunner()
    options = ["--store", str(folder), "--embedder", "none"]
    looked = runner.invoke(app, ["doctor", *options, "--json"])
    assert looked.exit_code == 1
    assert "--salvage" in looked.stdout
    done = runner.invoke(app, ["doctor", *options, "--salvage", str(tmp_path / "saved"), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert not told["complete"]
    assert told["saved"][0]["owner"] == "gary"
    new = ["--store", str(tmp_path / "new")]
    again = runner.invoke(app, ["import", told["saved"][0]["path"], *new, "--embedder", "none"])
    assert again.exit_code == 0, again.output


def test_a_store_that_still_opens(open_store: OpenStore, whole: Path, tmp_path: Path) -> None:
    """Damage that the opening does not meet is found by the doctor, who does not fail over it."""
    folder = _copy(whole, tmp_path)
    _damage(folder, "garbage inside")
    report = open_store(folder).doctor()
    assert not report.ok
    assert "--salvage" in report.findings[0].detail
