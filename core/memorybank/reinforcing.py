"""Reinforcement: a memory that was used grows stronger and starts to fade anew (MemoryBank, section 2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from memorybank.clock import to_micros
from memorybank.hierarchy.activation import WorkingMemory
from memorybank.models import Memory
from memorybank.records import banks, links, memories, transcript
from memorybank.runtime import Runtime

# Links among memories that were used together halve in this many seconds (30 days; our choice).
LINK_HALF_LIFE = 30 * 86_400.0
# Links are made among this many of the best: pairs grow with the square.
LINKED = 3


def reinforce(
    runtime: Runtime, owner: str, used: Sequence[Memory], *, asking: str | None, now: datetime
) -> list[str]:
    """Strength + 1 and t = 0 for each memory used; returns the ids that were credited.

    ``asking`` names the session whose turn used them: there each memory is credited once per user turn, however
    often a framework asks. Without it each call is a use of its own. Memories deleted meanwhile are passed over.
    """
    if not used:
        return []
    with runtime.database.write() as connection:
        found = banks.find(connection, owner)
        bank = None if found is None else banks.bump(connection, found.key)
        if bank is None:
            return []
        rows = memories.by_ids(connection, bank.key, [memory.id for memory in used], owner, {})
        keys = {id_: row.key for id_, row in rows.items()}
        wanted = [keys[memory.id] for memory in used if memory.id in keys]
        if asking is not None:
            wanted = _once_per_turn(connection, bank.key, asking, wanted)
        if not wanted:
            return []
        micros = to_micros(now)
        memories.reinforce(connection, wanted, micros, bank.rev)
        links.co_recall(connection, bank.key, wanted[:LINKED], micros, bank.rev, LINK_HALF_LIFE)
    credited = set(wanted)
    return [id_ for id_, key in keys.items() if key in credited]


def _once_per_turn(connection: Connection, bank: int, asking: str, keys: Sequence[int]) -> list[int]:
    session = banks.find_session(connection, bank, asking)
    if session is None:
        return list(keys)
    turn = transcript.last_user_position(connection, session.key)
    known = links.credited(connection, session.key)
    fresh = [key for key in keys if key not in known or known[key][0] < turn]
    working = WorkingMemory()
    active = {
        key: working.raised(working.decayed(known[key][1], turn - known[key][0]) if key in known else 0.0)
        for key in fresh
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
