"""What was said right before a memory: the words that an answer leans on."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from memorybank.models import Memory
from memorybank.records import memories
from memorybank.resident import Snapshot


def preceding(connection: Connection, snapshot: Snapshot, owner: str, found: Sequence[Memory]) -> list[str]:
    """For each memory the text of the turn before it in its session, "" where there is none.

    Only for what was made of one message: an exchange holds the words that its reply leans on.
    """
    corpus, key_of = snapshot.corpus, {}
    for memory in found:
        if len(memory.sources) != 1:
            continue
        for row in snapshot.rows_of([memory.id]):
            before = int(corpus.previous[row])
            if before >= 0 and corpus.alive[before]:
                key_of[memory.id] = int(snapshot.keys[before])
    rows = memories.by_keys(connection, sorted(set(key_of.values())), owner)
    texts = {key: row.memory.text for key, row in rows.items()}
    return [texts.get(key_of.get(memory.id, -1), "") for memory in found]
