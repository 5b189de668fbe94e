"""The forgetting curve: how much of a memory is retained.

    R = exp(-t / (unit · S))        t since the last recall, S = 1 + credited recalls

(MemoryBank, Zhong et al. 2023, section 2.3, after Ebbinghaus; there the unit is a day.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memorybank.errors import InvalidInputError

Form = Literal["exponential", "half_life", "power", "siliconfriend_2023"]

_LEAST = float(np.finfo(np.float64).tiny)  # keeps R above 0: exp underflows after 708 units


@dataclass(frozen=True, slots=True)
class ForgettingCurve:
    """Retention R in (0, 1] as a function of strength S and elapsed time t; x = t / unit.

    ``exponential``: exp(-x / S). ``half_life`` (SoulMem): exp(-ln 2 · x / (1 + 0.1 · min(S - 1, 50))): what
    was often recalled fades at most six times slower. ``power``: 1 / (1 + x / S), a heavier tail (forgetting
    over long spans follows a power law: Wixted & Ebbesen 1991). R is 1 at t = 0, never rises with t, never
    falls with S. ``siliconfriend_2023``: exp(-x / 5 · S), what MemoryBank's released code computes (t there
    in whole days). It makes strong memories fade *faster*, against the paper; it is kept only to reproduce
    that code.
    """

    unit: timedelta = timedelta(days=1)
    form: Form = "exponential"

    def __post_init__(self) -> None:
        problems = []
        if not isinstance(self.unit, timedelta) or self.unit <= timedelta(0):
            problems.append(f"unit is {self.unit!r}; give a positive timedelta")
        if self.form not in get_args(Form):
            problems.append(f"form is {self.form!r}; choose one of {', '.join(get_args(Form))}")
        refuse(problems)

    def retention(self, strength: float, elapsed: timedelta) -> float:
        """R for one memory. Negative ``elapsed`` (clocks that disagree) counts as zero."""
        if not isinstance(elapsed, timedelta):
            raise InvalidInputError(f"elapsed is {type(elapsed).__name__}; give a timedelta")
        return float(self.retentions(strength, elapsed.total_seconds()))

    def retentions(self, strengths: ArrayLike, elapsed_seconds: ArrayLike) -> NDArray[np.float64]:
        """R for many: the broadcast shape of both arguments. InvalidInputError for S < 1 and for NaN."""
        try:
            s = np.asarray(strengths, dtype=np.float64)
            t = np.asarray(elapsed_seconds, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError("strength and elapsed time must be numbers") from error
        problems = []
        if not (s >= 1).all():
            problems.append(f"strength is {s[~(s >= 1)].flat[0]:g}; it counts from 1")
        if np.isnan(t).any():
            problems.append("elapsed time is not a number")
        refuse(problems)
        x = np.maximum(t, 0.0) / self.unit.total_seconds()
        kept: NDArray[np.float64]
        if self.form == "siliconfriend_2023":
            kept = np.exp(-x / 5 * s)
            return kept
        kept = 1 / (1 + x / s) if self.form == "power" else np.exp(-x / self._span(s))
        return np.maximum(kept, _LEAST)

    def time_until(self, strength: float, level: float) -> timedelta:
        """How long after its last recall a memory's R has fallen to ``level`` (0 < level <= 1)."""
        problems = []
        if not strength >= 1:
            problems.append(f"strength is {strength}; it counts from 1")
        if not 0 < level <= 1:
            problems.append(f"level is {level}; give a retention above 0, at most 1")
        refuse(problems)
        match self.form:
            case "power":
                units = strength * (1 / level - 1)
            case "siliconfriend_2023":
                units = -math.log(level) * 5 / strength
            case _:
                units = -math.log(level) * float(self._span(np.float64(strength)))
        try:
            return self.unit * units
        except OverflowError:  # beyond what a timedelta holds: 2.7 million years
            return timedelta.max

    def _span(self, s: NDArray[np.float64] | np.float64) -> NDArray[np.float64] | np.float64:
        """Units until R = 1/e."""
        if self.form == "half_life":
            return (1 + 0.1 * np.minimum(s - 1, 50)) / math.log(2)
        return s


def refuse(problems: list[str]) -> None:
    """InvalidInputError that names all the problems at once; nothing when there are none."""
    if problems:
        raise InvalidInputError("; ".join(problems))
