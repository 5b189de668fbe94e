"""Resident banks: a bank's arrays in memory, kept equal to the records through the bank's change counter."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memorybank.clock import local_ordinals, to_micros
from memorybank.growing import Growing
from memorybank.models import Level, Status
from memorybank.records import columns, links
from memorybank.records.banks import BankRow
from memorybank.records.memories import Features, Row
from memorybank.records.types import unpack_vectors
from memorybank.retrieval.corpus import Corpus
from memorybank.retrieval.lexical import LexicalIndex

_LEVELS = {level.value: code for code, level in enumerate(Level)}
_TURN = _LEVELS[Level.TURN.value]
_NO_TERMS = (np.empty(0, np.uint64), np.empty(0, np.uint16))
_BYTES_PER_ROW = 400  # what the columns, maps and postings of a row take, about


class Meta(NamedTuple):
    """What the columns take of a memory; rows of ``columns.meta`` have the same names."""

    key: int
    id: str
    level: str
    began: int
    ended: int
    strength: int
    last_recalled: int | None
    status: str
    session: int | None
    speaker: str | None
    revised: int


class Completion(NamedTuple):
    """An exchange that got its reply: its key, and when it now ends (microseconds)."""

    key: int
    ended: int


def _meta(row: Row) -> Meta:
    memory = row.memory
    return Meta(
        key=row.key,
        id=memory.id,
        level=memory.level.value,
        began=to_micros(memory.began),
        ended=to_micros(memory.ended),
        strength=memory.strength,
        last_recalled=None if memory.last_recalled is None else to_micros(memory.last_recalled),
        status=memory.status.value,
        session=row.session,
        speaker=memory.speaker,
        revised=row.revised,
    )


@dataclass(frozen=True)
class Snapshot:
    """A bank at one revision: the arrays, each row's key, and the codes of its sessions."""

    corpus: Corpus
    keys: NDArray[np.int64]
    sessions: dict[int, int]
    rev: int


class Resident:
    """One bank's arrays. All methods are safe to call from several threads."""

    def __init__(self, zone: ZoneInfo, dimension: int | None) -> None:
        self._zone = zone
        self._dimension = dimension
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self.rev = -1
        self._keys = Growing(np.int64)
        self._alive = Growing(np.bool_)
        self._archived = Growing(np.bool_)
        self._level = Growing(np.int8)
        self._session = Growing(np.int32)
        self._speaker = Growing(np.int32)
        self._began = Growing(np.float64)
        self._ended = Growing(np.float64)
        self._day = Growing(np.int32)
        self._previous = Growing(np.int32)
        self._following = Growing(np.int32)
        self._strength = Growing(np.int32)
        self._recalled = Growing(np.float64)
        self._mentions = Growing(np.int32, 3)
        self._vectors: Growing[np.float32] | None = None
        self._lexical = LexicalIndex()
        self._row_of: dict[int, int] = {}
        self._id_row: dict[str, int] = {}
        self._ids: list[str] = []
        self._sessions: dict[int, int] = {}
        self._last_turn: dict[int, int] = {}
        self._speakers: dict[str, int] = {}
        self._links: dict[tuple[int, int], float] = {}
        self._snapshot: Snapshot | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about."""
        vectors = 0 if self._vectors is None else self._vectors.nbytes
        return vectors + len(self._keys) * _BYTES_PER_ROW

    def __len__(self) -> int:
        return len(self._row_of)

    def snapshot(self, connection: Connection, bank: BankRow, *, vectors: bool) -> Snapshot:
        """The bank as of ``bank.rev``; ``vectors`` asks for the matrix to be in memory as well."""
        with self._lock:
            if self.rev < bank.floor or self.rev < 0:
                self._clear()
                self._apply(connection, bank, columns.meta(connection, bank.key), whole=True)
            elif self.rev < bank.rev:
                self._bury(columns.gone_since(connection, bank.key, self.rev))
                self._apply(connection, bank, columns.meta_since(connection, bank.key, self.rev), whole=False)
            if vectors and self._vectors is None and self._dimension is not None:
                self._load_vectors(connection, bank)
            if self._snapshot is None:
                self._snapshot = self._build()
            return self._snapshot

    def rows_of(self, ids: Iterable[str]) -> list[int | None]:
        """Rows of memory ids; None for ids that the bank does not hold (any more)."""
        with self._lock:
            return [self._id_row.get(id_) for id_ in ids]

    def rows_of_keys(self, keys: Iterable[int]) -> list[int | None]:
        """Rows of memory keys; None for keys that the bank does not hold."""
        with self._lock:
            return [self._row_of.get(key) for key in keys]

    def _apply(self, connection: Connection, bank: BankRow, rows: Sequence[Any], *, whole: bool) -> None:
        fresh = [r for r in rows if whole or r.key not in self._row_of or r.revised > self.rev]
        if whole:
            found = columns.all_postings(connection, bank.key)
        else:
            fresh_keys = {r.key for r in fresh}
            self._touch([r for r in rows if r.key not in fresh_keys])
            found = columns.some_postings(connection, [r.key for r in fresh])
        if fresh:
            self._append(fresh, found)
            if self._vectors is not None:
                held = columns.some_vectors(connection, [r.key for r in fresh])
                self._vectors.extend(self._stack([held.get(r.key) for r in fresh]))
        changed = links.since(connection, bank.key, self.rev)
        self._links.update({(a, b): weight for a, b, weight in changed})
        if whole or any(r.level != Level.TURN.value for r in fresh):
            self._links.update({pair: 1.0 for pair in links.derived_from(connection, bank.key)})
        self.rev = bank.rev
        self._snapshot = None

    def _touch(self, rows: Sequence[Any]) -> None:
        for r in rows:
            row = self._row_of[r.key]
            self._strength.view()[row] = r.strength
            self._recalled.view()[row] = np.nan if r.last_recalled is None else r.last_recalled / 1e6
            self._archived.view()[row] = r.status == Status.ARCHIVED.value

    def _append(self, fresh: Sequence[Any], postings: Mapping[int, Features]) -> None:
        first = len(self._keys)
        began = np.array([r.began for r in fresh], dtype=np.float64) / 1e6
        self._keys.extend([r.key for r in fresh])
        self._alive.extend([r.key in postings for r in fresh])
        self._archived.extend([r.status == Status.ARCHIVED.value for r in fresh])
        self._level.extend([_LEVELS[r.level] for r in fresh])
        self._session.extend([self._code(r.session) for r in fresh])
        self._speaker.extend([self._speaker_code(r.speaker) for r in fresh])
        self._began.extend(began)
        self._ended.extend(np.array([r.ended for r in fresh], dtype=np.float64) / 1e6)
        self._day.extend(local_ordinals(began, self._zone))
        self._strength.extend([r.strength for r in fresh])
        self._recalled.extend([np.nan if r.last_recalled is None else r.last_recalled / 1e6 for r in fresh])
        self._append_postings(fresh, postings, first)
        self._append_neighbours(fresh, first)
        for row, r in enumerate(fresh, first):
            self._row_of[r.key] = row
            self._id_row[r.id] = row
            self._ids.append(r.id)

    def _append_postings(self, fresh: Sequence[Any], postings: Mapping[int, Features], first: int) -> None:
        pairs = []
        for row, r in enumerate(fresh, first):
            found = postings.get(r.key)
            if found is None:
                pairs.append(_NO_TERMS)
                continue
            pairs.append((found.terms, found.counts))
            if len(found.mentions):
                column = np.full(len(found.mentions), row, np.int32)
                self._mentions.extend(np.column_stack([column, found.mentions]))
        if first == 0:
            self._lexical = LexicalIndex.build(pairs)
        else:
            for terms, counts in pairs:
                self._lexical.append(terms, counts)

    def _append_neighbours(self, fresh: Sequence[Any], first: int) -> None:
        self._previous.extend(np.full(len(fresh), -1, np.int32))
        self._following.extend(np.full(len(fresh), -1, np.int32))
        previous, following, alive = self._previous.view(), self._following.view(), self._alive.view()
        for row, r in enumerate(fresh, first):
            old = self._row_of.get(r.key)
            if old is not None:  # its text changed: the new row takes the old one's place
                alive[old] = False
                before, after = int(previous[old]), int(following[old])
            elif _LEVELS[r.level] != _TURN or r.session is None:
                continue
            else:
                before, after = self._last_turn.get(r.session, -1), -1
            previous[row], following[row] = before, after
            if before >= 0:
                following[before] = row
            if after >= 0:
                previous[after] = row
            elif _LEVELS[r.level] == _TURN and r.session is not None:
                self._last_turn[r.session] = row

    def _bury(self, keys: Sequence[int]) -> None:
        previous, following = self._previous.view(), self._following.view()
        for key in keys:
            row = self._row_of.pop(key, None)
            if row is None:
                continue
            self._alive.view()[row] = False
            before, after = int(previous[row]), int(following[row])
            if before >= 0:
                following[before] = after
            if after >= 0:
                previous[after] = before
            for session, last in list(self._last_turn.items()):
                if last == row:
                    self._last_turn[session] = before
        gone = set(keys)
        if gone:
            self._id_row = {id_: row for id_, row in self._id_row.items() if self._alive.view()[row]}
            self._links = {pair: w for pair, w in self._links.items() if not gone.intersection(pair)}

    def _code(self, session: int | None) -> int:
        return -1 if session is None else self._sessions.setdefault(session, len(self._sessions))

    def _speaker_code(self, speaker: str | None) -> int:
        return -1 if speaker is None else self._speakers.setdefault(speaker, len(self._speakers))

    def _load_vectors(self, connection: Connection, bank: BankRow) -> None:
        found = {row.key: row for row in columns.all_vectors(connection, bank.key)}
        grown = Growing(np.float32, self._dimension)
        current = {row: key for key, row in self._row_of.items()}
        keys = [current.get(row) for row in range(len(self._keys))]
        grown.extend(self._stack([found.get(key) if key is not None else None for key in keys]))
        self._vectors = grown
        self._snapshot = None

    def _stack(self, rows: Sequence[Any]) -> NDArray[np.float32]:
        dimension = self._dimension or 0
        empty = bytes(4 * dimension)  # no vector yet: similarity 0 to everything
        return unpack_vectors([empty if row is None else row.vector for row in rows], dimension)

    def added(self, rev: int, rows: Sequence[Row | Completion], found: Mapping[int, Features]) -> None:
        """Take over what this process has just written as revision ``rev``, without reading it back."""
        with self._lock:
            if self.rev < 0 or self.rev != rev - 1:
                return  # something else was written in between: the change counter tells the next reader
            fresh = [self._completed(one, rev) if isinstance(one, Completion) else _meta(one) for one in rows]
            self._append(fresh, found)
            if self._vectors is not None:
                zero = np.zeros(self._dimension or 0, np.float32)
                vectors = [found[r.key].vector for r in fresh]
                self._vectors.extend([zero if vector is None else vector for vector in vectors])
            self.rev = rev
            self._snapshot = None

    def reinforced(self, rev: int, keys: Sequence[int], linked: Sequence[int], seconds: float) -> None:
        """Take over a reinforcement that this process has just written as revision ``rev``."""
        with self._lock:
            if self.rev < 0 or self.rev != rev - 1 or any(key not in self._row_of for key in keys):
                return
            rows = [self._row_of[key] for key in keys]
            self._strength.view()[rows] += 1
            self._recalled.view()[rows] = np.fmax(self._recalled.view()[rows], seconds)
            for a, b in combinations(sorted(set(linked)), 2):
                self._links[a, b] = self._links.get((a, b), 0.0) + 1.0
            self.rev = rev
            self._snapshot = None

    def _completed(self, done: Completion, rev: int) -> Meta:
        old = self._row_of[done.key]
        sessions = {code: key for key, code in self._sessions.items()}
        recalled = float(self._recalled.view()[old])
        speaker = int(self._speaker.view()[old])
        return Meta(
            key=done.key,
            id=self._ids[old],
            level=Level.TURN.value,
            began=round(float(self._began.view()[old]) * 1e6),
            ended=done.ended,
            strength=int(self._strength.view()[old]),
            last_recalled=None if np.isnan(recalled) else round(recalled * 1e6),
            status=(Status.ARCHIVED if self._archived.view()[old] else Status.ACTIVE).value,
            session=sessions.get(int(self._session.view()[old])),
            speaker=None if speaker < 0 else list(self._speakers)[speaker],
            revised=rev,
        )

    def _build(self) -> Snapshot:
        mentions = self._mentions.view()
        rows = [
            (self._row_of[a], self._row_of[b], weight)
            for (a, b), weight in self._links.items()
            if a in self._row_of and b in self._row_of
        ]
        corpus = Corpus(
            vectors=None if self._vectors is None else self._vectors.view(),
            lexical=self._lexical,
            alive=self._alive.view().copy(),
            archived=self._archived.view().copy(),
            level=self._level.view(),
            session=self._session.view(),
            speaker=self._speaker.view(),
            speakers=tuple(self._speakers),
            began=self._began.view(),
            ended=self._ended.view(),
            day=self._day.view(),
            previous=self._previous.view().copy(),
            following=self._following.view().copy(),
            strength=self._strength.view().copy(),
            last_recalled=self._recalled.view().copy(),
            length=self._lexical.lengths,
            mention_row=mentions[:, 0],
            mention_first=mentions[:, 1],
            mention_last=mentions[:, 2],
            link_from=np.array([a for a, _, _ in rows], dtype=np.int32),
            link_to=np.array([b for _, b, _ in rows], dtype=np.int32),
            link_weight=np.array([w for _, _, w in rows], dtype=np.float32),
        )
        return Snapshot(corpus, self._keys.view(), dict(self._sessions), self.rev)


class Residents:
    """The resident banks of a process: least recently used ones leave when ``max_bytes`` is passed."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._banks: OrderedDict[int, tuple[str, Resident]] = OrderedDict()

    def of(self, bank: BankRow, zone: ZoneInfo, dimension: int | None) -> Resident:
        """The resident bank of that row, empty at first. A change of zone starts it anew."""
        with self._lock:
            held = self._banks.get(bank.key)
            if held is None or held[0] != zone.key:
                held = (zone.key, Resident(zone, dimension))
                self._banks[bank.key] = held
            self._banks.move_to_end(bank.key)
            return held[1]

    def added(self, bank: BankRow, rows: Sequence[Row | Completion], found: Mapping[int, Features]) -> None:
        """Tell a resident bank, if it is one, what was just written."""
        resident = self._held(bank.key)
        if resident is not None:
            resident.added(bank.rev, rows, found)

    def reinforced(self, bank: BankRow, keys: Sequence[int], linked: Sequence[int], seconds: float) -> None:
        """Tell a resident bank, if it is one, what was just reinforced."""
        resident = self._held(bank.key)
        if resident is not None:
            resident.reinforced(bank.rev, keys, linked, seconds)

    def _held(self, key: int) -> Resident | None:
        with self._lock:
            held = self._banks.get(key)
            return None if held is None else held[1]

    def trim(self) -> None:
        """Let the least recently used banks go until the rest fits; the latest always stays."""
        with self._lock:
            total = sum(resident.nbytes for _, resident in self._banks.values())
            while total > self._max_bytes and len(self._banks) > 1:
                _, (_, resident) = self._banks.popitem(last=False)
                total -= resident.nbytes

    def discard(self, key: int) -> None:
        """Let one bank go (erased)."""
        with self._lock:
            self._banks.pop(key, None)

    def clear(self) -> None:
        """Let all go."""
        with self._lock:
            self._banks.clear()

    @property
    def nbytes(self) -> int:
        """Bytes held, about."""
        with self._lock:
            return sum(resident.nbytes for _, resident in self._banks.values())

    def __len__(self) -> int:
        return len(self._banks)
