"""The connection to the records: SQLite by default, PostgreSQL when shared."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from memorybank.errors import DamagedStoreError, ReadOnlyError, StoreError
from memorybank.records.faults import BUSY_SECONDS, bare, translate
from memorybank.records.lending import Lending, transaction

logger: logging.Logger = logging.getLogger("memorybank.records")

Synchronous = Literal["full", "normal"]

_SCRUB_MILLISECONDS = 500

# What libpq needs to notice a server that went silent within half a minute (its own defaults: hours).
_POSTGRES: dict[str, str | int] = {
    "fallback_application_name": "memorybank",
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


class _Stage:
    """How far a transaction has come."""

    committing = False


class Alone:
    """The right to be the only one at a task, from a server that may go away and take it back."""

    def __init__(self, connection: Connection | None) -> None:
        self._connection = connection
        self._lost = False

    def held(self) -> bool:
        """Whether nobody else had this right at any time until now."""
        if self._connection is None:
            return True  # a lock on a file: the system's, as long as this process lives
        try:
            self._connection.execute(sa.select(1))
        except SQLAlchemyError:
            self._lost = (
                True  # the lock was the session's, and went with it; asked again, there is a new session
            )
        return not self._lost


class Database:
    """An engine, and the two doors to it: ``read`` and ``write``. Safe to use from many threads."""

    def __init__(
        self,
        engine: Engine,
        *,
        path: Path | None,
        read_only: bool,
        where: str,
        synchronous: Synchronous = "full",
    ) -> None:
        self.engine = engine
        self.path = path
        self.read_only = read_only
        self.where = where
        # SQLite has one writer: threads wait for each other here rather than by polling the file.
        self._unscrubbed = False
        self._closed = False
        self._driver_error: type[Exception] = engine.dialect.loaded_dbapi.Error
        self._process = os.getpid()
        self._writer = threading.RLock() if path is not None else contextlib.nullcontext()
        self._synchronous = synchronous
        self._lending = Lending(engine) if self.is_sqlite else None
        # SQLite's readers see one state by themselves; PostgreSQL's have to ask for it.
        snapshot = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._reading = engine if self.is_sqlite else engine.execution_options(**snapshot)

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one consistent state. Raises StoreError when the records cannot be read."""
        self._check()
        if self._lending is not None:
            with self._translated(), self._lending.lend() as connection, transaction(connection, write=False):
                yield connection
            return
        with self._translated(), self._reading.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def write(self, *, minor: bool = False) -> Iterator[Connection]:
        """One transaction: all of it is durable when the block ends, none of it if it raises.

        ``minor`` is for what may be lost in a power failure, and only then: it waits for no disk, survives kill -9,
        and is safe from power failures as well once another transaction has been written (SQLite's
        synchronous=NORMAL; no difference on PostgreSQL).
        Raises ReadOnlyError on a store opened read-only, StoreError when the database refuses.
        """
        if self.read_only:
            raise ReadOnlyError(
                f"{self.where} was opened with read_only=True; open it without to add, change or delete"
            )
        self._check()
        stage = _Stage()
        if self._lending is not None:
            hasty = minor and self._synchronous == "full"
            with (
                self._translated(stage),
                self._writer,
                self._lending.lend() as connection,
                transaction(connection, write=True, hasty=hasty),
            ):
                yield connection
                stage.committing = True
            return
        with self._translated(stage), self.engine.connect() as connection, connection.begin():
            yield connection
            stage.committing = True

    @contextlib.contextmanager
    def alone(self, task: str, *, wait: bool = True) -> Iterator[Alone | None]:
        """While the block runs no other process is in a block of this task. Gives None, where ``wait`` is False and
        another one is. Threads of this process have to keep apart by themselves. Raises StoreError.

        A server that is restarted lets others in: ``Alone.held`` tells afterwards whether it did.
        """
        self._check()
        if self.path is not None:
            with self._alone_by_file(self.path, task, wait=wait) as mine:
                yield Alone(None) if mine else None
            return
        with self._translated(), self.engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            ask = sa.func.pg_advisory_lock if wait else sa.func.pg_try_advisory_lock
            mine = connection.execute(sa.select(ask(_number(task)))).scalar() is not False
            try:
                yield Alone(connection) if mine else None
            finally:
                if mine:
                    with contextlib.suppress(SQLAlchemyError):  # a server that went away has let go by itself
                        connection.execute(sa.select(sa.func.pg_advisory_unlock(_number(task))))

    @contextlib.contextmanager
    def _alone_by_file(self, path: Path, task: str, *, wait: bool) -> Iterator[bool]:
        import filelock

        lock = filelock.FileLock(path.with_name(f"{path.name}.{task}.lock"), mode=0o600)
        try:
            lock.acquire(timeout=-1 if wait else 0)
        except filelock.Timeout:
            yield False
            return
        except OSError as error:
            raise StoreError(
                f"{path.parent} cannot be written: {error.strerror}; check the folder"
            ) from error
        try:
            yield True
        finally:
            lock.release()

    def take_turn(self, connection: Connection, task: str) -> None:
        """Until the transaction ends no other one takes a turn at this task. SQLite has one writer anyway."""
        if not self.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_number(task))))

    def _check(self) -> None:
        if self._closed:
            raise StoreError(f"{self.where} is closed; open the store again")
        if self._process != os.getpid():
            # A forked child: a server's connections, and locks that other threads held, are the parent's.
            self.engine.dispose(close=False)
            self._writer = threading.RLock() if self.path is not None else contextlib.nullcontext()
            self._process = os.getpid()

    @contextlib.contextmanager
    def _translated(self, stage: _Stage | None = None) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, self._driver_error) as error:  # of SQLAlchemy, and of ``Statement``
            committing = stage is not None and stage.committing
            raise translate(error, self.where, committing=committing) from error
        except SQLAlchemyError as error:
            raise StoreError(f"{self.where}: {type(error).__name__}: {bare(error)}") from error

    def scrub(self) -> None:
        """After a deletion: have no copy of it left in the write-ahead log (SQLite; nothing elsewhere).

        The pages themselves are overwritten by ``secure_delete``. Readers of an older state, here or in another
        process, can hold the log back for longer than a deletion should take, and so can a full disk: then it is
        emptied by the next call, or at ``close``. What was deleted is deleted all the same: nothing is raised.
        """
        if self.is_sqlite and not self.read_only:
            try:
                with self._translated(), self._writer:
                    self._unscrubbed = not self._empty_log()
            except DamagedStoreError:
                raise
            except StoreError as error:
                self._unscrubbed = True
                logger.warning(
                    "deleted, but a copy stays in the write-ahead log of %s until the next deletion or close: %s",
                    self.where,
                    bare(error.__cause__ or error),
                )

    def _empty_log(self) -> bool:
        """Whether the write-ahead log could be emptied."""
        raw = self.engine.raw_connection()  # a checkpoint cannot run inside a transaction
        cursor = raw.cursor()
        try:
            cursor.execute(f"PRAGMA busy_timeout={_SCRUB_MILLISECONDS}")
            return not cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")
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
        if self._lending is not None and self._process == os.getpid():
            self._lending.close()
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
        hide_parameters=True,  # they are memory texts; whoever logs an error's chain would log them
        creator=lambda: _sqlite_connect(uri, read_only, synchronous),
    )
    database = Database(engine, path=path, read_only=read_only, where=str(path), synchronous=synchronous)
    try:
        with database.read() as connection:
            connection.execute(sa.text("SELECT count(*) FROM sqlite_master"))
    except BaseException:  # cleaned up, and raised again
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
        engine = sa.create_engine(
            parsed,
            pool_size=8,
            max_overflow=56,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={name: value for name, value in _POSTGRES.items() if name not in parsed.query},
        )
    except ImportError as error:
        raise StoreError("PostgreSQL needs its driver: pip install 'memorybank-core[postgres]'") from error
    return Database(engine, path=None, read_only=read_only, where=where)


def _sqlite_connect(uri: str, read_only: bool, synchronous: Synchronous) -> Any:
    import sqlite3

    connection = sqlite3.connect(
        uri,
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")
        if not read_only:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute(f"PRAGMA synchronous={synchronous.upper()}")
            cursor.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten, not only unlinked
            cursor.execute("PRAGMA cache_size=-16000")
            cursor.execute("PRAGMA journal_size_limit=67108864")
        cursor.close()
    except BaseException:  # cleaned up, and raised again
        connection.close()
        raise
    return connection


def _number(task: str) -> int:
    """The number of a task among PostgreSQL's advisory locks: 64 bits, signed."""
    digest = hashlib.blake2b(f"memorybank:{task}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
