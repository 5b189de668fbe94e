"""Working memory (after SoulMem): what a session has recalled lately stays active for some turns.

Each recall raises a memory's activation towards 1; each user turn that passes lets it decay. Activation boosts
the ranking of what the session is about; it is not strength, which belongs to the bank and lasts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memorybank.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The rule by which activation, in [0, 1], rises and decays.

    ``keep``: the share that is left after each turn. ``gain``: the share of the way to 1 that a recall adds.
    ``floor``: below it a memory counts as out of mind. With these defaults a memory recalled once is active for
    five turns (our choice; SoulMem publishes no constants).
    """

    keep: float = 0.6
    gain: float = 0.6
    floor: float = 0.05

    def __post_init__(self) -> None:
        for field, value in (("keep", self.keep), ("gain", self.gain), ("floor", self.floor)):
            if not 0.0 <= value <= 1.0:
                raise InvalidInputError(f"working memory: {field} must be from 0 to 1, got {value}")

    def raised(self, activation: float) -> float:
        """After one more recall."""
        return activation + (1.0 - activation) * self.gain

    def decayed(self, activation: float, turns: int) -> float:
        """After ``turns`` user turns without a recall (0 or fewer: unchanged)."""
        left = activation * self.keep ** max(turns, 0)
        return left if left >= self.floor else 0.0

    def step(self, active: Mapping[str, float], recalled: Iterable[str], turns: int = 1) -> dict[str, float]:
        """One turn of a session: everything decays, then what was recalled rises. Ids out of mind are left out."""
        left = {id_: self.decayed(value, turns) for id_, value in active.items()}
        for id_ in dict.fromkeys(recalled):
            left[id_] = self.raised(left.get(id_, 0.0))
        return {id_: value for id_, value in left.items() if value > 0.0}
