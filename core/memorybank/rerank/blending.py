"""How a reranker's scores join those of recall. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from memorybank.models import Recalled

PART = "rerank"
"""Name of the reranker's share among the parts of a score."""

TOP = 30
"""Best rows that are reranked. Measured on LoCoMo, 58 questions: recall@10 .853, with 20 rows .879, with 30 .897."""

WEIGHT = 2.0
"""Of a score in 0..1, for texts that are one message each: what is read outweighs what was matched."""

SHARES: Mapping[str, float] = MappingProxyType({"dense": 0.5, "lexical": 0.5, "date": 2.0, "speaker": 2.0})
"""What the other parts count for beside the reranker, for texts that are one message each: it reads words better
than they are matched, and is not told who spoke or when. Measured on LoCoMo, 760 questions, chosen on four
conversations and asked of the fifth: MRR .711, recall@10 .836; with the parts as they were .692 and .835."""

EXCHANGE_WEIGHT = 0.4
"""The same where most of what was found are exchanges. Measured on MemoryBank's English questions (55): MRR .909,
without a reranker .892. With high weights less: recall orders exchanges well by itself, and the model was not
trained on any."""

HIGHER = 0.75
"""A text is read alone and with what was said before: this much counts the higher of the two scores, the lower the
rest. Measured, MRR of 154 questions: means .704, the higher alone .722, so .709, with a better recall@5."""


def both(alone: NDArray[np.float32], leaning: NDArray[np.float32]) -> NDArray[np.float32]:
    """One score for a text read alone and read with what was said before it."""
    high, low = np.maximum(alone, leaning), np.minimum(alone, leaning)
    return (HIGHER * high + (1 - HIGHER) * low).astype(np.float32)


def rerank(
    recalled: Sequence[Recalled],
    scores: NDArray[np.float32],
    weight: float = WEIGHT,
    shares: Mapping[str, float] = MappingProxyType({}),
) -> list[Recalled]:
    """``recalled`` (best first) in the order of score + ``weight`` * ``scores``, which are those of its first rows.

    The rows beyond get nothing: their part is 0. ``shares``: by what some of the other parts are multiplied, in
    every row. Of equals the one that came first stays first.
    """
    read = [weight * float(one) for one in scores] + [0.0] * (len(recalled) - len(scores))
    moved = [_moved(one, share, shares) for one, share in zip(recalled, read, strict=True)]
    return sorted(moved, key=lambda one: -one.score)


def _moved(one: Recalled, share: float, shares: Mapping[str, float]) -> Recalled:
    parts = {name: part * shares.get(name, 1.0) for name, part in one.parts.items()}
    change = sum(part * (shares[name] - 1) for name, part in one.parts.items() if name in shares)
    return replace(one, score=one.score + change + share, parts={**parts, PART: share})
