"""What an importer may do with any file at all: give records and problems, or refuse with our error. Used by the
tests (Hypothesis) and by ``python -m tests.security.fuzz`` (atheris)."""

from __future__ import annotations

import contextlib
import itertools
import json
from pathlib import Path
from typing import Any

from memorybank.errors import ImportFormatError, SchemaError
from memorybank.interchange import detect, read
from memorybank.interchange.export_checks import check_header, check_line
from memorybank.interchange.export_lines import Header
from memorybank.interchange.exporter import read_export
from memorybank.interchange.reading import FORMATS
from memorybank.interchange.values import ImportOptions, ImportRecord, Limits, Problem

LIMITS = Limits(file_bytes=1 << 20, record_bytes=1 << 16, depth=32)
TURN = {"speaker": "Mia", "dia_id": "D1:1", "text": "Hello there"}

SAMPLES: dict[str, Any] = {
    "messages": [
        {
            "role": "user",
            "content": "hello",
            "id": "1",
            "session": "s",
            "at": "2024-05-01T10:00:00Z",
            "name": "Mia",
        },
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "at": 1714557600},
    ],
    "memorybank": {"Mia": {"history": {"2023-05-03": [{"query": "hello", "response": "hi"}]}, "summary": {}}},
    "locomo": [
        {
            "sample_id": "c1",
            "conversation": {
                "speaker_a": "Mia",
                "speaker_b": "Tom",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [TURN],
            },
            "qa": [],
        }
    ],
    "longmemeval": [
        {
            "question_id": "q1",
            "question": "what?",
            "haystack_sessions": [[{"role": "user", "content": "hello"}]],
            "haystack_session_ids": ["s1"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        }
    ],
    "chatgpt": [
        {
            "title": "t",
            "conversation_id": "c",
            "create_time": 1714557600.5,
            "current_node": "b",
            "mapping": {
                "a": {"id": "a", "parent": None, "children": ["b"], "message": None},
                "b": {
                    "id": "b",
                    "parent": "a",
                    "children": [],
                    "message": {
                        "id": "b",
                        "author": {"role": "user"},
                        "create_time": 1714557601,
                        "content": {"content_type": "text", "parts": ["hello"]},
                    },
                },
            },
        }
    ],
}


def sample(name: str) -> bytes:
    """A small file of a format."""
    return json.dumps(SAMPLES[name]).encode()


def attempt(path: Path) -> int:
    """Read a file in every way; returns how many records came. Anything but our two errors is a fault."""
    came = 0
    with contextlib.suppress(ImportFormatError):
        detect(path, LIMITS)
    for name, owner in itertools.product(("auto", *FORMATS), (None, "gary")):
        try:
            for item in read(path, name, ImportOptions(owner=owner, limits=LIMITS)):
                assert isinstance(item, ImportRecord | Problem)
                if isinstance(item, ImportRecord):
                    assert isinstance(item.message.text, str)
                    assert item.owner.strip()
                    came += 1
        except ImportFormatError:
            pass
    try:
        for line in read_export(path):
            check_header(line) if isinstance(line, Header) else check_line(line)
    except (ImportFormatError, SchemaError):
        pass
    return came
