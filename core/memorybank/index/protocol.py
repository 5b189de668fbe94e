"""What a vector index is: the one contract that the exact scan and Chroma both keep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError
from memorybank.index.parts import Part

Vectors = NDArray[np.float32]

UNIT_TOLERANCE = 0.01
"""How far a vector's length may be from 1. Wide enough for vectors that were stored as float16."""


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """What a search found, best first: ``ids[i]`` has cosine ``similarities[i]`` (float32, -1..1)."""

    ids: list[str]
    similarities: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def none(cls) -> Hits:
        """No hits."""
        return cls([], np.empty(0, dtype=np.float32))


class VectorIndex(Protocol):
    """Vectors of many banks, searched one bank at a time.

    A bank and an id are opaque non-empty strings; the same id in two banks is two vectors. Vectors are unit
    length, float32, one dimension per index. The index is a copy: the records hold the truth, and it can be
    rebuilt from them. Every method raises IndexUnavailableError when the index cannot be reached, and
    InvalidInputError on vectors or ids that are not allowed (NaN, not unit length, another dimension, blank
    ids), changing nothing.
    """

    @property
    def embedded(self) -> bool:
        """Whether it is this store's alone, and not part of a server that other stores may use."""
        ...

    def upsert(self, bank: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Add or replace; ``vectors`` is (len(ids), dimension). Idempotent; of an id given twice the last
        counts.
        """
        ...

    def upsert_many(self, parts: Sequence[Part]) -> None:
        """As ``upsert`` of each part, in as few writes as their places allow; nothing if one is not allowed."""
        ...

    def together(self, banks: Sequence[str]) -> list[list[str]]:
        """The banks in groups: those of a group lie together, so that one write may serve them all."""
        ...

    def delete(self, bank: str, ids: Sequence[str]) -> None:
        """Remove these ids; unknown ones are no error."""
        ...

    def drop(self, bank: str) -> int:
        """Remove the whole bank; returns how many vectors it had."""
        ...

    def neighbours(self, banks: Iterable[str], others: Iterable[str]) -> list[str]:
        """Which of the others lie together with one of these banks, so that expunging it takes their vectors too."""
        ...

    def expunge(self, banks: Sequence[str]) -> None:
        """Leave no byte of these banks' vectors, deleted ones included, in the files of an embedded index.

        The vectors of their neighbours go too: whoever calls this has noted that they must be written again.
        Meanwhile searches raise IndexUnavailableError, "closed".
        """
        ...

    def blank(self) -> None:
        """Leave nothing in the files of an embedded index but what it holds: no remains of this process's memory.

        Meanwhile searches raise IndexUnavailableError, "closed".
        """
        ...

    def search(self, bank: str, query: Vectors, n: int) -> Hits:
        """The ``n`` nearest of the bank, best first; fewer if it has fewer, none if the bank is unknown."""
        ...

    def ids(self, bank: str) -> set[str]:
        """Every id of the bank."""
        ...

    def count(self, bank: str) -> int:
        """How many vectors the bank has."""
        ...

    def contents(self) -> dict[str, set[str]]:
        """Every bank that has vectors, with its ids; one pass over everything. For checks, not for searches."""
        ...

    def promote(self, bank: str) -> None:
        """Say that this bank is large, so that the index may lay it out on its own. Changes no answer."""
        ...

    def close(self) -> None:
        """Let go of threads, files and locks. Twice is once."""
        ...


def checked_batch(ids: Sequence[str], vectors: Vectors) -> tuple[list[str], Vectors]:
    """The batch as (ids, float32 matrix), of an id given twice only the last.

    Raises InvalidInputError on blank ids, lengths that disagree, NaN or infinities, rows not of unit length.
    """
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    names = checked_ids(ids)
    if matrix.ndim != 2 or len(matrix) != len(names):
        raise InvalidInputError(
            f"vectors have shape {matrix.shape} for {len(names)} ids; give one row of numbers per id"
        )
    _check_rows(matrix)
    last = {name: row for row, name in enumerate(names)}
    if len(last) == len(names):
        return names, matrix
    return list(last), matrix[list(last.values())]


def checked_parts(parts: Sequence[Part]) -> list[Part]:
    """The parts that have rows, one a bank, each checked as `checked_batch` does, all of one dimension."""
    held: dict[str, Part] = {}
    width = 0
    for part in parts:
        names, matrix = checked_batch(part.ids, part.vectors)
        if not names:
            continue
        width = width or matrix.shape[1]
        checked_dimension(matrix.shape[1], width)
        known = held.get(checked_bank(part.bank))
        if known is not None:
            names, matrix = checked_batch([*known.ids, *names], np.concatenate([known.vectors, matrix]))
        held[part.bank] = Part(part.bank, names, matrix)
    return list(held.values())


def checked_query(query: Vectors, n: int) -> Vectors:
    """The query as one float32 row. Raises InvalidInputError as `checked_batch` does, and if n < 1."""
    if n < 1:
        raise InvalidInputError(f"n is {n}; ask for at least 1 hit")
    row = np.ascontiguousarray(query, dtype=np.float32)
    if row.ndim != 1:
        raise InvalidInputError(f"the query has shape {row.shape}; give one vector")
    _check_rows(row[None, :])
    return row


def checked_ids(ids: Sequence[str]) -> list[str]:
    """The ids as a list. Raises InvalidInputError unless each is a non-empty string."""
    names = list(ids)
    if not all(isinstance(name, str) and name for name in names):
        raise InvalidInputError("an id is empty or not a string; ids are non-empty strings")
    return names


def checked_bank(bank: str) -> str:
    """The bank's uid. Raises InvalidInputError unless it is a non-empty string."""
    if not isinstance(bank, str) or not bank:
        raise InvalidInputError("the bank is empty or not a string; a bank is a non-empty string")
    return bank


def checked_dimension(given: int, known: int) -> None:
    """Raises InvalidInputError if vectors of ``given`` numbers come to an index that holds ``known``."""
    if given != known:
        raise InvalidInputError(
            f"the vectors have {given} dimensions but the index holds {known}; "
            "another embedder needs a reindex of the store"
        )


def _check_rows(matrix: Vectors) -> None:
    if matrix.size == 0:
        if matrix.shape[0]:
            raise InvalidInputError("the vectors have no dimensions")
        return
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    if not np.all(np.abs(lengths - 1.0) <= UNIT_TOLERANCE):  # false for NaN and infinities too
        raise InvalidInputError(
            "a vector is not of unit length, or has NaN or infinities; normalise it first"
        )
