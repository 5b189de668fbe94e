"""Saving what can be read of a damaged SQLite file, as exports that any store imports."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from memorybank.clock import from_micros, zone_of
from memorybank.errors import DamagedStoreError, ImportFormatError, InvalidInputError, StoreError
from memorybank.interchange.export_checks import check_header, check_line
from memorybank.interchange.export_lines import Header, Line, LinkLine, MemoryLine
from memorybank.interchange.exporter import write_export
from memorybank.models import Level, Maker, Memory, Message, Status, Version
from memorybank.records.links import CO_RECALLED
from memorybank.records.schema import KEY_BITS
from memorybank.records.types import unescape

logger: logging.Logger = logging.getLogger("memorybank.salvage")

_LAST = 2**62
_FROM = 'SELECT rowid AS rowid_, * FROM "{}" NOT INDEXED WHERE rowid >= ? ORDER BY rowid'

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Saved:
    """What was read of one owner, and the file it is in (None: only looked)."""

    owner: str
    messages: int
    memories: int
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Salvaged:
    """Outcome of ``salvage``. ``gaps``: unreadable stretches by table, each of one row or many. ``missing``:
    messages that memories were made of and that are lost; ``odd``: rows that could be read but say nothing."""

    saved: tuple[Saved, ...]
    gaps: dict[str, int]
    missing: int
    odd: int

    @property
    def complete(self) -> bool:
        """Whether nothing is known to be lost."""
        return not (self.gaps or self.missing or self.odd)


def salvage(file: Path, into: Path | None) -> Salvaged:
    """Read every readable row of a store's SQLite file and write an export per owner into a folder.

    ``into`` None only looks. Nothing of the damaged store is changed: a copy is read, its write-ahead log included.
    Exports are numbered, as an owner's name is no file name. Raises DamagedStoreError when not even the tables can
    be found, StoreError when the exports cannot be written.
    """
    if not file.is_file():
        raise StoreError(f"there is no file {file}")
    with tempfile.TemporaryDirectory(prefix="memorybank-salvage-") as scratch:
        copy = Path(scratch) / file.name
        for suffix in ("", "-wal"):
            beside = file.with_name(file.name + suffix)
            if beside.exists():
                shutil.copyfile(beside, copy.with_name(copy.name + suffix))
        with closing(_open(copy)) as connection:
            return _Wreck(connection, file).save(into)


def _open(copy: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA writable_schema=ON")  # also a file shorter than its header says is read
    return connection


@dataclass
class _Wreck:
    """A damaged file, read row by row."""

    connection: sqlite3.Connection
    file: Path
    gaps: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    odd: int = 0

    def save(self, into: Path | None) -> Salvaged:
        try:
            tables = {
                row[0] for row in self.connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
            }
        except sqlite3.Error as error:
            raise DamagedStoreError(
                f"{self.file} cannot be read at all ({error}); restore a backup or an export"
            ) from error
        if not {"messages", "memories"} <= tables:
            raise DamagedStoreError(f"{self.file} holds no tables of MemoryBank; there is nothing to save")
        banks = {row["key"]: row for row in self.rows("banks")}
        sessions = {row["key"]: row for row in self.rows("sessions")}
        meta = {row["name"]: row["value"] for row in self.rows("meta")}
        # Keys of messages and memories begin with their bank's: found also where the bank's own row is lost.
        messages = _by_bank(self.rows("messages"))
        memories = _by_bank(self.rows("memories"))
        links = _by_bank(self.rows("links"), "a")
        versions = _by_bank(self.rows("versions"), "memory")
        saved = []
        for number, key in enumerate(sorted({*banks, *messages, *memories}), 1):
            owner = _Owner(self, key, banks.get(key), sessions, meta)
            lines = owner.lines(
                messages.get(key, []), memories.get(key, []), links.get(key, []), versions.get(key, [])
            )
            saved.append(self._write(into, number, owner.header, list(lines)))
        return Salvaged(tuple(saved), dict(self.gaps), self.missing, self.odd)

    def _write(self, into: Path | None, number: int, header: Header, lines: list[Line]) -> Saved:
        path = None
        if into is not None:
            try:
                into.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"the folder {into} cannot be made: {error.strerror}") from error
            path = into / f"owner-{number:04d}.jsonl"
            write_export(path, header, lines)
        counts = [sum(isinstance(line, kind) for line in lines) for kind in (Message, MemoryLine)]
        return Saved(header.owner, counts[0], counts[1], path)

    def rows(self, table: str) -> Iterator[Row]:
        """Every row that can be read, by row id; behind what cannot, it goes on with the next that can."""
        start: int | None = 0
        while start is not None:
            try:
                for row in self.connection.execute(_FROM.format(table), (start,)):
                    start = row["rowid_"] + 1
                    yield dict(row)
                return
            except sqlite3.Error:
                self.gaps[table] = self.gaps.get(table, 0) + 1
                start = self._behind(table, start)

    def _behind(self, table: str, start: int) -> int | None:
        """The next row id from which the table can be read again; None if there is none.

        Ever longer steps, then halves: a damaged page is passed in some sixty tries, however far apart keys are.
        """
        low, step = start, 1
        while not self._reads(table, high := start + step):
            low, step = high, 2 * step
            if start + step > _LAST:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._reads(table, middle) else (middle, high)
        return high

    def _reads(self, table: str, start: int) -> bool:
        try:
            self.connection.execute(_FROM.format(table) + " LIMIT 1", (start,)).fetchone()
        except sqlite3.Error:
            return False
        return True

    def vector(self, key: int) -> np.ndarray[Any, np.dtype[np.float32]] | None:
        """The vector of a memory, if it can be read and is one."""
        try:
            row = self.connection.execute("SELECT vector FROM vectors WHERE rowid = ?", (key,)).fetchone()
        except sqlite3.Error:
            self.gaps["vectors"] = self.gaps.get("vectors", 0) + 1
            return None
        if row is None or not isinstance(row[0], bytes) or not row[0] or len(row[0]) % 4:
            return None
        found = np.frombuffer(row[0], dtype="<f4").astype(np.float32)
        return found if np.isfinite(found).all() and abs(float(found @ found) - 1) < 0.01 else None


def _by_bank(rows: Iterator[Row], column: str = "key") -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        if isinstance(row[column], int):
            found.setdefault(row[column] >> KEY_BITS, []).append(row)
    return found


class _Owner:
    """One bank's rows as the lines of an export."""

    def __init__(
        self, wreck: _Wreck, key: int, bank: Row | None, sessions: dict[int, Row], meta: dict[str, str]
    ) -> None:
        self._wreck = wreck
        self._sessions = sessions
        dimension = meta.get("embedder_dimension", "")
        self._dimension = int(dimension) if dimension.isdigit() else None
        self.header = _header(key, bank, meta.get("embedder_name"), self._dimension)

    def lines(
        self, messages: list[Row], memories: list[Row], links: list[Row], versions: list[Row]
    ) -> Iterator[Line]:
        """Messages by session and position, then what is made from them."""
        said: set[str] = set()
        for row in sorted(messages, key=lambda row: (str(row["session"]), str(row["position"]).zfill(20))):
            message = self._checked(self._message, row)
            if message is not None:
                said.add(message.id or "")
                yield message
        ids: dict[int, str] = {}
        seen: set[str] = set()
        for row in memories:
            line = self._checked(self._memory, row)
            if line is not None and line.memory.id not in seen:
                ids[row["key"]] = line.memory.id
                seen.add(line.memory.id)
                if line.memory.level is Level.TURN:
                    self._wreck.missing += sum(source not in said for source in line.memory.sources)
                yield line
        for row in links:
            if row["kind"] == CO_RECALLED and row["a"] in ids and row["b"] in ids:
                link = LinkLine(
                    ids[row["a"]], ids[row["b"]], CO_RECALLED, row["weight"], from_micros(row["at"])
                )
                yield link
        for row in versions:
            version = (
                self._checked(lambda one: _version(one, ids[one["memory"]]), row)
                if row["memory"] in ids
                else None
            )
            if version is not None:
                yield version

    def _checked(self, make: Any, row: Row) -> Any:
        try:
            line = make(row)
            check_line(line)
        except (
            ImportFormatError,
            InvalidInputError,
            ValueError,
            TypeError,
            KeyError,
            OverflowError,
            AttributeError,
        ):
            self._wreck.odd += 1
            return None
        return line

    def _session(self, key: int | None) -> str:
        row = self._sessions.get(key or 0)
        return f"salvaged-{key}" if row is None else unescape(row["name"])

    def _message(self, row: Row) -> Message:
        return Message(
            role=unescape(row["role"]),
            text=unescape(row["text"]),
            at=from_micros(row["at"]),
            id=unescape(row["id"]),
            name=None if row["name"] is None else unescape(row["name"]),
            payload=None if row["payload"] is None else unescape(row["payload"]),
            owner=self.header.owner,
            session=self._session(row["session"]),
            position=row["position"],
        )

    def _memory(self, row: Row) -> MemoryLine:
        memory = Memory(
            id=unescape(row["id"]),
            owner=self.header.owner,
            level=Level(row["level"]),
            text=unescape(row["text"]),
            began=from_micros(row["began"]),
            ended=from_micros(row["ended"]),
            created=from_micros(row["created"]),
            strength=row["strength"],
            last_recalled=_moment(row["last_recalled"]),
            status=Status(row["status"]),
            pinned=bool(row["pinned"]),
            sources=tuple(json.loads(row["sources"])),
            session=None if row["session"] is None else self._session(row["session"]),
            speaker=None if row["speaker"] is None else unescape(row["speaker"]),
            maker=Maker(row["maker"]),
            stale=bool(row["stale"]),
            version=row["version"],
            archived_at=_moment(row["archived_at"]),
        )
        vector = self._wreck.vector(row["key"])
        fits = vector is not None and (self._dimension is None or len(vector) == self._dimension)
        return MemoryLine(memory, row["position"], vector if fits else None)


def _header(key: int, bank: Row | None, embedder: str | None, dimension: int | None) -> Header:
    lost = Header(f"salvaged-{key}", "UTC", None, embedder, dimension)
    if bank is None:
        return lost
    try:
        language = bank["language"] if bank["language"] in ("en", "zh") else None
        header = Header(unescape(bank["owner"]), zone_of(bank["timezone"]).key, language, embedder, dimension)
        check_header(header)
    except (ImportFormatError, InvalidInputError, TypeError, AttributeError):
        return lost
    return header


def _version(row: Row, id_: str) -> Version:
    made, sources = from_micros(row["made"]), tuple(json.loads(row["sources"]))
    return Version(id_, row["version"], unescape(row["text"]), Maker(row["maker"]), made, sources)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
