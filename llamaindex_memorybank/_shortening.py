"""Shortening a context block that is text already."""

from __future__ import annotations

from memorybank.hierarchy.fencing import CLOSE, OPEN
from memorybank.tokens import TokenCounter


def shorten(block: str, tokens: int, counter: TokenCounter) -> str | None:
    """The block at least ``tokens`` shorter: whole lines go, from its end; the fence stays closed.

    None where nothing but the fence and its note would be left. ``tokens`` <= 0: the block as it is.
    """
    if tokens <= 0:
        return block
    target = counter(block) - tokens
    if target <= 0:
        return None
    lines = [line for line in block.split("\n") if line != CLOSE]
    low, high = 0, len(lines)  # the most lines that fit
    while low < high:
        middle = (low + high + 1) // 2
        if counter(_closed(lines[:middle])) <= target:
            low = middle
        else:
            high = middle - 1
    kept = lines[:low]
    while kept and (not kept[-1].strip() or kept[-1].startswith(("[", "【"))):
        kept.pop()  # a title without anything under it
    said = [line for line in kept[2:] if line.strip()] if kept[:1] == [OPEN] else kept
    return _closed(kept) if said else None


def _closed(lines: list[str]) -> str:
    return "\n".join([*lines, CLOSE])
