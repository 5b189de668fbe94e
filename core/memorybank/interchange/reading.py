"""From a file to records: which format it is, and its parser over its elements."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from memorybank.errors import ImportFormatError
from memorybank.interchange import chatgpt, locomo, longmemeval, memorybank_format, messages
from memorybank.interchange.export_format import is_header
from memorybank.interchange.source import JsonElements, Located, check_encoding, decode, json_lines
from memorybank.interchange.values import ImportOptions, Item, Limits, Problem, Severity

EXPORT = "export"
_LOOK_AT = 20


@dataclass(frozen=True, slots=True)
class Format:
    """A foreign format: how to know one of its records, and its parser."""

    matches: Callable[[Any], bool]
    parse: Callable[[Iterable[Located], ImportOptions], Iterator[Item]]


# In the order of detection: an element of the most particular shape first.
FORMATS = {
    "locomo": Format(locomo.matches, locomo.parse),
    "longmemeval": Format(longmemeval.matches, longmemeval.parse),
    "chatgpt": Format(chatgpt.matches, chatgpt.parse),
    "messages": Format(messages.matches, messages.parse),
    "memorybank": Format(memorybank_format.matches, memorybank_format.parse),
}
NAMES = (*FORMATS, EXPORT)


def detect(path: str | Path, limits: Limits | None = None) -> str:
    """The name of the file's format, known from its content: one of ``NAMES``.

    Raises ``ImportFormatError`` when it is none of them, or cannot be read.
    """
    with _open(Path(path), limits or Limits()) as stream:
        return _detect(stream, limits or Limits())[0]


def read(path: str | Path, format: str = "auto", options: ImportOptions | None = None) -> Iterator[Item]:
    """Records and problems of a foreign file, in its order, in memory bounded by its largest record.

    What cannot be read on (a truncated end, a wrong encoding) ends the stream with a ``Problem`` that is
    ``fatal``. Raises ``ImportFormatError`` for an unknown ``format``, a file of no known format or too
    large, and our own export, which ``MemoryStore.import_bank`` reads.
    """
    options = options or ImportOptions()
    if format not in ("auto", *NAMES):
        raise ImportFormatError(f"Unknown format {format!r}; known: auto, {', '.join(NAMES)}.")
    with _open(Path(path), options.limits) as stream:
        name, elements = _detect(stream, options.limits, None if format == "auto" else format)
        if name == EXPORT:
            raise ImportFormatError("This is an export of MemoryBank; read it with MemoryStore.import_bank.")
        problems: list[Problem] = []
        try:
            for item in FORMATS[name].parse(_values(elements, problems), options):
                yield from _drain(problems)
                yield item
        except ImportFormatError as error:
            problems.append(_fatal(error))
        yield from _drain(problems)


def _values(elements: Iterable[Located | Problem], problems: list[Problem]) -> Iterator[Located]:
    for element in elements:
        if isinstance(element, Problem):
            problems.append(element)
        else:
            yield element


def _drain(problems: list[Problem]) -> Iterator[Problem]:
    yield from problems
    problems.clear()


def _fatal(error: ImportFormatError) -> Problem:
    where, colon, reason = str(error).partition(": ")
    if not colon or not where.startswith("line "):
        where, reason = "file", str(error)
    return Problem(where, reason, Severity.FATAL)


def _open(path: Path, limits: Limits) -> BinaryIO:
    try:
        if path.is_dir():
            raise ImportFormatError(f"{path} is a folder; give a file.")
        stream = path.open("rb")
    except FileNotFoundError:
        raise ImportFormatError(f"No such file: {path}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ImportFormatError(f"Cannot read {path}: {reason}") from None
    size = os.fstat(stream.fileno()).st_size
    if size > limits.file_bytes:
        stream.close()
        raise ImportFormatError(
            f"{path} has {size:,} bytes; at most {limits.file_bytes:,} are read. Split it."
        )
    return stream


def _detect(
    stream: BinaryIO, limits: Limits, wanted: str | None = None
) -> tuple[str, Iterable[Located | Problem]]:
    """The format's name (``wanted`` when it is given) and all the file's elements."""
    stream.seek(0)
    check_encoding(stream.read(64))
    if _is_lines(stream, limits):
        return _name_of(json_lines(stream, limits), wanted)
    elements = JsonElements(stream, limits)
    if elements.kind == "[":
        return _name_of(iter(elements), wanted)
    if wanted is None:
        first = next(iter(elements), None)
        if first is None:
            raise ImportFormatError("The file is an empty JSON object.")
        stream.seek(0)
        wanted = "memorybank" if FORMATS["memorybank"].matches(first.value) else None
    if wanted == "memorybank":
        return wanted, _from_start(stream, limits)
    whole = {str(element.key): element.value for element in _from_start(stream, limits)}
    name = wanted or _match(whole)
    if name is not None:
        return name, [Located(None, whole, 1)]
    if any(FORMATS["memorybank"].matches(value) for value in whole.values()):
        return "memorybank", _from_start(stream, limits)
    raise _unknown()


def _from_start(stream: BinaryIO, limits: Limits) -> JsonElements:
    stream.seek(0)
    return JsonElements(stream, limits)


def _is_lines(stream: BinaryIO, limits: Limits) -> bool:
    """Whether the first line is a JSON object of its own and a second line follows (or it is our header)."""
    stream.seek(0)
    try:
        first = b""
        while not first.strip():
            raw = stream.readline(limits.record_bytes + 1)
            if not raw:
                raise ImportFormatError("The file is empty.")
            first = raw.removeprefix(b"\xef\xbb\xbf")
        if not first.lstrip().startswith(b"{") or len(first) > limits.record_bytes:
            return False
        try:
            value = decode(first.decode("utf-8"), limits, 1)
        except (ImportFormatError, UnicodeDecodeError):
            return False
        return is_header(value) or any(line.strip() for line in iter(lambda: stream.readline(4096), b""))
    finally:
        stream.seek(0)


def _name_of(
    elements: Iterator[Located | Problem], wanted: str | None
) -> tuple[str, Iterable[Located | Problem]]:
    """Look at elements until one is known; give them back in front of the others."""
    if wanted is not None:
        return wanted, elements
    seen: list[Located | Problem] = []
    for element in islice(elements, _LOOK_AT):
        seen.append(element)
        if isinstance(element, Located):
            known = EXPORT if is_header(element.value) else _match(element.value)
            if known is not None:
                return known, chain(seen, elements)
    raise _unknown()


def _match(value: Any) -> str | None:
    return next((name for name, known in FORMATS.items() if known.matches(value)), None)


def _unknown() -> ImportFormatError:
    return ImportFormatError(f"The file is of none of the known formats: {', '.join(NAMES)}.")
