"""Destroying: memories with all that hangs on them, and whole owners."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from memorybank.models import Erased, Level
from memorybank.records import outbox, provenance, transcript
from memorybank.records.banks import BankRow
from memorybank.records.memories import Row, chunks, remove_features
from memorybank.records.schema import (
    Pending,
    banks,
    credits,
    derivations,
    drops,
    first_key,
    last_key,
    links,
    marks,
    memories,
    messages,
    postings,
    sessions,
    staging,
    tombstones,
    vectors,
    versions,
)


def remove(connection: Connection, bank: int, rows: Sequence[Row], rev: int) -> Erased:
    """Delete memories (turns with their messages), leaving tombstones for index and caches.

    What derives from them may quote them: its text and earlier versions go too, and it is stale until
    ``consolidate`` writes it anew.
    """
    keys = [row.key for row in rows]
    derived = provenance.derived_from(connection, keys)
    said: dict[int, list[str]] = {}  # by session: a statement per memory would take most of the time
    for row in rows:
        if row.memory.level is Level.TURN and row.session is not None:
            said.setdefault(row.session, []).extend(row.memory.sources)
    gone_messages = sum(transcript.remove(connection, session, ids) for session, ids in said.items())
    gone_postings, gone_vectors = remove_features(connection, keys)
    gone_links = gone_versions = gone = 0
    for part in chunks(keys):
        both = links.c.a.in_(part) | links.c.b.in_(part)
        gone_links += connection.execute(sa.delete(links).where(both)).rowcount
        either = derivations.c.source.in_(part) | derivations.c.derived.in_(part)
        gone_links += connection.execute(sa.delete(derivations).where(either)).rowcount
        connection.execute(sa.delete(credits).where(credits.c.memory.in_(part)))
        connection.execute(sa.delete(staging).where(staging.c.key.in_(part)))
        gone_versions += connection.execute(sa.delete(versions).where(versions.c.memory.in_(part))).rowcount
        gone += connection.execute(sa.delete(memories).where(memories.c.key.in_(part))).rowcount
    gone_versions += _disown(connection, derived, rev)
    outbox.bury(connection, bank, [(row.key, row.memory.id) for row in rows], rev)
    return Erased(gone_messages, gone, gone_vectors, gone_postings, gone_links, gone_versions)


def _disown(connection: Connection, derived: Sequence[int], rev: int) -> int:
    gone = 0
    remove_features(connection, derived)
    for part in chunks(derived):
        query = sa.update(memories).where(memories.c.key.in_(part))
        connection.execute(sa.delete(staging).where(staging.c.key.in_(part)))
        connection.execute(query.values(text="", stale=True, rev=rev, revised=rev, pending=Pending.NONE))
        gone += connection.execute(sa.delete(versions).where(versions.c.memory.in_(part))).rowcount
    return gone


def remove_session(connection: Connection, session: int) -> int:
    """Delete a session's remaining messages and the session itself; returns how many messages."""
    connection.execute(sa.delete(credits).where(credits.c.session == session))
    connection.execute(sa.delete(marks).where(marks.c.session == session))
    gone = connection.execute(sa.delete(messages).where(messages.c.session == session)).rowcount
    connection.execute(sa.delete(sessions).where(sessions.c.key == session))
    return gone


def remove_owner(connection: Connection, bank: BankRow) -> Erased:
    """Delete a whole owner from every table; leaves the bank's random uid for the index to drop."""
    rows = (first_key(bank.key), last_key(bank.key))
    own = sa.select(sessions.c.key).where(sessions.c.bank == bank.key)
    connection.execute(sa.delete(credits).where(credits.c.session.in_(own)))
    connection.execute(sa.delete(marks).where(marks.c.session.in_(own)))
    counts = Erased(
        messages=connection.execute(sa.delete(messages).where(messages.c.key.between(*rows))).rowcount,
        versions=connection.execute(sa.delete(versions).where(versions.c.memory.between(*rows))).rowcount,
        links=connection.execute(sa.delete(links).where(links.c.a.between(*rows))).rowcount
        + connection.execute(sa.delete(derivations).where(derivations.c.source.between(*rows))).rowcount,
        postings=connection.execute(sa.delete(postings).where(postings.c.key.between(*rows))).rowcount,
        vectors=connection.execute(sa.delete(vectors).where(vectors.c.key.between(*rows))).rowcount,
        memories=connection.execute(sa.delete(memories).where(memories.c.key.between(*rows))).rowcount,
    )
    connection.execute(sa.delete(staging).where(staging.c.key.between(*rows)))
    connection.execute(sa.delete(tombstones).where(tombstones.c.bank == bank.key))
    connection.execute(sa.delete(sessions).where(sessions.c.bank == bank.key))
    connection.execute(sa.delete(banks).where(banks.c.key == bank.key))
    connection.execute(sa.insert(drops).values(uid=bank.uid))
    return counts
