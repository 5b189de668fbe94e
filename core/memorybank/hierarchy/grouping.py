"""Which days are summed up together: a tree that stays as it is when a day is added, changed or removed.

Days are grouped by the calendar in aligned blocks of 1, 2, 4, 8 … days, each the largest whose texts fit the
budget. Blocks' texts are grouped in the same way until what is left fits. A change of one day touches its block
and the blocks above it, so an update costs work in proportion to what changed, not to the history (map-reduce).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memorybank.errors import InvalidInputError

_START_BITS = 32
_SPAN_BITS = 8


@dataclass(frozen=True, slots=True)
class Block:
    """Days ``start`` to ``start + 2**span - 1`` (proleptic ordinals) in one text.

    ``layer`` 1 is made from days, each further one from the layer below. ``members`` are the keys of what it is
    made from: ordinals of days in layer 1, codes of blocks above.
    """

    layer: int
    span: int
    start: int
    members: tuple[int, ...]

    @property
    def code(self) -> int:
        """One number for layer, span and start: the block's name as long as the tree keeps it."""
        return (self.layer << _START_BITS + _SPAN_BITS) | (self.span << _START_BITS) | self.start


@dataclass(frozen=True, slots=True)
class Plan:
    """Blocks in the order in which they can be made, and the members of the global text (days or blocks)."""

    blocks: tuple[Block, ...]
    top: tuple[int, ...]
    of_days: bool


def plan(sizes: Mapping[int, int], budget: int, output: int) -> Plan:
    """The tree for days (ordinal → size of its text) under ``budget``; a block's text has at most ``output``.

    Sizes, budget and output are tokens. What fits the budget at once is not grouped. A single text that is
    longer than the budget still forms a group: whoever reads it has to cut it.
    Raises InvalidInputError if two outputs do not fit one budget: the tree would not end.
    """
    if output < 1 or 2 * output > budget:
        raise InvalidInputError(f"a budget of {budget} tokens does not hold two texts of {output}")
    items = {ordinal: (ordinal, size) for ordinal, size in sizes.items()}  # start → (key, size)
    blocks: list[Block] = []
    layer = 0
    while len(items) > 1 and sum(size for _, size in items.values()) > budget:
        layer += 1
        made = [_block(layer, span, start, items) for span, start in _aligned(items, budget)]
        blocks.extend(made)
        items = {block.start: (block.code, output) for block in made}
    return Plan(tuple(blocks), tuple(key for _, (key, _) in sorted(items.items())), layer == 0)


def _block(layer: int, span: int, start: int, items: Mapping[int, tuple[int, int]]) -> Block:
    inside = sorted(at for at in items if start <= at < start + (1 << span))
    return Block(layer, span, start, tuple(items[at][0] for at in inside))


def _aligned(items: Mapping[int, tuple[int, int]], budget: int) -> list[tuple[int, int]]:
    """(span, start) of the largest aligned blocks that fit the budget, or that hold one item, in order."""
    found: list[tuple[int, int]] = []
    span = (max(items) ^ min(items)).bit_length() if items else 0
    todo = [(span, max(items) >> span << span, sorted(items))] if items else []
    while todo:
        span, start, inside = todo.pop()
        if len(inside) == 1 or sum(items[at][1] for at in inside) <= budget:
            found.append((span, start))
            continue
        middle = start + (1 << span - 1)
        halves = (
            (span - 1, start, [at for at in inside if at < middle]),
            (span - 1, middle, [at for at in inside if at >= middle]),
        )
        todo.extend(half for half in reversed(halves) if half[2])
    return found


def affected(before: Iterable[Block], after: Iterable[Block], changed: Iterable[int]) -> set[int]:
    """Codes of the blocks of ``after`` that have to be made anew when these days' texts changed."""
    known = {block.code: block.members for block in before}
    dirty = set(changed)
    for block in after:
        if known.get(block.code) != block.members or dirty.intersection(block.members):
            dirty.add(block.code)
    return {block.code for block in after if block.code in dirty}
