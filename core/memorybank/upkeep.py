"""Keeping a store in order: erase, reindex. See ``doctor`` for checks and repairs."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import replace

from memorybank.embedding import as_embedder
from memorybank.embedding.protocol import Embedder
from memorybank.embedding.sparing import embed_willing
from memorybank.errors import IndexUnavailableError, StoreError
from memorybank.models import Erased, StoreStats
from memorybank.records import banks, census, erasure, revectoring
from memorybank.records.database import Alone
from memorybank.runtime import Runtime
from memorybank.watch import Levels

logger: logging.Logger = logging.getLogger("memorybank.upkeep")


def erase(runtime: Runtime, owner: str, *, compact: bool = True) -> Erased:
    """Remove an owner everywhere; what the index cannot drop now it drops at its next opening."""
    with runtime.database.write() as connection:
        bank = banks.hold(connection, owner)
        if bank is None:
            return Erased()
        erased = erasure.remove_owner(connection, bank)
    runtime.residents.discard(bank.key)
    runtime.database.scrub()
    try:
        return replace(erased, indexed=runtime.indexer.drop_erased(compact=compact))
    except IndexUnavailableError as error:
        logger.warning("erased from the records; the index drops the vectors when it is back (%s)", error)
        return erased


def reindex(runtime: Runtime, embedder: Embedder, *, progress: bool) -> int:
    """Embed everything anew, batch by batch beside the old vectors, then switch in one transaction."""
    new = as_embedder(embedder)
    database = runtime.database
    # In one file writers take turns anyway; on a server two who gather would stand in each other's way.
    with nullcontext(Alone(None)) if database.is_sqlite else database.alone("reindex", wait=False) as mine:
        if mine is None:
            raise StoreError(f"{database.where} is being reindexed by another process; wait until it is done")
        revectoring.begin(database, f"{new.name} ({new.dimension})")
        refused: set[tuple[int, int]] = set()
        era = None
        while era is None:
            refused |= _gather(runtime, new, progress)
            with database.write() as connection:
                era = revectoring.finish(connection, new.name, new.dimension, refused)
    if refused:
        logger.warning(
            "%s does not take the texts of %d memories; they are found by their words", new.name, len(refused)
        )
    runtime.embedding.embedder, runtime.embedding.expects, runtime.embedding.era = new, True, era
    runtime.residents.clear()
    try:
        runtime.indexer.rebuild()
    except IndexUnavailableError as error:
        logger.warning("the index is rebuilt when it is back (%s)", error)
    with runtime.database.read() as connection:
        return revectoring.count(connection)


def _gather(runtime: Runtime, embedder: Embedder, progress: bool) -> set[tuple[int, int]]:
    """Put a new vector beside every memory; returns (key, revised) of those whose text is refused."""
    refused: set[tuple[int, int]] = set()
    after = -1
    while True:
        with runtime.database.read() as connection:
            batch = revectoring.next_batch(connection, after)
        if not batch:
            return refused
        after = batch[-1][0]
        found = embed_willing(embedder, [text for _, _, text in batch], progress=progress)
        rows = [
            (key, at, vector) for (key, at, _), vector in zip(batch, found, strict=True) if vector is not None
        ]
        refused |= {(key, at) for (key, at, _), vector in zip(batch, found, strict=True) if vector is None}
        with runtime.database.write() as connection:
            revectoring.put(connection, rows)


def levels(runtime: Runtime) -> Levels:
    """What stands at this moment, for gauges."""
    now = stats(runtime)
    return {
        "pending.index": now.pending_index,
        "pending.embed": now.pending_embed,
        "flush.lag": now.flush_lag,
        "cache.size": now.cache_bytes,
    }


def stats(runtime: Runtime) -> StoreStats:
    """See ``MemoryStore.stats``."""
    with runtime.database.read() as connection:
        backlog = census.backlog(connection)
    counts = runtime.watch.counts
    oldest = backlog.oldest
    return StoreStats(
        owners=backlog.owners,
        pending_index=backlog.index,
        pending_embed=backlog.embed,
        flush_lag=0.0 if oldest is None else max(0.0, (runtime.clock() - oldest).total_seconds()),
        cache_banks=len(runtime.residents),
        cache_bytes=runtime.residents.nbytes,
        degraded=runtime.degraded,
        calls={name.removeprefix("calls."): n for name, n in counts.items() if name.startswith("calls.")},
        messages=counts.get("messages", 0),
        llm_calls=counts.get("llm.calls", 0),
        llm_prompt_tokens=counts.get("llm.tokens.prompt", 0),
        llm_reply_tokens=counts.get("llm.tokens.reply", 0),
        index_failures=runtime.indexer.failures,
    )
