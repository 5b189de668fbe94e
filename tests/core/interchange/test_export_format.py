"""Our own export: nothing lost, characters as themselves, defects refused in words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memorybank.errors import ImportFormatError, SchemaError, StoreError
from memorybank.interchange import detect, read
from memorybank.interchange.export_format import from_lines, to_lines
from memorybank.interchange.export_lines import Header, LinkLine, MarkLine, MemoryLine
from memorybank.interchange.exporter import read_export, write_export
from memorybank.models import Level, Maker, Memory, Message, Version

AT = datetime(2024, 2, 29, 23, 59, 59, 999_999, UTC)
HEADER = Header("张三", "Asia/Shanghai", "zh", "hash-256", 3, AT)
LINES = (
    Message("user", "你好\u2028\x00\ud800", AT, "a", "张", "{}", "张三", "会话", 0),
    MemoryLine(
        Memory("m1", "张三", Level.TURN, "张: 你好", AT, AT, AT, 4, AT, sources=("a",), session="会话"),
        0,
        np.array([0.1, -2.5, 1e-30], np.float32),
    ),
    LinkLine("m1", "m2", "co_recalled", 0.1, AT),
    MarkLine("s", "1"),
    Version("m1", 1, "before", Maker.LLM, AT, ("a",)),
)


def flat(line: object) -> object:
    if isinstance(line, MemoryLine):
        return line.memory, line.position, None if line.vector is None else line.vector.tolist()
    return line


def test_round_trip_on_disk(tmp_path: Path) -> None:
    """What is written is read: ids, times to the microsecond, strength, links, float32 vectors."""
    path = tmp_path / "out.jsonl"
    assert write_export(path, HEADER, LINES) == len(LINES) + 2
    assert [flat(line) for line in read_export(path)] == [flat(line) for line in (HEADER, *LINES)]
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_characters_stand_as_themselves(tmp_path: Path) -> None:
    """Chinese is readable in the file; only lone surrogates and controls are escaped."""
    write_export(tmp_path / "out", HEADER, LINES)
    raw = (tmp_path / "out").read_bytes()
    assert "你好".encode() in raw
    assert b"\\ud800" in raw
    assert raw.count(b"\n") == len(LINES) + 2


def test_two_lone_surrogates_do_not_become_one_character() -> None:
    """JSON would join them: they are kept as code points."""
    message = Message("user", "\ud83d\ude00 and 😀", AT, "a", owner="o", session="s", position=0)
    *_, back = from_lines(to_lines(Header("o", "UTC"), [message]))
    assert back == message


def test_unknown_version_is_refused() -> None:
    """A newer format is not guessed at."""
    lines = list(to_lines(HEADER, LINES))
    lines[0] = json.dumps({**json.loads(lines[0]), "version": 99})
    with pytest.raises(SchemaError, match="version 99; this release reads version 1"):
        list(from_lines(lines))


def test_damage_is_named_by_line() -> None:
    """A cut file, a missing line, a broken line, text behind the end: each is refused."""
    lines = list(to_lines(HEADER, LINES))
    cases = {
        "cut short": lines[:-1],
        "lines are missing": [*lines[:2], *lines[3:]],
        "line 2: not JSON": [lines[0], lines[1][:20]],
        "line 2: not a line of an export": [lines[0], '{"kind": "martian"}'],
        "line 3: not a line": [lines[0], lines[1], '{"kind": "memory", "id": 7}'],
        "first line is not the header": lines[1:],
        "behind the end": [*lines, lines[1]],
        "no end line": [],
        "line 1: not a line of an export": ["[]"],
    }
    for needle, given in cases.items():
        with pytest.raises(ImportFormatError, match=needle):
            list(from_lines(given))


def test_errors_carry_no_texts() -> None:
    """Messages of errors never quote a memory."""
    broken = list(to_lines(HEADER, LINES))
    broken[2] = broken[2].replace('"turn"', '"hobby"')
    with pytest.raises(ImportFormatError) as caught:
        list(from_lines(broken))
    assert "你好" not in str(caught.value)


def test_export_is_detected_and_foreign_reader_refuses_it(tmp_path: Path) -> None:
    """Detection knows our file, even an empty bank's; ``read`` points at the door that takes it."""
    write_export(tmp_path / "out", HEADER, ())
    assert detect(tmp_path / "out") == "export"
    with pytest.raises(ImportFormatError, match="import_bank"):
        list(read(tmp_path / "out"))


def test_unwritable_place_and_unreadable_file(tmp_path: Path) -> None:
    """Both ends fail in words, and a failed export leaves an older one alone."""
    with pytest.raises(StoreError, match="Cannot write the export"):
        write_export(tmp_path / "none" / "out", HEADER, LINES)
    with pytest.raises(ImportFormatError, match="Cannot read"):
        list(read_export(tmp_path / "none"))
    path = tmp_path / "out"
    write_export(path, HEADER, LINES)
    before = path.read_bytes()

    def failing() -> object:
        yield LINES[0]
        raise RuntimeError("the records went away")

    with pytest.raises(RuntimeError):
        write_export(path, HEADER, failing())  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
