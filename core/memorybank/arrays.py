"""A bank as growing arrays: rows are appended, touched in place, or buried; a corpus is a snapshot of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from memorybank.clock import local_ordinal, local_ordinals, to_micros
from memorybank.growing import Growing
from memorybank.models import Level, Status
from memorybank.records.memories import Features, Row
from memorybank.retrieval.corpus import Corpus
from memorybank.retrieval.lexical import LexicalIndex

_LEVELS = {level.value: code for code, level in enumerate(Level)}
_TURN = _LEVELS[Level.TURN.value]
_ARCHIVED = Status.ARCHIVED.value
_NO_TERMS = (np.empty(0, np.uint64), np.empty(0, np.uint16))


class Meta(NamedTuple):
    """What the columns take of a memory, in this order. Times in microseconds."""

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

    @classmethod
    def of(cls, row: Row) -> Meta:
        """The columns of a stored memory."""
        m = row.memory
        recalled = None if m.last_recalled is None else to_micros(m.last_recalled)
        began, ended = to_micros(m.began), to_micros(m.ended)
        return cls(
            row.key, m.id, m.level.value, began, ended, m.strength, recalled, m.status.value, row.session,
            m.speaker, row.revised,
        )  # fmt: skip


class Completion(NamedTuple):
    """An exchange that got its reply: its key, and when it now ends (microseconds)."""

    key: int
    ended: int


class Arrays:
    """The columns of one bank. Not thread-safe: ``Resident`` holds the lock."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self.keys: Growing[np.int64] = Growing(np.int64)
        self.sessions: dict[int, int] = {}
        self.row_of: dict[int, int] = {}
        self.id_row: dict[str, int] = {}
        self._ids: list[str] = []
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
        self._lexical = LexicalIndex()
        self._last_turn: dict[int, int] = {}
        self._speakers: dict[str, int] = {}
        self._links: dict[tuple[int, int], float] = {}
        self._derived: dict[tuple[int, int], float] = {}
        # The links as arrays, and where each pair stands in them; None: to be laid out anew.
        self._laid: dict[tuple[int, int], int] | None = None
        self._link_from = Growing(np.int32)
        self._link_to = Growing(np.int32)
        self._link_weight = Growing(np.float32)

    def __len__(self) -> int:
        return len(self.keys)

    def fill(self, metas: Sequence[Any], postings: Sequence[Any]) -> None:
        """Take over a whole bank: rows like ``Meta`` and (key, terms, counts, mentions) as stored, both by key."""
        if not metas:
            return
        self._columns(metas)
        keys = self.keys.view()
        at = np.searchsorted(keys, np.fromiter((p[0] for p in postings), np.int64, len(postings)))
        alive = np.zeros(len(keys), np.bool_)
        alive[at] = True
        self._alive.extend(alive)
        terms = np.frombuffer(b"".join([p[1] for p in postings]), "<u8")
        counts = np.frombuffer(b"".join([p[2] for p in postings]), "<u2")
        owner = np.repeat(at, [len(p[1]) // 8 for p in postings]).astype(np.int32)
        self._lexical = LexicalIndex.from_flat(len(keys), owner, terms, counts)
        spans = np.frombuffer(b"".join([p[3] for p in postings]), "<i4").reshape(-1, 2)
        self._mentions.extend(np.column_stack([np.repeat(at, [len(p[3]) // 8 for p in postings]), spans]))
        self._chain()
        self._register(metas, 0)

    def append(self, metas: Sequence[Any], postings: Mapping[int, Features]) -> None:
        """Add rows; one whose key is known takes the place of the old row, which dies."""
        if any(meta.key in self.row_of for meta in metas):
            self._laid = None  # links point at rows, and these move
        first = len(self)
        if len(metas) == 1:
            self._one(metas[0])
        else:
            self._columns(metas)
        self._alive.extend([meta.key in postings for meta in metas])
        for row, meta in enumerate(metas, first):
            found = postings.get(meta.key)
            self._lexical.append(*(_NO_TERMS if found is None else (found.terms, found.counts)))
            if found is not None and len(found.mentions):
                column = np.full(len(found.mentions), row, np.int32)
                self._mentions.extend(np.column_stack([column, found.mentions]))
        self._join(metas, first)
        self._register(metas, first)

    def touch(self, metas: Sequence[Any]) -> None:
        """Take over strength, last recall and status of known rows."""
        for meta in metas:
            row = self.row_of[meta.key]
            self._strength.view()[row] = meta.strength
            self._recalled.view()[row] = np.nan if meta.last_recalled is None else meta.last_recalled / 1e6
            self._archived.view()[row] = meta.status == _ARCHIVED

    def reinforce(self, keys: Sequence[int], seconds: float) -> None:
        """Strength + 1 and t = 0 at ``seconds`` for known rows."""
        rows = [self.row_of[key] for key in keys]
        self._strength.view()[rows] += 1
        self._recalled.view()[rows] = np.fmax(self._recalled.view()[rows], seconds)

    def link(self, pairs: Mapping[tuple[int, int], float]) -> None:
        """Set the weights of links between keys."""
        self._links.update(pairs)
        for pair, weight in pairs.items():
            self._lay(pair, weight)

    def _lay(self, pair: tuple[int, int], weight: float) -> None:
        """Carry one link into the arrays, as they are copied at every turn and mostly stay as they are."""
        if self._laid is None:
            return
        at = self._laid.get(pair)
        if at is not None:
            self._link_weight.view()[at] = weight
            return
        a, b = (self.row_of.get(key) for key in pair)
        if a is None or b is None:
            self._laid = None
            return
        self._laid[pair] = len(self._link_from)
        self._link_from.append(a)
        self._link_to.append(b)
        self._link_weight.append(weight)

    def _lay_all(self) -> None:
        held = [
            (pair, weight)
            for pair, weight in {**self._derived, **self._links}.items()
            if pair[0] in self.row_of and pair[1] in self.row_of
        ]
        self._laid = {pair: at for at, (pair, _) in enumerate(held)}
        self._link_from, self._link_to = Growing(np.int32), Growing(np.int32)
        self._link_weight = Growing(np.float32)
        self._link_from.extend(np.array([self.row_of[a] for (a, _), _ in held], dtype=np.int32))
        self._link_to.extend(np.array([self.row_of[b] for (_, b), _ in held], dtype=np.int32))
        self._link_weight.extend(np.array([weight for _, weight in held], dtype=np.float32))

    def derive(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Set which keys were made from which, (source, derived): links of weight 1, unless used together more."""
        self._derived = dict.fromkeys(pairs, 1.0)
        self._laid = None

    def bury(self, keys: Sequence[int]) -> None:
        """Deleted rows die; their neighbours become each other's."""
        previous, following = self._previous.view(), self._following.view()
        gone = {key: row for key in keys if (row := self.row_of.pop(key, None)) is not None}
        for row in gone.values():
            self._alive.view()[row] = False
            before, after = int(previous[row]), int(following[row])
            if before >= 0:
                following[before] = after
            if after >= 0:
                previous[after] = before
            for session, last in list(self._last_turn.items()):
                if last == row:
                    self._last_turn[session] = before
            self.id_row.pop(self._ids[row], None)
        if gone:
            self._links = {pair: w for pair, w in self._links.items() if not gone.keys() & set(pair)}
            self._derived = {pair: w for pair, w in self._derived.items() if not gone.keys() & set(pair)}
            self._laid = None

    def completed(self, done: Completion, rev: int) -> Meta:
        """The columns of an exchange that got its reply, from those it had."""
        row = self.row_of[done.key]
        sessions = {code: key for key, code in self.sessions.items()}
        recalled = float(self._recalled.view()[row])
        speaker = int(self._speaker.view()[row])
        return Meta(
            key=done.key,
            id=self._ids[row],
            level=Level.TURN.value,
            began=round(float(self._began.view()[row]) * 1e6),
            ended=done.ended,
            strength=int(self._strength.view()[row]),
            last_recalled=None if np.isnan(recalled) else round(recalled * 1e6),
            status=(Status.ARCHIVED if self._archived.view()[row] else Status.ACTIVE).value,
            session=sessions.get(int(self._session.view()[row])),
            speaker=None if speaker < 0 else list(self._speakers)[speaker],
            revised=rev,
        )

    def corpus(self, vectors: NDArray[np.float32] | None) -> Corpus:
        """A snapshot: what changes in place is copied, what only grows is seen as it is now."""
        mentions = self._mentions.view()
        if self._laid is None:
            self._lay_all()
        return Corpus(
            vectors=vectors,
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
            link_from=self._link_from.view(),
            link_to=self._link_to.view(),
            link_weight=self._link_weight.view().copy(),
        )

    def _columns(self, metas: Sequence[Any]) -> None:
        keys, _, levels, begins, ends, strengths, recalls, statuses, sessions, speakers, _ = zip(
            *metas, strict=True
        )
        began = np.array(begins, dtype=np.float64) / 1e6
        self.keys.extend(keys)
        self._archived.extend([status == _ARCHIVED for status in statuses])
        self._level.extend([_LEVELS[level] for level in levels])
        self._session.extend([self._session_code(session) for session in sessions])
        self._speaker.extend([self._speaker_code(speaker) for speaker in speakers])
        self._began.extend(began)
        self._ended.extend(np.array(ends, dtype=np.float64) / 1e6)
        self._day.extend(local_ordinals(began, self._zone))
        self._strength.extend(strengths)
        self._recalled.extend(np.array([np.nan if t is None else t for t in recalls]) / 1e6)

    def _one(self, meta: Any) -> None:
        """``_columns`` for the one row of a chat turn, at a quarter of its cost."""
        began = meta.began / 1e6
        self.keys.append(meta.key)
        self._archived.append(meta.status == _ARCHIVED)
        self._level.append(_LEVELS[meta.level])
        self._session.append(self._session_code(meta.session))
        self._speaker.append(self._speaker_code(meta.speaker))
        self._began.append(began)
        self._ended.append(meta.ended / 1e6)
        self._day.append(local_ordinal(began, self._zone))
        self._strength.append(meta.strength)
        self._recalled.append(np.nan if meta.last_recalled is None else meta.last_recalled / 1e6)

    def _register(self, metas: Sequence[Any], first: int) -> None:
        for row, meta in enumerate(metas, first):
            self.row_of[meta[0]] = row
            self.id_row[meta[1]] = row
            self._ids.append(meta[1])

    def _chain(self) -> None:
        """Neighbours of a whole bank: turns of one session in the order of their keys."""
        n = len(self)
        previous, following = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
        session = self._session.view()
        turns = np.flatnonzero((self._level.view() == _TURN) & (session >= 0))
        turns = turns[np.argsort(session[turns], kind="stable")].astype(np.int32)
        same = session[turns[1:]] == session[turns[:-1]]
        previous[turns[1:][same]] = turns[:-1][same]
        following[turns[:-1][same]] = turns[1:][same]
        self._previous.extend(previous)
        self._following.extend(following)
        keys = {code: key for key, code in self.sessions.items()}
        last = turns[np.append(~same, True)] if len(turns) else turns
        self._last_turn = {keys[int(session[row])]: int(row) for row in last}

    def _join(self, metas: Sequence[Any], first: int) -> None:
        for _ in metas:
            self._previous.append(-1)
            self._following.append(-1)
        previous, following, alive = self._previous.view(), self._following.view(), self._alive.view()
        for row, meta in enumerate(metas, first):
            turn = _LEVELS[meta.level] == _TURN and meta.session is not None
            old = self.row_of.get(meta.key)
            if old is not None:
                alive[old] = False
                before, after = int(previous[old]), int(following[old])
            elif turn:
                before, after = self._last_turn.get(meta.session, -1), -1
            else:
                continue
            previous[row], following[row] = before, after
            if before >= 0:
                following[before] = row
            if after >= 0:
                previous[after] = row
            elif turn:
                self._last_turn[meta.session] = row

    def _session_code(self, session: int | None) -> int:
        return -1 if session is None else self.sessions.setdefault(session, len(self.sessions))

    def _speaker_code(self, speaker: str | None) -> int:
        return -1 if speaker is None else self._speakers.setdefault(speaker, len(self._speakers))
