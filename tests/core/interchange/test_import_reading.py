"""Files in: detection, limits, encodings, truncation. Errors name the line and are never a traceback."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

from memorybank.errors import ImportFormatError
from memorybank.interchange import ImportOptions, ImportRecord, Limits, Problem, Severity, detect, read
from memorybank.interchange.source import JsonElements, json_lines

MESSAGE = {"role": "user", "content": "hello"}
SAMPLES = {
    "memorybank": {"Ann": {"history": {"2023-05-01": [{"query": "hi", "response": "hello"}]}}},
    "locomo": [
        {
            "sample_id": "c1",
            "conversation": {
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "hi"}],
            },
        }
    ],
    "longmemeval": [
        {
            "question_id": "q1",
            "haystack_sessions": [[MESSAGE]],
            "haystack_session_ids": ["s1"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        }
    ],
    "messages": [MESSAGE],
    "chatgpt": [
        {
            "id": "c1",
            "create_time": 1.7e9,
            "current_node": "a",
            "mapping": {
                "a": {
                    "parent": None,
                    "message": {
                        "id": "a",
                        "author": {"role": "user"},
                        "content": {"content_type": "text", "parts": ["hi"]},
                    },
                }
            },
        }
    ],
}


def write(tmp_path: Path, content: str | bytes, name: str = "anything.dat") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def records(path: Path, format: str = "auto", **options: str) -> list[ImportRecord]:
    return [item for item in read(path, format, ImportOptions(**options)) if isinstance(item, ImportRecord)]


def problems(path: Path, options: ImportOptions | None = None) -> list[Problem]:
    return [item for item in read(path, "auto", options) if isinstance(item, Problem)]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("indent", [None, 2])
def test_format_is_known_from_the_content(name: str, indent: int | None, tmp_path: Path) -> None:
    """Neither the file's name nor its layout decides."""
    path = write(tmp_path, json.dumps(SAMPLES[name], indent=indent))
    assert detect(path) == name
    assert records(path, owner={"memorybank": "Ann", "locomo": "c1", "longmemeval": "q1"}.get(name, "me"))


@pytest.mark.parametrize("name", ["locomo", "longmemeval", "chatgpt"])
def test_a_single_record_without_its_array_is_read(name: str, tmp_path: Path) -> None:
    """One sample, question or conversation may stand alone."""
    path = write(tmp_path, json.dumps(SAMPLES[name][0], indent=1))
    owner = {"locomo": "c1", "longmemeval": "q1"}.get(name, "me")
    assert detect(path) == name
    assert len(records(path, owner=owner)) == 1


def test_json_lines_go_on_after_a_broken_line(tmp_path: Path) -> None:
    """A line that is not JSON, or not UTF-8, is reported by its number; the others are imported."""
    good = json.dumps(MESSAGE).encode()
    path = write(tmp_path, b"\n".join([good, b'{"role": "user",', b'{"content": "\xff"}', b"", good]))
    items = list(read(path, "auto", ImportOptions(owner="me")))
    assert [item.where.split(",")[0] for item in items if isinstance(item, Problem)] == ["line 2", "line 3"]
    assert sum(isinstance(item, ImportRecord) for item in items) == 2


def test_truncated_json_keeps_what_was_whole_and_names_the_line(tmp_path: Path) -> None:
    """A file cut short ends with a fatal problem; whole records before the cut are read."""
    text = json.dumps(SAMPLES["locomo"] * 3, indent=1)
    lines = text[: len(text) - 40].count("\n") + 1
    items = list(read(write(tmp_path, text[:-40])))
    assert len([item for item in items if isinstance(item, ImportRecord)]) == 2
    last = items[-1]
    assert isinstance(last, Problem)
    assert last.severity is Severity.FATAL
    assert last.where.startswith("line ")
    assert int(last.where.split()[1].rstrip(",")) <= lines
    assert "truncated" in last.reason


@pytest.mark.parametrize(
    ("content", "needle"),
    [
        (b"", "empty"),
        (b"  \n\n ", "empty"),
        (b"{}", "empty"),
        (b"[]", "none of the known"),
        (b"42", "array or object"),
        (b'"text"', "array or object"),
        (b"hello, this is prose", "array or object"),
        (b'{"a": 1}', "none of the known"),
        (b"[1, 2, 3]", "none of the known"),
        ("[{}]".encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04rest", "zip"),
        (b"[\x00\x00]", "binary"),
        (b'[{"role": "user", "content": "\xff\xfe"}]', "line 1: not UTF-8"),
        (b'[\n\n{"role": "us\xc3', "line 3: not UTF-8"),
        (b'[{"role": ]', "line 1, column 11: not JSON"),
        (b"[" * 5000, "nested deeper"),
        (b"[" * 100 + b"]" * 100, "nested deeper"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "nested deeper"),
        (b"[" + b"9" * 5000 + b"]", "number is too long"),
    ],
)
def test_hopeless_files_are_refused_in_words(content: bytes, needle: str, tmp_path: Path) -> None:
    """No known format, wrong encoding, too deep: ``ImportFormatError`` says which."""
    with pytest.raises(ImportFormatError, match=needle):
        list(read(write(tmp_path, content), "auto", ImportOptions(owner="me")))


def test_missing_file_folder_and_unknown_format(tmp_path: Path) -> None:
    """What is not a readable file is refused in words."""
    with pytest.raises(ImportFormatError, match="No such file"):
        list(read(tmp_path / "none.json"))
    with pytest.raises(ImportFormatError, match="folder"):
        list(read(tmp_path))
    with pytest.raises(ImportFormatError, match="Unknown format 'xml'; known: auto, "):
        list(read(write(tmp_path, "[]"), "xml"))


def test_sizes_are_bounded(tmp_path: Path) -> None:
    """File and record limits refuse before memory is filled."""
    path = write(tmp_path, json.dumps([{**MESSAGE, "content": "x" * 300_000}]))
    with pytest.raises(ImportFormatError, match="at most 1,000 are read"):
        list(read(path, "auto", ImportOptions(owner="me", limits=Limits(file_bytes=1000))))
    small = ImportOptions(owner="me", limits=Limits(record_bytes=100_000))
    with pytest.raises(ImportFormatError, match="larger than the 100,000 bytes"):
        list(read(path, "auto", small))
    assert [item.severity for item in read(path, "messages", small)] == [Severity.FATAL]
    lines = write(tmp_path, json.dumps(MESSAGE) + "\n" + json.dumps({**MESSAGE, "content": "x" * 9000}), "l")
    found = problems(lines, ImportOptions(owner="me", limits=Limits(record_bytes=1000)))
    assert [(item.where, item.severity) for item in found] == [("line 2", Severity.FATAL)]


def test_byte_order_mark_is_no_defect(tmp_path: Path) -> None:
    """A UTF-8 BOM is dropped, in JSON and in JSON lines."""
    bom = b"\xef\xbb\xbf"
    whole = write(tmp_path, bom + json.dumps(SAMPLES["memorybank"]).encode(), "a")
    lines = write(tmp_path, bom + (json.dumps(MESSAGE) + "\n").encode() * 2, "b")
    assert [record.owner for record in records(whole)] == ["Ann", "Ann"]
    assert len(records(lines, owner="me")) == 2


def test_elements_cross_the_pieces_in_which_a_file_is_read() -> None:
    """However an element falls over the borders of the pieces read, it arrives whole, with its line."""
    values = [{"n": index, "text": "文字" * (index % 700), "deep": [[index]]} for index in range(300)]
    stream = BytesIO(json.dumps(values, ensure_ascii=False, indent=1).encode())
    found = list(JsonElements(stream, Limits()))
    assert [located.value for located in found] == values
    assert [located.line for located in found[:3]] == [2, 11, 20]


def test_outer_value_is_checked_as_strictly_as_the_inner_ones() -> None:
    """Missing and trailing commas, text behind the end and a missing colon are errors."""
    for text in (b"[1 2]", b"[1,]", b"[1] 2", b'{"a" 1}', b'{"a": 1', b"{1: 2}", b"[1]]"):
        with pytest.raises(ImportFormatError, match="line 1"):
            list(JsonElements(BytesIO(text), Limits()))
    assert [
        (located.key, located.value) for located in JsonElements(BytesIO(b'{"a": 1, "b": []}'), Limits())
    ] == [
        ("a", 1),
        ("b", []),
    ]
    assert list(JsonElements(BytesIO(b" [ ] "), Limits())) == []


def test_last_line_may_lack_its_newline() -> None:
    """JSON lines: blank lines are skipped, numbers count them."""
    found = list(json_lines(BytesIO(b'1\n\n{"a": 2}'), Limits()))
    assert [(located.value, located.line) for located in found if not isinstance(located, Problem)] == [
        (1, 1),
        ({"a": 2}, 3),
    ]
