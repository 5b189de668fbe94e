"""The connection to the records: SQLite by default, PostgreSQL when shared."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from memorybank.errors import DamagedStoreError, ReadOnlyError, StoreError

Synchronous = Literal["full", "normal"]

_BUSY_SECONDS = 60.0
_SCRUB_MILLISECONDS = 500
_WRITE = "memorybank_write"


class Database:
    """An engine, and the two doors to it: ``read`` and ``write``. Safe to use from many threads."""

    def __init__(self, engine: Engine, *, path: Path | None, read_only: bool, where: str) -> None:
        self.engine = engine
        self.path = path
        self.read_only = read_only
        self.where = where
        # SQLite has one writer: threads wait for each other here rather than by polling the file.
        self._unscrubbed = False
        self._closed = False
        self._process = os.getpid()
        self._writer = threading.RLock() if path is not None else contextlib.nullcontext()

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one consistent state. Raises StoreError when the records cannot be read."""
        self._check()
        with self._translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: all of it is durable when the block ends, none of it if it raises.

        Raises ReadOnlyError on a store opened read-only, StoreError when the database refuses.
        """
        if self.read_only:
            raise ReadOnlyError(
                f"{self.where} was opened with read_only=True; open it without to add, change or delete"
            )
        self._check()
        with self._translated(), self._writer, self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITE: True})
            with connection.begin():
                yield connection

    def _check(self) -> None:
        if self._closed:
            raise StoreError(f"{self.where} is closed; open the store again")
        if self._process != os.getpid():
            # A forked child: SQLite's connections, and locks that other threads held, are the parent's.
            self.engine.dispose(close=False)
            self._writer = threading.RLock() if self.path is not None else contextlib.nullcontext()
            self._process = os.getpid()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise _translate(error, self.where) from error
        except SQLAlchemyError as error:
            raise StoreError(f"{self.where}: {type(error).__name__}: {_bare(error)}") from error

    def scrub(self) -> None:
        """After a deletion: have no copy of it left in the write-ahead log (SQLite; nothing elsewhere).

        The pages themselves are overwritten by ``secure_delete``. Readers of an older state, here or in another
        process, can hold the log back for longer than a deletion should take: then it is emptied by the next
        call, or at ``close``.
        """
        if self.is_sqlite and not self.read_only:
            with self._translated(), self._writer:
                raw = self.engine.raw_connection()  # a checkpoint cannot run inside a transaction
                cursor = raw.cursor()
                try:
                    cursor.execute(f"PRAGMA busy_timeout={_SCRUB_MILLISECONDS}")
                    busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                    self._unscrubbed = bool(busy)
                finally:
                    cursor.execute(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000)}")
                    raw.close()

    def integrity(self, connection: Connection) -> tuple[bool, str]:
        """Whether the database finds itself in order, and its words."""
        if not self.is_sqlite:
            return True, f"{self.where} answers"
        found = [row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check(5)")]
        return found == ["ok"], "the records are in order" if found == ["ok"] else "; ".join(found)

    def close(self) -> None:
        """Let go of the file or the server."""
        if self._unscrubbed:
            with contextlib.suppress(StoreError):  # the file is gone or full: closing must end all the same
                self.scrub()
        self._closed = True
        self.engine.dispose(close=self._process == os.getpid())


def open_sqlite(path: Path, *, read_only: bool, synchronous: Synchronous) -> Database:
    """The records in one SQLite file, WAL mode, file mode 0600.

    ``synchronous="full"`` survives power loss; ``"normal"`` survives kill -9 and is faster.
    """
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is not a file; give the folder of a store, or an empty one")
    if read_only and not path.exists():
        raise StoreError(f"{path} does not exist; open the store without read_only=True to create it")
    if not read_only:
        _make(path)
    uri = "file:" + quote(str(path))
    if read_only:
        uri += "?mode=ro" if _needs_log(path) else "?mode=ro&immutable=1"
    engine = sa.create_engine(
        "sqlite+pysqlite://",
        poolclass=QueuePool,
        pool_size=8,
        max_overflow=56,
        creator=lambda: _sqlite_connect(uri, read_only, synchronous),
    )
    event.listen(engine, "begin", _begin_sqlite)
    database = Database(engine, path=path, read_only=read_only, where=str(path))
    try:
        with database.read() as connection:
            connection.execute(sa.text("SELECT count(*) FROM sqlite_master"))
    except BaseException:
        database.close()
        raise
    return database


def _make(path: Path) -> None:
    """The file, empty, if it is not there: SQLite gives its side files the mode that it finds."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}; check the folder") from error


def _needs_log(path: Path) -> bool:
    """Whether a reader must see the write-ahead log: always, but where nobody can be writing and none is left."""
    log = path.with_name(path.name + "-wal")
    return os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size > 0)


def open_url(url: str, *, read_only: bool) -> Database:
    """The records on a database server, such as ``postgresql+psycopg://user@host/name``."""
    try:
        parsed = sa.make_url(url)
    except SQLAlchemyError as error:
        raise StoreError(
            "database= is not a database address; expected e.g. 'postgresql+psycopg://user@host/name'"
        ) from error
    if parsed.get_backend_name() != "postgresql":
        raise StoreError(
            f"database {parsed.get_backend_name()!r} is not supported; give a folder (SQLite) or a PostgreSQL address"
        )
    where = parsed.render_as_string(hide_password=True)
    try:
        engine = sa.create_engine(parsed, pool_size=8, max_overflow=56, pool_pre_ping=True)
    except ImportError as error:
        raise StoreError("PostgreSQL needs its driver: pip install 'memorybank-core[postgres]'") from error
    return Database(engine, path=None, read_only=read_only, where=where)


def _sqlite_connect(uri: str, read_only: bool, synchronous: Synchronous) -> Any:
    import sqlite3

    connection = sqlite3.connect(
        uri,
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000)}")
        if not read_only:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute(f"PRAGMA synchronous={synchronous.upper()}")
            cursor.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten, not only unlinked
            cursor.execute("PRAGMA cache_size=-16000")
            cursor.execute("PRAGMA journal_size_limit=67108864")
        cursor.close()
    except BaseException:
        connection.close()
        raise
    return connection


def _begin_sqlite(connection: Connection) -> None:
    # A write takes its lock at once: an upgrade from a read in mid-transaction could not wait its turn.
    write = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _bare(error: BaseException) -> str:
    # The driver's own words only: SQLAlchemy's message would repeat the parameters, which are memory texts.
    original = getattr(error, "orig", None) or error.__cause__
    text = str(original) if original is not None else type(error).__name__
    return re.sub(r"\s+", " ", text)[:300]


def _translate(error: DBAPIError, where: str) -> StoreError:
    words = _bare(error)
    lower = words.lower()
    if "malformed" in lower or "not a database" in lower or "file is encrypted" in lower:
        return DamagedStoreError(
            f"{where} is damaged or is not a MemoryBank store ({words}); "
            "run 'memorybank doctor' to see what can be saved, or restore a backup"
        )
    if "readonly" in lower or "read-only" in lower:
        return ReadOnlyError(f"{where} cannot be written ({words}); check the permissions of the folder")
    if "disk is full" in lower or "full" in lower.split():
        return StoreError(
            f"{where}: the disk is full; nothing of this call was stored. Free space and try again"
        )
    if "locked" in lower or "busy" in lower:
        return StoreError(
            f"{where} stayed locked by another process for {_BUSY_SECONDS:.0f} s; nothing of this call was stored. "
            "Try again, or find out what holds it"
        )
    if "unable to open" in lower:
        return StoreError(f"{where} cannot be opened ({words}); check that the folder exists and may be used")
    return StoreError(f"{where}: {words}")
