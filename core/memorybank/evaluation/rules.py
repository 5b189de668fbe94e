"""The rules of forgetting that are compared: curves by form and unit, as a prior in ranking or by archiving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from memorybank.forgetting import ForgettingCurve, ForgettingPolicy, Form

Effect = Literal["none", "soft", "hard"]

UNITS = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
    "quarter": timedelta(days=90),
    "year": timedelta(days=365),
}
FORMS: tuple[Form, ...] = ("exponential", "half_life", "power", "siliconfriend_2023")

SOFT_WEIGHT = 0.1
"""Weight of R in the soft rules of the grid."""
HARD_THRESHOLD = 0.1
"""R below which the hard rules of the grid archive."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A policy (with its curve) under a name. ``effect``: R in ranking, in archiving, or nowhere."""

    name: str
    effect: Effect
    policy: ForgettingPolicy
    unit: str = ""

    @property
    def archives(self) -> bool:
        """Whether memories are taken out of recall."""
        return self.policy.archive_below > 0


OFF = Rule("off", "none", ForgettingPolicy())


def presets(seed: int) -> list[Rule]:
    """Nothing forgotten, and the presets of ``ForgettingPolicy``; two of them draw lots by ``seed``."""
    return [
        OFF,
        Rule("assistant", "soft", ForgettingPolicy.assistant()),
        Rule("companion", "hard", ForgettingPolicy.companion()),
        Rule("paper", "hard", ForgettingPolicy.paper(seed)),
        Rule("siliconfriend_2023", "hard", ForgettingPolicy.siliconfriend_2023(seed)),
    ]


STRONG = Rule("prior of .5", "soft", ForgettingPolicy(rank_weight=0.5, curve=ForgettingCurve(UNITS["month"])))
"""In the simulated year besides the presets: what a prior can gain where questions come up again."""


def grid(forms: Sequence[Form] = FORMS, units: Sequence[str] = tuple(UNITS)) -> list[Rule]:
    """Every form with every unit, once soft and once hard."""
    found = []
    for form in forms:
        for unit in units:
            curve = ForgettingCurve(UNITS[unit], form)
            soft = ForgettingPolicy(rank_weight=SOFT_WEIGHT, curve=curve)
            hard = ForgettingPolicy(archive_below=HARD_THRESHOLD, curve=curve)
            found += [Rule(form, "soft", soft, unit), Rule(form, "hard", hard, unit)]
    return found
