"""Laws of forgetting, over all strengths, times, units and forms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.forgetting import ForgettingCurve, ForgettingPolicy, MemoryState, decide
from memorybank.models import Level, Status

LAWFUL = ("exponential", "half_life", "power")
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)

strengths = st.integers(1, 10_000)
spans = st.timedeltas(timedelta(0), timedelta(days=40_000))
units = st.timedeltas(timedelta(seconds=1), timedelta(days=4_000))
curves = st.builds(ForgettingCurve, unit=units, form=st.sampled_from(LAWFUL))
policies = st.builds(
    ForgettingPolicy,
    archive_below=st.floats(0, 1),
    draw=st.none() | st.integers(0, 9),
    purge_archived_after=st.none() | st.timedeltas(timedelta(seconds=1), timedelta(days=400)),
    protect=st.frozensets(st.sampled_from(Level)),
)
states = st.lists(
    st.builds(
        MemoryState,
        id=st.uuids().map(str),
        level=st.sampled_from(Level),
        strength=st.integers(1, 50),
        last_recalled=st.none() | spans.map(lambda span: NOW - span / 20),
        ended=spans.map(lambda span: NOW - span / 20),
        status=st.just(Status.ACTIVE),
        pinned=st.booleans(),
    ),
    max_size=20,
)


@given(curves, strengths, spans)
def test_retention_lies_above_zero_and_at_most_one(curve, strength, elapsed):
    """0 < R <= 1, however long ago."""
    assert 0 < curve.retention(strength, elapsed) <= 1


@given(curves, strengths)
def test_retention_is_one_at_the_time_of_recall(curve, strength):
    """R(0) = 1, and clocks that run backwards change nothing about that."""
    assert curve.retention(strength, timedelta(0)) == 1
    assert curve.retention(strength, timedelta(days=-3)) == 1


@given(curves, strengths, spans, spans)
def test_retention_never_rises_with_time(curve, strength, one, other):
    """dR/dt <= 0."""
    assert curve.retention(strength, max(one, other)) <= curve.retention(strength, min(one, other))


@given(curves, strengths, strengths, spans)
def test_retention_never_falls_with_strength(curve, one, other, elapsed):
    """dR/dS >= 0: what is recalled more often is kept longer."""
    assert curve.retention(max(one, other), elapsed) >= curve.retention(min(one, other), elapsed)


@given(st.integers(1, 9), st.timedeltas(timedelta(hours=1), timedelta(days=60)))
def test_the_released_formula_breaks_the_law_of_strength(strength, elapsed):
    """The 2023 code makes stronger memories fade faster: the reason that it is not a default."""
    curve = ForgettingCurve(form="siliconfriend_2023")
    assert curve.retention(strength + 1, elapsed) < curve.retention(strength, elapsed)


@given(curves, st.lists(st.tuples(strengths, st.floats(-1e6, 1e12)), min_size=1, max_size=20))
def test_many_are_as_each_one(curve, pairs):
    """The vectorised form is the scalar one, element by element."""
    many = curve.retentions([s for s, _ in pairs], [t for _, t in pairs])
    assert many.tolist() == [float(curve.retentions(s, t)) for s, t in pairs]


@given(curves, st.integers(1, 100), st.floats(0.01, 1))
def test_time_until_inverts_retention(curve, strength, level):
    """After ``time_until`` R is the level that was asked for, to the microsecond that timedelta resolves."""
    elapsed = curve.time_until(strength, level)
    if elapsed < timedelta.max:
        slack = 2e-6 / curve.unit.total_seconds()
        assert abs(curve.retention(strength, elapsed) - level) <= slack + 1e-9


@given(states, curves, policies)
def test_forgetting_twice_at_the_same_time_changes_nothing(before, curve, policy):
    """Carried out once, a decision is final for that time: no second draw, no purge on top."""
    first = decide(before, curve, policy, NOW)
    archived = set(first.archive)
    after = [
        MemoryState(
            s.id, s.level, s.strength, s.last_recalled, s.ended, Status.ARCHIVED, s.pinned, archived_at=NOW
        )
        if s.id in archived
        else s
        for s in before
    ]
    second = decide(after, curve, policy, NOW)
    assert second.archive == []
    assert second.purge == []
    assert second.keep == first.keep


@given(states, curves, policies, st.timedeltas(timedelta(0), timedelta(days=4_000)))
def test_what_is_forgotten_stays_forgotten(before, curve, policy, later):
    """Without a recall nothing comes back with time: what is archived at one time is so at any later one."""
    assert set(decide(before, curve, policy, NOW).archive) <= set(
        decide(before, curve, policy, NOW + later).archive
    )


@given(states, curves, policies)
def test_pinned_and_protected_are_never_touched(before, curve, policy):
    """Pins, protected levels, portraits, global events and digests outlive every curve and policy."""
    far = NOW + timedelta(days=36_500)
    safe = {
        s.id
        for s in before
        if s.pinned
        or s.level in policy.protect
        or s.level in (Level.PORTRAIT, Level.DAY_PORTRAIT, Level.EVENTS, Level.DIGEST)
    }
    assert safe <= set(decide(before, curve, policy, far).keep)


@given(states, curves, policies)
def test_the_announced_time_is_the_time(before, curve, policy):
    """``archives_at`` is when the decision flips: still kept a moment before, archived a moment after."""
    for state in before:
        (decision,) = decide([state], curve, policy, NOW).all
        at = decision.archives_at
        if at is None or at - state.since < timedelta(seconds=1):
            continue
        step = max(timedelta(milliseconds=1), (at - state.since) * 1e-6)
        assert decide([state], curve, policy, at - step).keep == [state.id]
        if at < datetime(9000, 1, 1, tzinfo=UTC):
            assert decide([state], curve, policy, at + step).archive == [state.id]


@pytest.mark.parametrize("days", [1, 3, 10])
def test_survival_by_chance_is_retention_however_often_it_is_asked(days):
    """P(survive to t) = R(t), not R to the number of runs: 4,000 memories, ``forget`` run daily."""
    curve, policy = ForgettingCurve(), ForgettingPolicy.paper(seed=7)
    living = [MemoryState(f"m{n}", Level.TURN, 4, last_recalled=None, ended=NOW) for n in range(4_000)]
    for day in range(1, days + 1):
        kept = set(decide(living, curve, policy, NOW + timedelta(days=day)).keep)
        living = [state for state in living if state.id in kept]
    expected = float(np.exp(-days / 4))
    assert len(living) / 4_000 == pytest.approx(expected, abs=0.025)  # three standard errors
