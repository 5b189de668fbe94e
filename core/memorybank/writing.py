"""Adding messages: embed first, then one transaction, then return. No LLM call, no Chroma call."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memorybank.clock import to_micros
from memorybank.embedding import embed_documents
from memorybank.errors import EmbeddingError
from memorybank.models import Level, Memory, Message
from memorybank.records import banks, memories, transcript
from memorybank.records.memories import Features, Row
from memorybank.records.schema import KEY_BITS, Pending
from memorybank.runtime import Runtime
from memorybank.turns import Draft, Open, draft_turns, features

logger = logging.getLogger("memorybank.writing")

_TRIES = 4


@dataclass(frozen=True)
class Basis:
    """What a plan was made on; it holds as long as the session has not changed since."""

    length: int = 0
    tail: Open | None = None
    tail_key: int | None = None
    tail_revised: int = -1
    known: dict[str, Message] = field(default_factory=dict)


class _Moved(Exception):
    """The session changed between the plan and the write."""


class Vectors:
    """Vectors of one call's texts, so that a second plan does not embed again what the first did."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str], *, progress: bool = False) -> None:
        """Embed the new ones among the texts. A failing embedder costs the vectors, never the messages."""
        embedder = self._runtime.embedder
        fresh = list(dict.fromkeys(text for text in texts if text not in self._known))
        if embedder is None or not fresh:
            return
        try:
            found = embed_documents(embedder, fresh, progress=progress)
        except EmbeddingError as error:
            logger.warning(
                "%s; %d texts are stored without vectors and found by their words until they are embedded",
                error,
                len(fresh),
            )
            return
        self._known.update(zip(fresh, found, strict=True))

    def of(self, text: str) -> NDArray[np.float32] | None:
        return self._known.get(text)

    def pending(self, text: str) -> int:
        """What is still to be done for a memory of this text."""
        if not self._runtime.expects_vectors:
            return Pending.NONE
        return Pending.INDEX if text in self._known else Pending.EMBED


def add(
    runtime: Runtime,
    owner: str,
    session: str,
    messages: Sequence[Message],
    *,
    zone: ZoneInfo,
    language: str | None,
    now: datetime,
    progress: bool = False,
) -> list[Message]:
    """Store messages of one session and the turns they make; returns them as stored, in the order given.

    Messages whose id the session already has are returned as they were stored and not added again.
    """
    vectors = Vectors(runtime)
    identified = [m if m.id is not None else replace(m, id=uuid.uuid4().hex) for m in messages]
    for attempt in range(_TRIES):
        with runtime.database.read() as connection:
            basis = _basis(connection, owner, session, identified)
        fresh = _fresh(identified, basis)
        if not fresh:
            break
        drafts = draft_turns(fresh, basis.tail)
        vectors.embed([draft.text for draft in drafts], progress=progress)
        try:
            with runtime.database.write() as connection:
                _commit(connection, runtime, owner, session, identified, basis, vectors, zone, language, now,
                        insist=attempt == _TRIES - 1)  # fmt: skip
        except _Moved:
            continue
        runtime.indexer.notify(len(drafts))
        break
    return _stored(runtime, owner, session, identified)


def _stored(runtime: Runtime, owner: str, session: str, given: Sequence[Message]) -> list[Message]:
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        found = None if bank is None else banks.find_session(connection, bank.key, session)
        if found is None:
            return []
        by_id = transcript.by_ids(connection, found.key, [m.id or "" for m in given], owner, session)
    return [by_id[m.id] for m in given if m.id in by_id]


def _basis(connection: Connection, owner: str, session: str, messages: Sequence[Message]) -> Basis:
    bank = banks.find(connection, owner)
    row = None if bank is None else banks.find_session(connection, bank.key, session)
    if row is None:
        return Basis()
    known = transcript.by_ids(connection, row.key, [m.id or "" for m in messages], owner, session)
    tail = memories.tail(connection, row.key, owner, session)
    if tail is None:
        return Basis(row.length, known=known)
    return Basis(row.length, _open(connection, row.key, tail, owner, session), tail.key, tail.revised, known)


def _open(connection: Connection, session: int, tail: Row, owner: str, name: str) -> Open | None:
    memory = tail.memory
    starters = transcript.by_ids(connection, session, memory.sources[:1], owner, name)
    if not starters or next(iter(starters.values())).role != "user":
        return None
    return Open(
        tail.key,
        tail.revised,
        memory.id,
        memory.text,
        memory.sources,
        memory.began,
        memory.ended,
        memory.speaker,
    )


def _fresh(messages: Sequence[Message], basis: Basis) -> list[Message]:
    fresh: dict[str, Message] = {}
    for message in messages:
        if message.id is not None and message.id not in basis.known and message.id not in fresh:
            fresh[message.id] = replace(message, position=basis.length + len(fresh))
    return list(fresh.values())


def _commit(
    connection: Connection,
    runtime: Runtime,
    owner: str,
    session: str,
    messages: Sequence[Message],
    basis: Basis,
    vectors: Vectors,
    zone: ZoneInfo,
    language: str | None,
    now: datetime,
    *,
    insist: bool,
) -> None:
    micros = to_micros(now)
    bank = banks.create(connection, owner, zone.key, language, micros)
    most = 2 * len(messages)  # a key for each message and at most one for each turn
    bumped = banks.bump(connection, bank.key, most)
    if bumped is None:
        raise _Moved
    row = banks.create_session(connection, bumped.key, session, micros)
    if not _holds(connection, row, basis, owner, session):
        if not insist:
            raise _Moved
        # Others write to this session all the time: plan again under the lock, with the vectors there are.
        basis = _basis(connection, owner, session, messages)
    fresh = _fresh(messages, basis)
    if not fresh:
        return
    drafts = draft_turns(fresh, basis.tail)
    banks.grow_session(connection, row.key, len(fresh))
    key = (bumped.key << KEY_BITS) + bumped.counter - most + 1
    transcript.insert(connection, row.key, list(enumerate(fresh, key)))
    _put(connection, runtime, drafts, key + len(fresh), bumped, row, zone, vectors, now)


def _holds(connection: Connection, row: banks.SessionRow, basis: Basis, owner: str, session: str) -> bool:
    if row.length != basis.length:
        return False
    tail = memories.tail(connection, row.key, owner, session) if row.length else None
    return (None, -1) == (basis.tail_key, basis.tail_revised) if tail is None else (
        (tail.key, tail.revised) == (basis.tail_key, basis.tail_revised)
    )  # fmt: skip


def _put(
    connection: Connection,
    runtime: Runtime,
    drafts: Sequence[Draft],
    key: int,
    bank: banks.BankRow,
    session: banks.SessionRow,
    zone: ZoneInfo,
    vectors: Vectors,
    now: datetime,
) -> None:
    rows: list[Row] = []
    found: list[tuple[int, Features]] = []
    completed: list[int] = []
    for draft in drafts:
        pending = vectors.pending(draft.text)
        if draft.completes is not None:
            _complete(connection, bank, draft, pending)
            completed.append(draft.completes.key)
            at_key = draft.completes.key
        else:
            memory = Memory(
                id=uuid.uuid4().hex,
                owner=bank.owner,
                level=Level.TURN,
                text=draft.text,
                began=draft.began,
                ended=draft.ended,
                created=now,
                sources=draft.sources,
                speaker=draft.speaker,
            )
            rows.append(Row(key, memory, session.key, draft.position, bank.rev, bank.rev, pending))
            at_key = key
            key += 1
        known = features(draft.text, draft.began, zone)
        found.append((at_key, replace(known, vector=vectors.of(draft.text))))
    memories.insert(connection, bank.key, rows)
    memories.put_features(connection, found, replaces=completed)


def _complete(connection: Connection, bank: banks.BankRow, draft: Draft, pending: int) -> None:
    if draft.completes is None:
        return
    memories.update(
        connection,
        [draft.completes.key],
        bank.rev,
        text=draft.text,
        sources=draft.sources,
        ended=to_micros(draft.ended),
        revised=bank.rev,
        pending=pending,
    )
