"""MemoryStore: the memories of many owners, in one folder or in a shared database."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from memorybank import doctor, opening, telling, transfer, upkeep
from memorybank.bank import MemoryBank
from memorybank.clock import Clock, system_clock, zone_of
from memorybank.embedding.protocol import Embedder
from memorybank.errors import InvalidInputError
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy, resolve_curve
from memorybank.intake import Redact, check_kind, check_owner, check_path
from memorybank.models import Erased, Report, StoreStats
from memorybank.records import banks
from memorybank.records.database import Synchronous
from memorybank.rerank import Reranker
from memorybank.retrieval.settings import RetrievalSettings
from memorybank.runtime import LLM, Running, Runtime, Search
from memorybank.watch import watched

if TYPE_CHECKING:
    from memorybank.index.client import Server
    from memorybank.salvage import Salvaged

logger: logging.Logger = logging.getLogger("memorybank.store")

Default = Literal["default"]
_LANGUAGES = ("en", "zh")


class MemoryStore(Running):
    """A store of memories. Use ``MemoryStore.open``; close it, or use it as a context manager."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        where: str,
        curve: ForgettingCurve | None = None,
        policy: ForgettingPolicy | None = None,
    ) -> None:
        self._runtime = runtime
        self._where = where
        self._curve = curve
        self._policy = policy or ForgettingPolicy.assistant()
        self._closed = False
        runtime.watch.read = partial(upkeep.levels, runtime)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        database: str | None = None,
        chroma: str | Path | Server | Literal[False] | None = None,
        embedder: Embedder | Default | None = "default",
        llm: LLM | None = None,
        clock: Clock = system_clock,
        redact: Redact | None = None,
        tokenizer: Callable[[str], int] | Callable[[str], Sequence[object]] | None = None,
        search: Search = "auto",
        read_only: bool = False,
        synchronous: Synchronous = "full",
        curve: ForgettingCurve | None = None,
        policy: ForgettingPolicy | None = None,
        retrieval: RetrievalSettings | None = None,
        reranker: Reranker | Default | None = None,
        memory_limit: int = opening.MEMORY_LIMIT,
        exact_limit: int = opening.EXACT_LIMIT,
        flush_on_close: bool = True,
    ) -> MemoryStore:
        """Open a store, making it if it is not there.

        ``path``: a folder, which then holds ``memorybank.db`` and ``chroma/``; or ``database``: a PostgreSQL
        address. ``chroma``: the index (default: inside the folder; a folder, a server's address; False: none).
        ``embedder``: default is the offline model of the extra ``local``, where it is installed; None searches
        by words only. ``llm``: writes summaries and portraits; without one they are extractive.
        ``clock``: the time, where no ``now`` is given. ``redact``: applied to every text before it is stored,
        embedded, or shown to the LLM. ``tokenizer``: counts tokens, or gives a list of them.
        ``search``: "exact" (every vector of the owner compared), "chroma", or "auto": exact up to
        ``exact_limit`` memories of an owner. ``synchronous``: "full" survives power loss, "normal" a crash of
        the process. ``curve``/``policy``: defaults of this store's banks. ``memory_limit``: bytes of banks kept
        in memory. ``reranker``: reads the best of what was found together with the question and orders them anew;
        "default" is the offline, English one of the extra ``rerank`` (seconds per question on a slow core, see
        ``CrossEncoder``). ``flush_on_close``: False leaves to a later process what the index lacks when this one
        closes (recall finds it all the same); for short programs, as opening Chroma takes a second.

        Raises StoreError and its kinds: SchemaError, EmbedderMismatchError, DamagedStoreError, ReadOnlyError;
        RerankError if the default reranker is asked for and not installed.
        """
        if curve is not None:
            check_kind(curve, ForgettingCurve, "curve")
        if policy is not None:
            check_kind(policy, ForgettingPolicy, "policy")
        settings = opening.Options(
            path=opening.folder_of(path),
            database=database,
            chroma=chroma,
            embedder=embedder,
            llm=llm,
            clock=clock,
            redact=redact,
            tokenizer=tokenizer,
            search=search,
            read_only=read_only,
            synchronous=synchronous,
            retrieval=RetrievalSettings() if retrieval is None else retrieval,
            reranker=reranker,
            memory_limit=memory_limit,
            exact_limit=exact_limit,
            flush_on_close=flush_on_close,
        )
        runtime = opening.open_runtime(settings)
        return cls(runtime, where=settings.where, curve=curve, policy=policy)

    def __repr__(self) -> str:
        return f"MemoryStore({self._where!r})"

    def stats(self) -> StoreStats:
        """What the store is at, and what it has done since it was opened: see ``StoreStats``."""
        return upkeep.stats(self._runtime)

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    @property
    def embedder(self) -> Embedder | None:
        """What embeds, or None where recall is by words only."""
        return self._runtime.embedder

    def bank(
        self,
        owner: str,
        timezone: str | None = None,
        language: str | None = None,
        curve: ForgettingCurve | None = None,
        policy: ForgettingPolicy | None = None,
    ) -> MemoryBank:
        """The memory of one owner. Nothing is stored until something is added.

        ``timezone`` (IANA) separates the days; ``language`` is "en", "zh" or None (found out from the texts).
        Both are kept with the bank: left out, what it has applies, else the machine's zone.
        Raises OwnerError for a missing or blank owner, InvalidInputError for the rest.
        """
        name = check_owner(owner)
        if curve is not None:
            check_kind(curve, ForgettingCurve, "curve")
        if policy is not None:
            check_kind(policy, ForgettingPolicy, "policy")
        if language is not None and language not in _LANGUAGES:
            raise InvalidInputError(f"language={language!r}; allowed are 'en', 'zh' and None (found out)")
        zone = None if timezone is None else zone_of(timezone)
        with self._runtime.database.read() as connection:
            held = banks.find(connection, name)
        if held is not None:
            changed = (zone is not None and zone.key != held.timezone) or (
                language is not None and language != held.language
            )
            if changed and not self._runtime.database.read_only:
                with self._runtime.database.write() as connection:
                    banks.configure(connection, held.key, None if zone is None else zone.key, language)
            zone = zone or zone_of(held.timezone)
            language = language or held.language
        policy = policy or self._policy
        return MemoryBank(
            self._runtime,
            name,
            zone=zone or zone_of(None),
            language=language,
            curve=resolve_curve(curve or self._curve, policy),
            policy=policy,
        )

    def owners(self) -> list[str]:
        """Every owner with a bank, sorted."""
        with self._runtime.database.read() as connection:
            return banks.owners(connection)

    @watched("erase", telling.erased)
    def erase(self, owner: str, *, compact: bool = True) -> Erased:
        """Remove an owner from every table, the index, the caches, and the bytes of the files.

        Returns how much was removed, per kind; all zero for an unknown owner. ``compact=False``: what an embedded
        index holds is dropped at once, its bytes go with the next ``flush``; for many owners one after another.
        Not the store's: exports, backups, and the files of database and Chroma servers (docs/security.md).
        """
        return upkeep.erase(self._runtime, check_owner(owner), compact=compact)

    @watched("flush", telling.flushed)
    def flush(self) -> int:
        """Write to the index what it lacks; returns rows written. Raises IndexUnavailableError."""
        return self._runtime.indexer.flush()

    def doctor(self, repair: bool = False) -> Report:
        """Check records and index, id by id; with ``repair`` put in order what can be: what the index lacks is
        written, what it should not have removed, and if need be all of it made anew from the vectors in the
        records, without embedding again."""
        return doctor.examine(self._runtime, repair=repair)

    @staticmethod
    def salvage(path: str | Path, into: str | Path | None) -> Salvaged:
        """Save what can be read of a damaged folder's records, an export per owner, in a folder; None only looks.

        Nothing of the store is changed, and it need not open. Raises DamagedStoreError if nothing can be read.
        """
        from memorybank.salvage import salvage

        folder = opening.folder_of(path) or Path()
        return salvage(folder / opening.RECORDS_NAME, None if into is None else check_path(into))

    def reindex(self, embedder: Embedder, *, progress: bool = False) -> int:
        """Embed every memory anew with another embedder, which the store then keeps to; returns how many.

        Afterwards this store and its banks use the new embedder; other processes search by words until they open
        the store anew. Raises EmbeddingError, leaving the store as it was; calling it again goes on from there.
        """
        return upkeep.reindex(self._runtime, embedder, progress=progress)

    def import_bank(self, path: str | Path, owner: str | None = None) -> MemoryBank:
        """Read an owner's export (``MemoryBank.export``) into this store; twice adds nothing.

        ``owner`` gives it another name. Raises ImportFormatError for other and damaged files, SchemaError for
        unknown versions; then nothing is stored.
        """
        name = None if owner is None else check_owner(owner)
        return self.bank(
            transfer.import_bank(self._runtime, check_path(path), name, now=self._runtime.clock())
        )

    def close(self) -> None:
        """Finish the background work (or report what is left), write the index and let go of all files.

        Twice is once.
        """
        if self._closed:
            return
        self._closed = True
        self._runtime.watch.read = None
        try:
            self._runtime.background.close()
            self._runtime.indexer.close()
        finally:
            self._runtime.residents.clear()
            self._runtime.database.close()

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
