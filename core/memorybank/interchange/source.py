"""Reading JSON and JSONL in bounded memory: bytes in, (where, value) pairs out, errors that name the line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, BinaryIO

from memorybank.errors import ImportFormatError
from memorybank.interchange.values import Limits, Problem

_CHUNK = 1 << 16
_SPACE = " \t\r\n"
_OTHER_ENCODINGS = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"SQLite format 3": "a SQLite database",
}


@dataclass(frozen=True, slots=True)
class Located:
    """A decoded value, its key or index in the outermost container (if any), and its first line."""

    key: str | int | None
    value: Any
    line: int

    @property
    def where(self) -> str:
        """Where it stands, in words."""
        return f"line {self.line}"


def check_encoding(head: bytes) -> None:
    """Refuse what is certainly not UTF-8 text. Raises ``ImportFormatError``."""
    for mark, name in _OTHER_ENCODINGS.items():
        if head.startswith(mark):
            raise ImportFormatError(f"The file is {name}; give the JSON or JSONL file itself, in UTF-8.")
    if b"\x00" in head:
        raise ImportFormatError("The file is binary; give JSON or JSONL in UTF-8.")


def decode(text: str, limits: Limits, line: int) -> Any:
    """One JSON value. Raises ``ImportFormatError`` that names the line."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        at = f"line {line + error.lineno - 1}, column {error.colno}"
        raise ImportFormatError(f"{at}: not JSON ({error.msg}).") from None
    except RecursionError:
        raise _too_deep(line, limits) from None
    except ValueError:  # a number with thousands of digits
        raise ImportFormatError(f"line {line}: a number is too long to be read.") from None
    check_depth(value, limits, line)
    return value


def check_depth(value: Any, limits: Limits, line: int) -> None:
    """Raise ``ImportFormatError`` when lists and objects are nested deeper than allowed."""
    layer = [value] if isinstance(value, dict | list) else []
    depth = 0
    while layer:
        depth += 1
        if depth > limits.depth:
            raise _too_deep(line, limits)
        inner = (child for node in layer for child in (node.values() if isinstance(node, dict) else node))
        layer = [child for child in inner if isinstance(child, dict | list)]


def _too_deep(line: int, limits: Limits) -> ImportFormatError:
    return ImportFormatError(f"line {line}: nested deeper than the {limits.depth} levels allowed.")


def json_lines(stream: BinaryIO, limits: Limits) -> Iterator[Located | Problem]:
    """Every non-blank line as a value; one that is not JSON in UTF-8 becomes a ``Problem``.

    The last line may lack its newline. A line over ``limits.record_bytes`` ends the reading with
    ``ImportFormatError``.
    """
    number = 0
    while raw := stream.readline(limits.record_bytes + 1):
        number += 1
        if len(raw) > limits.record_bytes:
            raise _too_large(number, limits)
        if number == 1:
            raw = raw.removeprefix(codecs.BOM_UTF8)
        if not raw.strip():
            continue
        try:
            yield Located(None, decode(raw.rstrip(b"\r\n").decode("utf-8"), limits, number), number)
        except UnicodeDecodeError as error:
            yield Problem(f"line {number}", f"not UTF-8 (byte {error.start + 1} of the line).")
        except ImportFormatError as error:
            where, _, reason = str(error).partition(": ")
            yield Problem(where, reason)


def _too_large(line: int, limits: Limits) -> ImportFormatError:
    return ImportFormatError(
        f"line {line}: a record is larger than the {limits.record_bytes:,} bytes allowed; split it."
    )


class JsonElements:
    """The elements of one outermost JSON array or object, one at a time, in memory bounded by the largest.

    ``kind`` is ``"["`` or ``"{"``. Any other document, or a second value behind the first, is refused with
    ``ImportFormatError``.
    """

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._text = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self._scan = json.JSONDecoder().raw_decode
        self._buffer = ""
        self._at = 0  # the next character to read
        self._mark, self._mark_line = 0, 1  # a place in the buffer at or before it, and that place's line
        self._ended = False
        self.kind: str = self._token()
        if self.kind not in "[{":
            raise ImportFormatError(f"line {self._line()}: expected a JSON array or object, or JSON lines.")

    def __iter__(self) -> Iterator[Located]:
        closing = "]" if self.kind == "[" else "}"
        following = "," if self._token(consume=False) != closing else self._token()
        for index in count():
            if following == closing:
                break
            yield self._element(index if self.kind == "[" else self._key())
            following = self._token()
            if following not in (",", closing):
                raise ImportFormatError(
                    f"line {self._line()}: expected a comma or the end of the outer value."
                )
        self._expect_end()

    def _key(self) -> str:
        key = self._element(0).value
        if not isinstance(key, str) or self._token() != ":":
            raise ImportFormatError(f"line {self._line()}: expected a name and a colon.")
        return key

    def _expect_end(self) -> None:
        while not self._buffer[self._at :].strip(_SPACE):
            if not self._more():
                return
        raise ImportFormatError(f"line {self._line()}: more text behind the end of the JSON value.")

    def _line(self) -> int:
        """The line of the next character."""
        self._mark_line += self._buffer.count("\n", self._mark, self._at)
        self._mark = self._at
        return self._mark_line

    def _more(self) -> bool:
        """Read another piece; False at the end of the file. What was read before ``_at`` is dropped."""
        if self._ended:
            return False
        line = self._line()
        self._buffer = self._buffer[self._at :]
        self._at = self._mark = 0
        if len(self._buffer) > self._limits.record_bytes:
            raise _too_large(line, self._limits)
        raw = self._stream.read(
            max(_CHUNK, len(self._buffer))
        )  # doubling: rescans of one element stay linear
        self._ended = not raw
        try:
            self._buffer += self._text.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            before = self._buffer.count("\n") + bytes(error.object[: error.start]).count(b"\n")
            raise ImportFormatError(f"line {line + before}: not UTF-8; save the file as UTF-8.") from None
        return not self._ended

    def _token(self, *, consume: bool = True) -> str:
        """The next character that is not space."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._buffer):
                character = self._buffer[self._at]
                self._at += consume
                return character
            if not self._more():
                raise ImportFormatError(f"line {self._line()}: the file ends too early (truncated?).")

    def _element(self, key: str | int) -> Located:
        self._token(consume=False)
        line = self._line()
        while True:
            try:
                value, end = self._scan(self._buffer, self._at)
            except json.JSONDecodeError as error:
                cut = self._perhaps_cut(error)
                if cut and self._more():
                    continue
                at = f"line {line + self._buffer.count(chr(10), self._at, error.pos)}, column {error.colno}"
                why = "; the file ends inside a value (truncated?)" if cut else ""
                raise ImportFormatError(f"{at}: not JSON ({error.msg}{why}).") from None
            except RecursionError:
                raise _too_deep(line, self._limits) from None
            except ValueError:  # a number with thousands of digits
                raise ImportFormatError(f"line {line}: a number is too long to be read.") from None
            if end == len(self._buffer) and self._more():
                continue  # a number may go on in the next piece
            break
        if end - self._at > self._limits.record_bytes:
            raise _too_large(line, self._limits)
        check_depth(value, self._limits, line)
        self._at = end
        return Located(key, value, line)

    def _perhaps_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the error may come from the buffer's end (a cut escape is at most 12 characters long)."""
        return error.msg.startswith("Unterminated") or error.pos >= len(self._buffer) - 12
