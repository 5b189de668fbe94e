"""One bank's memories as aligned arrays: what the ranking stages read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memorybank.retrieval.lexical import Census, LexicalIndex


@dataclass(frozen=True)
class Corpus:
    """Row r of every array speaks of the same memory. Rows only grow; a dead row stays, masked by ``alive``.

    Not resident in memory means ``vectors`` is None: similarities then come from the vector index.
    Codes: ``level`` indexes ``list(Level)``; ``session`` and ``speaker`` are small integers, -1 for none,
    ``speakers[code]`` is the name. ``previous`` and ``following`` are rows of the neighbouring turns of the
    same session, -1 for none. Times are seconds since the epoch (UTC); ``day`` is the local proleptic ordinal
    of ``began``. ``last_recalled`` is NaN when never recalled.
    Mentions are days that a memory's own words point at: row (ascending), first and last local ordinal
    (inclusive). Whether a memory ends in a question is kept by the lexical index (``lexical.asks``).
    Links are weighted pairs of rows (derived-from, co-recalled); next-turn links are ``following``.
    """

    vectors: NDArray[np.float32] | None
    lexical: LexicalIndex
    alive: NDArray[np.bool_]
    archived: NDArray[np.bool_]
    level: NDArray[np.int8]
    session: NDArray[np.int32]
    speaker: NDArray[np.int32]
    speakers: tuple[str, ...]
    began: NDArray[np.float64]
    ended: NDArray[np.float64]
    day: NDArray[np.int32]
    previous: NDArray[np.int32]
    following: NDArray[np.int32]
    strength: NDArray[np.int32]
    last_recalled: NDArray[np.float64]
    length: NDArray[np.int32]
    mention_row: NDArray[np.int32]
    mention_first: NDArray[np.int32]
    mention_last: NDArray[np.int32]
    link_from: NDArray[np.int32]
    link_to: NDArray[np.int32]
    link_weight: NDArray[np.float32]

    def __len__(self) -> int:
        return int(self.alive.shape[0])

    @cached_property
    def census(self) -> Census:
        """How many rows are alive, and how many terms they have."""
        return self.lexical.census(self.alive)

    @cached_property
    def chains(self) -> NDArray[np.intp]:
        """Both chains of neighbours laid end to end, to be walked in one step: (2 * (n + 1),).

        The first half leads to ``previous``, the second (row r stands at n + 1 + r) to ``following``; beyond a
        session's end lies the row n, which leads to itself.
        """
        n = len(self)
        chains = np.empty((2, n + 1), dtype=np.intp)
        chains[0, :n], chains[1, :n] = self.previous, self.following
        chains[chains < 0] = n
        chains[:, n] = n
        chains[1] += n + 1
        return chains.reshape(-1)
