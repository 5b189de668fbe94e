"""ChromaIndex: the vector index in Chroma 1.5, embedded in a folder or on a server. Chroma's oddities live
here.

Stored per vector: id, vector, ``{"bank": uid}``. No texts (they would survive deletion in Chroma's own
SQLite), no strength (Chroma has no compare-and-set), no level or status (a second filter costs more than
over-fetching).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memorybank.errors import IndexUnavailableError, InvalidInputError
from memorybank.index import room, rows
from memorybank.index.catalogue import Catalogue
from memorybank.index.client import Server, connect_server, disconnect, guarded, may_pass
from memorybank.index.compaction import compact
from memorybank.index.folder import Folder
from memorybank.index.gate import Gate
from memorybank.index.layout import DEFAULT_SHARDS, NAMESPACE, Kind, Layout
from memorybank.index.limits import most_collections
from memorybank.index.moving import move_out, sweep
from memorybank.index.parts import Part
from memorybank.index.protocol import (
    Hits,
    Vectors,
    checked_bank,
    checked_ids,
    checked_parts,
    checked_query,
)

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

Result = TypeVar("Result")


class ChromaIndex:
    """A VectorIndex in Chroma. Thread-safe.

    Not usable in a forked child (Chroma's client hangs there): every method raises IndexUnavailableError,
    "forked".
    """

    def __init__(self, client: ClientAPI, layout: Layout, folder: Folder | None) -> None:
        """Use `open`. ``folder`` is the locked folder of an embedded index, None for a server."""
        self._client = client
        self._folder = folder
        self._layout = layout
        self._pid = os.getpid()
        self._gate = Gate()
        self._writing = threading.Lock()
        self._suspect = False
        self._catalogue = self._new_catalogue()
        self._run("reading Chroma's collections", self._survey)

    @classmethod
    def open(
        cls,
        where: str | Path | Server,
        *,
        shards: int | None = None,
        namespace: str | None = None,
        reset: bool = False,
        probe_timeout: float = 60.0,
    ) -> ChromaIndex:
        """Open or create an index: a folder, a URL (http:// or https://), or a `Server` with its options.

        ``shards`` is fixed at creation (64; 16 are enough below 200,000 memories); None takes what is there.
        ``reset`` starts anew: what MemoryBank wrote there is removed, anything foreign in a folder is moved
        aside to a sibling folder. ``probe_timeout`` (seconds) bounds the check of a folder that was not
        closed cleanly.

        Raises IndexUnavailableError with a ``reason``: ``locked`` (another process holds the folder),
        ``damaged``, ``foreign`` (not ours, or other shards), ``newer``, ``unwritable``, ``full`` (the disk),
        ``limits`` (too few open files allowed), ``down`` (the server).
        """
        if isinstance(where, str) and where.startswith(("http://", "https://")):
            where = Server(where)
        if isinstance(where, Server):
            wanted = shards or where.shards or DEFAULT_SHARDS
            return cls._open_server(where, Layout(wanted, namespace or where.namespace or NAMESPACE), reset)
        folder = Folder.acquire(Path(where))
        try:
            if reset:
                folder.clear()
            layout = folder.layout(shards, namespace or NAMESPACE)
            client = folder.connect(probe_timeout)
            try:
                return cls(client, layout, folder)
            except BaseException:  # cleaned up, and raised again
                disconnect(client)
                raise
        except BaseException:  # cleaned up, and raised again
            folder.release(clean=False)
            raise

    @classmethod
    def _open_server(cls, server: Server, layout: Layout, reset: bool) -> ChromaIndex:
        client = connect_server(server)
        try:
            if reset:
                with guarded("removing the old index from the Chroma server"):
                    Catalogue(client, layout, shared=True).remove_all()
            return cls(client, layout, None)
        except BaseException:  # cleaned up, and raised again
            disconnect(client)
            raise

    # -- the contract --------------------------------------------------------------------------------------

    def upsert(self, bank: str, ids: Sequence[str], vectors: Vectors) -> None:
        """See VectorIndex. In batches of 200 rows, each of them durable before the next begins."""
        self.upsert_many([Part(checked_bank(bank), ids, vectors)])

    def upsert_many(self, parts: Sequence[Part]) -> None:
        """See VectorIndex. In batches of 200 rows of a collection, each of them durable before the next begins."""
        checked = checked_parts(parts)
        if not checked:
            return
        width = checked[0].vectors.shape[1]

        def write() -> None:
            self._catalogue.check_dimension(width)
            homes: dict[str, tuple[Collection, list[Part]]] = {}
            there = self._catalogue.names() if self._folder is None and len(checked) > 1 else None
            for part in checked:
                place = self._catalogue.home(part.bank, width, there)
                homes.setdefault(place.name, (place, []))[1].append(part)
            for place, own in homes.values():
                rows.put(place, own)

        self._run_alone("writing to Chroma", write, writes=True)

    def together(self, banks: Sequence[str]) -> list[list[str]]:
        """See VectorIndex: the banks of a shard, and each that has a collection of its own by itself."""
        groups: dict[str, list[str]] = {}
        own = self.promoted()
        for bank in banks:
            name = self._layout.own_name(bank) if bank in own else str(self._layout.shard(bank))
            groups.setdefault(name, []).append(bank)
        return list(groups.values())

    def delete(self, bank: str, ids: Sequence[str]) -> None:
        """See VectorIndex. Chroma only marks vectors as deleted; their bytes go when the index is rebuilt."""
        checked_bank(bank)
        names = checked_ids(ids)

        def remove() -> None:
            for place in self._catalogue.places(bank):
                rows.take(place, bank, names)

        self._run_alone("deleting in Chroma", remove, writes=True)

    def drop(self, bank: str) -> int:
        """See VectorIndex."""
        checked_bank(bank)

        def remove() -> int:
            found: set[str] = set()
            for place in self._catalogue.places(bank):
                held = rows.names_in(place, bank)
                rows.take(place, bank, held)
                found.update(held)
            self._catalogue.remove(self._layout.own_name(bank))
            return len(found)

        return self._run_alone("dropping a bank in Chroma", remove, writes=True)

    def neighbours(self, banks: Iterable[str], others: Iterable[str]) -> list[str]:
        """See VectorIndex: the banks of the same shards, but for those with a collection of their own."""
        gone, own = set(banks), self.promoted()
        shards = {self._layout.shard(bank) for bank in gone}
        return [one for one in others if one not in gone | own and self._layout.shard(one) in shards]

    def expunge(self, banks: Sequence[str]) -> None:
        """See VectorIndex. Nothing on a server, whose files are its own to compact."""

        def remove() -> None:
            names = {place.name for bank in banks for place in self._catalogue.places(checked_bank(bank))}
            for name in names:
                self._catalogue.remove(name)

        if self._folder is not None:
            self._run_alone("removing banks from Chroma", remove)
            self._reopened(lambda folder: compact(folder.path))

    def blank(self) -> None:
        """See VectorIndex. Chroma is closed meanwhile. Nothing on a server."""
        if self._folder is not None:
            self._reopened(lambda _: None)  # opening blanks what was not closed in good order

    def search(self, bank: str, query: Vectors, n: int) -> Hits:
        """See VectorIndex. Approximate (HNSW) in a bank's own collection, filtered by bank in a shard."""
        checked_bank(bank)
        row = checked_query(query, n)

        def look() -> Hits:
            self._catalogue.check_dimension(len(row))
            hits = self._nearest(bank, row, n)
            if len(hits) < n and self._catalogue.moved(bank):
                hits = self._nearest(bank, row, n)
            return hits

        return self._run("searching in Chroma", look)

    def ids(self, bank: str) -> set[str]:
        """See VectorIndex."""
        checked_bank(bank)

        def collect() -> set[str]:
            return {name for place in self._catalogue.places(bank) for name in rows.names_in(place, bank)}

        return self._run_alone("listing ids in Chroma", collect)  # pages would shift under a writer

    def count(self, bank: str) -> int:
        """See VectorIndex. Lists the ids: Chroma counts whole collections only."""
        return len(self.ids(bank))

    def contents(self) -> dict[str, set[str]]:
        """See VectorIndex."""

        def collect() -> dict[str, set[str]]:
            found: dict[str, set[str]] = {}
            for place in self._catalogue.everywhere():
                for bank, names in rows.everything(place).items():
                    found.setdefault(bank, set()).update(names)
            return found

        return self._run_alone("listing everything in Chroma", collect)

    @property
    def empty(self) -> bool:
        """Whether there is no collection of this layout: nothing was ever written, or all of it was lost."""
        return self._catalogue.empty

    @property
    def embedded(self) -> bool:
        """See VectorIndex."""
        return self._folder is not None

    def promote(self, bank: str) -> None:
        """Give this bank a collection of its own, with what it has; nothing if it has one already.

        Best before a large import: what is there already is copied, about as slowly as it was written.
        Resumable: interrupted at any step the bank stays whole, and the next opening or promotion finishes
        the move.
        """
        checked_bank(bank)
        what = "giving a bank its own collection in Chroma"
        self._run_alone(what, lambda: move_out(self._catalogue, bank), writes=True)

    @property
    def clean(self) -> bool:
        """False if the folder was not closed in good order, or was changed since: compare it with the
        records.

        It passed the probe, so what it answers can be trusted, but rows may be missing.
        """
        return self._folder is None or self._folder.clean

    def promoted(self) -> set[str]:
        """The banks that have a collection of their own."""
        return self._catalogue.banks(Kind.OWN, Kind.SWEEPING)

    def wipe(self) -> None:
        """Remove every vector of every bank and start anew, to be filled again from the records.

        Of an embedded folder also the files: Chroma itself leaves deleted vectors on disk.
        """
        if self._folder is None:
            self._run_alone("wiping the Chroma index", self._catalogue.remove_all)
            return
        self._reopened(Folder.clear)

    def _reopened(self, change: Callable[[Folder], None]) -> None:
        """Change the folder's files while nobody uses them. If it fails the index stays closed."""
        self._check_process()
        with self._writing:
            if self._folder is None or not self._gate.shut():
                raise IndexUnavailableError("the Chroma index is closed", "closed")
            self._catalogue.clear()
            disconnect(self._client)
            try:
                change(self._folder)
                self._layout = self._folder.layout(self._layout.shards, self._layout.namespace)
                self._client = self._folder.connect(trusted=True)
                self._catalogue = self._new_catalogue()
                with self._guarded("reading Chroma's collections"):
                    self._survey()
            except BaseException:  # cleaned up, and raised again
                self._folder.release(clean=False)
                raise
            self._suspect = False
            self._gate.reopen()

    def close(self) -> None:
        """See VectorIndex. In a forked child it does nothing: client and lock are the parent's."""
        if os.getpid() != self._pid:
            return
        with self._writing:
            if not self._gate.shut():
                return
            self._catalogue.clear()
            disconnect(self._client)
            if self._folder is not None:
                self._folder.release(clean=not self._suspect)

    # -- steps --------------------------------------------------------------------------------------------

    def _check_process(self) -> None:
        """Before any lock is taken: in a forked child one may be held by a thread that is not there."""
        if os.getpid() != self._pid:
            raise IndexUnavailableError(
                "the Chroma index was opened before this process was forked; open the store in the child",
                "forked",
            )

    def _run_alone(self, what: str, operation: Callable[[], Result], *, writes: bool = False) -> Result:
        """As `_run`, one at a time. What ``writes`` is not begun on a disk that is too full to end it."""
        self._check_process()
        with self._writing:
            if writes and self._folder is not None:
                room.check_room(self._folder.path)
            return self._run(what, operation)

    def _run(self, what: str, operation: Callable[[], Result]) -> Result:
        """The operation's result, Chroma's errors turned into ours; on a server once more if it may help."""
        self._check_process()
        try:
            with self._gate.passing(), self._guarded(what):
                return self._insist(operation)
        except IndexUnavailableError as error:
            self._suspect = self._suspect or error.reason in ("damaged", "full")
            raise

    def _guarded(self, what: str) -> AbstractContextManager[None]:
        folder = self._folder
        return guarded(what) if folder is None else guarded(what, "damaged", folder.path)

    def _insist(self, operation: Callable[[], Result]) -> Result:
        if self._folder is not None:
            return operation()
        try:
            return operation()
        except (IndexUnavailableError, InvalidInputError):
            raise
        except Exception as error:  # Chroma's errors have no common base; raised again unless it may pass
            if not may_pass(error):
                raise
        self._catalogue.survey()
        return operation()

    def _new_catalogue(self) -> Catalogue:
        embedded = self._folder is not None
        most = most_collections() if embedded else None
        return Catalogue(self._client, self._layout, shared=not embedded, most=most)

    def _survey(self) -> None:
        self._catalogue.survey()
        for bank in self._catalogue.banks(Kind.SWEEPING):
            sweep(self._catalogue, bank)

    def _nearest(self, bank: str, row: Vectors, n: int) -> Hits:
        own = self._catalogue.own(bank)
        if own is not None:
            return rows.nearest(own, bank, row, n, alone=True)
        shard = self._catalogue.shard(bank)
        return Hits.none() if shard is None else rows.nearest(shard, bank, row, n, alone=False)
