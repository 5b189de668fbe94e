"""What an open store shares with its banks: one frozen value with everything in it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from memorybank.background import Background
from memorybank.clock import Clock
from memorybank.embedding.current import Embedding
from memorybank.embedding.protocol import Embedder
from memorybank.indexer import Indexer
from memorybank.intake import Redact
from memorybank.records.database import Database
from memorybank.rerank.stage import RerankStage
from memorybank.resident import Residents
from memorybank.retrieval.settings import RetrievalSettings
from memorybank.tokens import TokenCounter
from memorybank.watch import Watch

LLM = Callable[[str], str]
Search = Literal["auto", "chroma", "exact"]

logger: logging.Logger = logging.getLogger("memorybank.store")


@dataclass(frozen=True)
class Runtime:
    """The parts of an open store."""

    database: Database
    embedding: Embedding
    llm: LLM | None
    clock: Clock
    redact: Redact | None
    counter: TokenCounter
    residents: Residents
    indexer: Indexer
    background: Background
    retrieval: RetrievalSettings
    reranking: RerankStage | None
    search: Search
    exact_limit: int
    watch: Watch = field(default_factory=Watch)

    @property
    def degraded(self) -> bool:
        """Whether recall works with less than the store was set up with: no embedder, or an index that failed."""
        return (self.expects_vectors and self.embedder is None) or self.indexer.reason is not None

    @property
    def embedder(self) -> Embedder | None:
        """What embeds; None where recall is lexical only."""
        return self.embedding.embedder

    @property
    def expects_vectors(self) -> bool:
        """Whether the store's memories have vectors, even if nothing here can make them."""
        return self.embedding.expects

    @property
    def dimension(self) -> int | None:
        """Length of the vectors, None without an embedder."""
        return None if self.embedder is None else self.embedder.dimension


class Running:
    """What stands on an open store: the store itself and each of its banks."""

    _runtime: Runtime

    @property
    def runtime(self) -> Runtime:
        """The parts of the store, for the adapters and tools of this project."""
        return self._runtime

    @property
    def watch(self) -> Watch:
        """What counts and traces the store's calls."""
        return self._runtime.watch

    @property
    def degraded(self) -> bool:
        """Whether recall works with less than the store was set up with: no embedder, or an index that failed."""
        return self._runtime.degraded
