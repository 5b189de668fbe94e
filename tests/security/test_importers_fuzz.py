"""Importers take any file at all: records and problems, or our error; never another, never half of an export."""

from __future__ import annotations

import json
import random
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorybank.errors import ImportFormatError, MemoryBankError
from memorybank.interchange import detect, read
from memorybank.interchange.values import ImportOptions, Limits
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import assistant, user
from tests.security.importing import SAMPLES, attempt, sample

quick = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["", "\x00", "\ud800", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "1e999", "../x"]
    ),
    st.just([]),
    st.just({}),
    st.just({"codepoints": [2**40]}),
    st.just({"codepoints": ["x", None]}),
    st.just([[[[{}]]]]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    found = [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        found += places(one, (*path, key))
    return found


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with something else at a place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy


@given(st.sampled_from(sorted(SAMPLES)), st.data())
@quick
def test_a_value_that_does_not_belong(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """Anything at any place of a file of any format."""
    value = SAMPLES[name]
    for _ in range(data.draw(st.integers(1, 3))):
        value = put(value, data.draw(st.sampled_from(places(value))), data.draw(HOSTILE))
    file = tmp_path / "file.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    attempt(file)


@given(st.sampled_from(sorted(SAMPLES)), st.binary(max_size=6), st.integers(0, 400), st.integers(0, 20))
@quick
def test_bytes_that_do_not_belong(tmp_path: Path, name: str, piece: bytes, at: int, cut: int) -> None:
    """Bytes put in, cut out, the end cut off."""
    whole = sample(name)
    file = tmp_path / "file.json"
    file.write_bytes(whole[:at] + piece + whole[at + cut :])
    attempt(file)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_samples_are_read(tmp_path: Path, name: str) -> None:
    """What is mutated is a file of that format to begin with."""
    file = tmp_path / "file.json"
    file.write_bytes(sample(name))
    assert detect(file) == name
    assert attempt(file) > 0


def test_a_mutated_export_is_taken_whole_or_not_at_all(open_store: OpenStore, tmp_path: Path) -> None:
    """80 exports with something else somewhere: imported, or refused with nothing stored."""
    source = open_store(tmp_path / "source")
    bank = source.bank("gary")
    bank.add([user("My cat is Mochi"), assistant("Nice")], session="s")
    bank.edit(bank.remember("a note").id, "a better note")
    bank.mark("s")
    bank.recall("cat note", asking="s")
    bank.export(tmp_path / "whole.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "whole.jsonl").read_text(encoding="utf-8").splitlines()]
    draw = random.Random(5)
    values: list[Any] = [
        None,
        -1,
        2**70,
        1.5,
        "",
        "x",
        "\x00",
        [],
        {},
        [1],
        {"codepoints": [2**40]},
        True,
        "9" * 50,
    ]
    store = MemoryStore.open(
        tmp_path / "target", embedder=HashEmbedder(64), chroma=False, synchronous="normal"
    )
    file = tmp_path / "mutated.jsonl"
    taken = 0
    with store:
        for _ in range(80):
            value = put(lines, draw.choice(places(lines)[1:]), draw.choice(values))
            file.write_text("\n".join(json.dumps(line) for line in value) + "\n", encoding="utf-8")
            before = store.owners()
            try:
                imported = store.import_bank(file)
            except MemoryBankError:
                assert store.owners() == before
            else:
                taken += 1
                imported.recall("cat")
                imported.export(tmp_path / "again.jsonl")
                store.erase(imported.owner)
        assert store.doctor().ok
    assert 0 < taken < 80


def test_archives_are_not_opened(tmp_path: Path) -> None:
    """A zip bomb is refused by its first bytes: nothing is ever unpacked."""
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.json", b"[" + b" " * 50_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(ImportFormatError, match="zip"):
            list(read(bomb))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'[{"role":"user","content":' + b"[" * 5_000 + b"]" * 5_000 + b"}]",
        b'[{"role":"user","content":"x","at":' + b"9" * 6_000 + b"}]",
        b'[{"role":"user","content":"' + b"x" * 200_000 + b'"}]',
        b'{"role":"user","content":"x"}\n{"role":"user","content":"' + b"x" * 200_000 + b'"}\n',
        b'[{"role":"user","content":"x","role":"user"}' * 3,
    ],
    ids=["open brackets", "deep", "huge number", "long record", "long line", "not closed"],
)
def test_what_is_beyond_the_bounds(tmp_path: Path, content: bytes) -> None:
    """Depth, length of a record, length of a number: a problem or our error, in little memory."""
    file = tmp_path / "file.json"
    file.write_bytes(content)
    limits = Limits(file_bytes=1 << 20, record_bytes=1 << 16, depth=32)
    try:
        items = list(read(file, "messages", ImportOptions(owner="gary", limits=limits)))
    except ImportFormatError:
        return
    assert any("severity" in repr(item) for item in items)
    with pytest.raises(ImportFormatError, match="at most"):
        list(read(file, "messages", ImportOptions(limits=Limits(file_bytes=10))))
