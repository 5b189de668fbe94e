"""An embedder and a reranker that read each text once per run, and say how long it took."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from memorybank.embedding import MISSING_LOCAL, Embedder, default_embedder
from memorybank.errors import EmbeddingError, RerankError
from memorybank.rerank import MISSING_RERANK, TOP, Reranker, default_reranker

_TEXTS = 200_000  # vectors kept; beyond, the oldest are embedded again


class MemoEmbedder:
    """The same vectors under the same name as ``inner``. ``query_seconds[text]`` is what embedding it cost."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name: str = inner.name
        self.dimension: int = inner.dimension
        self.max_characters: int | None = getattr(inner, "max_characters", None)
        self._texts: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._queries: dict[str, NDArray[np.float32]] = {}
        self.query_seconds: dict[str, float] = {}

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Vectors of texts to store, shape (len(texts), dimension)."""
        fresh = list(dict.fromkeys(text for text in texts if text not in self._texts))
        if fresh:
            found = np.asarray(self._inner.embed_documents(fresh), dtype=np.float32)
            self._texts.update(zip(fresh, found, strict=True))
        rows = np.stack([self._texts[text] for text in texts])
        while len(self._texts) > _TEXTS:
            self._texts.popitem(last=False)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, shape (dimension,)."""
        if text not in self._queries:
            start = time.perf_counter()
            vector = np.asarray(self._inner.embed_query(text), dtype=np.float32)
            self.query_seconds[text] = time.perf_counter() - start
            self._queries[text] = vector
        return self._queries[text]


class MemoReranker:
    """Scores each pair of question and text once per run. ``seconds[question]`` is what its scores have cost."""

    def __init__(self, inner: Reranker) -> None:
        self._inner = inner
        self.name: str = inner.name
        self.languages: Collection[str] | None = getattr(inner, "languages", None)
        self.top: int = getattr(inner, "top", TOP)
        self._scores: dict[str, dict[str, float]] = {}
        self.seconds: dict[str, float] = {}

    def score(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        """How well each text answers, shape (len(texts),), in 0..1."""
        known = self._scores.setdefault(query, {})
        fresh = list(dict.fromkeys(text for text in texts if text not in known))
        if fresh:
            start = time.perf_counter()
            found = np.asarray(self._inner.score(query, fresh), dtype=np.float32)
            self.seconds[query] = self.seconds.get(query, 0.0) + time.perf_counter() - start
            known.update(zip(fresh, found.tolist(), strict=True))
        return np.array([known[text] for text in texts], dtype=np.float32)


def memo_of(chosen: Embedder | str | None) -> MemoEmbedder | None:
    """The embedder of a run: ``"default"`` is the offline one. Raises EmbeddingError where it is not installed.

    A figure measured without vectors by accident would be worse than none.
    """
    if chosen is None:
        return None
    if not isinstance(chosen, str):
        return MemoEmbedder(chosen)
    found = default_embedder()
    if found is None:
        raise EmbeddingError(f"{MISSING_LOCAL} To measure words alone, say --embedder none.")
    return MemoEmbedder(found)


def memo_reranker() -> MemoReranker:
    """The offline reranker of a run. Raises RerankError where it is not installed."""
    found = default_reranker()
    if found is None:
        raise RerankError(MISSING_RERANK)
    return MemoReranker(found)
