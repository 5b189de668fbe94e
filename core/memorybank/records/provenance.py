"""Provenance: earlier versions of a text, and what was made from what."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from memorybank.clock import from_micros, to_micros
from memorybank.models import Maker, Memory, Version
from memorybank.records.memories import chunks
from memorybank.records.schema import derivations, memories, versions


def keep_version(connection: Connection, key: int, memory: Memory, made: int) -> None:
    """Keep a memory's present text as an earlier version, before it is replaced at ``made`` (microseconds)."""
    connection.execute(
        sa.insert(versions).values(
            memory=key,
            version=memory.version,
            text=memory.text,
            maker=memory.maker.value,
            made=made,
            sources=memory.sources,
        )
    )


def put_version(connection: Connection, key: int, version: Version) -> None:
    """Store an earlier version as it was exported."""
    connection.execute(
        sa.insert(versions).values(
            memory=key,
            version=version.version,
            text=version.text,
            maker=version.maker.value,
            made=to_micros(version.made),
            sources=version.sources,
        )
    )


def versions_of(connection: Connection, key: int, id_: str) -> list[Version]:
    """Earlier versions of a memory, oldest first."""
    query = sa.select(versions).where(versions.c.memory == key).order_by(versions.c.version)
    return [
        Version(id_, row.version, row.text, Maker(row.maker), from_micros(row.made), row.sources)
        for row in connection.execute(query)
    ]


def put_sources(connection: Connection, derived: int, sources: Sequence[int]) -> None:
    """Record what a memory was made from, instead of what was recorded before."""
    connection.execute(sa.delete(derivations).where(derivations.c.derived == derived))
    rows = [{"source": source, "derived": derived} for source in dict.fromkeys(sources)]
    if rows:
        connection.execute(sa.insert(derivations), rows)


def sources_of(connection: Connection, derived: int) -> list[int]:
    """Keys of what a memory was made from."""
    query = sa.select(derivations.c.source).where(derivations.c.derived == derived)
    return list(connection.execute(query).scalars())


def derived_from(connection: Connection, keys: Sequence[int]) -> list[int]:
    """Keys of everything made from these memories, at any depth."""
    given = set(keys)
    found: set[int] = set()
    front = sorted(given)
    while front:
        reached: set[int] = set()
        for part in chunks(front):
            query = sa.select(derivations.c.derived).where(derivations.c.source.in_(part))
            reached.update(connection.execute(query).scalars())
        front = sorted(reached - found - given)
        found.update(front)
    return sorted(found)


def mark_stale(connection: Connection, keys: Sequence[int], rev: int) -> None:
    """Say that these memories' sources have changed since they were written."""
    for part in chunks(keys):
        connection.execute(sa.update(memories).where(memories.c.key.in_(part)).values(stale=True, rev=rev))
