"""The bounds that the presets of forgetting were chosen by, and whether they hold in a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memorybank.evaluation.fading import Faded


@dataclass(frozen=True, slots=True)
class Check:
    """A bound that a preset must keep: what it is, the figure, the bound, whether it holds."""

    name: str
    value: float
    bound: float
    holds: bool


ASSISTANT_COST = 0.005
COMPANION_COST = 0.03
COMPANION_ARCHIVED = 1 / 3


def checks(ends: Sequence[Faded], years: Sequence[Faded]) -> list[Check]:
    """The bounds of the two presets meant for use, each against ``off`` under the same conditions.

    ``assistant`` never costs more than half a point of recall@10; ``companion`` archives at least a third of what
    was never used in a year, at no more than 3 points of recall@10 on what is asked again.
    """
    found = []
    for conditions, rows, name in (("end", ends, "assistant"), ("year", years, "assistant")):
        for row in (one for one in rows if one.rule.name == name):
            found.append(
                _cost(f"{name} costs recall@10 ({conditions}, {_how(row)})", row, rows, ASSISTANT_COST)
            )
    for row in (one for one in years if one.rule.name == "companion" and one.reinforced != "none"):
        archived = row.unused_archived or 0.0
        found.append(
            Check(
                f"companion archives of the never used (year, {_how(row)})",
                archived,
                COMPANION_ARCHIVED,
                archived >= COMPANION_ARCHIVED,
            )
        )
        found.append(
            _cost(
                f"companion costs recall@10 when asked again (year, {_how(row)})", row, years, COMPANION_COST
            )
        )
    return found


def _cost(name: str, row: Faded, rows: Sequence[Faded], bound: float) -> Check:
    off = next(one for one in rows if one.rule.name == "off" and one.reinforced == row.reinforced)
    of = "again" if row.rule.name == "companion" else "measures"
    cost = (getattr(off, of) or {})["recall@10"] - (getattr(row, of) or {})["recall@10"]
    return Check(name, cost, bound, cost <= bound + 1e-9)


def _how(row: Faded) -> str:
    if isinstance(row.reinforced, bool):
        return "reinforced" if row.reinforced else "unreinforced"
    return f"crediting {row.reinforced}"
