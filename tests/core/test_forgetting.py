"""Forgetting: the published figures, sequences worked out by hand, presets, rules and a year of use."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memorybank.errors import InvalidInputError
from memorybank.forgetting import (
    DEFAULT_CURVE,
    ForgettingCurve,
    ForgettingPolicy,
    MemoryState,
    decide,
    resolve_curve,
)
from memorybank.models import Level, Status

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
PRESETS = {
    "assistant": ForgettingPolicy.assistant(),
    "companion": ForgettingPolicy.companion(),
    "paper": ForgettingPolicy.paper(),
    "siliconfriend_2023": ForgettingPolicy.siliconfriend_2023(),
}


def turn(name: str = "m", **changes: object) -> MemoryState:
    state = MemoryState(name, Level.TURN, strength=1, last_recalled=None, ended=START)
    return replace(state, **changes)


@pytest.mark.parametrize(
    ("days", "strength", "paper", "released"), [(1, 10, 0.905, 0.135), (7, 5, 0.247, 0.001)]
)
def test_the_paper_and_the_released_code_differ(days, strength, paper, released):
    """By the paper's formula a strong memory is kept, by the released code's it is lost."""
    assert ForgettingCurve().retention(strength, days * DAY) == pytest.approx(paper, abs=5e-4)
    legacy = ForgettingCurve(form="siliconfriend_2023")
    assert legacy.retention(strength, days * DAY) == pytest.approx(released, abs=5e-4)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("assistant", 0.9917), ("companion", 0.9929), ("paper", 0.4724), ("siliconfriend_2023", 0.0907)],
)
def test_recalled_on_days_1_3_and_7_asked_on_day_10(preset, expected):
    """Three recalls: S = 1 + 3 = 4; the last on day 7: t = 3 days.

    assistant (unit 90 d):  exp(-3 / (90 · 4)) = exp(-.00833) = .9917
    companion (unit 105 d): exp(-3 / (105 · 4)) = exp(-.00714) = .9929
    paper (unit 1 d):       exp(-3 / 4) = .4724
    siliconfriend_2023:     exp(-3 / 5 · 4) = exp(-2.4) = .0907
    """
    state = turn()
    for day in (1, 3, 7):
        state = replace(state, strength=state.strength + 1, last_recalled=START + day * DAY)
    policy = PRESETS[preset]
    curve = resolve_curve(None, policy)
    (decision,) = decide([state], curve, policy, START + 10 * DAY).all
    assert decision.elapsed == 3 * DAY
    assert decision.retention == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("form", "strength", "units", "expected"),
    [
        ("half_life", 1, 1, 0.5),  # h = unit
        ("half_life", 11, 2, 0.5),  # h = 2 units
        ("half_life", 51, 6, 0.5),  # h = 6 units
        ("half_life", 5_000, 6, 0.5),  # never more than 6
        ("power", 1, 1, 0.5),
        ("power", 3, 9, 0.25),
        ("exponential", 2, 2, np.exp(-1)),
    ],
)
def test_forms_at_points_worked_out_by_hand(form, strength, units, expected):
    """Each form at a point where it can be done in the head."""
    curve = ForgettingCurve(unit=timedelta(hours=5), form=form)
    assert curve.retention(strength, units * timedelta(hours=5)) == pytest.approx(expected)


def test_the_power_form_has_the_heavier_tail():
    """After ten units it keeps more than the exponential: 1/11 against e^-10."""
    assert ForgettingCurve(form="power").retention(1, 10 * DAY) > 0.09
    assert ForgettingCurve().retention(1, 10 * DAY) < 0.0001


def test_huge_numbers_do_not_overflow():
    """A million years, a strength of 10^12 and infinite times give numbers, not warnings."""
    with np.errstate(all="raise", under="ignore"):
        assert ForgettingCurve().retention(1, timedelta.max) > 0
        assert ForgettingCurve().retention(10**12, timedelta.max) == pytest.approx(0.999, abs=1e-3)
        assert ForgettingCurve().retentions([1], [np.inf])[0] > 0
    assert ForgettingCurve(unit=1000 * DAY).time_until(10**9, 0.01) == timedelta.max


def test_every_problem_is_named_in_one_message():
    """A caller who errs twice reads both."""
    with pytest.raises(InvalidInputError, match=r"unit is .*form is 'linear'; choose one of exponential"):
        ForgettingCurve(unit=timedelta(0), form="linear")
    with pytest.raises(
        InvalidInputError, match=r"rank_weight is 2.*archive_below is -1.*draw is True.*protect"
    ):
        ForgettingPolicy(rank_weight=2, archive_below=-1, draw=True, protect={"chapter"})
    with pytest.raises(InvalidInputError, match=r"strength is 0.*not a number"):
        ForgettingCurve().retentions([1, 0], [5, np.nan])
    with pytest.raises(InvalidInputError, match=r"strength is 0.*level is 0"):
        ForgettingCurve().time_until(0, 0)


@pytest.mark.parametrize("strength", [0, 0.5, -3, float("nan")])
def test_strength_counts_from_one(strength):
    """A strength below 1 is a mistake of the caller, never an infinite or negative retention."""
    with pytest.raises(InvalidInputError, match="counts from 1"):
        ForgettingCurve().retention(strength, DAY)


def test_naive_times_are_refused():
    """``now`` without a zone would be off by hours in silence."""
    with pytest.raises(InvalidInputError, match="aware"):
        decide([], ForgettingCurve(), ForgettingPolicy(), datetime(2026, 1, 1))


def test_the_curve_given_goes_before_the_policys_and_that_before_the_default():
    """explicit > policy's > default."""
    mine = ForgettingCurve(unit=7 * DAY)
    assert resolve_curve(mine, ForgettingPolicy.companion()) is mine
    assert resolve_curve(None, ForgettingPolicy.companion()).unit == 105 * DAY
    assert resolve_curve(None, ForgettingPolicy(archive_below=0.1)) is DEFAULT_CURVE


def test_levels_may_be_named_by_strings():
    """``protect={"turn"}`` is Level.TURN."""
    assert ForgettingPolicy(protect={"turn"}).protect == {Level.TURN}


@pytest.mark.parametrize(
    ("state", "outcome", "rule"),
    [
        (turn(), "archive", "R = 0.01832 < archive_below = 0.1"),
        (turn(strength=9), "keep", "R = 0.6412 >= archive_below = 0.1"),
        (turn(last_recalled=START + 3 * DAY), "keep", "R = 0.3679 >= archive_below = 0.1"),
        (turn(last_recalled=START - 9 * DAY), "archive", "R = 0.01832 < archive_below = 0.1"),
        (turn(ended=START + 9 * DAY), "keep", "R = 1 >= archive_below = 0.1"),
        (turn(level=Level.DAY_EVENTS), "archive", "R = 0.01832 < archive_below = 0.1"),
        (turn(level=Level.NOTE), "keep", "level note is protected by the policy"),
        (turn(level=Level.PORTRAIT), "keep", "level portrait never fades"),
        (turn(pinned=True), "keep", "pinned: never fades"),
        (turn(status=Status.ARCHIVED), "archived", "archived at an unknown time; not purged"),
        (
            turn(status=Status.ARCHIVED, archived_at=START + 3 * DAY),
            "archived",
            "archived for 1 day, 0:00:00, to be purged after 2 days, 0:00:00",
        ),
        (
            turn(status=Status.ARCHIVED, archived_at=START + 2 * DAY),
            "purge",
            "archived for 2 days, 0:00:00, purged after 2 days, 0:00:00",
        ),
        (
            turn(status=Status.ARCHIVED, archived_at=START, pinned=True),
            "archived",
            "archived; pinned: never fades",
        ),
    ],
)
def test_rules_and_their_words(state, outcome, rule):
    """On day 4, unit a day, threshold .1, purge after 2 days: the outcome, and what ``explain`` shows."""
    policy = ForgettingPolicy(archive_below=0.1, purge_archived_after=2 * DAY)
    (decision,) = decide([state], ForgettingCurve(), policy, START + 4 * DAY).all
    assert (decision.outcome, decision.rule) == (outcome, rule)


def test_each_recall_draws_anew_and_only_a_recall():
    """The number drawn depends on seed, id and strength; not on the time or the order of the states."""
    policy, now = ForgettingPolicy.paper(seed=1), START + 2 * DAY
    group = [turn(f"m{n}") for n in range(200)]
    fates = decide(group, ForgettingCurve(), policy, now)
    assert decide(group[::-1], ForgettingCurve(), policy, now).archive == fates.archive[::-1]
    other_seed = decide(group, ForgettingCurve(), ForgettingPolicy.paper(seed=2), now)
    stronger = decide([replace(s, strength=2) for s in group], ForgettingCurve(), policy, now)
    assert set(other_seed.archive) != set(fates.archive)
    assert not set(stronger.archive) <= set(fates.archive)


def test_the_default_archives_nothing_ever():
    """``assistant`` ranks only."""
    policy = ForgettingPolicy.assistant()
    old = [turn(f"m{n}") for n in range(50)]
    assert decide(old, resolve_curve(None, policy), policy, START + 36_500 * DAY).archive == []


def test_a_year_with_a_companion():
    """Three turns a day for a year, some topics asked about again and again, a few pinned, ``forget`` weekly.

    What is used (at least every 60 days) and what is pinned is all there; of what was never used at least a
    third has faded, and nothing younger than half a year.
    """
    policy, chance = ForgettingPolicy.companion(), random.Random(3)
    curve = resolve_curve(None, policy)
    bank: dict[str, MemoryState] = {}
    used, pinned, archived = set(), set(), set()
    for day in range(365):
        now = START + day * DAY
        for n in range(3):
            name = f"{day}/{n}"
            bank[name] = turn(name, ended=now, pinned=chance.random() < 0.02)
            if bank[name].pinned:
                pinned.add(name)
            elif chance.random() < 0.1:
                used.add(name)
        for name in used - archived:
            if (now - bank[name].ended).days % 60 == 59:
                bank[name] = replace(bank[name], strength=bank[name].strength + 1, last_recalled=now)
        if day % 7 == 0:
            active = [state for name, state in bank.items() if name not in archived]
            archived |= set(decide(active, curve, policy, now).archive)
    never_used = set(bank) - used - pinned
    assert not archived & (used | pinned)
    assert len(archived) >= len(never_used) / 3
    assert min(365 - int(name.split("/")[0]) for name in archived) > 182
