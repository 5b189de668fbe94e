"""How a reranker's scores join those of recall. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memorybank.models import Recalled

PART = "rerank"
"""Name of the reranker's share among the parts of a score."""

WEIGHT = 0.3
TOP = 20


def rerank(
    recalled: Sequence[Recalled], scores: NDArray[np.float32], weight: float = WEIGHT
) -> list[Recalled]:
    """``recalled`` (best first) in the order of score + ``weight`` * ``scores``, which are those of its first rows.

    The rows beyond get nothing: their part is 0. Of equals the one that came first stays first.
    """
    shares = [weight * float(one) for one in scores] + [0.0] * (len(recalled) - len(scores))
    moved = [
        replace(one, score=one.score + share, parts={**one.parts, PART: share})
        for one, share in zip(recalled, shares, strict=True)
    ]
    return sorted(moved, key=lambda one: -one.score)
