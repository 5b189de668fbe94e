"""Other memories for the same chat turn: store one exchange, find six, by each one's own interface.

None of them strengthens what it found, so each does less than MemoryBank. Those that are not installed are left out.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.contenders import ChromaAlone, Contender, Floor, K, Ours
from benchmarks.material import DIMENSION, FreeEmbedder

Fill = dict[str, list[str]]


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
        for owner, texts in fill.items():
            for text in texts:
                self._memory.add([{"role": "user", "content": text}], user_id=owner, infer=False)

    def turn(self, i: int, said: str, reply: str, asked: str) -> None:
        owner = self._owners[i % len(self._owners)]
        exchange = [{"role": "user", "content": said}, {"role": "assistant", "content": reply}]
        self._memory.add(exchange, user_id=owner, infer=False)
        self._memory.search(asked, filters={"user_id": owner}, top_k=K)

    def close(self) -> None:
        return None


class LangGraphSqlite:
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
        self._connection = connection
        self._store = SqliteStore(
            connection, index={"dims": DIMENSION, "embed": _langchain(embedder), "fields": ["text"]}
        )
        self._store.setup()
        self._owners = list(fill)
        for owner, texts in fill.items():
            for j, text in enumerate(texts):
                self._store.put((owner, "memories"), str(j), {"text": text})

    def turn(self, i: int, said: str, reply: str, asked: str) -> None:
        owner = self._owners[i % len(self._owners)]
        self._store.put((owner, "memories"), f"new{i}", {"text": f"user: {said}\nassistant: {reply}"})
        self._store.search((owner, "memories"), query=asked, limit=K)

    def close(self) -> None:
        self._connection.close()


class LlamaIndexBlock:
    """LlamaIndex's VectorMemoryBlock over Chroma."""

    name = "LlamaIndex VectorMemoryBlock"

    def __init__(self, folder: Path, embedder: FreeEmbedder, fill: Fill) -> None:
        import chromadb
        from chromadb.config import Settings
        from llama_index.core.base.embeddings.base import BaseEmbedding
        from llama_index.core.llms import ChatMessage
        from llama_index.core.memory import VectorMemoryBlock
        from llama_index.vector_stores.chroma import ChromaVectorStore

        class Free(BaseEmbedding):  # type: ignore[misc]  # its base is untyped where LlamaIndex is not installed
            def _get_text_embedding(self, text: str) -> list[float]:
                found: list[float] = embedder.embed_query(text).tolist()
                return found

            _get_query_embedding = _get_text_embedding

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return self._get_text_embedding(query)

        self._message = ChatMessage
        self._client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
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
        for owner, texts in fill.items():
            for text in texts:
                self._runner.run(self._put(owner, [ChatMessage(role="user", content=text)]))

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


def contenders(
    embedder: FreeEmbedder, fill: Fill, missing: Callable[[str], None]
) -> Iterator[tuple[Contender, tempfile.TemporaryDirectory[str]]]:
    """Every memory that is installed, filled; each with its folder. ``missing`` hears of the others."""
    makers: list[Any] = [
        Ours,
        lambda folder, embedder, fill: Floor(folder, embedder, fill, resident=True),
        ChromaAlone,
        LlamaIndexBlock,
        Mem0,
        LangGraphSqlite,
    ]
    for make in makers:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        try:
            yield make(Path(folder.name) / "store", embedder, fill), folder
        except ImportError as error:
            missing(f"left out: {getattr(make, 'name', make)}: {error}")
            folder.cleanup()
