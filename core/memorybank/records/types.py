"""Column types that lose nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

# NUL is refused by PostgreSQL, lone surrogates by every UTF-8 encoder; SUB is our own escape character.
ESCAPE = "\x1a"
_UNSAFE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def escape(text: str) -> str:
    """Text that any database stores: each unsafe character as SUB and four hexadecimal digits."""
    if _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(lambda m: f"\x1a{ord(m.group()):04x}", text)


def unescape(text: str) -> str:
    """The inverse of ``escape``."""
    if ESCAPE not in text:
        return text
    return _ESCAPED.sub(lambda m: chr(int(m.group(1), 16)), text)


class VerbatimText(TypeDecorator[str]):
    """Text read back exactly as given, NUL and lone surrogates included."""

    impl: type[Text] = Text
    cache_ok: bool | None = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else escape(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else unescape(value)


class IdList(TypeDecorator[tuple[str, ...]]):
    """A tuple of ids as a JSON list."""

    impl: type[Text] = Text
    cache_ok: bool | None = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(list(value))

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[str, ...]:
        return tuple(json.loads(value)) if value else ()


def pack_vector(vector: NDArray[np.float32]) -> bytes:
    """Little-endian float32 bytes."""
    return np.ascontiguousarray(vector, dtype="<f4").tobytes()


def unpack_vectors(blobs: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """A (n, dimension) matrix from stored vectors."""
    flat = np.frombuffer(b"".join(blobs), dtype="<f4").astype(np.float32)
    return flat.reshape(len(blobs), dimension)
