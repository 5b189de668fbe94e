"""What links to what: memories recalled together, made from one another, said one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from sqlalchemy import Connection

from memorybank.clock import to_micros
from memorybank.models import Level, Link
from memorybank.records import banks, links, memories
from memorybank.records.memories import Row
from memorybank.reinforcing import LINK_HALF_LIFE
from memorybank.runtime import Runtime

_FAINT = 0.05  # of a link's weight; what has faded below that is not worth a line


def around(runtime: Runtime, owner: str, ids: Sequence[str], *, now: datetime) -> list[Link]:
    """The links that these memories have, among themselves and to others; unknown ids have none."""
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        if bank is None:
            return []
        rows = memories.by_ids(connection, bank.key, ids, owner, {})
        wanted = {row.key for row in rows.values()}
        found = [
            *_together(connection, bank.key, wanted, to_micros(now)),
            *(
                (a, b, "derived", 1.0)
                for a, b in links.derived_from(connection, bank.key)
                if a in wanted or b in wanted
            ),
            *_next(connection, owner, list(rows.values()), wanted),
        ]
        keys = {key for a, b, _, _ in found for key in (a, b)}
        held = memories.by_keys(connection, sorted(keys), owner)
    # Rows without a text were emptied by a deletion.
    names = {key: row.memory.id for key, row in held.items() if row.memory.text}
    return [
        Link(names[a], names[b], kind, weight) for a, b, kind, weight in found if a in names and b in names
    ]


_Found = tuple[int, int, str, float]


def _together(connection: Connection, bank: int, wanted: set[int], now: int) -> Iterator[_Found]:
    for a, b, weight, at in links.of_bank(connection, bank):
        left = links.decayed(weight, at, now, LINK_HALF_LIFE)
        if (a in wanted or b in wanted) and left >= _FAINT:
            yield a, b, links.CO_RECALLED, left


def _next(connection: Connection, owner: str, rows: Sequence[Row], wanted: set[int]) -> Iterator[_Found]:
    """Turns of one session that follow each other."""
    for session in {row.session for row in rows if row.session is not None}:
        said = memories.of_session(connection, session, owner, "", level=Level.TURN)
        ordered = sorted(said, key=lambda row: (row.position or 0, row.key))
        for one, following in pairwise(ordered):
            if one.key in wanted or following.key in wanted:
                yield one.key, following.key, "next", 1.0
