"""The tree of days: everything is in it, it fits the budget, and it stays put."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.errors import InvalidInputError
from memorybank.hierarchy.grouping import Plan, affected, plan

BUDGET, OUTPUT = 3000, 300
DAYS = st.dictionaries(st.integers(738_000, 742_000), st.integers(1, 900), max_size=120)


def days_below(tree: Plan) -> list[int]:
    if tree.of_days:
        return list(tree.top)
    members = {block.code: block.members for block in tree.blocks}
    layers = {block.code: block.layer for block in tree.blocks}

    def below(code: int) -> list[int]:
        if layers[code] == 1:
            return list(members[code])
        return [day for member in members[code] for day in below(member)]

    return [day for code in tree.top for day in below(code)]


def test_few_days_need_no_groups() -> None:
    """What fits one prompt is read at once."""
    assert plan({738_000 + n: 100 for n in range(30)}, BUDGET, OUTPUT) == Plan(
        (), tuple(range(738_000, 738_030)), True
    )
    assert plan({}, BUDGET, OUTPUT) == Plan((), (), True)


def test_a_thousand_days() -> None:
    """1,000 days of 150 tokens: about one block for 16 days, one layer above, and a global text from it."""
    tree = plan({738_000 + n: 150 for n in range(1000)}, BUDGET, OUTPUT)
    assert 60 <= len(tree.blocks) <= 85
    assert len(tree.top) * OUTPUT <= BUDGET
    assert days_below(tree) == list(range(738_000, 739_000))


def test_one_changed_day_costs_its_own_branch() -> None:
    """An old day that changes, or a new one that comes, redoes a block per layer, not the history."""
    sizes = {738_000 + n: 150 for n in range(1000)}
    tree = plan(sizes, BUDGET, OUTPUT)
    layers = max(block.layer for block in tree.blocks)
    assert len(affected(tree.blocks, tree.blocks, [738_400])) == layers
    grown = plan({**sizes, 739_000: 150}, BUDGET, OUTPUT)
    assert len(affected(tree.blocks, grown.blocks, [739_000])) <= 2 * layers
    assert affected(tree.blocks, tree.blocks, []) == set()


def test_a_history_that_grows_day_by_day_costs_a_few_blocks_a_day() -> None:
    """Amortised over 600 days, less than three texts of blocks are written per day."""
    before: Plan = plan({}, BUDGET, OUTPUT)
    sizes: dict[int, int] = {}
    written = 0
    for n in range(600):
        sizes[738_000 + n] = 150
        after = plan(sizes, BUDGET, OUTPUT)
        written += len(affected(before.blocks, after.blocks, [738_000 + n]))
        before = after
    assert written / 600 < 3


@given(DAYS)
def test_every_day_is_in_the_tree_once(sizes: dict[int, int]) -> None:
    """Nothing is lost or doubled; every group fits the budget unless it is one text; codes are unique."""
    tree = plan(sizes, BUDGET, OUTPUT)
    assert days_below(tree) == sorted(sizes)
    codes = [block.code for block in tree.blocks]
    assert len(set(codes)) == len(codes)
    for block in tree.blocks:
        if block.layer == 1:
            total = sum(sizes[day] for day in block.members)
            assert total <= BUDGET or len(block.members) == 1
        else:
            assert len(block.members) * OUTPUT <= BUDGET
    assert tree.of_days or len(tree.top) * OUTPUT <= BUDGET


def test_a_budget_without_room_for_two_is_refused() -> None:
    """Otherwise the tree would never end."""
    with pytest.raises(InvalidInputError, match="two"):
        plan({1: 10}, 500, 300)
