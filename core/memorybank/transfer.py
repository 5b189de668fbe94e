"""Export and import of one owner: everything, identically (ids, times, strength, links, vectors)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from memorybank.clock import from_micros, to_micros, zone_of
from memorybank.errors import ImportFormatError, StoreError
from memorybank.intake import redacted
from memorybank.interchange.export_checks import check_header, check_line
from memorybank.interchange.export_lines import Header, Line, LinkLine, MarkLine, MemoryLine
from memorybank.interchange.exporter import read_export, write_export
from memorybank.models import Level, Message, Version
from memorybank.records import banks, columns, links, marks, memories, provenance, transcript
from memorybank.records.banks import BankRow
from memorybank.records.memories import Features, Row
from memorybank.records.migrations import read_meta
from memorybank.records.schema import KEY_BITS, Pending
from memorybank.records.types import unpack_vectors
from memorybank.runtime import Runtime
from memorybank.turns import features

_BATCH = 500


def export(runtime: Runtime, owner: str, path: str | Path, *, now: datetime) -> int:
    """Write an owner's bank to a file; returns its lines. Raises StoreError for an owner without one."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        if bank is None:
            raise StoreError("this owner has stored nothing; there is nothing to export")
        # From the records, not from this process: it may have been opened without an embedder.
        stored = read_meta(connection, "embedder_dimension")
        dimension = None if stored is None else int(stored)
        header = Header(
            owner,
            bank.timezone,
            bank.language,
            read_meta(connection, "embedder_name"),
            dimension,
            now,
        )
        return write_export(path, header, _lines(connection, dimension, bank, owner))


def _lines(connection: Connection, dimension: int | None, bank: BankRow, owner: str) -> Iterator[Line]:
    yield from transcript.of_bank(connection, bank.key, owner)
    for session, message in marks.of_bank(connection, bank.key):
        yield MarkLine(session, message)
    names = banks.session_map(connection, bank.key)
    rows = memories.of_bank(connection, bank.key, owner, names)
    rows.sort(key=lambda row: row.key)
    ids = {row.key: row.memory.id for row in rows}
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        held = columns.some_vectors(connection, [row.key for row in part])
        for row in part:
            vector = None
            if row.key in held and dimension is not None:
                vector = unpack_vectors([held[row.key]], dimension)[0]
            yield MemoryLine(row.memory, row.position, vector)
    for a, b, weight, at in links.of_bank(connection, bank.key):
        if a in ids and b in ids:
            yield LinkLine(ids[a], ids[b], links.CO_RECALLED, weight, from_micros(at))
    for row in rows:
        if row.memory.version > 1:
            yield from provenance.versions_of(connection, row.key, row.memory.id)


def import_bank(runtime: Runtime, path: str | Path, owner: str | None, *, now: datetime) -> str:
    """Read an export in one transaction: all of it or, if it is damaged, nothing. Returns the owner.

    What the bank has already (messages by session and id, memories by id) is left as it is, so that a second
    import adds nothing. Vectors of another embedder are not taken; those memories are embedded afterwards.
    """
    lines = read_export(path)
    header = next(lines)
    if not isinstance(header, Header):
        raise ImportFormatError(f"{path} does not begin with the header of an export")
    check_header(header)
    name = owner or header.owner
    with runtime.database.write() as connection:
        made = banks.create(
            connection, name, header.timezone, header.language, to_micros(now), runtime.embedding.era
        )
        bank = banks.bump(connection, made.key)
        if bank is None:
            raise StoreError("the owner was erased while it was imported; nothing was stored")
        reader = _Reader(connection, runtime, bank, header, now)
        for line in lines:
            reader.take(line)
        reader.finish()
    runtime.residents.discard(bank.key)
    runtime.indexer.notify(reader.memories)
    return name


def _is_block(line: MemoryLine) -> bool:
    """Whether this is a step of the global summaries' tree: read by consolidation, never recalled."""
    return line.memory.level in (Level.EVENTS, Level.PORTRAIT) and line.position is not None


@dataclass
class _Reader:
    """Lines into tables, in batches of one kind."""

    connection: Connection
    runtime: Runtime
    bank: BankRow
    header: Header
    now: datetime
    memories: int = 0
    _sessions: dict[str, banks.SessionRow] = field(default_factory=dict)
    _messages: list[Message] = field(default_factory=list)
    _lines: list[MemoryLine] = field(default_factory=list)
    _keys: dict[str, int] = field(default_factory=dict)
    _new: set[str] = field(default_factory=set)
    _derived: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    def take(self, line: Header | Line) -> None:
        if isinstance(line, Header):
            raise ImportFormatError("the export has a second header; it is damaged")
        check_line(line)
        match line:
            case Message():
                self._messages.append(self._message(line))
            case MemoryLine():
                self._lines.append(self._memory(line))
            case LinkLine():
                self._flush()
                self._link(line)
            case MarkLine():
                self._flush()
                self._mark(line)
            case Version():
                self._flush()
                if line.memory in self._new:
                    line = replace(line, text=redacted(line.text, self.runtime.redact))
                    provenance.put_version(self.connection, self._keys[line.memory], line)
        if len(self._messages) >= _BATCH or len(self._lines) >= _BATCH:
            self._flush()

    def finish(self) -> None:
        self._flush()
        for key, sources in self._derived:
            provenance.put_sources(self.connection, key, [self._keys[s] for s in sources if s in self._keys])
        # Caches of this bank start anew: rows came in with keys and links of every kind at once.
        banks.raise_floor(self.connection, self.bank.key)

    def _message(self, message: Message) -> Message:
        redact = self.runtime.redact
        payload = redacted(message.payload, redact) if message.payload else message.payload
        return replace(message, text=redacted(message.text, redact), payload=payload)

    def _memory(self, line: MemoryLine) -> MemoryLine:
        text = redacted(line.memory.text, self.runtime.redact) if line.memory.text else ""
        if text == line.memory.text:
            return line
        return replace(line, memory=replace(line.memory, text=text), vector=None)

    def _flush(self) -> None:
        if self._messages:
            self._put_messages()
        if self._lines:
            self._put_memories()

    def _reserve(self, n: int) -> BankRow:
        bumped = banks.bump(self.connection, self.bank.key, n)
        if bumped is None:
            raise StoreError("the owner was erased while it was imported; nothing was stored")
        return bumped

    def _put_messages(self) -> None:
        by_session: dict[str, dict[str, Message]] = {}
        for message in self._messages:
            by_session.setdefault(message.session, {}).setdefault(message.id or "", message)
        self._messages = []
        for name, by_id in by_session.items():
            given = list(by_id.values())
            row = self._session(name, to_micros(given[0].at or self.now))
            ids = [m.id or "" for m in given]
            known = transcript.by_ids(self.connection, row.key, ids, self.bank.owner, name)
            fresh = [m for m in given if m.id not in known]
            if not fresh:
                continue
            # A session that is new here keeps its positions, gaps included.
            kept = fresh[0].position >= row.length and all(
                a.position < b.position for a, b in pairwise(fresh)
            )
            placed = fresh if kept else [replace(m, position=row.length + i) for i, m in enumerate(fresh)]
            bumped = self._reserve(len(placed))
            first = (self.bank.key << KEY_BITS) + bumped.counter - len(placed) + 1
            transcript.insert(self.connection, row.key, list(enumerate(placed, first)))
            grown = placed[-1].position + 1
            banks.grow_session(self.connection, row.key, grown - row.length)
            self._sessions[name] = replace(row, length=grown)

    def _session(self, name: str, began: int) -> banks.SessionRow:
        if name not in self._sessions:
            self._sessions[name] = banks.create_session(self.connection, self.bank.key, name, began)
        return self._sessions[name]

    def _mark(self, line: MarkLine) -> None:
        session = banks.find_session(self.connection, self.bank.key, line.session)
        if session is None:
            return
        held = transcript.by_ids(self.connection, session.key, [line.message], self.bank.owner, line.session)
        for message in held.values():
            marks.put(self.connection, session.key, message.position)

    def _put_memories(self) -> None:
        lines, self._lines = self._lines, []
        ids = [line.memory.id for line in lines]
        known = memories.keys_of(self.connection, self.bank.key, ids)
        self._keys.update(known)
        fresh = list({line.memory.id: line for line in lines if line.memory.id not in known}.values())
        if not fresh:
            return
        bumped = self._reserve(len(fresh))
        key = (self.bank.key << KEY_BITS) + bumped.counter - len(fresh) + 1
        rows: list[Row] = []
        found: list[tuple[int, Features]] = []
        for line in fresh:
            vector = self._vector(line)
            memory = line.memory
            session = (
                None if memory.session is None else self._session(memory.session, to_micros(memory.began)).key
            )
            pending = Pending.NONE
            recallable = bool(memory.text) and not _is_block(line)
            if recallable and self.runtime.expects_vectors:
                pending = Pending.EMBED if vector is None else Pending.INDEX
            rows.append(Row(key, memory, session, line.position, bumped.rev, bumped.rev, pending))
            if recallable:
                zone = zone_of(self.header.timezone)
                found.append((key, replace(features(memory.text, memory.began, zone), vector=vector)))
            self._keys[memory.id] = key
            self._new.add(memory.id)
            if memory.level not in (Level.TURN, Level.NOTE):
                self._derived.append((key, memory.sources))
            key += 1
        memories.insert(self.connection, self.bank.key, rows)
        memories.put_features(self.connection, found)
        self.memories += len(rows)

    def _vector(self, line: MemoryLine) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None:
        embedder = self.runtime.embedder
        same = embedder is not None and (embedder.name, embedder.dimension) == (
            self.header.embedder,
            self.header.dimension,
        )
        if not same or line.vector is None or line.vector.shape != (self.runtime.dimension,):
            return None
        return line.vector

    def _link(self, line: LinkLine) -> None:
        if {line.a, line.b} & self._new and line.a in self._keys and line.b in self._keys:
            a, b = sorted((self._keys[line.a], self._keys[line.b]))
            at = to_micros(line.at or self.now)
            links.put(self.connection, self.bank.key, a, b, line.weight, at, self._reserve(0).rev)
