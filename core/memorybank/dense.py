"""Vector search of a large bank: the index, and beside it an exact scan of what the index does not hold yet."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memorybank.errors import IndexUnavailableError
from memorybank.records import columns
from memorybank.records.banks import BankRow
from memorybank.records.types import unpack_vectors
from memorybank.resident import Resident, Snapshot
from memorybank.runtime import Runtime
from memorybank.similarity import cosines

logger: logging.Logger = logging.getLogger("memorybank.index")

Rows = NDArray[np.int64]


class IndexSearch:
    """One question put to the index. Falls back to comparing every vector when the index cannot answer."""

    def __init__(
        self,
        connection: Connection,
        runtime: Runtime,
        resident: Resident,
        bank: BankRow,
        snapshot: Snapshot,
        vector: NDArray[np.float32],
    ) -> None:
        self._connection = connection
        self._runtime = runtime
        self._resident = resident
        self._bank = bank
        self._snapshot = snapshot
        self._vector = vector
        self._exact: NDArray[np.float32] | None = None

    def search(self, vector: NDArray[np.float32], n: int) -> tuple[Rows, NDArray[np.float32]]:
        """The ``n`` most similar rows (or fewer), best first, and their cosines. Deleted rows are left out."""
        tail = self._tail()
        if self._exact is None:
            rows = self._indexed(vector, n, tail)
            if rows is not None:
                candidates = np.unique(np.concatenate([rows, tail]))
                return self._best(candidates, n)
        return self._best(np.flatnonzero(self._snapshot.corpus.alive), n)

    def similarities(self, rows: Rows) -> NDArray[np.float32]:
        """Cosines of some rows with the question."""
        if self._exact is not None:
            return cosines(self._exact[rows], self._vector)
        keys = [int(key) for key in self._snapshot.keys[rows]]
        held = columns.some_vectors(self._connection, keys)
        empty = bytes(4 * self._vector.shape[0])
        blobs = [held.get(key, empty) for key in keys]
        return cosines(unpack_vectors(blobs, self._vector.shape[0]), self._vector)

    def _indexed(self, vector: NDArray[np.float32], n: int, tail: Rows) -> Rows | None:
        """Rows that the index names; None if it cannot answer, or holds too little to be believed.

        It may still name what was deleted or changed since: then it is asked for more.
        """
        alive = self._snapshot.corpus.alive
        expected = min(n, int(np.count_nonzero(alive)) - len(tail))
        asked = n
        while True:
            try:
                hits = self._runtime.indexer.search(self._bank.uid, vector, asked)
            except IndexUnavailableError:
                self._load()
                return None
            rows = np.array(self._snapshot.rows_of(hits.ids), dtype=np.int64)
            rows = np.setdiff1d(rows[alive[rows]], tail)
            if len(rows) >= n or len(hits) < asked:
                break
            asked *= 2
        if len(rows) < expected // 2:
            logger.warning(
                "the vector index names %d of %d memories; comparing all instead. "
                "'memorybank doctor --repair' rebuilds the index",
                len(rows),
                expected,
            )
            self._load()
            return None
        return rows

    def _load(self) -> None:
        snapshot = self._resident.snapshot(self._connection, self._bank, vectors=True)
        # Loaded anew meanwhile, its rows would be others: then they are compared from the records, more slowly.
        if snapshot.corpus.vectors is not None and snapshot.arrays is self._snapshot.arrays:
            self._exact = snapshot.corpus.vectors[: len(self._snapshot.corpus)]

    def _tail(self) -> Rows:
        keys = columns.unindexed(self._connection, self._bank.key)
        return np.array(self._snapshot.rows_of_keys(keys), dtype=np.int64)

    def _best(self, candidates: Rows, n: int) -> tuple[Rows, NDArray[np.float32]]:
        similarities = self.similarities(candidates)
        order = np.lexsort((candidates, -similarities))[:n]
        return candidates[order], similarities[order]
