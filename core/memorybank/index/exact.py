"""The exact scan: reference, oracle of the tests, and what answers when Chroma cannot."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memorybank.index.parts import Part
from memorybank.index.protocol import (
    Hits,
    Vectors,
    checked_bank,
    checked_dimension,
    checked_ids,
    checked_parts,
    checked_query,
)
from memorybank.similarity import cosines

FIRST_CAPACITY = 64


def scan(matrix: Vectors, query: Vectors, n: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The ``n`` rows of ``matrix`` (rows, dimension) with the highest cosine to ``query`` (dimension,).

    Both of unit length, so the cosine is the dot product. Returns (rows, similarities), best first; equal
    similarities in the order of the rows, so that the answer never depends on how the partition fell.
    """
    if n < 1 or len(matrix) == 0:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.float32)
    similarities = cosines(matrix, query)
    if n < len(similarities):
        floor = np.partition(similarities, len(similarities) - n)[len(similarities) - n]
        rows = np.flatnonzero(
            similarities >= floor
        )  # with every tie at the edge: the order below settles them
    else:
        rows = np.arange(len(similarities))
    best = rows[np.argsort(-similarities[rows], kind="stable")][:n]
    return best, similarities[best]


@dataclass
class _Matrix:
    """One bank: rows 0..len(ids) of ``rows`` are in use, in no order; the rest is room to grow."""

    rows: Vectors
    ids: list[str] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)

    def put(self, ids: Sequence[str], vectors: Vectors) -> None:
        new = sum(1 for name in ids if name not in self.place)
        needed = len(self.ids) + new
        if needed > len(self.rows):
            grown = np.empty((max(needed, 2 * len(self.rows)), self.rows.shape[1]), dtype=np.float32)
            grown[: len(self.ids)] = self.rows[: len(self.ids)]
            self.rows = grown
        for name, vector in zip(ids, vectors, strict=True):
            row = self.place.get(name)
            if row is None:
                row = self.place[name] = len(self.ids)
                self.ids.append(name)
            self.rows[row] = vector

    def remove(self, ids: Sequence[str]) -> None:
        for name in ids:
            row = self.place.pop(name, None)
            if row is None:
                continue
            last = self.ids.pop()
            if last != name:  # the last row fills the gap
                self.rows[row] = self.rows[len(self.ids)]
                self.ids[row] = last
                self.place[last] = row


class ExactIndex:
    """A VectorIndex in memory that compares the query with every vector of the bank. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._banks: dict[str, _Matrix] = {}
        self._dimension: int | None = None

    @property
    def embedded(self) -> bool:
        """See VectorIndex: it is in this process's memory."""
        return True

    def upsert(self, bank: str, ids: Sequence[str], vectors: Vectors) -> None:
        """See VectorIndex."""
        self.upsert_many([Part(checked_bank(bank), ids, vectors)])

    def upsert_many(self, parts: Sequence[Part]) -> None:
        """See VectorIndex."""
        checked = checked_parts(parts)
        if not checked:
            return
        width = checked[0].vectors.shape[1]
        with self._lock:
            if self._dimension is None:
                self._dimension = width
            checked_dimension(width, self._dimension)
            for part in checked:
                held = self._banks.get(part.bank)
                if held is None:
                    held = _Matrix(np.empty((FIRST_CAPACITY, width), dtype=np.float32))
                    self._banks[part.bank] = held
                held.put(part.ids, part.vectors)

    def together(self, banks: Sequence[str]) -> list[list[str]]:
        """See VectorIndex: every bank has a matrix of its own, and all are written under one lock."""
        return [list(banks)] if banks else []

    def delete(self, bank: str, ids: Sequence[str]) -> None:
        """See VectorIndex."""
        names = checked_ids(ids)
        with self._lock:
            held = self._banks.get(checked_bank(bank))
            if held is not None:
                held.remove(names)

    def drop(self, bank: str) -> int:
        """See VectorIndex."""
        with self._lock:
            held = self._banks.pop(checked_bank(bank), None)
            return 0 if held is None else len(held.ids)

    def neighbours(self, banks: Iterable[str], others: Iterable[str]) -> list[str]:
        """See VectorIndex: every bank has a matrix of its own."""
        return []

    def expunge(self, banks: Sequence[str]) -> None:
        """See VectorIndex."""
        for bank in banks:
            self.drop(bank)

    def blank(self) -> None:
        """See VectorIndex: there are no files."""

    def search(self, bank: str, query: Vectors, n: int) -> Hits:
        """See VectorIndex. Exact; equal similarities in no promised order."""
        checked_bank(bank)
        row = checked_query(query, n)
        with self._lock:
            if self._dimension is not None:
                checked_dimension(len(row), self._dimension)
            held = self._banks.get(bank)
            if held is None:
                return Hits.none()
            rows, similarities = scan(held.rows[: len(held.ids)], row, n)
            return Hits([held.ids[i] for i in rows], similarities)

    def ids(self, bank: str) -> set[str]:
        """See VectorIndex."""
        with self._lock:
            held = self._banks.get(checked_bank(bank))
            return set() if held is None else set(held.ids)

    def count(self, bank: str) -> int:
        """See VectorIndex."""
        with self._lock:
            held = self._banks.get(checked_bank(bank))
            return 0 if held is None else len(held.ids)

    def contents(self) -> dict[str, set[str]]:
        """See VectorIndex."""
        with self._lock:
            return {bank: set(held.ids) for bank, held in self._banks.items() if held.ids}

    def promote(self, bank: str) -> None:
        """Nothing to do: every bank already has a matrix of its own."""
        checked_bank(bank)

    def close(self) -> None:
        """Free the memory."""
        with self._lock:
            self._banks.clear()
