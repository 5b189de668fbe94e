"""The write-behind: what the records hold and the vector index does not yet, carried over in batches.

Nothing here is needed before ``add`` returns. Work is marked per row in the records, so that a process killed in
the middle leaves nothing to guess: the next one goes on.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from memorybank.availability import Availability, OpenIndex, close_quietly, trusted
from memorybank.embedding.current import Embedding
from memorybank.errors import IndexUnavailableError, MemoryBankError, StoreError
from memorybank.index.parts import Part, writes
from memorybank.index.protocol import VectorIndex
from memorybank.records import banks, outbox
from memorybank.records.database import Alone, Database
from memorybank.records.outbox import Unindexed
from memorybank.records.schema import Pending
from memorybank.records.types import unpack_vectors
from memorybank.unembedded import embed_missing

logger: logging.Logger = logging.getLogger("memorybank.index")


BATCH = 1000  # rows read at once: the more, the more of them share a write
_WRITE = 200  # rows a write: Chroma holds the GIL while it writes
_PAUSE = 0.05  # seconds between background writes
_CLOSING = 10.0  # seconds that closing waits for an embedder that does not answer


class Indexer(Availability):
    """Owns the vector index of a store: opens it late, writes it behind, does without it when it fails.

    ``open_index`` makes the index or raises IndexUnavailableError. ``threshold`` rows wake the background thread;
    it also looks every ``interval`` seconds. An index that was locked, down or without room on its disk is tried
    again after ``retry_after`` seconds. A bank of ``large`` memories gets a collection of its own. ``several``: the
    index is on a server, where other processes of this store write too; it is opened by the background thread, so
    that no search waits for it.
    """

    def __init__(
        self,
        database: Database,
        embedding: Embedding,
        open_index: OpenIndex | None,
        *,
        threshold: int = BATCH,
        interval: float = 30.0,
        large: int = 50_000,
        flush_on_close: bool = True,
        retry_after: float = 60.0,
        several: bool = False,
    ) -> None:
        self._database = database
        self._embedding = embedding
        super().__init__(open_index, retry_after=retry_after, several=several)
        self._threshold = threshold
        self._interval = interval
        self._large = large
        self._flush_on_close = flush_on_close
        self._uncertain: list[
            tuple[str, str]
        ] = []  # bank and id of what may be in the index as it was, not as it is
        self._waiting = 0
        self._expunged = False

    def _renew(self) -> None:
        super()._renew()
        self._embedding_now = (
            threading.Lock()
        )  # beside the guard: an embedder that hangs holds up nothing else
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._turns = 0
        self._mine: Alone | None = None

    def notify(self, rows: int) -> None:
        """Say that rows were added or deleted; wakes the background thread when enough have gathered."""
        if self._database.read_only or self._closed:
            return
        self._waiting += rows
        if self._thread is None:
            self._start()
        if self._waiting >= self._threshold:
            self._wake.set()

    def flush(self, *, pause: float = 0.0) -> int:
        """Embed what has no vector yet, then write to the index all that it lacks; returns rows written.

        ``pause`` seconds pass between writes, in which others get the processor; without it, an index that was
        locked or down is tried again at once, and another process that writes is waited for.

        Raises IndexUnavailableError when the index cannot be used; what is left stays marked.
        """
        if self._database.read_only:
            return 0
        if not pause:
            self._again = 0.0
        waiting, self._waiting = self._waiting, 0
        try:
            self.embed_missing()
            return self._written(pause)
        except MemoryBankError:
            self._waiting = max(1, waiting)
            raise

    def _written(self, pause: float = 0.0) -> int:
        """What has a vector, written to the index; returns rows. Raises IndexUnavailableError."""
        with self._turn(wait=not pause) as mine:
            if not mine:
                self._waiting = max(
                    1, self._waiting
                )  # another process writes: what it leaves is looked for again
                return 0
            return self._carry_over(pause) if self._open is not None and self._has_work() else 0

    def _carry_over(self, pause: float) -> int:
        index = self.index()
        try:
            with trusted():
                self._settle(index)
                done = self._drop(index)
                while batch := self._next():
                    self._write(index, batch, pause)
                    done += len(batch)
                    if pause and self._closing.is_set():
                        break
                if self._expunged:  # what was erased may be in memory still, and with it in files made since
                    index.blank()
                    self._expunged = False
        except IndexUnavailableError as error:
            self.fail(error)
            raise
        return done

    @contextlib.contextmanager
    def _turn(self, *, wait: bool = True) -> Iterator[bool]:
        """Inside, no other thread writes to the index, nor, where it is on a server, another process of this store:
        one that read a row before it was changed or deleted must not write it afterwards.

        Gives False, where ``wait`` is False and another process is inside.
        """
        with self._guard:
            if not self._several or self._turns:
                yield True
                return
            with self._database.alone("index", wait=wait) as mine:
                if mine is None:
                    yield False
                    return
                self._turns, self._mine = 1, mine
                try:
                    yield True
                finally:
                    self._turns, self._mine = 0, None

    @contextlib.contextmanager
    def _changing(self, rows: Sequence[tuple[str, str]]) -> Iterator[None]:
        """Inside, these rows (bank, id) are written or deleted in the index.

        If the database was restarted meanwhile, another process may have had its turn after they were read, and
        what is in the index now is what was deleted or rewritten since: the next turn settles it. Raises StoreError.
        """
        if self._mine is None:  # the index is this process's alone
            yield
            return
        self._uncertain += rows
        yield
        if not self._mine.held():
            raise StoreError(
                f"{self._database.where} went away while the index was written; the next flush checks it"
            )
        self._uncertain.clear()

    def _settle(self, index: VectorIndex) -> None:
        """What another process may have overtaken: have it written as it is now, remove what is gone."""
        while self._uncertain:
            uid = self._uncertain[0][0]
            ids = [id_ for one, id_ in self._uncertain if one == uid]
            with self._database.write() as connection:
                outbox.mark_some(connection, uid, ids)
                held = outbox.present(connection, uid, ids)
            index.delete(uid, [id_ for id_ in ids if id_ not in held])
            if self._mine is not None and not self._mine.held():
                raise StoreError(f"{self._database.where} went away while the index was checked; flush again")
            self._uncertain = [(one, id_) for one, id_ in self._uncertain if one != uid]

    def drop_erased(self, *, compact: bool = True) -> int:
        """Drop the vectors of erased banks; returns how many. Raises IndexUnavailableError.

        With ``compact`` their bytes go too; without, at the next flush. What lies together with them in the index
        is written anew by the background thread.
        """
        if self._open is None or self._database.read_only:
            return 0
        with self._turn():
            with self._database.read() as connection:
                uids = outbox.dropped(connection)
            index = self.index()
            done = sum(index.drop(uid) for uid in uids)
            if uids and index.embedded:
                if not compact:
                    self.notify(len(uids))
                    return done
                self._expunge(index, uids)
            with self._database.write() as connection:
                outbox.clear_drops(connection, uids)
            return done

    def _expunge(self, index: VectorIndex, uids: Sequence[str]) -> None:
        with self._database.write() as connection:
            everyone = [bank.uid for bank in banks.every(connection)]
            marked = outbox.mark_banks(connection, index.neighbours(uids, everyone))
        try:
            index.expunge(uids)
            self._expunged = True
        except IndexUnavailableError as error:
            self.fail(error)
            raise
        self.notify(marked)

    @contextlib.contextmanager
    def held_still(self) -> Iterator[VectorIndex]:
        """The index, flushed, and nothing of this process writes to it inside. Raises IndexUnavailableError."""
        with self._turn():
            self.index()  # opened first: one that was lost marks everything as to be written
            self._written()
            try:
                yield self.index()
            except IndexUnavailableError as error:
                self.fail(error)
                raise

    def mend(self, missing: Mapping[str, Sequence[str]], surplus: Mapping[str, Sequence[str]]) -> int:
        """Write anew what is ``missing`` and remove what is ``surplus``, by bank; returns rows changed.

        Raises IndexUnavailableError.
        """
        with self._turn(), self.held_still() as index:
            done = 0
            for uid, ids in surplus.items():
                index.delete(uid, ids)
                done += len(ids)
            for uid, ids in missing.items():
                with self._database.write() as connection:
                    outbox.mark_some(connection, uid, ids)
            return done + self._written()

    def rebuild(self) -> int:
        """Make the index anew from the vectors in the records, without embedding; returns rows written.

        Raises IndexUnavailableError, ``locked`` when another process holds the index.
        """
        if self._open is None:
            return 0
        with self._turn():
            with self._state:
                index, self._index = self._index, None
                self._unavailable = None
            if index is not None:
                close_quietly(index)
            self._let_go()
            self._opened(reset=True)
            return self._written()

    def embed_missing(self) -> int:
        """Embed memories that were stored while the embedder failed; returns how many.

        One thread, and one process of a shared store, at a time; nothing else waits for it.
        """
        if self._database.read_only:
            return 0
        with self._embedding_now:
            if not self._several:
                return embed_missing(self._database, self._embedding)
            with self._database.alone("embed", wait=False) as mine:
                return 0 if mine is None else embed_missing(self._database, self._embedding)

    def _embed_last(self) -> None:
        """Before closing; an embedder that does not answer is not waited for."""
        try:
            with self._database.read() as connection:
                waiting = outbox.count(connection, Pending.EMBED)
        except MemoryBankError as error:
            logger.warning("closing without a look at what has no vector: %s", error)
            return
        if not waiting:
            return
        thread = threading.Thread(target=self._embed_quietly, name="memorybank-embedder", daemon=True)
        thread.start()
        thread.join(_CLOSING)
        if thread.is_alive():
            logger.warning("the embedder does not answer; what has no vector is embedded by a later process")

    def _embed_quietly(self) -> None:
        try:
            self.embed_missing()
        except MemoryBankError as error:
            logger.info("embedded later: %s", error)

    def close(self) -> None:
        """Flush, stop the thread and close the index. A failing index is logged: the records have everything."""
        self._closing.set()
        # When the interpreter is shutting down, Chroma can start no threads any more.
        late = not threading.main_thread().is_alive()
        wanted = (
            (self._flush_on_close or self._index is not None) and not late and not self._database.read_only
        )
        if wanted and not self._closed:
            self._embed_last()
        with self._guard:
            if self._closed:
                return
            if wanted:
                self._again = 0.0
                try:
                    self._written()
                except IndexUnavailableError as error:
                    logger.info("closing without a flush: %s", error)
                except MemoryBankError as error:
                    logger.warning("closing without a flush: %s", error)
            self._closed = True
            self._wake.set()
            index, self._index = self._index, None
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=_CLOSING)
        if index is not None:
            close_quietly(index)
        self._let_go()

    def _has_work(self) -> bool:
        if self._uncertain:
            return True
        with self._database.read() as connection:
            return bool(
                outbox.unindexed(connection, 1) or outbox.buried(connection, 1) or outbox.dropped(connection)
            )

    def _next(self) -> list[Unindexed]:
        with self._database.read() as connection:
            return outbox.unindexed(connection, BATCH)

    def _write(self, index: VectorIndex, batch: Sequence[Unindexed], pause: float) -> None:
        dimension = len(batch[0].vector) // 4
        parts: dict[str, Part] = {}
        for uid, group in groupby(batch, key=attrgetter("uid")):
            rows = list(group)
            if (rows[0].key & 0xFFFFFFFF) > self._large:
                index.promote(uid)
            vectors = unpack_vectors([row.vector for row in rows], dimension)
            parts[uid] = Part(uid, [row.id for row in rows], vectors)
        with self._changing([(row.uid, row.id) for row in batch]):
            for some in writes(parts, index.together(list(parts)), _WRITE):
                index.upsert_many(some)
                if pause:
                    self._closing.wait(pause)
        with self._database.write() as connection:
            outbox.mark_indexed(connection, batch)

    def _drop(self, index: VectorIndex) -> int:
        done = self.drop_erased()
        while True:
            with self._database.read() as connection:
                dead = outbox.buried(connection, BATCH)
            if not dead:
                return done
            for uid, group in groupby(dead, key=attrgetter("uid")):
                gone = list(group)
                with self._changing([(uid, item.id) for item in gone]):
                    index.delete(uid, [item.id for item in gone])
                with self._database.write() as connection:  # one owner's rows at a time
                    outbox.clear_tombstones(connection, gone)
                done += len(gone)

    def _wake_up(self) -> None:
        if self._thread is None:
            self._start()
        self._wake.set()

    def _start(self) -> None:
        with self._state:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="memorybank-indexer", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closed:
            failed = self._unavailable is not None
            self._wake.wait(min(self._interval, self._retry_after) if failed else self._interval)
            self._wake.clear()
            self._let_go()
            if self._closed or self._barred():
                continue
            try:
                if self._asked:
                    self.index()
                if self._waiting:
                    self.flush(pause=_PAUSE)
            except MemoryBankError as error:
                logger.info("the index is written later: %s", error)
            self._asked = False
