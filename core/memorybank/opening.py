"""Opening a store: folder, records, embedder, index."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from sqlalchemy import Connection

from memorybank.availability import OpenIndex
from memorybank.background import Background
from memorybank.clock import Clock
from memorybank.embedding import MISSING_LOCAL, as_embedder, default_embedder
from memorybank.embedding.current import Embedding
from memorybank.embedding.protocol import Embedder
from memorybank.errors import EmbedderMismatchError, InvalidInputError, RerankError, StoreError
from memorybank.index.protocol import VectorIndex
from memorybank.indexer import Indexer
from memorybank.intake import Redact, check_count, check_kind
from memorybank.records import outbox
from memorybank.records.database import Database, Synchronous, open_sqlite, open_url
from memorybank.records.migrations import prepare, read_meta, write_meta
from memorybank.rerank import MISSING_RERANK, Reranker, as_reranker, default_reranker
from memorybank.rerank.stage import RerankStage
from memorybank.resident import Residents
from memorybank.retrieval.settings import RetrievalSettings
from memorybank.runtime import LLM, Runtime, Search
from memorybank.tokens import TokenCounter, default_counter

if TYPE_CHECKING:
    from memorybank.index.client import Server

logger: logging.Logger = logging.getLogger("memorybank.store")

RECORDS_NAME = "memorybank.db"
CHROMA_NAME = "chroma"
SERVER_RETRY = 10.0  # seconds until an index that failed is tried again, on the indexer's own thread
FOLDER_RETRY = 60.0
MEMORY_LIMIT = 512 * 1024 * 1024
EXACT_LIMIT = 50_000  # memories of one bank, above which HNSW pays (measured: FACTS 1)

_URL = ("http://", "https://")
_STORE = "store"  # the name in ``meta`` under which a store keeps its own


@dataclass(frozen=True)
class Options:
    """What ``MemoryStore.open`` was asked for."""

    path: Path | None
    database: str | None
    chroma: str | Path | Server | Literal[False] | None
    embedder: Embedder | Literal["default"] | None
    llm: LLM | None
    clock: Clock
    redact: Redact | None
    tokenizer: Callable[[str], int] | Callable[[str], Sequence[object]] | None
    search: Search
    read_only: bool
    synchronous: Synchronous
    retrieval: RetrievalSettings
    reranker: Reranker | Literal["default"] | None
    memory_limit: int
    exact_limit: int
    flush_on_close: bool

    @property
    def where(self) -> str:
        """The store's place, without secrets."""
        return str(self.path) if self.path is not None else "the database"


def folder_of(path: object) -> Path | None:
    """The folder asked for, if any. Raises InvalidInputError for what names none: a blank path is a mistake."""
    if path is None:
        return None
    if not isinstance(path, str | Path):
        raise InvalidInputError(f"path must be a string or a Path, not {type(path).__name__}")
    if not str(path).strip() or "\0" in str(path):
        raise InvalidInputError(f"path={str(path)!r} names no folder; for the present one give '.'")
    return Path(path)


def open_runtime(options: Options) -> Runtime:
    """The parts of a store. Raises StoreError and its kinds, InvalidInputError."""
    _check(options)
    counter = _counter(options.tokenizer)
    embedder = _embedder(options.embedder)
    reranking = _reranking(options.reranker)
    database = _open_records(options)
    try:
        prepare(database)
        embedding = _agree(database, embedder, given=options.embedder != "default")
        if embedding.expects and embedder is None and options.embedder is not None:
            logger.warning("%s was embedded with another model; recall is by words only", database.where)
        indexer = Indexer(
            database,
            embedding,
            _index_opener(options, database),
            large=options.exact_limit,
            flush_on_close=options.flush_on_close,
            several=_on_server(options.chroma),
            retry_after=SERVER_RETRY if _on_server(options.chroma) else FOLDER_RETRY,
        )
    except BaseException:  # cleaned up, and raised again
        database.close()
        raise
    return Runtime(
        database=database,
        embedding=embedding,
        llm=options.llm,
        clock=options.clock,
        redact=options.redact,
        counter=counter,
        residents=Residents(options.memory_limit),
        indexer=indexer,
        background=Background(),
        retrieval=options.retrieval,
        reranking=reranking,
        search=options.search,
        exact_limit=options.exact_limit,
    )


def _check(options: Options) -> None:
    if (options.path is None) == (options.database is None):
        raise InvalidInputError("give either a folder (path) or database=, not both and not neither")
    if options.search not in get_args(Search):
        raise InvalidInputError(f"search={options.search!r}; allowed are {', '.join(get_args(Search))}")
    if options.synchronous not in get_args(Synchronous):
        raise InvalidInputError(
            f"synchronous={options.synchronous!r}; allowed are {', '.join(get_args(Synchronous))}"
        )
    for value, name in ((options.llm, "llm"), (options.redact, "redact")):
        if value is not None and not callable(value):
            raise InvalidInputError(f"{name} must be callable, not {type(value).__name__}")
    if not callable(options.clock):
        raise InvalidInputError(f"clock must be callable, not {type(options.clock).__name__}")
    check_count(options.exact_limit, "exact_limit")
    check_count(options.memory_limit, "memory_limit")
    check_kind(options.retrieval, RetrievalSettings, "retrieval")
    if isinstance(options.chroma, int | float) and options.chroma is not False:
        raise InvalidInputError(
            f"chroma={options.chroma!r}; give a folder, a server's address, False or None"
        )


def _open_records(options: Options) -> Database:
    if options.database is not None:
        return open_url(options.database, read_only=options.read_only)
    folder = options.path or Path()
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; give the folder of a store, or one to make")
    if not options.read_only:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {folder} cannot be made: {error.strerror}") from error
        if not folder_is_private(folder):
            logger.warning(
                "other users may enter %s (mode %o); its files are for you alone, but set the folder to 700",
                folder,
                folder.stat().st_mode & 0o777,
            )
    return open_sqlite(folder / RECORDS_NAME, read_only=options.read_only, synchronous=options.synchronous)


def _embedder(given: Embedder | Literal["default"] | None) -> Embedder | None:
    if given is None:
        return None
    if not isinstance(given, str):
        return as_embedder(given)
    if given != "default":
        raise InvalidInputError(f"embedder={given!r}; give an embedder, 'default' or None")
    found = default_embedder()
    if found is None:
        logger.warning("%s", MISSING_LOCAL)
    return found


def _reranking(given: Reranker | Literal["default"] | None) -> RerankStage | None:
    if given is None:
        return None
    if not isinstance(given, str):
        return RerankStage(as_reranker(given))
    if given != "default":
        raise InvalidInputError(f"reranker={given!r}; give a reranker, 'default' or None")
    found = default_reranker()
    if found is None:
        raise RerankError(MISSING_RERANK)  # nobody gets it unasked, so that it is missing is no small matter
    return RerankStage(found)


def _agree(database: Database, embedder: Embedder | None, *, given: bool) -> Embedding:
    """What the store's memories were embedded with; refuses an embedder other than theirs."""
    with database.read() as connection:
        held = _held(connection)
    if held is None and embedder is not None and not database.read_only:
        with database.write() as connection:
            # Of two processes that open a new store with different embedders the second finds the first's.
            database.take_turn(connection, "embedder")
            held = _held(connection)
            if held is None:
                write_meta(connection, "embedder_name", embedder.name)
                write_meta(connection, "embedder_dimension", str(embedder.dimension))
                outbox.mark_unembedded(connection)
    if embedder is None:
        return Embedding(None, held is not None, 0 if held is None else held[2])
    if held is None:
        return Embedding(embedder, True, 0)
    name, dimension, era = held
    if (embedder.name, embedder.dimension) != (name, dimension):
        which = "given" if given else "the default"
        raise EmbedderMismatchError(
            f"{database.where} was embedded with {name!r} ({dimension} dimensions); {which} is "
            f"{embedder.name!r} ({embedder.dimension}). Open it with embedder=that one, or embed it anew: "
            "MemoryStore.open(…, embedder=None).reindex(embedder), on the command line 'memorybank reindex'"
        )
    return Embedding(embedder, True, era)


def _held(connection: Connection) -> tuple[str, int, int] | None:
    """Name, dimension and era of the embedder that a store keeps to; None while it has none."""
    name = read_meta(connection, "embedder_name")
    if name is None:
        return None
    dimension = int(read_meta(connection, "embedder_dimension") or 0)
    return name, dimension, int(read_meta(connection, "embedder_era") or 0)


def _index_opener(options: Options, database: Database) -> OpenIndex | None:
    where = options.chroma
    if where is False or options.read_only:
        return None
    if where is None:
        if options.path is None:
            return None
        where = options.path / CHROMA_NAME
    if isinstance(where, str) and not where.startswith(_URL):
        where = Path(where)
    return partial(_open_index, database, where)


def _on_server(where: object) -> bool:
    """Whether the index is on a server, where other processes may use it too."""
    if isinstance(where, str):
        return where.startswith(_URL)
    return where is not None and where is not False and not isinstance(where, Path)


def _open_index(database: Database, where: str | Path | Server, *, reset: bool = False) -> VectorIndex:
    from memorybank.index.chroma import ChromaIndex

    index = ChromaIndex.open(where, namespace=_namespace(database, where), reset=reset)
    if index.empty:
        # It was deleted or lost, or is made anew: whatever was written to it before has to be written again.
        outbox.mark_all(database)
    return index


def _namespace(database: Database, where: str | Path | Server) -> str | None:
    """What the collections' names begin with: on a server something of this store alone, kept in its records."""
    if isinstance(where, Path) or getattr(where, "namespace", None) is not None:
        return None
    with database.write() as connection:
        database.take_turn(connection, _STORE)
        name = read_meta(connection, _STORE)
        if name is None:
            name = uuid.uuid4().hex[:12]
            write_meta(connection, _STORE, name)
    return f"memorybank-{name}"


def _counter(tokenizer: object) -> TokenCounter:
    if tokenizer is None:
        return default_counter()
    if not callable(tokenizer):
        raise InvalidInputError(f"tokenizer must be callable, not {type(tokenizer).__name__}")
    call = tokenizer

    def count(text: str) -> int:
        found = call(text)
        return found if isinstance(found, int) else len(found)

    return count


def folder_is_private(folder: Path) -> bool:
    """Whether nobody but its owner may enter the folder (always true where the system has no such modes)."""
    return os.name != "posix" or (folder.stat().st_mode & 0o077) == 0
