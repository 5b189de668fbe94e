"""Which embedder a store uses at present."""

from __future__ import annotations

from dataclasses import dataclass

from memorybank.embedding.protocol import Embedder


@dataclass
class Embedding:
    """Which embedder made the store's vectors. The one part of a runtime that changes, with ``reindex``.

    ``embedder`` is None where recall is lexical only; ``expects`` says whether memories have vectors all the
    same. ``era`` counts the embedders the store has had: a bank of another era was written by a process that
    did not see the change, or has been re-embedded by one that this process does not know of.
    """

    embedder: Embedder | None
    expects: bool
    era: int
