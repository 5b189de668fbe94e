"""Keeping a store in order: erase, doctor, reindex."""

from __future__ import annotations

import logging
from dataclasses import replace

from sqlalchemy import Connection

from memorybank.embedding import as_embedder, embed_documents
from memorybank.embedding.protocol import Embedder
from memorybank.errors import IndexUnavailableError
from memorybank.models import Erased, Finding, Report
from memorybank.records import banks, census, erasure, outbox, revectoring
from memorybank.runtime import Runtime

logger = logging.getLogger("memorybank.upkeep")


def erase(runtime: Runtime, owner: str) -> Erased:
    """Remove an owner everywhere; what the index cannot drop now it drops at its next opening."""
    with runtime.database.write() as connection:
        bank = banks.find(connection, owner)
        if bank is None:
            return Erased()
        erased = erasure.remove_owner(connection, bank)
    runtime.residents.discard(bank.key)
    runtime.database.scrub()
    try:
        return replace(erased, indexed=runtime.indexer.drop_erased())
    except IndexUnavailableError as error:
        logger.warning("erased from the records; the index drops the vectors when it is back (%s)", error)
        return erased


def doctor(runtime: Runtime, *, repair: bool) -> Report:
    """Check everything that can be checked without an embedder or LLM call; see ``MemoryStore.doctor``."""
    with runtime.database.read() as connection:
        findings = [
            Finding("records", *runtime.database.integrity(connection)),
            _orphans(connection),
            _vectors(connection, runtime),
        ]
    findings.append(_unembedded(runtime, repair))
    findings.append(_index(runtime, repair))
    return Report(tuple(findings))


def _orphans(connection: Connection) -> Finding:
    found = {name: n for name, n in census.orphans(connection).items() if n}
    detail = ", ".join(f"{n} {name} without a memory" for name, n in found.items())
    return Finding("features", not found, detail or "every vector and posting belongs to a memory")


def _vectors(connection: Connection, runtime: Runtime) -> Finding:
    size = census.vector_size(connection)
    if size is None or runtime.embedder is None:
        return Finding("vectors", True, "no vectors to check" if size is None else f"{size // 4} dimensions")
    ok = size == 4 * runtime.embedder.dimension
    return Finding("vectors", ok, f"{size // 4} dimensions, the embedder has {runtime.embedder.dimension}")


def _unembedded(runtime: Runtime, repair: bool) -> Finding:
    def waiting() -> int:
        with runtime.database.read() as connection:
            return outbox.vectorless(connection) if runtime.expects_vectors else 0

    before = waiting()
    if before and repair and runtime.embedder is not None:
        with runtime.database.write() as connection:
            outbox.mark_unembedded(connection)  # also what a store that knew of no embedder has added
        runtime.indexer.embed_missing()
        after = waiting()
        return Finding("embedding", False, f"{before - after} of {before} memories embedded", after == 0)
    if before and runtime.embedder is None:
        return Finding(
            "embedding", True, f"{before} memories wait for an embedder; they are found by their words"
        )
    return Finding("embedding", not before, f"{before} memories wait for a vector")


def _index(runtime: Runtime, repair: bool) -> Finding:
    indexer = runtime.indexer
    if not indexer.wanted:
        return Finding("index", True, "no vector index in use; recall is exact, from the records")
    indexer.retry()
    problem = _disagreement(runtime)
    if problem is None:
        return Finding("index", True, "the vector index holds every vector of the records")
    if not repair:
        return Finding(
            "index", False, f"{problem}; recall stays exact. Repair rebuilds the index, without embedding"
        )
    try:
        written = indexer.rebuild()
    except IndexUnavailableError as error:
        return Finding("index", False, f"{problem}; it cannot be rebuilt now: {error}")
    return Finding("index", False, f"{problem}; rebuilt with {written} vectors", True)


def _disagreement(runtime: Runtime) -> str | None:
    """What is wrong with the index, or None."""
    try:
        runtime.indexer.flush()
        index = runtime.indexer.index()
        with runtime.database.read() as connection:
            expected = census.indexable(connection)
        off = [uid for uid, n in expected.items() if index.count(uid) != n]
    except IndexUnavailableError as error:
        return str(error)
    return f"{len(off)} banks have fewer or more vectors in the index than in the records" if off else None


def reindex(runtime: Runtime, embedder: Embedder, *, progress: bool) -> int:
    """Embed everything anew, batch by batch beside the old vectors, then switch in one transaction."""
    new = as_embedder(embedder)
    revectoring.begin(runtime.database, f"{new.name} ({new.dimension})")
    while True:
        with runtime.database.read() as connection:
            batch = revectoring.next_batch(connection)
        if not batch:
            with runtime.database.write() as connection:
                era = revectoring.finish(connection, new.name, new.dimension)
            if era is not None:
                break
            continue
        found = embed_documents(new, [text for _, _, text in batch], progress=progress)
        rows = [(key, revised, vector) for (key, revised, _), vector in zip(batch, found, strict=True)]
        with runtime.database.write() as connection:
            revectoring.put(connection, rows)
    runtime.embedding.embedder, runtime.embedding.expects, runtime.embedding.era = new, True, era
    runtime.residents.clear()
    try:
        runtime.indexer.rebuild()
    except IndexUnavailableError as error:
        logger.warning("the index is rebuilt when it is back (%s)", error)
    with runtime.database.read() as connection:
        return revectoring.count(connection)
