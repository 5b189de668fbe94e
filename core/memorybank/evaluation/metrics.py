"""Measures of retrieval, from the ranks at which a question's evidence was found. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

RECALL_AT = (1, 3, 5, 6, 10, 20)
ALL_AT = (5, 10, 20)
NDCG_AT = 10
DEPTH = 100
"""Ranks are known down to here; evidence below counts as not found (to the reciprocal rank it would add < .01)."""

MEASURES = (*(f"recall@{k}" for k in RECALL_AT), *(f"all@{k}" for k in ALL_AT), "mrr", f"ndcg@{NDCG_AT}")
"""Names of the measures, in the order in which they are shown."""

Turn = frozenset[str]
"""A turn that is evidence: ids of the messages that it consists of; any of them stands for it."""
Ranks = tuple[int | None, ...]
"""For each turn of the evidence the rank of the first memory that holds it, from 1; None: not found."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One question and where its evidence was found: ``alternatives`` holds the ranks for each way to answer it."""

    qid: str
    category: str
    alternatives: tuple[Ranks, ...]

    def measures(self) -> dict[str, float]:
        """Every measure, from 0 to 1; where evidence has alternatives, that of the best one."""
        each = [measures(ranks) for ranks in self.alternatives]
        return {name: max(one[name] for one in each) for name in MEASURES}


def ranks_of(evidence: Sequence[Turn], recalled: Sequence[Collection[str]]) -> Ranks:
    """Where each turn of the evidence stands among what was recalled.

    ``recalled``: for each rank the ids of the messages whose words the memory hands over. A memory with several
    turns in it (an exchange) counts for each of them; one that hands over no message's words (a summary) takes
    up its rank and counts for none.
    """
    first: dict[str, int] = {}
    for rank, ids in enumerate(recalled, 1):
        for id_ in ids:
            first.setdefault(id_, rank)
    found = ([first[id_] for id_ in turn if id_ in first] for turn in evidence)
    return tuple(min(ranks) if ranks else None for ranks in found)


def measures(ranks: Ranks) -> dict[str, float]:
    """Recall@k is the share of the evidence among the first k, all@k whether all of it is, MRR 1 / first rank.

    nDCG has binary gains; two turns at one rank cannot bring it above 1.
    """
    if not ranks:
        raise ValueError("a question without evidence has no measures")
    known = sorted(rank for rank in ranks if rank is not None)
    found = {f"recall@{k}": sum(rank <= k for rank in known) / len(ranks) for k in RECALL_AT}
    found |= {f"all@{k}": float(sum(rank <= k for rank in known) == len(ranks)) for k in ALL_AT}
    found["mrr"] = 1 / known[0] if known else 0.0
    gained = sum(1 / math.log2(1 + rank) for rank in known if rank <= NDCG_AT)
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(len(ranks), NDCG_AT) + 1))
    found[f"ndcg@{NDCG_AT}"] = min(1.0, gained / ideal)
    return found


def mean_measures(answered: Iterable[Answered]) -> dict[str, float]:
    """``n`` and the mean of every measure over the questions; without any, ``n`` = 0 and zeros."""
    rows = [one.measures() for one in answered]
    means = {name: math.fsum(row[name] for row in rows) / max(len(rows), 1) for name in MEASURES}
    return {"n": len(rows), **means}


def by_category(answered: Sequence[Answered]) -> Mapping[str, dict[str, float]]:
    """The means for each category, by its name."""
    names = sorted({one.category for one in answered})
    return {name: mean_measures(one for one in answered if one.category == name) for name in names}


def percentile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` (0 to 1) of the values do not exceed (nearest rank); 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0
