"""Results as one JSON object, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from memorybank.errors import ImportFormatError
from memorybank.evaluation.datasets import APART, LOCOMO_CATEGORIES
from memorybank.evaluation.metrics import Answered, by_category, mean_measures, percentile
from memorybank.evaluation.running import Asked
from memorybank.retrieval.settings import STAGES, RetrievalSettings


def result(dataset: str, asked: Sequence[Asked], settings: Mapping[str, object]) -> dict[str, Any]:
    """The result of a run, ready for JSON: overall, categories, context, latency_ms, settings, questions."""
    counted = [one for one in asked if one.answered.category not in APART.get(dataset, ())]
    categories = {
        name: {**_named(dataset, name), **means}
        for name, means in by_category([one.answered for one in asked]).items()
    }
    tokens = [one.tokens for one in counted]
    return {
        "dataset": dataset,
        "overall": mean_measures(one.answered for one in counted),
        "categories": categories,
        "context": {
            "tokens_mean": sum(tokens) / max(len(tokens), 1),
            "tokens_p95": percentile(tokens, 0.95),
            "recall": sum(one.shown for one in counted) / max(len(counted), 1),
        },
        "latency_ms": latency(asked),
        "settings": dict(settings),
        "questions": [
            {"qid": one.answered.qid, "category": one.answered.category, "ranks": one.answered.alternatives}
            for one in asked
        ],
    }


def _named(dataset: str, category: str) -> dict[str, str]:
    return (
        {"name": LOCOMO_CATEGORIES[category]} if dataset == "locomo" and category in LOCOMO_CATEGORIES else {}
    )


def latency(asked: Sequence[Asked]) -> dict[str, float]:
    """Milliseconds of a recall with k = 6: in all, and of that for the query's vector."""
    whole = [1000 * (one.seconds + one.embedding) for one in asked]
    ranking = [1000 * one.seconds for one in asked]
    embedding = [1000 * one.embedding for one in asked]
    return {
        "p50": percentile(whole, 0.5),
        "p95": percentile(whole, 0.95),
        "embedding_p50": percentile(embedding, 0.5),
        "embedding_p95": percentile(embedding, 0.95),
        "recall_p50": percentile(ranking, 0.5),
        "recall_p95": percentile(ranking, 0.95),
    }


def described(retrieval: RetrievalSettings) -> dict[str, object]:
    """Every constant of ranking, and which stages were on."""
    constants = {
        one.name: getattr(retrieval, one.name)
        for one in fields(retrieval)
        if isinstance(getattr(retrieval, one.name), int | float | str)
    }
    return {"stages": [stage for stage in STAGES if retrieval.on(stage)], "constants": constants}


def answered_in(path: Path) -> tuple[str, list[Answered]]:
    """The data set and the questions of a result that was written to a file. Raises ImportFormatError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        rows = [
            Answered(str(one["qid"]), str(one["category"]), tuple(tuple(way) for way in one["ranks"]))
            for one in value["questions"]
        ]
        dataset = str(value["dataset"])
    except OSError as error:
        raise ImportFormatError(f"Cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise ImportFormatError(f"{path} is no result of 'memorybank eval … --json'.") from None
    return dataset, [one for one in rows if one.category not in APART.get(dataset, ())]
