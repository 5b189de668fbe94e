"""What ``forget`` does with each memory, and the rule that decides: a pure function of state and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Literal, Self

from memorybank.errors import InvalidInputError
from memorybank.forgetting.curve import ForgettingCurve
from memorybank.forgetting.policy import NEVER_FADES, ForgettingPolicy
from memorybank.models import Level, Memory, Status

Outcome = Literal["keep", "archive", "archived", "purge"]


@dataclass(frozen=True, slots=True)
class MemoryState:
    """The part of a memory that forgetting looks at. Times are aware datetimes."""

    id: str
    level: Level
    strength: int
    last_recalled: datetime | None
    ended: datetime
    status: Status = Status.ACTIVE
    pinned: bool = False
    archived_at: datetime | None = None

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The state of a memory."""
        return cls(
            id=memory.id,
            level=memory.level,
            strength=memory.strength,
            last_recalled=memory.last_recalled,
            ended=memory.ended,
            status=memory.status,
            pinned=memory.pinned,
            archived_at=memory.archived_at,
        )

    @property
    def since(self) -> datetime:
        """From when t counts: the last recall, or the end of what happened, whichever is later."""
        return self.ended if self.last_recalled is None else max(self.ended, self.last_recalled)


@dataclass(frozen=True, slots=True)
class Decision:
    """What ``forget`` does with one memory, and why.

    ``outcome``: ``keep`` (active), ``archive`` (now), ``archived`` (already, stays so), ``purge`` (destroy
    now). ``archives_at``: when it will fade if it is never recalled; None if it never will.
    """

    id: str
    outcome: Outcome
    rule: str
    elapsed: timedelta
    retention: float
    archives_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """One ``Decision`` per state, in order, and the ids by outcome."""

    all: tuple[Decision, ...] = ()

    @property
    def archive(self) -> list[str]:
        """Active now, to be archived."""
        return [decision.id for decision in self.all if decision.outcome == "archive"]

    @property
    def purge(self) -> list[str]:
        """Archived long enough, to be destroyed."""
        return [decision.id for decision in self.all if decision.outcome == "purge"]

    @property
    def keep(self) -> list[str]:
        """Active, and staying so. (Archived memories that stay archived are in none of the three lists.)"""
        return [decision.id for decision in self.all if decision.outcome == "keep"]


def decide(
    states: Sequence[MemoryState], curve: ForgettingCurve, policy: ForgettingPolicy, now: datetime
) -> Decisions:
    """What to archive, purge and keep at ``now`` (aware). Depends on its arguments alone.

    Carried out and repeated at the same ``now`` it changes nothing more, unless ``purge_archived_after`` is
    zero.
    """
    if now.tzinfo is None:
        raise InvalidInputError(f"now is {now.isoformat()} without a time zone; give an aware datetime")
    elapsed = [max(now - state.since, timedelta(0)) for state in states]
    retained = curve.retentions([state.strength for state in states], [t.total_seconds() for t in elapsed])
    return Decisions(
        tuple(
            _decision(state, t, float(r), curve, policy, now)
            for state, t, r in zip(states, elapsed, retained, strict=True)
        )
    )


def draw(seed: int, memory_id: str, strength: int) -> float:
    """A number in [0, 1) that is uniform over memories and strengths, and always the same for one of each."""
    digest = blake2b(f"{seed}\0{strength}\0{memory_id}".encode("utf-8", "surrogatepass"), digest_size=7)
    return int.from_bytes(digest.digest()) / 2**56


def _decision(
    state: MemoryState,
    elapsed: timedelta,
    retention: float,
    curve: ForgettingCurve,
    policy: ForgettingPolicy,
    now: datetime,
) -> Decision:
    fades_at: datetime | None = None
    outcome: Outcome
    if state.status is Status.ARCHIVED:
        outcome, rule = _archived(state, policy, now)
    elif policy.protects(state.level, state.pinned):
        outcome, rule = "keep", _protection(state)
    elif policy.archive_below == 0:
        outcome, rule = "keep", "the policy archives nothing (archive_below = 0)"
    else:
        bound, name = _bound(state, policy)
        faded = retention < bound
        outcome = "archive" if faded else "keep"
        rule = f"R = {retention:.4g} {'<' if faded else '>='} {name}"
        fades_at = _later(state.since, curve, state.strength, bound)
    return Decision(state.id, outcome, rule, elapsed, retention, fades_at)


def _bound(state: MemoryState, policy: ForgettingPolicy) -> tuple[float, str]:
    """What R must not fall below, and what it is called in the rule."""
    threshold = f"archive_below = {policy.archive_below:g}"
    if policy.draw is None:
        return policy.archive_below, threshold
    drawn = draw(policy.draw, state.id, state.strength)
    if drawn < policy.archive_below:
        return drawn, f"{drawn:.4g}, drawn for strength {state.strength} with seed {policy.draw}"
    return policy.archive_below, threshold


def _archived(state: MemoryState, policy: ForgettingPolicy, now: datetime) -> tuple[Outcome, str]:
    after = policy.purge_archived_after
    if policy.protects(state.level, state.pinned):
        return "archived", f"archived; {_protection(state)}"
    if after is None:
        return "archived", "archived; the policy never purges"
    if state.archived_at is None:
        return "archived", "archived at an unknown time; not purged"
    if now - state.archived_at >= after:
        return "purge", f"archived for {now - state.archived_at}, purged after {after}"
    return "archived", f"archived for {now - state.archived_at}, to be purged after {after}"


def _protection(state: MemoryState) -> str:
    if state.pinned:
        return "pinned: never fades"
    if state.level in NEVER_FADES:
        return f"level {state.level} never fades"
    return f"level {state.level} is protected by the policy"


def _later(since: datetime, curve: ForgettingCurve, strength: int, bound: float) -> datetime | None:
    if bound <= 0:
        return None
    try:
        return since + curve.time_until(strength, bound)
    except OverflowError:  # after the year 9999
        return None
