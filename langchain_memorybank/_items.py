"""Items of a LangGraph store in a bank: how they are written down, filtered and matched. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from langgraph.store.base import Item, MatchCondition, get_text_at_path, tokenize_path

from langchain_memorybank._convert import decode, encode
from memorybank import InvalidInputError


def to_payload(item: Item, note: str | None) -> str:
    """An item as text; ``note`` is the id of the memory by which it is found."""
    held = {
        "item": 1,
        "namespace": list(item.namespace),
        "key": item.key,
        "value": encode(dict(item.value)),
        "created": item.created_at.isoformat(),
        "updated": item.updated_at.isoformat(),
        "note": note,
    }
    return json.dumps(held, ensure_ascii=True, separators=(",", ":"))


def from_payload(payload: str | None) -> tuple[Item, str | None] | None:
    """The item and the id of its memory; None if it is no item."""
    try:
        held = json.loads(payload or "")
        if not isinstance(held, dict) or held.get("item") != 1:
            return None
        item = Item(
            value=decode(held["value"]),
            key=held["key"],
            namespace=tuple(held["namespace"]),
            created_at=datetime.fromisoformat(held["created"]),
            updated_at=datetime.fromisoformat(held["updated"]),
        )
    except (ValueError, KeyError, TypeError):  # not JSON, or of another making
        return None
    return item, held.get("note")


def searchable(value: Mapping[str, Any], fields: Sequence[str] | None) -> str:
    """The words of an item: of the named fields, or every text and number in it, one a line with its name."""
    if fields is not None:
        found = [text for field in fields for text in get_text_at_path(value, tokenize_path(field))]
        return "\n".join(text for text in found if text.strip())
    leaves = list(_leaves("", value))
    if len(leaves) == 1:
        return leaves[0][1]
    return "\n".join(f"{name}: {text}" for name, text in leaves)


def _leaves(name: str, value: Any) -> Iterable[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(str(key), one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(name, one)
    elif isinstance(value, str):
        if value.strip():
            yield name, value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, str(value)


def fits(value: Any, wanted: Any) -> bool:
    """LangGraph's filters: equality, nested mappings, lists, and $eq, $ne, $gt, $gte, $lt, $lte."""
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_compares(value, sign, than) for sign, than in wanted.items())
        return isinstance(value, Mapping) and all(fits(value.get(key), one) for key, one in wanted.items())
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(fits(one, other) for one, other in zip(value, wanted, strict=True))
        )
    return bool(value == wanted)


def _compares(value: Any, sign: str, than: Any) -> bool:
    if sign == "$eq":
        return bool(value == than)
    if sign == "$ne":
        return bool(value != than)
    if sign not in ("$gt", "$gte", "$lt", "$lte"):
        raise InvalidInputError(f"unknown operator {sign!r}; allowed are $eq, $ne, $gt, $gte, $lt, $lte")
    try:
        left, right = float(value), float(than)
    except (TypeError, ValueError):  # a field that is missing or no number is not larger or smaller
        return False
    return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[sign]


def matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Whether a namespace begins or ends with a path, label by label; "*" is any label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    pairs = zip(namespace, path, strict=False)
    if condition.match_type == "suffix":
        pairs = zip(reversed(namespace), reversed(path), strict=False)
    return all(wanted in ("*", label) for label, wanted in pairs)
