"""Recalling: from a question to the memories that fit it. The order of steps; the ranking itself is pure."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memorybank.dense import IndexSearch
from memorybank.embedding import embed_query
from memorybank.errors import EmbeddingError
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy
from memorybank.models import Level, Maker, Memory, Recalled
from memorybank.preceding import preceding
from memorybank.records import banks, memories, transcript
from memorybank.records.banks import BankRow
from memorybank.reinforcing import activations
from memorybank.resident import Resident, Snapshot
from memorybank.retrieval.candidates import Rows
from memorybank.retrieval.corpus import Corpus
from memorybank.retrieval.pipeline import Ranking, rank
from memorybank.retrieval.query import make_query
from memorybank.runtime import Runtime

logger: logging.Logger = logging.getLogger("memorybank.recalling")

RECALLED_LEVELS = (Level.TURN, Level.NOTE, Level.DAY_EVENTS)
"""Levels recalled when none are asked for: portraits and globals are always in the context, not recalled."""

_LEVELS = list(Level)
_MOST_SHOWN = 50  # memories that a prompt's own messages may displace (our choice)


@dataclass(frozen=True)
class Request:
    """A checked question: see ``MemoryBank.recall`` for what each part means."""

    query: str
    k: int
    levels: tuple[Level, ...] | None
    since: datetime | None
    until: datetime | None
    session: str | None
    asking: str | None
    now: datetime
    min_score: float | Literal["auto"] | None
    include_archived: bool
    zone: ZoneInfo
    curve: ForgettingCurve
    policy: ForgettingPolicy


@dataclass(frozen=True)
class _View:
    """What one recall reads: the bank as of one revision, and what the session that asks has active."""

    bank: BankRow
    snapshot: Snapshot
    session: int | None
    current: int | None
    active: NDArray[np.float32] | None


def recall(
    runtime: Runtime,
    owner: str,
    request: Request,
    shown: Collection[str | None] = frozenset(),
    *,
    quotes: bool = True,
) -> list[Recalled]:
    """The memories that fit, best first, without those made of ``shown`` messages alone. Reads only.

    ``quotes`` False leaves out extractive summaries of turns that are returned themselves.
    """
    if not request.query.strip():
        return []
    era = runtime.embedding.era  # read before the embedder: a reindex sets it last
    vector = _vector(runtime, request.query)
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        if bank is None:
            return []
        if vector is not None and bank.era != era:
            logger.warning(
                "the bank was embedded by another model since this store was opened; open it again"
            )
            vector = None
        dimension = runtime.dimension if vector is None else len(vector)
        resident = runtime.residents.of(bank, request.zone, dimension)
        view = _view(connection, runtime, bank, resident, owner, request, vector is not None)
        reranking = runtime.reranking
        wanted = request.k if reranking is None else max(request.k, reranking.top)
        # More are ranked, so that what the prompt shows anyway does not crowd out what it does not.
        wider = replace(request, k=wanted + min(len(shown), _MOST_SHOWN) + _quoting(view, wanted, quotes))
        ranking = _rank(connection, runtime, resident, view, wider, vector)
        found = _unshown(connection, owner, view, ranking, shown, wanted, quotes)
        if reranking is not None:
            best = [one.memory for one in found[: reranking.top]]
            before = preceding(connection, view.snapshot, owner, best)
    runtime.residents.trim(bank.key)
    if reranking is not None:  # after the records are let go: a model takes its time
        found = reranking.apply(request.query, found, before)
    return found[: request.k]


def _vector(runtime: Runtime, query: str) -> NDArray[np.float32] | None:
    embedder = runtime.embedder
    if embedder is None:
        return None
    try:
        return embed_query(embedder, query)
    except EmbeddingError as error:
        logger.warning("%s; this recall is by words only", error)
        return None


def _view(
    connection: Connection,
    runtime: Runtime,
    bank: BankRow,
    resident: Resident,
    owner: str,
    request: Request,
    dense: bool,
) -> _View:
    snapshot = resident.snapshot(connection, bank, vectors=False)
    if dense and not _through_index(runtime, len(snapshot.corpus)):
        snapshot = resident.snapshot(connection, bank, vectors=True)
    session = current = active = None
    if request.session is not None:
        found = banks.find_session(connection, bank.key, request.session)
        session = -2 if found is None else snapshot.sessions.get(found.key, -2)
    if request.asking is not None:
        asking = banks.find_session(connection, bank.key, request.asking)
        if asking is not None:
            current = _in_progress(connection, asking, owner)
            active = _active(connection, asking.key, snapshot)
    return _View(bank, snapshot, session, current, active)


def _through_index(runtime: Runtime, rows: int) -> bool:
    """The planner: every vector compared in memory (exact, and faster while there are few), or the index."""
    if runtime.search == "exact" or not runtime.indexer.usable:
        return False
    return runtime.search == "chroma" or rows > runtime.exact_limit


def _in_progress(connection: Connection, session: banks.SessionRow, owner: str) -> int | None:
    """Key of the session's turn that has no reply yet: a question is not an answer to itself."""
    tail = memories.tail(connection, session.key, owner, session.name)
    if tail is None or len(tail.memory.sources) != 1:
        return None
    return tail.key if tail.position == transcript.last_user_position(connection, session.key) else None


def _active(connection: Connection, session: int, snapshot: Snapshot) -> NDArray[np.float32] | None:
    found = activations(connection, session)
    if not found:
        return None
    keys = np.fromiter(found, np.int64, len(found))
    values = np.fromiter(found.values(), np.float32, len(found))
    order = np.argsort(keys)
    keys, values = keys[order], values[order]
    at = np.minimum(np.searchsorted(keys, snapshot.keys), len(keys) - 1)
    active: NDArray[np.float32] = np.where(keys[at] == snapshot.keys, values[at], np.float32(0))
    return active


def _rank(
    connection: Connection,
    runtime: Runtime,
    resident: Resident,
    view: _View,
    request: Request,
    vector: NDArray[np.float32] | None,
) -> Ranking:
    corpus = view.snapshot.corpus
    dense = None
    if vector is not None and corpus.vectors is None:
        dense = IndexSearch(connection, runtime, resident, view.bank, view.snapshot, vector)
    return rank(
        make_query(request.query, vector, request.now.astimezone(request.zone), speakers=corpus.speakers),
        corpus,
        runtime.retrieval,
        k=request.k,
        allowed=_allowed(view, request),
        retention=partial(_retention, corpus, request),
        rank_weight=request.policy.rank_weight,
        activation=view.active,
        dense=dense,
        min_score=request.min_score,
        embedder="" if runtime.embedder is None else runtime.embedder.name,
    )


def _allowed(view: _View, request: Request) -> NDArray[np.bool_]:
    corpus = view.snapshot.corpus
    allowed = corpus.alive.copy()
    if not request.include_archived:
        allowed &= ~corpus.archived
    wanted = np.zeros(len(_LEVELS), dtype=np.bool_)
    wanted[[_LEVELS.index(level) for level in request.levels or RECALLED_LEVELS]] = True
    allowed &= wanted[corpus.level]
    if request.since is not None:
        allowed &= corpus.ended >= request.since.timestamp()
    if request.until is not None:
        allowed &= corpus.began <= request.until.timestamp()
    if view.session is not None:
        allowed &= corpus.session == view.session
    if view.current is not None:
        allowed &= view.snapshot.keys != view.current
    return allowed


def _retention(corpus: Corpus, request: Request, rows: Rows) -> NDArray[np.float64]:
    since = np.fmax(corpus.ended[rows], corpus.last_recalled[rows])
    return request.curve.retentions(corpus.strength[rows], np.maximum(request.now.timestamp() - since, 0.0))


def _unshown(
    connection: Connection,
    owner: str,
    view: _View,
    ranking: Ranking,
    shown: Collection[str | None],
    wanted: int,
    quotes: bool,
) -> list[Recalled]:
    """The first ``wanted`` of a ranking that say more than what is shown."""
    found: list[Recalled] = []
    for start in range(0, len(ranking.rows), wanted):
        part = slice(start, start + wanted)
        read = _recalled(connection, owner, view, ranking, part)
        found.extend(one for one in read if not _within(one.memory, shown))
        found = found if quotes else _without_quotes(found)
        if len(found) >= wanted:
            break
    return found[:wanted]


def _quoting(view: _View, wanted: int, quotes: bool) -> int:
    """How many more to rank, since as many may be quotes of others and left out."""
    if quotes:
        return 0
    days = view.snapshot.corpus.level == _LEVELS.index(Level.DAY_EVENTS)
    return min(wanted, int(np.count_nonzero(days)))


def _without_quotes(found: list[Recalled]) -> list[Recalled]:
    """Leave out summaries that are nothing but quotes of turns which are handed over themselves."""
    turns = {one.memory.id for one in found if one.memory.level is Level.TURN}
    return [
        one
        for one in found
        if one.memory.maker is not Maker.EXTRACTIVE or turns.isdisjoint(one.memory.sources)
    ]


def _recalled(
    connection: Connection,
    owner: str,
    view: _View,
    ranking: Ranking,
    part: slice,
) -> list[Recalled]:
    """A part of a ranking, read."""
    keys = [int(key) for key in view.snapshot.keys[ranking.rows[part]]]
    rows = memories.by_keys(connection, keys, owner)
    found = []
    for i, key in enumerate(keys):
        row = rows.get(key)
        if row is None:
            continue
        at = part.start + i
        parts = {name: float(values[at]) for name, values in ranking.parts.items()}
        found.append(
            Recalled(
                row.memory,
                float(ranking.scores[at]),
                float(ranking.similarities[at]),
                float(ranking.retentions[at]),
                parts,
            )
        )
    return found


def _within(memory: Memory, messages: Collection[str | None]) -> bool:
    """Whether a memory was made of these messages alone."""
    return bool(memory.sources) and all(source in messages for source in memory.sources)
