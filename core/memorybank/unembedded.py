"""Memories that were stored without a vector, because the embedder failed: embedded later."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from memorybank.embedding.current import Embedding
from memorybank.embedding.sparing import embed_sparing, works
from memorybank.records import banks, memories, outbox
from memorybank.records.database import Database
from memorybank.records.outbox import Unembedded

logger: logging.Logger = logging.getLogger("memorybank.index")

_BATCH = 64


def embed_missing(database: Database, embedding: Embedding) -> int:
    """Embed what has no vector, of all banks; returns how many. What is refused again waits on."""
    era = embedding.era  # read before the embedder: a reindex sets it last
    embedder = embedding.embedder
    if embedder is None:
        return 0
    done = 0
    after = -1
    while True:
        with database.read() as connection:
            rows = outbox.unembedded(connection, _BATCH, after)
        if not rows:
            break
        after = rows[-1].key
        found, error = embed_sparing(embedder, [row.text for row in rows])
        items = [(row, vector) for row, vector in zip(rows, found, strict=True) if vector is not None]
        if error is not None:
            logger.warning("%s; %d memories wait for their vectors", error, len(rows) - len(items))
        if not items and not works(embedder):
            break
        done += _put(database, items, era)
    return done


def _put(database: Database, items: Sequence[tuple[Unembedded, NDArray[np.float32]]], era: int) -> int:
    done = 0
    for key, group in groupby(items, key=lambda item: item[0].bank):
        with database.write() as connection:
            bumped = banks.bump(connection, key)
            if bumped is not None and bumped.era == era:
                given = [(row.key, row.revised, vector) for row, vector in group]
                done += len(memories.put_vectors(connection, given, bumped.rev))
    return done
