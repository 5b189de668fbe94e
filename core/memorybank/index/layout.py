"""How banks lie in Chroma's collections: pure names and metadata, nothing that touches Chroma.

Banks are hashed over a fixed number of shards (measured: a collection per owner breaks at a few hundred, one
shared collection costs in proportion to everybody's rows, 64 shards stay at 4 ms with 200,000 rows). A large
bank may have a collection of its own. Every collection says in its metadata what it is, so the layout is
found again by listing them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memorybank.errors import InvalidInputError

DATABASE_NAME = "chroma.sqlite3"
"""What Chroma calls its database in a folder."""

FORMAT = 1
"""Version of this layout. A higher one in a folder was written by a newer MemoryBank."""

NAMESPACE = "memorybank"
DEFAULT_SHARDS = 64
MOST_SHARDS = 4096

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

Metadata = Mapping[str, str | int | float | bool]


class Kind(StrEnum):
    """What a collection is. A bank moves from its shard by FILLING -> SWEEPING -> OWN, resumable at each
    step.
    """

    SHARD = "shard"
    FILLING = "filling"
    """A copy of a bank that is not complete: not read yet."""
    SWEEPING = "sweeping"
    """The copy is complete and is read; the shard's rows of this bank are still to be removed."""
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Layout:
    """The fixed part of an index: it is chosen once, at creation. ``namespace`` keeps several apart on one
    server.
    """

    shards: int = DEFAULT_SHARDS
    namespace: str = NAMESPACE
    format: int = FORMAT

    def __post_init__(self) -> None:
        if not 1 <= self.shards <= MOST_SHARDS:
            raise InvalidInputError(f"shards is {self.shards}; choose 1 to {MOST_SHARDS}")
        if not _NAMESPACE.fullmatch(self.namespace):
            raise InvalidInputError(
                f"namespace {self.namespace!r} is not allowed; use up to 64 letters, digits, '-' or '_'"
            )

    def shard(self, bank: str) -> int:
        """The shard of a bank, 0..shards-1; the same in every process and on every platform."""
        return int.from_bytes(_digest(bank), "big") % self.shards

    def shard_name(self, number: int) -> str:
        """The collection's name of a shard."""
        return f"{self.namespace}.shard-{number:04d}"

    def own_name(self, bank: str) -> str:
        """The name of a bank's own collection: hashed, since a bank's uid may hold any character."""
        return f"{self.namespace}.bank-{_digest(bank).hex()}"

    def describe(self, kind: Kind, dimension: int, bank: str | None = None) -> dict[str, str | int]:
        """The metadata of a collection."""
        about: dict[str, str | int] = {
            "memorybank": self.format,
            "kind": kind.value,
            "shards": self.shards,
            "dimension": dimension,
        }
        if bank is not None:
            about["bank"] = bank
        return about


@dataclass(frozen=True, slots=True)
class Described:
    """A collection's metadata, read back."""

    kind: Kind
    shards: int
    dimension: int
    bank: str | None
    format: int


def described(metadata: Metadata | None) -> Described | None:
    """What a collection says it is; None if it is not one of ours or says something unreadable."""
    if not metadata or "memorybank" not in metadata:
        return None
    try:
        kind = Kind(str(metadata["kind"]))
        bank = metadata.get("bank")
        return Described(
            kind,
            int(metadata["shards"]),
            int(metadata["dimension"]),
            None if bank is None else str(bank),
            int(metadata["memorybank"]),
        )
    except (KeyError, ValueError, TypeError):
        return None


def prefix(bank: str) -> str:
    """What stands before a bank's ids in a collection, so that one collection can serve many banks.

    Never ambiguous: a uid that is not plain (it may hold the colon) is hashed, and the mark of that is not
    plain.
    """
    plain = bank if _PLAIN.fullmatch(bank) else "~" + _digest(bank).hex()
    return plain + ":"


def _digest(bank: str) -> bytes:
    return hashlib.blake2b(bank.encode("utf-8", "surrogatepass"), digest_size=16).digest()
