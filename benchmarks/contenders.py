"""The same chat turn in different stores: add one exchange, recall 6, strengthen what was recalled."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.material import FreeEmbedder
from memorybank import MemoryStore

K = 6


class Contender(Protocol):
    """A store that has been filled. ``turn`` is what is timed."""

    name: str

    def turn(self, i: int, said: str, reply: str, asked: str) -> None: ...

    def close(self) -> None: ...


class Ours:
    """MemoryBank at its defaults: embedded in a folder, or the store that is given."""

    def __init__(
        self,
        folder: Path,
        embedder: FreeEmbedder,
        fill: dict[str, list[str]],
        name: str = "MemoryBank",
        store: MemoryStore | None = None,
    ) -> None:
        self.name = name
        self._store = store or MemoryStore.open(folder, embedder=embedder)
        self._owners = list(fill)
        for owner, texts in fill.items():
            bank = self._store.bank(owner, timezone="UTC")
            bank.add([_message(i, text) for i, text in enumerate(texts)], session="earlier")
        self._store.flush()
        self._banks = [self._store.bank(owner, timezone="UTC") for owner in self._owners]

    def turn(self, i: int, said: str, reply: str, asked: str) -> None:
        bank = self._banks[i % len(self._banks)]
        bank.add([{"role": "user", "content": said}, {"role": "assistant", "content": reply}], session="now")
        bank.recall(asked, K)

    def close(self) -> None:
        self._store.close()


class Floor:
    """Bare SQLite (WAL, synchronous=FULL) and a numpy scan: insert, scan, update. No lexical search, no order of
    messages, no forgetting. ``resident`` keeps the vectors in memory, else each turn reads them from the file."""

    def __init__(
        self, folder: Path, embedder: FreeEmbedder, fill: dict[str, list[str]], *, resident: bool
    ) -> None:
        self.name = f"floor ({'vectors in memory' if resident else 'vectors read from disk'})"
        folder.mkdir(parents=True, exist_ok=True)
        self._embedder = embedder
        self._resident = resident
        self._db = sqlite3.connect(folder / "floor.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute(
            "CREATE TABLE m (id INTEGER PRIMARY KEY, owner INT, text TEXT, vector BLOB, strength INT, recalled REAL)"
        )
        self._db.execute("CREATE INDEX by_owner ON m (owner)")
        self._owners = len(fill)
        self._held: dict[int, tuple[list[int], list[NDArray[np.float32]]]] = {}
        for owner, texts in enumerate(fill.values()):
            vectors = embedder.prepare(texts)
            self._db.execute("BEGIN")
            ids = [self._insert(owner, text, vector) for text, vector in zip(texts, vectors, strict=True)]
            self._db.execute("COMMIT")
            if resident:
                self._held[owner] = (ids, list(vectors))
        self._matrices = {owner: np.stack(rows) for owner, (_, rows) in self._held.items()}

    def _insert(self, owner: int, text: str, vector: NDArray[np.float32]) -> int:
        cursor = self._db.execute(
            "INSERT INTO m (owner, text, vector, strength) VALUES (?, ?, ?, 1)",
            (owner, text, vector.tobytes()),
        )
        return int(cursor.lastrowid or 0)

    def turn(self, i: int, said: str, reply: str, asked: str) -> None:
        owner = i % self._owners
        text = f"user: {said}\nassistant: {reply}"
        vector = self._embedder.prepare([text])[0]
        row = self._insert(owner, text, vector)
        query = self._embedder.embed_query(asked)
        if self._resident:
            ids = [*self._held[owner][0], row]
            self._held[owner] = (ids, self._held[owner][1])
            self._matrices[owner] = matrix = np.concatenate([self._matrices[owner], vector[None]])
        else:
            rows = self._db.execute("SELECT id, vector FROM m WHERE owner = ?", (owner,)).fetchall()
            ids = [r[0] for r in rows]
            matrix = np.frombuffer(b"".join(r[1] for r in rows), dtype=np.float32).reshape(len(rows), -1)
        similar = matrix @ query
        best = [ids[j] for j in np.argpartition(-similar, K)[:K].tolist()]
        marks = ",".join("?" * K)
        self._db.execute(f"SELECT id, text FROM m WHERE id IN ({marks})", best).fetchall()  # noqa: S608 - marks only
        self._db.execute(f"UPDATE m SET strength = strength + 1, recalled = 0 WHERE id IN ({marks})", best)  # noqa: S608

    def close(self) -> None:
        self._db.close()


class ChromaAlone:
    """Everything in Chroma: add, query, update of the six."""

    name = "Chroma alone"

    def __init__(self, folder: Path, embedder: FreeEmbedder, fill: dict[str, list[str]]) -> None:
        import chromadb
        from chromadb.config import Settings

        self._client: Any = chromadb.PersistentClient(
            str(folder), settings=Settings(anonymized_telemetry=False)
        )
        self._collection: Any = self._client.create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._embedder = embedder
        self._owners = list(fill)
        for owner, texts in fill.items():
            vectors = embedder.prepare(texts)
            for start in range(0, len(texts), 5_000):
                part = slice(start, start + 5_000)
                ids = [f"{owner}:{j}" for j in range(start, min(start + 5_000, len(texts)))]
                self._collection.add(
                    ids=ids,
                    embeddings=vectors[part],
                    documents=texts[part],
                    metadatas=[{"owner": owner, "strength": 1} for _ in ids],
                )

    def turn(self, i: int, said: str, reply: str, asked: str) -> None:
        owner = self._owners[i % len(self._owners)]
        text = f"user: {said}\nassistant: {reply}"
        self._collection.add(
            ids=[f"{owner}:new{i}"],
            embeddings=self._embedder.prepare([text]),
            documents=[text],
            metadatas=[{"owner": owner, "strength": 1}],
        )
        where = {"owner": owner} if len(self._owners) > 1 else None
        found = self._collection.query(
            query_embeddings=[self._embedder.embed_query(asked)],
            n_results=K,
            where=where,
            include=["documents", "metadatas"],
        )
        self._collection.update(
            ids=found["ids"][0],
            metadatas=[{"strength": m["strength"] + 1} for m in found["metadatas"][0]],
        )

    def close(self) -> None:
        self._client.close()


def _message(i: int, text: str) -> dict[str, object]:
    # Named speakers: each message is a memory of its own, so that n texts are n memories.
    return {"role": "user", "name": f"speaker {i % 2}", "content": text}
