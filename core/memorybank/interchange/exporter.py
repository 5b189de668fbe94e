"""The export on disk: written whole or not at all, read line by line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from memorybank.errors import ImportFormatError, StoreError
from memorybank.interchange.export_format import from_lines, to_lines
from memorybank.interchange.export_lines import Header, Line

_LINE_BYTES = 64 * 1024**2


def write_export(path: str | Path, header: Header, lines: Iterable[Line]) -> int:
    """Write an export (mode 0600); an older file at ``path`` is replaced at the end, in one step.

    Returns the number of lines. Raises ``StoreError`` when the file cannot be written.
    """
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    written = 0
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            for text in to_lines(header, lines):
                stream.write(text)
                written += 1
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, target)
    except OSError as error:
        raise StoreError(f"Cannot write the export to {target}: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return written


def read_export(path: str | Path) -> Iterator[Header | Line]:
    """The header, then every line. Raises as ``from_lines``, and ``ImportFormatError`` if unreadable."""
    try:
        with Path(path).open("rb") as stream:
            yield from from_lines(_texts(stream.readline(_LINE_BYTES) for _ in iter(int, 1)))
    except OSError as error:
        raise ImportFormatError(f"Cannot read {path}: {error.strerror or error}") from None


def _texts(raw_lines: Iterable[bytes]) -> Iterator[str]:
    for number, raw in enumerate(raw_lines, 1):
        if not raw:
            return
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise ImportFormatError(f"line {number}: not UTF-8; the file is damaged.") from None
