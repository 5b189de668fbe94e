"""The forgetting policy: what retention is used for, in ranking and in archiving."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from memorybank.forgetting.curve import ForgettingCurve, refuse
from memorybank.models import Level

NEVER_FADES = frozenset({Level.PORTRAIT, Level.DAY_PORTRAIT, Level.EVENTS, Level.DIGEST})
"""Levels that say what holds now: they are rewritten, not forgotten. Turns and day events fade."""


@dataclass(frozen=True, slots=True)
class ForgettingPolicy:
    """What retention is used for. Forgetting here is archiving: out of recall, restorable; only a purge
    destroys.

    ``rank_weight``: weight of R, as a prior on normalised scores, in ranking (0 to 1; 0 ranks without it).
    ``archive_below``: archive what has R below this (0 archives nothing).
    ``draw``: a seed makes it a matter of chance as well: archive only if R is also below a number u drawn
    uniformly from (seed, id, strength). u never changes between two recalls, so that with ``archive_below=1``
    the chance to survive until t is R(t), however often ``forget`` runs. (A new draw at each run would make
    it R^n.) ``purge_archived_after``: destroy what has been archived that long (None: never).
    ``protect``: levels that are neither archived nor purged, besides those of ``NEVER_FADES``.
    ``curve``: the curve that these numbers were chosen for; one given to the bank goes before it.
    """

    rank_weight: float = 0.0
    archive_below: float = 0.0
    draw: int | None = None
    purge_archived_after: timedelta | None = None
    protect: frozenset[Level] = frozenset({Level.NOTE})
    curve: ForgettingCurve | None = None

    def __post_init__(self) -> None:
        problems = [
            f"{name} is {value!r}; give a number from 0 to 1"
            for name, value in (("rank_weight", self.rank_weight), ("archive_below", self.archive_below))
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1
        ]
        if self.draw is not None and (isinstance(self.draw, bool) or not isinstance(self.draw, int)):
            problems.append(f"draw is {self.draw!r}; give a seed (an integer) or None")
        after = self.purge_archived_after
        if after is not None and (not isinstance(after, timedelta) or after < timedelta(0)):
            problems.append(f"purge_archived_after is {after!r}; give a timedelta from 0, or None")
        try:
            object.__setattr__(self, "protect", frozenset(Level(level) for level in self.protect))
        except (TypeError, ValueError):
            problems.append(f"protect is {self.protect!r}; give levels out of {', '.join(Level)}")
        if self.curve is not None and not isinstance(self.curve, ForgettingCurve):
            problems.append(f"curve is {type(self.curve).__name__}; give a ForgettingCurve or None")
        refuse(problems)

    @classmethod
    def assistant(cls) -> Self:
        """Ranks by retention, gently, and archives nothing. The default.

        The bound: never more than half a point of recall@10 (``memorybank eval forgetting``, LoCoMo, where old
        and new are asked alike). Measured, asked at the end, without and with a past that credited what the talk
        called to mind: weight .05 and 30 days cost .4 and .7 points, .03 and 90 days .2 and .4, .02 and 90 days
        .15 and .11. So little because it hardly gains there either: it decides between equals.
        """
        return cls(rank_weight=0.02, curve=ForgettingCurve(unit=timedelta(days=90)))

    @classmethod
    def companion(cls) -> Self:
        """Human-like: what is not used for eight months fades out of recall; each use keeps it longer.

        A memory never recalled is archived after 242 days, once recalled after 484. The bounds: over a simulated
        year at least a third of what was never used is archived, at no more than 3 points of recall@10 on what is
        asked again (``memorybank eval forgetting``, LoCoMo). Measured over three seeds: .39 to .41 archived at 0
        points (-.5 to .5) with all that was recalled credited, .45 at 2.7 (1.8 to 3.9) with only what the answer
        drew on. 120 days archive less than a third. Asked once, at the end of conversations that last months, a
        month as unit loses half of recall@10, a day all of it.
        """
        return cls(rank_weight=0.03, archive_below=0.1, curve=ForgettingCurve(unit=timedelta(days=105)))

    @classmethod
    def paper(cls, seed: int = 0) -> Self:
        """MemoryBank as published: R = exp(-t / S) in days, survival by chance. Forgets 95 % within weeks."""
        curve = ForgettingCurve(unit=timedelta(days=1))
        return cls(archive_below=1.0, draw=seed, protect=frozenset(), curve=curve)

    @classmethod
    def siliconfriend_2023(cls, seed: int = 0) -> Self:
        """MemoryBank as its code was released: strong memories fade faster. Only to reproduce it."""
        curve = ForgettingCurve(unit=timedelta(days=1), form="siliconfriend_2023")
        return cls(archive_below=1.0, draw=seed, protect=frozenset(), curve=curve)

    def protects(self, level: Level, pinned: bool = False) -> bool:
        """Whether memories of this level (or pinned ones) are neither archived nor purged."""
        return pinned or level in NEVER_FADES or level in self.protect


DEFAULT_CURVE = ForgettingCurve(unit=timedelta(days=30))
"""For a policy without a curve: days, as published, would forget nearly everything within weeks."""


def resolve_curve(curve: ForgettingCurve | None, policy: ForgettingPolicy) -> ForgettingCurve:
    """The curve given explicitly, else the policy's own, else ``DEFAULT_CURVE``."""
    return curve or policy.curve or DEFAULT_CURVE
