"""Embedding around what an embedder refuses: one text in a hundred must not cost the others their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorybank.embedding.checked import embed_documents
from memorybank.embedding.protocol import Embedder
from memorybank.errors import EmbeddingError

# Halving 64 texts down to the one that is refused takes seven failing calls; after eight it is the embedder.
_PATIENCE = 8
_HARMLESS = "memory"  # a text that any working embedder takes


def embed_sparing(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[list[NDArray[np.float32] | None], EmbeddingError | None]:
    """A vector for each text (None for those that could not be embedded), and the last error.

    A batch that fails is halved until what is refused stands alone; an embedder that fails eight times in a row
    is left in peace, unless it takes a harmless text: then it is the texts, and the others are tried.
    """
    found: list[NDArray[np.float32] | None] = [None] * len(texts)
    error: EmbeddingError | None = None
    failed = 0
    todo = [(0, len(texts))] if texts else []
    while todo and failed < _PATIENCE:
        start, stop = todo.pop()
        try:
            found[start:stop] = list(embed_documents(embedder, texts[start:stop]))
            failed = 0
        except EmbeddingError as caught:
            error = caught
            failed += 1
            if stop - start > 1:
                middle = (start + stop) // 2
                todo += [(middle, stop), (start, middle)]
            if failed == _PATIENCE and todo and works(embedder):
                failed = 0
    return found, error


def works(embedder: Embedder) -> bool:
    """Whether the embedder takes a text that there is nothing to refuse in."""
    try:
        embed_documents(embedder, [_HARMLESS])
    except EmbeddingError:
        return False
    return True


def embed_willing(
    embedder: Embedder, texts: Sequence[str], *, progress: bool = False
) -> list[NDArray[np.float32] | None]:
    """A vector for each text, None for those that the embedder refuses although it works otherwise.

    Raises EmbeddingError when it takes no text at all: then it is the embedder, and not the texts.
    """
    found: list[NDArray[np.float32] | None]
    try:
        found = list(embed_documents(embedder, texts, progress=progress))
    except EmbeddingError:
        found, _ = embed_sparing(embedder, texts)
    for at, text in enumerate(texts):
        if found[at] is None:
            try:
                found[at] = embed_documents(embedder, [text])[0]
            except EmbeddingError:
                embed_documents(embedder, [_HARMLESS])
    return found
