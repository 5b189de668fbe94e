"""MemoryBank's own export: versioned JSON lines that give everything back (ids, times, strength, links).

One owner per file. The first line is the header, the last one counts the lines between, so that a truncated
file is known as such. Characters stand as themselves; ``\\uXXXX`` is used only where JSON demands it or
where UTF-8 has no form (lone surrogates). Vectors are optional: base64 of little-endian float32.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memorybank.errors import ImportFormatError, SchemaError
from memorybank.interchange.export_lines import (
    FORMAT,
    VERSION,
    Header,
    Line,
    LinkLine,
    MarkLine,
    MemoryLine,
)
from memorybank.models import Level, Maker, Memory, Message, Status, Version

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def is_header(value: Any) -> bool:
    """Whether a decoded line opens an export of ours, of whatever version."""
    return isinstance(value, dict) and value.get("format") == FORMAT


def to_lines(header: Header, lines: Iterable[Line]) -> Iterator[str]:
    """The file's lines, each with its newline. Messages first, then what is made from them, reads best."""
    counts: Counter[str] = Counter()
    yield _dump({"kind": "header", "format": FORMAT, **_header(header)})
    for line in lines:
        kind, fields = _fields(line)
        counts[kind] += 1
        yield _dump({"kind": kind, **fields})
    yield _dump({"kind": "end", "counts": dict(sorted(counts.items()))})


def from_lines(lines: Iterable[str]) -> Iterator[Header | Line]:
    """The header, then every line as its value. Pure: the file's text lines in, split at ``\\n`` only.

    Raises ``SchemaError`` for an unknown version and ``ImportFormatError`` for anything that ``to_lines``
    does not write: a missing header, a broken line (named by its number), a file that ends before its last
    line.
    """
    owner: str | None = None
    counts: Counter[str] = Counter()
    ended = False
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        if ended:
            raise ImportFormatError(f"line {number}: more lines behind the end of the export.")
        value = _load(text, number)
        try:
            if owner is None:
                header = _read_header(value)
                owner = header.owner
                yield header
            elif value["kind"] == "end":
                ended = _check_end(value, counts)
            else:
                counts[value["kind"]] += 1
                yield _READ[value["kind"]](value, owner)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            if isinstance(error, ImportFormatError):
                raise
            raise ImportFormatError(
                f"line {number}: not a line of an export ({type(error).__name__})."
            ) from None
    if not ended:
        raise ImportFormatError("The export has no end line: the file is empty or was cut short. "
                                "Export again; the store that wrote it is unharmed.")  # fmt: skip


def _dump(value: dict[str, Any]) -> str:
    text = json.dumps(_escape(value), ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _escape(value: Any) -> Any:
    """Two lone surrogates that JSON would join to one character become their code points."""
    if isinstance(value, str) and _PAIR.search(value):
        return {"codepoints": [ord(character) for character in value]}
    if isinstance(value, dict):
        return {key: _escape(inner) for key, inner in value.items()}
    return [_escape(inner) for inner in value] if isinstance(value, list) else value


def _load(text: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(text, object_hook=_unescape)
    except (ValueError, RecursionError, TypeError, OverflowError):  # the last two: code points that are none
        raise ImportFormatError(f"line {number}: not JSON; the file is damaged or cut short.") from None
    if not isinstance(value, dict):
        raise ImportFormatError(f"line {number}: not a line of an export.")
    return value


def _unescape(value: dict[str, Any]) -> Any:
    points = value.get("codepoints")
    return "".join(map(chr, points)) if len(value) == 1 and isinstance(points, list) else value


def _header(header: Header) -> dict[str, Any]:
    return {
        "version": header.version,
        "owner": header.owner,
        "timezone": header.timezone,
        "language": header.language,
        "embedder": header.embedder,
        "dimension": header.dimension,
        "exported": _stamp(header.exported),
    }


def _read_header(value: dict[str, Any]) -> Header:
    if not is_header(value):
        raise ImportFormatError("Not an export of MemoryBank: its first line is not the header.")
    version = value.get("version")
    if version != VERSION:
        raise SchemaError(
            f"The export has format version {version!r}; this release reads version {VERSION}. "
            "Update MemoryBank, or export again with the older release."
        )
    return Header(
        _text(value["owner"]),
        _text(value["timezone"]),
        value["language"],
        value["embedder"],
        value["dimension"],
        _moment(value["exported"]),
    )


def _check_end(value: dict[str, Any], counts: Counter[str]) -> bool:
    if value["counts"] != dict(counts):
        raise ImportFormatError(
            f"The export promises {value['counts']} but has {dict(counts)}: lines are missing."
        )
    return True


def _stamp(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else _time(text)


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("a time without a zone")
    return at.astimezone(UTC)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _fields(line: Line) -> tuple[str, dict[str, Any]]:
    match line:
        case Message():
            return "message", _message(line)
        case MemoryLine():
            return "memory", _memory(line)
        case LinkLine(a, b, kind, weight, at):
            return "link", {"a": a, "b": b, "type": kind, "weight": float(weight), "at": _stamp(at)}
        case Version():
            return "version", _version(line)
        case MarkLine(session, message):
            return "mark", {"session": session, "message": message}


def _version(version: Version) -> dict[str, Any]:
    return {
        "memory": version.memory,
        "version": version.version,
        "text": version.text,
        "maker": version.maker.value,
        "made": _stamp(version.made),
        "sources": list(version.sources),
    }


def _message(message: Message) -> dict[str, Any]:
    return {
        "session": message.session,
        "position": message.position,
        "id": message.id,
        "role": message.role,
        "name": message.name,
        "at": _stamp(message.at),
        "text": message.text,
        "payload": message.payload,
    }


def _read_message(value: dict[str, Any], owner: str) -> Message:
    return Message(
        role=_text(value["role"]),
        text=_text(value["text"]),
        at=_moment(value["at"]),
        id=value["id"],
        name=value["name"],
        payload=value["payload"],
        owner=owner,
        session=_text(value["session"]),
        position=int(value["position"]),
    )


def _memory(line: MemoryLine) -> dict[str, Any]:
    memory = line.memory
    vector = None if line.vector is None else np.asarray(line.vector, dtype="<f4")
    return {
        "id": memory.id,
        "level": memory.level.value,
        "text": memory.text,
        "began": _stamp(memory.began),
        "ended": _stamp(memory.ended),
        "created": _stamp(memory.created),
        "strength": memory.strength,
        "last_recalled": _stamp(memory.last_recalled),
        "status": memory.status.value,
        "pinned": memory.pinned,
        "sources": list(memory.sources),
        "session": memory.session,
        "position": line.position,
        "speaker": memory.speaker,
        "maker": memory.maker.value,
        "stale": memory.stale,
        "version": memory.version,
        "archived_at": _stamp(memory.archived_at),
        "vector": None if vector is None else base64.b64encode(vector.tobytes()).decode("ascii"),
    }


def _read_memory(value: dict[str, Any], owner: str) -> MemoryLine:
    memory = Memory(
        id=_text(value["id"]),
        owner=owner,
        level=Level(value["level"]),
        text=_text(value["text"]),
        began=_time(value["began"]),
        ended=_time(value["ended"]),
        created=_time(value["created"]),
        strength=int(value["strength"]),
        last_recalled=_moment(value["last_recalled"]),
        status=Status(value["status"]),
        pinned=bool(value["pinned"]),
        sources=tuple(_text(source) for source in value["sources"]),
        session=value["session"],
        speaker=value["speaker"],
        maker=Maker(value["maker"]),
        stale=bool(value["stale"]),
        version=int(value["version"]),
        archived_at=_moment(value["archived_at"]),
    )
    packed, vector = value["vector"], None
    if packed is not None:
        vector = np.frombuffer(base64.b64decode(packed, validate=True), dtype="<f4").astype(np.float32)
        if not np.isfinite(vector).all():
            raise ValueError("a vector that is not finite")
    return MemoryLine(memory, value["position"], vector)


def _read_link(value: dict[str, Any], _owner: str) -> LinkLine:
    weight = float(value["weight"])
    return LinkLine(_text(value["a"]), _text(value["b"]), _text(value["type"]), weight, _moment(value["at"]))


def _read_version(value: dict[str, Any], _owner: str) -> Version:
    return Version(
        _text(value["memory"]),
        int(value["version"]),
        _text(value["text"]),
        Maker(value["maker"]),
        _time(value["made"]),
        tuple(_text(source) for source in value["sources"]),
    )


def _read_mark(value: dict[str, Any], _owner: str) -> MarkLine:
    return MarkLine(_text(value["session"]), _text(value["message"]))


_READ: dict[str, Callable[[dict[str, Any], str], Line]] = {
    "message": _read_message,
    "memory": _read_memory,
    "link": _read_link,
    "version": _read_version,
    "mark": _read_mark,
}
