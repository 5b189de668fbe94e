"""Working memory: raised by recall, decaying per turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.errors import InvalidInputError
from memorybank.hierarchy.activation import WorkingMemory

UNIT = st.floats(0, 1)


def test_a_memory_recalled_once_goes_out_of_mind() -> None:
    """One recall is active for some turns, then gone."""
    rule = WorkingMemory()
    active = rule.step({}, ["a"])
    turns = 0
    while active:
        active = rule.step(active, [])
        turns += 1
    assert turns == 5


def test_recalling_again_keeps_it_in_mind() -> None:
    """What is recalled each turn is more active than what was recalled once; twice in a turn counts once."""
    rule = WorkingMemory()
    active = rule.step(rule.step({}, ["a", "b"]), ["a", "a"])
    assert active["a"] > active["b"] > 0
    assert active == rule.step(rule.step({}, ["a", "b"]), ["a"])


@given(UNIT, UNIT, st.integers(-2, 50), st.integers(0, 50), st.builds(WorkingMemory, UNIT, UNIT, UNIT))
def test_activation_laws(one: float, other: float, turns: int, more: int, rule: WorkingMemory) -> None:
    """Always in [0, 1]; recall never lowers it, time never raises it; both keep the order of two memories."""
    low, high = sorted((one, other))
    assert 0 <= low <= rule.raised(low) <= rule.raised(high) + 1e-12 <= 1 + 1e-9
    assert 0 <= rule.decayed(low, turns + more) <= rule.decayed(low, turns) <= low
    assert rule.decayed(low, turns) <= rule.decayed(high, turns)


def test_nonsense_is_refused() -> None:
    """A share is from 0 to 1."""
    with pytest.raises(InvalidInputError, match="keep"):
        WorkingMemory(keep=1.5)
