"""Resident banks: a bank's arrays in memory, kept equal to the records through the bank's change counter."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memorybank.arrays import Arrays, Completion, Meta
from memorybank.growing import Growing
from memorybank.models import Level
from memorybank.records import columns, links
from memorybank.records.banks import BankRow
from memorybank.records.memories import Features, Row
from memorybank.records.types import unpack_vectors
from memorybank.retrieval.corpus import Corpus

logger: logging.Logger = logging.getLogger("memorybank.resident")

_BYTES_PER_ROW = 600  # what the columns, maps and postings of a row take, about


@dataclass(frozen=True)
class Snapshot:
    """A bank at one revision: the arrays, each row's key, and the codes of its sessions.

    ``arrays`` is what the rows are numbered by: after a bank was loaded anew, rows of before mean nothing.
    """

    corpus: Corpus
    keys: NDArray[np.int64]
    sessions: dict[int, int]
    rev: int
    arrays: Arrays

    def rows_of(self, ids: Iterable[str]) -> list[int]:
        """Rows of those memory ids that this snapshot holds."""
        n, row_of = len(self.keys), self.arrays.id_row
        return [row for id_ in ids if (row := row_of.get(id_, n)) < n]

    def rows_of_keys(self, keys: Iterable[int]) -> list[int]:
        """Rows of those memory keys that this snapshot holds."""
        n, row_of = len(self.keys), self.arrays.row_of
        return [row for key in keys if (row := row_of.get(key, n)) < n]


class Resident:
    """One bank's arrays. All methods are safe to call from several threads."""

    def __init__(self, zone: ZoneInfo, dimension: int | None) -> None:
        self._zone = zone
        self._dimension = dimension
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._rev = -1
        self._arrays = Arrays(self._zone)
        self._vectors: Growing[np.float32] | None = None
        self._snapshot: Snapshot | None = None

    @property
    def dimension(self) -> int | None:
        """Length of the vectors it keeps."""
        return self._dimension

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about."""
        vectors = 0 if self._vectors is None else self._vectors.nbytes
        return vectors + len(self._arrays) * _BYTES_PER_ROW

    def snapshot(self, connection: Connection, bank: BankRow, *, vectors: bool) -> Snapshot:
        """The bank as of ``bank.rev``; ``vectors`` asks for the matrix to be in memory as well."""
        with self._lock, self._whole():
            if self._rev < bank.floor or self._rev < 0:
                self._clear()
                self._arrays.fill(
                    columns.meta(connection, bank.key), columns.all_postings(connection, bank.key)
                )
                self._link(connection, bank, derived=True)
                self._advance(bank.rev)
            elif self._rev < bank.rev:
                self._follow(connection, bank)
            if vectors and self._vectors is None and self._dimension is not None:
                loaded = self._load_vectors(connection, bank, self._dimension)
                if bank.rev < self._rev:
                    # This reader began before the last write: it does not see that one's vectors.
                    return self._build(loaded)
                self._vectors, self._snapshot = loaded, None
            if self._snapshot is None:
                self._snapshot = self._build(self._vectors)
            return self._snapshot

    @contextlib.contextmanager
    def _whole(self) -> Iterator[None]:
        """All of a change or nothing: half-changed arrays would answer wrongly from then on, or not at all."""
        try:
            yield
        except BaseException:  # cleaned up, and raised again
            self._clear()
            raise

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """As ``_whole``, for what is stored already: the arrays are read from the records when asked again."""
        try:
            with self._lock, self._whole():
                yield
        except Exception as error:  # noqa: BLE001 - most likely MemoryError; the write must not be reported as failed
            logger.warning("a bank in memory was let go: %s", type(error).__name__)

    def _build(self, vectors: Growing[np.float32] | None) -> Snapshot:
        arrays = self._arrays
        corpus = arrays.corpus(None if vectors is None else vectors.view())
        return Snapshot(corpus, arrays.keys.view(), dict(arrays.sessions), self._rev, arrays)

    def added(self, rev: int, rows: Sequence[Row | Completion], found: Mapping[int, Features]) -> None:
        """Take over what this process has just written as revision ``rev``, without reading it back."""
        with self._told():
            if not self._next(rev):
                return
            known = self._arrays.row_of
            if any(isinstance(one, Completion) and one.key not in known for one in rows):
                return
            metas = [
                self._arrays.completed(one, rev) if isinstance(one, Completion) else Meta.of(one)
                for one in rows
            ]
            if metas:
                self._arrays.append(metas, found)
            if metas and self._vectors is not None:
                zero = np.zeros(self._dimension or 0, np.float32)
                vectors = [found[meta.key].vector for meta in metas]
                self._vectors.extend([zero if vector is None else vector for vector in vectors])
            self._advance(rev)

    def reinforced(
        self, rev: int, keys: Sequence[int], linked: Mapping[tuple[int, int], float], seconds: float
    ) -> None:
        """Take over a reinforcement that this process has just written as revision ``rev``."""
        with self._told():
            if self._next(rev) and all(key in self._arrays.row_of for key in keys):
                self._arrays.reinforce(keys, seconds)
                self._arrays.link(linked)
                self._advance(rev)

    def _next(self, rev: int) -> bool:
        # If something else was written in between, the change counter tells the next reader.
        return self._rev >= 0 and self._rev == rev - 1

    def _advance(self, rev: int) -> None:
        self._rev = rev
        self._snapshot = None

    def _follow(self, connection: Connection, bank: BankRow) -> None:
        """Take over what others have written since."""
        arrays = self._arrays
        arrays.bury(columns.gone_since(connection, bank.key, self._rev))
        rows = [Meta._make(row) for row in columns.meta_since(connection, bank.key, self._rev)]
        fresh = [r for r in rows if r.key not in arrays.row_of or r.revised > self._rev]
        keys = [r.key for r in fresh]
        arrays.touch([r for r in rows if r.key in arrays.row_of and r.revised <= self._rev])
        if fresh:
            arrays.append(fresh, columns.some_postings(connection, keys))
            if self._vectors is not None:
                held = columns.some_vectors(connection, keys)
                self._vectors.extend(self._stack([held.get(key) for key in keys]))
        self._link(connection, bank, derived=any(r.level != Level.TURN.value for r in fresh))
        self._advance(bank.rev)

    def _link(self, connection: Connection, bank: BankRow, *, derived: bool) -> None:
        changed = links.since(connection, bank.key, self._rev)
        self._arrays.link({(a, b): weight for a, b, weight in changed})
        if derived:
            self._arrays.derive(links.derived_from(connection, bank.key))

    def _load_vectors(self, connection: Connection, bank: BankRow, dimension: int) -> Growing[np.float32]:
        held = columns.all_vectors(connection, bank.key)
        grown = Growing(np.float32, dimension)
        row_of = self._arrays.row_of
        if [row_of.get(row[0]) for row in held] == list(range(len(self._arrays))):
            grown.extend(unpack_vectors([row[1] for row in held], dimension))
        else:
            by_row = {row_of[row[0]]: row[1] for row in held if row[0] in row_of}
            grown.extend(self._stack([by_row.get(row) for row in range(len(self._arrays))]))
        return grown

    def _stack(self, rows: Sequence[bytes | None]) -> NDArray[np.float32]:
        dimension = self._dimension or 0
        empty = bytes(4 * dimension)  # no vector yet: similarity 0 to everything
        return unpack_vectors([empty if row is None else row for row in rows], dimension)


class Residents:
    """The resident banks of a process: least recently used ones leave when ``max_bytes`` is passed."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._banks: OrderedDict[int, tuple[str, Resident]] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._total = 0

    def of(self, bank: BankRow, zone: ZoneInfo, dimension: int | None) -> Resident:
        """The resident bank of that row, empty at first. A change of zone or embedder starts it anew."""
        with self._lock:
            held = self._banks.get(bank.key)
            if held is None or held[0] != zone.key or held[1].dimension != dimension:
                held = (zone.key, Resident(zone, dimension))
                self._banks[bank.key] = held
            self._banks.move_to_end(bank.key)
            return held[1]

    def added(self, bank: BankRow, rows: Sequence[Row | Completion], found: Mapping[int, Features]) -> None:
        """Tell a resident bank, if it is one, what was just written."""
        resident = self._held(bank.key)
        if resident is not None:
            resident.added(bank.rev, rows, found)

    def reinforced(
        self, bank: BankRow, keys: Sequence[int], linked: Mapping[tuple[int, int], float], seconds: float
    ) -> None:
        """Tell a resident bank, if it is one, what was just reinforced."""
        resident = self._held(bank.key)
        if resident is not None:
            resident.reinforced(bank.rev, keys, linked, seconds)

    def _held(self, key: int) -> Resident | None:
        with self._lock:
            held = self._banks.get(key)
            return None if held is None else held[1]

    def trim(self, latest: int) -> None:
        """Weigh the bank of key ``latest``, and let the least recently used go until all fit; it stays."""
        with self._lock:
            held = self._banks.get(latest)
            if held is not None:
                size = held[1].nbytes
                self._total += size - self._sizes.get(latest, 0)
                self._sizes[latest] = size
            while self._total > self._max_bytes and len(self._banks) > 1:
                key = next(iter(self._banks))
                if key == latest:
                    break
                self._drop(key)

    def discard(self, key: int) -> None:
        """Let one bank go (erased)."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: int) -> None:
        if self._banks.pop(key, None) is not None:
            self._total -= self._sizes.pop(key, 0)

    def clear(self) -> None:
        """Let all go."""
        with self._lock:
            self._banks.clear()
            self._sizes.clear()
            self._total = 0

    @property
    def nbytes(self) -> int:
        """Bytes held, about."""
        return self._total

    def __len__(self) -> int:
        return len(self._banks)
