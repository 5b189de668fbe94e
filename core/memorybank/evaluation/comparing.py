"""Whether one run is better than another: the paired bootstrap over questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memorybank.errors import InvalidInputError
from memorybank.evaluation.metrics import MEASURES, Answered

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure in two runs; ``low`` and ``high`` bound the difference (second - first) with 95 % confidence.

    ``worse``: the share of resamples in which the second run was not better.
    """

    measure: str
    first: float
    second: float
    low: float
    high: float
    worse: float

    @property
    def difference(self) -> float:
        """Second - first."""
        return self.second - self.first


def compare(
    first: Sequence[Answered], second: Sequence[Answered], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Difference]:
    """Every measure over the questions that both runs have, paired by qid.

    Questions are resampled, not conversations: the interval tells how much chance there is in these questions,
    not how other conversations would do. Raises InvalidInputError when the runs have no question in common.
    """
    rows = {one.qid: one for one in first}
    pairs = [(rows[one.qid].measures(), one.measures()) for one in second if one.qid in rows]
    if not pairs:
        raise InvalidInputError("the two results have no question in common; compare runs on the same file")
    random = np.random.default_rng(seed)
    n = len(pairs)
    weights = random.multinomial(n, np.full(n, 1 / n), size=resamples) / n
    found = []
    for name in MEASURES:
        one, other = (np.array([pair[side][name] for pair in pairs]) for side in (0, 1))
        differences = weights @ (other - one)
        low, high = np.quantile(differences, (0.025, 0.975))
        found.append(
            Difference(
                name,
                float(one.mean()),
                float(other.mean()),
                float(low),
                float(high),
                float((differences <= 0).mean()),
            )
        )
    return found
