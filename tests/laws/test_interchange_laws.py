"""Laws of interchange: whatever goes out comes back; whatever comes in raises nothing but our error."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorybank.errors import ImportFormatError
from memorybank.interchange import ImportOptions, ImportRecord, Limits, Problem, read
from memorybank.interchange.export_format import from_lines, to_lines
from memorybank.interchange.export_lines import Header, Line, LinkLine, MarkLine, MemoryLine
from memorybank.interchange.reading import FORMATS
from memorybank.interchange.source import JsonElements, Located
from memorybank.models import Level, Maker, Memory, Message, Status, Version

TEXT = st.text(st.characters(), max_size=20)  # lone surrogates and NUL included
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))
FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=32)
MESSAGES = st.builds(
    Message,
    TEXT,
    TEXT,
    TIMES,
    TEXT,
    st.none() | TEXT,
    st.none() | TEXT,
    st.just("o"),
    TEXT,
    st.integers(0, 10**9),
)
MEMORIES = st.builds(
    Memory,
    TEXT,
    st.just("o"),
    st.sampled_from(Level),
    TEXT,
    TIMES,
    TIMES,
    TIMES,
    st.integers(1, 10**6),
    st.none() | TIMES,
    st.sampled_from(Status),
    st.booleans(),
    st.lists(TEXT, max_size=3).map(tuple),
    st.none() | TEXT,
    st.none() | TEXT,
    st.sampled_from(Maker),
    st.booleans(),
    st.integers(1, 99),
    st.none() | TIMES,
)
VECTORS = st.lists(FLOATS, min_size=1, max_size=5).map(lambda row: np.array(row, np.float32))
LINES = st.one_of(
    MESSAGES,
    st.builds(MarkLine, TEXT, TEXT),
    st.builds(MemoryLine, MEMORIES, st.none() | st.integers(0, 10**6), st.none() | VECTORS),
    st.builds(
        LinkLine, TEXT, TEXT, TEXT, st.floats(allow_nan=False, allow_infinity=False), st.none() | TIMES
    ),
    st.builds(
        Version,
        TEXT,
        st.integers(1, 99),
        TEXT,
        st.sampled_from(Maker),
        TIMES,
        st.lists(TEXT, max_size=3).map(tuple),
    ),
)
HEADERS = st.builds(
    Header,
    st.just("o"),
    TEXT,
    st.none() | TEXT,
    st.none() | TEXT,
    st.none() | st.integers(1, 4096),
    st.none() | TIMES,
)


def flat(line: object) -> object:
    if isinstance(line, MemoryLine):
        return line.memory, line.position, None if line.vector is None else line.vector.tobytes()
    return line


@given(HEADERS, st.lists(LINES, max_size=6))
def test_export_round_trip_is_identical(header: Header, lines: list[Line]) -> None:
    """Through UTF-8 bytes and back: equal values, whatever characters they hold."""
    data = "".join(to_lines(header, lines)).encode("utf-8")
    back = from_lines(text.decode("utf-8") for text in data.splitlines(keepends=True))
    assert [flat(line) for line in back] == [flat(header), *(flat(line) for line in lines)]


@given(st.lists(LINES, min_size=1, max_size=4), st.data())
def test_no_prefix_of_an_export_passes_for_whole(lines: list[Line], data: Any) -> None:
    """A file cut anywhere before its last line's end is refused."""
    whole = "".join(to_lines(Header("o", "UTC"), lines))
    cut = whole[: data.draw(st.integers(0, len(whole) - 2))]
    with pytest.raises(ImportFormatError):
        list(from_lines(cut.split("\n")))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
SAMPLES: dict[str, Any] = {
    "memorybank": {"history": {"2023-05-01": [{"query": "q", "response": "r"}, ["q", "r"]]}, "summary": {}},
    "locomo": {
        "sample_id": "c",
        "conversation": {
            "session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "t", "blip_caption": "a cat"}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
    },
    "longmemeval": {
        "question_id": "q",
        "haystack_sessions": [[{"role": "user", "content": "c"}]],
        "haystack_session_ids": ["s"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
    },
    "messages": {
        "session": "s",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "t"}], "id": "i", "at": 1.7e9, "name": "n"}
        ],
    },
    "chatgpt": {
        "id": "c",
        "create_time": 1.7e9,
        "current_node": "b",
        "mapping": {
            key: {
                "parent": parent,
                "children": [],
                "message": {
                    "id": key,
                    "author": {"role": "user"},
                    "create_time": 1.7e9,
                    "content": {"content_type": "text", "parts": ["t"]},
                    "metadata": {},
                },
            }
            for key, parent in (("a", None), ("b", "a"))
        },
    },
}


def bent(value: Any, data: Any) -> Any:
    """The value with one part, at any depth, replaced by any JSON."""
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 3)):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        place = data.draw(st.sampled_from(keys))
        copy = value.copy()
        copy[place] = bent(value[place], data)
        return copy
    return data.draw(JSON)


@pytest.mark.parametrize("name", FORMATS)
@given(st.data())
def test_parsers_never_raise_anything_else(name: str, data: Any) -> None:
    """Files bent anywhere give records and problems; never a traceback, never a blank."""
    values = [SAMPLES[name], bent(SAMPLES[name], data), bent(bent(SAMPLES[name], data), data)]
    owner = "me" if name in ("chatgpt", "messages") else None
    elements = [Located(f"user {key}", value, 1) for key, value in enumerate(values)]
    found = list(FORMATS[name].parse(elements, ImportOptions(owner=owner)))
    assert any(isinstance(item, ImportRecord) for item in found)
    for item in found:
        assert isinstance(item, ImportRecord | Problem)
        if isinstance(item, ImportRecord):
            assert item.owner.strip()
            assert item.session.strip()
            assert item.message.text.strip()
            assert item.message.id


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes) -> None:
    """No file makes the reader raise anything but ``ImportFormatError``."""
    path = tmp_path / "file"
    path.write_bytes(content)
    with suppress(ImportFormatError):
        list(read(path, "auto", ImportOptions(owner="me")))


@given(st.lists(JSON, max_size=6), st.sampled_from([None, 1]), st.booleans())
def test_elements_equal_the_whole_document(values: list[Any], indent: int | None, ascii_only: bool) -> None:
    """Reading element by element gives what reading at once gives."""
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    found = [located.value for located in JsonElements(BytesIO(text.encode("utf-8")), Limits())]
    assert json.dumps(found) == json.dumps(values)
