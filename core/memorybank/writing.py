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

from memorybank.arrays import Completion
from memorybank.clock import to_micros
from memorybank.embedding import embed_documents
from memorybank.errors import EmbeddingError, StoreError
from memorybank.models import Level, Memory, Message
from memorybank.records import banks, memories, transcript
from memorybank.records.memories import Features, Row
from memorybank.records.schema import KEY_BITS, Pending
from memorybank.runtime import Runtime
from memorybank.turns import Draft, Open, draft_turns, features, spoken, wordless

logger: logging.Logger = logging.getLogger("memorybank.writing")

_TRIES = 4


@dataclass(frozen=True)
class Basis:
    """What a plan was made on; it holds as long as the session has not changed since."""

    session: banks.SessionRow | None = None
    free: bool = False  # made on nothing: the messages have no ids of their own and answer nothing stored
    tail: Open | None = None
    known: dict[str, Message] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return 0 if self.session is None else self.session.length


class _MovedError(Exception):
    """The session changed between the plan and the write."""


class Vectors:
    """Vectors of one call's texts, so that a second plan does not embed again what the first did."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._era = runtime.embedding.era  # read before the embedder: a reindex sets it last
        self._embedder = runtime.embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str], *, progress: bool = False) -> None:
        """Embed the new ones among the texts. A failing embedder costs the vectors, never the messages."""
        embedder = self._embedder
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

    def check(self, bank: banks.BankRow) -> None:
        """Drop the vectors if the bank has been embedded by another model since: they would not compare."""
        if bank.era != self._era:
            self._known.clear()

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
    given = {m.id for m in messages if m.id is not None}
    identified = [m if m.id is not None else replace(m, id=uuid.uuid4().hex) for m in messages]
    free = not given and next((m.role for m in identified if spoken(m)), "") != "assistant"
    for attempt in range(_TRIES):
        basis = Basis(free=True)
        if not free:
            with runtime.database.read() as connection:
                basis = _basis(connection, owner, session, identified, given)
        fresh = _fresh(identified, basis, owner, session)
        if not fresh:
            return _returned(identified, basis, fresh)
        drafts = draft_turns(fresh, basis.tail)
        vectors.embed([draft.text for draft in drafts], progress=progress)
        plan = _Plan(runtime, owner, session, identified, given, zone, language, now, vectors)
        try:
            with runtime.database.write() as connection:
                written = plan.commit(connection, basis, fresh, drafts, insist=attempt == _TRIES - 1)
        except _MovedError:
            continue
        runtime.residents.added(written.bank, written.rows, written.features)
        runtime.indexer.notify(len(drafts))
        return _returned(identified, written.basis, written.fresh)
    raise StoreError("the bank was erased again and again while messages were added; nothing was stored")


def _returned(given: Sequence[Message], basis: Basis, fresh: Sequence[Message]) -> list[Message]:
    by_id = {**basis.known, **{m.id or "": m for m in fresh}}
    return [by_id[m.id] for m in given if m.id in by_id]


def _basis(
    connection: Connection, owner: str, session: str, messages: Sequence[Message], given: set[str]
) -> Basis:
    bank, row = banks.locate(connection, owner, session)
    if bank is None or row is None:
        return Basis()
    known = transcript.by_ids(connection, row.key, sorted(given), owner, session) if given else {}
    first = next((m for m in messages if m.id not in known and spoken(m)), None)
    if first is None or first.role != "assistant":
        return Basis(row, known=known)  # what begins a turn of its own completes none
    tail = memories.tail(connection, row.key, owner, session)
    return Basis(row, tail=None if tail is None else _open(connection, row, tail, owner), known=known)


def _open(connection: Connection, session: banks.SessionRow, tail: Row, owner: str) -> Open | None:
    memory = tail.memory
    edges = dict.fromkeys([*memory.sources[:1], *memory.sources[-1:]])
    said = transcript.by_ids(connection, session.key, list(edges), owner, session.name)
    if len(said) != len(edges) or not said or said[memory.sources[0]].role != "user":
        return None
    since = session.length - 1 - said[memory.sources[-1]].position
    if since:
        between = transcript.last(connection, session.key, since, owner, session.name)
        if between[0].position != session.length - since or any(wordless(m) for m in between):
            return None  # what this would answer was deleted, or had no words
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


def _fresh(messages: Sequence[Message], basis: Basis, owner: str, session: str) -> list[Message]:
    fresh: dict[str, Message] = {}
    for message in messages:
        if message.id is not None and message.id not in basis.known and message.id not in fresh:
            position = basis.length + len(fresh)
            fresh[message.id] = replace(message, position=position, owner=owner, session=session)
    return list(fresh.values())


@dataclass(frozen=True)
class _Written:
    """What a transaction stored."""

    bank: banks.BankRow
    basis: Basis
    fresh: Sequence[Message]
    rows: Sequence[Row | Completion]
    features: dict[int, Features]


@dataclass(frozen=True)
class _Plan:
    """One call of ``add``: what it was given, and the transaction that stores it."""

    runtime: Runtime
    owner: str
    session: str
    messages: Sequence[Message]
    given: set[str]
    zone: ZoneInfo
    language: str | None
    now: datetime
    vectors: Vectors

    def commit(
        self,
        connection: Connection,
        basis: Basis,
        fresh: Sequence[Message],
        drafts: Sequence[Draft],
        *,
        insist: bool,
    ) -> _Written:
        """Store messages and turns; raises _MovedError if the session changed since the plan was made.

        With ``insist`` it is planned again under the lock instead, with the vectors there are.
        """
        micros = to_micros(self.now)
        most = 2 * len(self.messages)  # a key for each message and at most one for each turn
        bank = banks.bump_owner(connection, self.owner, most) or self._create(connection, micros, most)
        if insist and not basis.free:
            basis = _basis(connection, self.owner, self.session, self.messages, self.given)
            fresh = _fresh(self.messages, basis, self.owner, self.session)
            drafts = draft_turns(fresh, basis.tail)
            if not fresh:
                return _Written(bank, basis, fresh, [], {})
        row = banks.grow_named(connection, bank.key, self.session, len(fresh), micros)
        if basis.free:
            fresh = [replace(m, position=row.length + m.position) for m in fresh]
            drafts = [replace(draft, position=row.length + draft.position) for draft in drafts]
        elif row.length != basis.length:
            raise _MovedError
        self.vectors.check(bank)
        key = (bank.key << KEY_BITS) + bank.counter - most + 1
        transcript.insert(connection, row.key, list(enumerate(fresh, key)))
        rows, found = self._put(connection, drafts, key + len(fresh), bank, row.key)
        return _Written(bank, basis, fresh, rows, found)

    def _create(self, connection: Connection, now: int, keys: int) -> banks.BankRow:
        era = self.runtime.embedding.era
        made = banks.create(connection, self.owner, self.zone.key, self.language, now, era)
        bumped = banks.bump(connection, made.key, keys)
        if bumped is None:
            raise _MovedError
        return bumped

    def _put(
        self, connection: Connection, drafts: Sequence[Draft], key: int, bank: banks.BankRow, session: int
    ) -> tuple[list[Row | Completion], dict[int, Features]]:
        rows: list[Row] = []
        completions: list[Completion] = []
        found: dict[int, Features] = {}
        for draft in drafts:
            pending = self.vectors.pending(draft.text)
            known = features(draft.text, draft.began, self.zone)
            known = replace(known, vector=self.vectors.of(draft.text))
            if draft.completes is not None:
                self._complete(connection, draft, draft.completes, pending, bank.rev)
                completions.append(Completion(draft.completes.key, to_micros(draft.ended)))
                found[draft.completes.key] = known
                continue
            rows.append(Row(key, self._memory(draft), session, draft.position, bank.rev, bank.rev, pending))
            found[key] = known
            key += 1
        memories.insert(connection, bank.key, rows)
        memories.put_features(connection, list(found.items()), replaces=[one.key for one in completions])
        return [*completions, *rows], found

    def _complete(self, connection: Connection, draft: Draft, turn: Open, pending: int, rev: int) -> None:
        ended = to_micros(draft.ended)
        if not memories.complete(
            connection,
            turn.key,
            turn.revised,
            rev,
            text=draft.text,
            sources=draft.sources,
            ended=ended,
            pending=pending,
        ):
            raise _MovedError

    def _memory(self, draft: Draft) -> Memory:
        return Memory(
            id=uuid.uuid4().hex,
            owner=self.owner,
            level=Level.TURN,
            text=draft.text,
            began=draft.began,
            ended=draft.ended,
            created=self.now,
            sources=draft.sources,
            speaker=draft.speaker,
        )
