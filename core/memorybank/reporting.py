"""Reading a bank without changing it: history, lists, versions, explanations, counts."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from memorybank import keeping
from memorybank.clock import day_bounds, to_micros
from memorybank.errors import InvalidInputError, NotFoundError
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy, MemoryState, decide
from memorybank.hierarchy.window import WindowSettings, recent
from memorybank.models import (
    Explanation,
    Level,
    Memory,
    Message,
    Recalled,
    Stats,
    Status,
    Version,
    Window,
)
from memorybank.records import banks, census, memories, provenance, transcript
from memorybank.records import derived as records
from memorybank.runtime import Runtime


def history(
    runtime: Runtime, owner: str, session: str, last: int | None, role: str | None = None
) -> list[Message]:
    """Messages of a session in order; an unknown session has none."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        row = None if bank is None else banks.find_session(connection, bank.key, session)
        return [] if row is None else transcript.last(connection, row.key, last, owner, session, role)


def sessions(runtime: Runtime, owner: str) -> list[str]:
    """Names of the sessions, in order of their making."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        return [] if bank is None else banks.session_names(connection, bank.key)


def listing(
    runtime: Runtime,
    owner: str,
    *,
    levels: tuple[Level, ...] | None,
    since: datetime | None,
    until: datetime | None,
    include_archived: bool,
) -> list[Memory]:
    """Memories by time."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        if bank is None:
            return []
        names = banks.session_map(connection, bank.key)
        rows = memories.of_bank(
            connection,
            bank.key,
            owner,
            names,
            levels=levels,
            began=None if since is None else to_micros(since),
            before=None if until is None else to_micros(until) + 1,
        )
    # Rows without a text were emptied by a deletion, or had nothing to say; they are there for consolidation.
    return [
        row.memory
        for row in rows
        if row.memory.text and (include_archived or row.memory.status is Status.ACTIVE)
    ]


def derived(runtime: Runtime, owner: str, level: Level, day: date | None, zone: ZoneInfo) -> Memory | None:
    """The summary or portrait of a level (of a day); None if there is none."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        if bank is None:
            return None
        if day is None:
            rows = records.standing(connection, bank.key, owner, level)
        else:
            first, following = (to_micros(at) for at in day_bounds(day, zone))
            rows = records.standing(connection, bank.key, owner, level, first, following)
    # Blocks of days have the level of the global text and a position; an empty text has nothing to say.
    found = [row.memory for row in rows if row.memory.text and (day is not None or row.position is None)]
    return found[-1] if found else None


def window(runtime: Runtime, owner: str, session: str, size: int | None = None) -> Window:
    """The recent messages of a session, tool calls whole, and its digest."""
    wanted = size or WindowSettings().size
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        row = None if bank is None else banks.find_session(connection, bank.key, session)
        if bank is None or row is None:
            return Window(())
        # Twice as many, so that a group of tool messages at the edge is seen whole.
        messages = transcript.last(connection, row.key, 2 * wanted + 8, owner, session)
        said = _digest(connection, bank.key, row.key, owner, session)
    return Window(recent(messages, wanted), said)


def digest(runtime: Runtime, owner: str, session: str) -> Memory | None:
    """The digest of what slid out of a session's window; None if there is none."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        row = None if bank is None else banks.find_session(connection, bank.key, session)
        return None if bank is None or row is None else _digest(connection, bank.key, row.key, owner, session)


def _digest(connection: Connection, bank: int, key: int, owner: str, session: str) -> Memory | None:
    rows = records.digests(connection, bank, key, owner, session)
    found = [row.memory for row in rows if row.memory.text]
    return found[-1] if found else None


def versions(runtime: Runtime, owner: str, id_: str) -> list[Version]:
    """Earlier texts of a memory, oldest first. Raises NotFoundError."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        rows = {} if bank is None else memories.by_ids(connection, bank.key, [id_], owner, {})
        if id_ not in rows:
            raise NotFoundError(f"this owner has no memory {id_!r}")
        return provenance.versions_of(connection, rows[id_].key, id_)


def explain(
    runtime: Runtime,
    owner: str,
    what: object,
    *,
    curve: ForgettingCurve,
    policy: ForgettingPolicy,
    now: datetime,
) -> Explanation:
    """The state of a memory under the curve and policy at ``now``."""
    parts = what.parts if isinstance(what, Recalled) else {}
    id_ = what.memory.id if isinstance(what, Recalled) else what.id if isinstance(what, Memory) else what
    if not isinstance(id_, str):
        raise InvalidInputError(
            f"explain takes a memory id, a Memory or a Recalled, not {type(what).__name__}"
        )
    memory = keeping.find(runtime, owner, [id_]).get(id_)
    if memory is None:
        raise NotFoundError(f"this owner has no memory {id_!r}")
    decision = decide([MemoryState.of(memory)], curve, policy, now).all[0]
    return Explanation(
        memory=memory,
        elapsed=decision.elapsed,
        unit=curve.unit,
        strength=memory.strength,
        retention=decision.retention,
        form=curve.form,
        rule=decision.rule,
        outcome=decision.outcome,
        parts=dict(parts),
        archives_at=decision.archives_at,
    )


def stats(runtime: Runtime, owner: str) -> Stats:
    """Counts of what the bank holds; all zero for an owner who has stored nothing."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        return Stats() if bank is None else census.stats(connection, bank.key)
