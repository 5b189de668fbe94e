"""Reinforcement: a memory that was used grows stronger and starts to fade anew (MemoryBank, section 2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from memorybank.clock import to_micros
from memorybank.hierarchy.activation import WorkingMemory
from memorybank.hierarchy.attribution import attribute
from memorybank.models import Memory, Recalled
from memorybank.records import banks, links, memories, transcript
from memorybank.runtime import Runtime

# Links among memories that were used together halve in this many seconds (30 days; our choice).
LINK_HALF_LIFE = 30 * 86_400.0
# Links are made among this many of the best: pairs grow with the square.
LINKED = 3


def used(recalled: Sequence[Recalled], answer: str | None, query: str | None = None) -> list[Memory]:
    """The recalled memories that an answer draws on; all of them when no answer is given.

    What the ``query`` said already is no sign of use: every memory that was recalled shares words with it.
    """
    if answer is None:
        return [one.memory for one in recalled]
    found = attribute([one.memory.text for one in recalled], answer, query or "")
    return [one.memory for one, drawn in zip(recalled, found, strict=True) if drawn]


def reinforce(
    runtime: Runtime, owner: str, used: Sequence[Memory], *, asking: str | None, now: datetime
) -> list[str]:
    """Strength + 1 and t = 0 for each memory used; returns the ids that were credited.

    ``asking`` names the session whose turn used them: there each memory is credited once per user turn, however
    often a framework asks. Without it each call is a use of its own. Memories deleted meanwhile are passed over.
    """
    if not used:
        return []
    ids = list(dict.fromkeys(memory.id for memory in used))
    micros = to_micros(now)
    with runtime.database.write(minor=True) as connection:  # a power failure may cost the last strengths
        bank = banks.bump_owner(connection, owner)
        if bank is None:
            return []
        if asking is not None:
            ids = _once_per_turn(connection, bank.key, asking, ids)
        keys = memories.reinforce(connection, bank.key, ids, micros, bank.rev) if ids else {}
        credited = [id_ for id_ in ids if id_ in keys]
        together = [keys[id_] for id_ in credited[:LINKED]]
        linked = links.co_recall(connection, bank.key, together, micros, bank.rev, LINK_HALF_LIFE)
    runtime.residents.reinforced(bank, list(keys.values()), linked, now.timestamp())
    return credited


def _once_per_turn(connection: Connection, bank: int, asking: str, ids: Sequence[str]) -> list[str]:
    session = banks.find_session(connection, bank, asking)
    if session is None:
        return list(ids)
    turn = transcript.last_user_position(connection, session.key)
    known = links.credited(connection, session.key)
    keys = memories.keys_of(connection, bank, ids)
    fresh = [id_ for id_ in ids if id_ in keys and (keys[id_] not in known or known[keys[id_]][0] < turn)]
    working = WorkingMemory()
    active = {
        key: working.raised(working.decayed(known[key][1], turn - known[key][0]) if key in known else 0.0)
        for key in (keys[id_] for id_ in fresh)
    }
    links.credit(connection, session.key, active, turn, known)
    return fresh


def activations(connection: Connection, session: int) -> Mapping[int, float]:
    """What a session has active at its present turn: memory key → activation in [0, 1]."""
    turn = transcript.last_user_position(connection, session)
    working = WorkingMemory()
    return {
        key: working.decayed(value, turn - position)
        for key, (position, value) in links.credited(connection, session).items()
    }
