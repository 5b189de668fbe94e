"""The only door to a reranker: what comes out is one finite number in 0..1 for each text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import RerankError
from memorybank.rerank.protocol import Reranker


def score(reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Scores of the texts, shape (len(texts),), float32 in 0..1, in order. No texts: the reranker is not asked.

    RerankError when the reranker raises, or returns anything else.
    """
    if not texts:
        return np.zeros(0, dtype=np.float32)
    try:
        raw = np.asarray(reranker.score(query, list(texts)), dtype=np.float64)
    except Exception as error:  # foreign code: a reranker may raise anything
        if isinstance(error, RerankError):
            raise
        # The type only: messages of reranking services may quote the texts.
        raise RerankError(
            f"reranker {reranker.name!r} raised {type(error).__name__}; see the chained error"
        ) from error
    if raw.shape != (len(texts),):
        raise RerankError(
            f"reranker {reranker.name!r} returned shape {raw.shape}, expected ({len(texts)},): a number per text"
        )
    if not ((raw >= 0) & (raw <= 1)).all():  # NaN compares as false
        raise RerankError(
            f"reranker {reranker.name!r} returned NaN or numbers beyond 0..1; map logits with 1 / (1 + exp(-x))"
        )
    return raw.astype(np.float32)
