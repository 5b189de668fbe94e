"""Associations between memories that were recalled together (Hebbian), and what a session has active."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import sqlalchemy as sa
from sqlalchemy import Connection, bindparam

from memorybank.records.schema import credits, derivations, first_key, last_key, links
from memorybank.records.statements import Statement

CO_RECALLED = "co_recalled"

_PAIRS = Statement(
    lambda keys: sa.select(links.c.a, links.c.b, links.c.weight, links.c.at).where(
        links.c.a.in_(keys), links.c.b.in_(keys), links.c.kind == CO_RECALLED
    ),
    ("p_keys", links.c.a.type),
)
_INSERT = Statement(sa.insert(links))
_UPDATE = Statement(
    sa.update(links)
    .where(links.c.a == bindparam("p_a"), links.c.b == bindparam("p_b"), links.c.kind == CO_RECALLED)
    .values(weight=bindparam("p_weight"), at=bindparam("p_at"), rev=bindparam("p_rev"))
)
_SINCE = Statement(
    sa.select(links.c.a, links.c.b, links.c.weight).where(
        links.c.bank == bindparam("p_bank"), links.c.rev > bindparam("p_rev")
    )
)
_DERIVED = Statement(
    sa.select(derivations.c.source, derivations.c.derived).where(
        derivations.c.source.between(bindparam("p_first"), bindparam("p_last"))
    )
)
_CREDITS = Statement(
    sa.select(credits.c.memory, credits.c.position, credits.c.activation).where(
        credits.c.session == bindparam("p_session")
    )
)
_CREDIT = Statement(sa.insert(credits))
_RECREDIT = Statement(
    sa.update(credits)
    .where(credits.c.session == bindparam("p_session"), credits.c.memory == bindparam("p_memory"))
    .values(position=bindparam("p_position"), activation=bindparam("p_activation"))
)


def co_recall(
    connection: Connection, bank: int, keys: Sequence[int], now: int, rev: int, half_life: float
) -> dict[tuple[int, int], float]:
    """Strengthen the links among memories recalled together: +1 on a weight that halves in ``half_life`` seconds.

    Returns the new weights.
    """
    ordered = sorted(set(keys))
    pairs = list(combinations(ordered, 2))
    if not pairs:
        return {}
    known = {(a, b): (weight, at) for a, b, weight, at in _PAIRS.all(connection, {"p_keys": ordered})}
    fresh = [
        {"a": a, "b": b, "kind": CO_RECALLED, "bank": bank, "weight": 1.0, "at": now, "rev": rev}
        for a, b in pairs
        if (a, b) not in known
    ]
    again = [
        {
            "p_a": a,
            "p_b": b,
            "p_weight": 1.0 + decayed(*known[a, b], now, half_life),
            "p_at": now,
            "p_rev": rev,
        }
        for a, b in pairs
        if (a, b) in known
    ]
    _INSERT.many(connection, fresh)
    _UPDATE.many(connection, again)
    weights = {(a, b): decayed(*known[a, b], now, half_life) if (a, b) in known else 0.0 for a, b in pairs}
    return {pair: 1.0 + weight for pair, weight in weights.items()}


def decayed(weight: float, at: int, now: int, half_life: float) -> float:
    """A link's weight at ``now`` (microseconds)."""
    return weight * math.exp(-math.log(2) * max(0, now - at) / 1e6 / half_life)


def since(connection: Connection, bank: int, rev: int) -> list[tuple[int, int, float]]:
    """Co-recalled links (a, b, weight) changed after a revision."""
    return [(a, b, weight) for a, b, weight in _SINCE.all(connection, {"p_bank": bank, "p_rev": rev})]


def of_bank(connection: Connection, bank: int) -> list[tuple[int, int, float, int]]:
    """Co-recalled links (a, b, weight, at) of a bank."""
    query = sa.select(links.c.a, links.c.b, links.c.weight, links.c.at).where(links.c.bank == bank)
    return [
        (a, b, weight, at) for a, b, weight, at in connection.execute(query.order_by(links.c.a, links.c.b))
    ]


def put(connection: Connection, bank: int, a: int, b: int, weight: float, at: int, rev: int) -> None:
    """Set one co-recalled link, a < b."""
    same = (links.c.a == a) & (links.c.b == b) & (links.c.kind == CO_RECALLED)
    connection.execute(sa.delete(links).where(same))
    connection.execute(
        sa.insert(links).values(a=a, b=b, kind=CO_RECALLED, bank=bank, weight=weight, at=at, rev=rev)
    )


def derived_from(connection: Connection, bank: int) -> list[tuple[int, int]]:
    """Every (source, derived) pair of keys of a bank."""
    rows = _DERIVED.all(connection, {"p_first": first_key(bank), "p_last": last_key(bank)})
    return [(source, derived) for source, derived in rows]


def credited(connection: Connection, session: int) -> dict[int, tuple[int, float]]:
    """What a session has credited: memory key → (position of the turn, activation then)."""
    return {
        memory: (position, activation)
        for memory, position, activation in _CREDITS.all(connection, {"p_session": session})
    }


def credit(
    connection: Connection,
    session: int,
    activations: Mapping[int, float],
    position: int,
    known: Mapping[int, tuple[int, float]],
) -> None:
    """Note that memories were credited at this position of a session, with their new activation."""
    fresh = [
        {"session": session, "memory": key, "position": position, "activation": value}
        for key, value in activations.items()
        if key not in known
    ]
    again = [
        {"p_session": session, "p_memory": key, "p_position": position, "p_activation": value}
        for key, value in activations.items()
        if key in known
    ]
    _CREDIT.many(connection, fresh)
    _RECREDIT.many(connection, again)
