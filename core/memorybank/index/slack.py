"""What lies in Chroma's vector files beyond the vectors: memory of the process that wrote them.

Chroma makes a vector file for 100 rows and writes it whole, from memory it has not cleared; what the process had
freed before (vectors, texts, keys) lands on the disk (measured: vectors of an erased owner in the files of others).
Whoever calls this holds the folder's lock and has closed the client.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_HEADER = struct.Struct("<i6Q")
"""hnswlib's header.bin: version, offset, room for, rows, bytes a row, two offsets."""

_VERSION = 1
_LENGTH_BYTES = 4


def blank(folder: Path) -> int:
    """Make zeros of all that follows the last row in the vector files below ``folder``; returns how many bytes.

    Files of another version than the one known here stay as they are. Takes no time to speak of: a file is cut
    and made long again. Raises OSError.
    """
    return sum(_blank(header) for header in sorted(folder.glob("*/header.bin")))


def _blank(header: Path) -> int:
    try:
        version, _, _, rows, size, _, _ = _HEADER.unpack_from(header.read_bytes())
    except struct.error:
        return 0  # a damaged one: for the probe to find
    if version != _VERSION:
        return 0
    return _cut(header.with_name("data_level0.bin"), rows * size) + _cut(
        header.with_name("length.bin"), rows * _LENGTH_BYTES
    )


def _cut(path: Path, used: int) -> int:
    if not path.is_file():
        return 0
    whole = path.stat().st_size
    if whole <= used:
        return 0
    os.truncate(path, used)
    os.truncate(path, whole)
    return whole - used
