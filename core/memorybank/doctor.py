"""The doctor: does the index hold what the records say, do the records hang together, and what can be repaired."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from memorybank.errors import DamagedStoreError, IndexUnavailableError
from memorybank.models import Finding, Report
from memorybank.records import banks, census, outbox
from memorybank.runtime import Runtime
from memorybank.text.counting import counted

logger: logging.Logger = logging.getLogger("memorybank.doctor")

SAVE = "'memorybank doctor --salvage FOLDER' saves what can be read, as exports for a new store"

_PATIENCE = 0.2  # share of the vectors that may be wrong; with more, making the index anew is the shorter way


def examine(runtime: Runtime, *, repair: bool) -> Report:
    """Check everything that can be checked without an embedder or LLM call; see ``MemoryStore.doctor``."""
    try:
        findings = _records(runtime)
    except DamagedStoreError as error:
        return Report((Finding("records", False, f"{error}. {SAVE}"),))
    findings.append(_unembedded(runtime, repair))
    findings.append(_index(runtime, repair))
    return Report(tuple(findings))


def _records(runtime: Runtime) -> list[Finding]:
    with runtime.database.read() as connection:
        sound, words = runtime.database.integrity(connection)
        whole = Finding("records", sound, words if sound else f"{words}. {SAVE}")
        return [whole, _orphans(connection), _vectors(connection, runtime)]


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
        return Finding(
            "embedding",
            False,
            f"{before - after} of {counted(before, 'memory', 'memories')} embedded",
            after == 0,
        )
    if before and runtime.embedder is None:
        return Finding(
            "embedding",
            True,
            f"found by their words alone, for want of an embedder: {counted(before, 'memory', 'memories')}",
        )
    return Finding("embedding", not before, f"without a vector yet: {counted(before, 'memory', 'memories')}")


@dataclass(frozen=True)
class Differences:
    """How index and records differ: ids by bank (uid). ``strangers`` are banks that the records do not know."""

    missing: Mapping[str, list[str]]
    surplus: Mapping[str, list[str]]
    strangers: Mapping[str, list[str]]
    total: int

    def __bool__(self) -> bool:
        return bool(self.missing or self.surplus or self.strangers)

    @property
    def many(self) -> bool:
        """Whether so much is missing that the index is better made anew."""
        return _count(self.missing) > max(200, _PATIENCE * self.total)

    def __str__(self) -> str:
        parts = [
            f"{what}: {counted(_count(ids), 'vector')} of {counted(len(ids), 'bank')}"
            for ids, what in (
                (self.missing, "missing from the index"),
                (self.surplus, "in the index without a memory in the records"),
                (self.strangers, "in the index for no bank of the records"),
            )
            if ids
        ]
        return ", ".join(parts)


def _count(by_bank: Mapping[str, list[str]]) -> int:
    return sum(map(len, by_bank.values()))


def _index(runtime: Runtime, repair: bool) -> Finding:
    indexer = runtime.indexer
    if not indexer.wanted:
        return Finding("index", True, "no vector index in use; recall is exact, from the records")
    indexer.retry()
    try:
        found = differences(runtime)
    except IndexUnavailableError as error:
        return _put_off(error) or (_rebuilt(runtime, str(error)) if repair else _wrong(str(error)))
    if found.strangers and indexer.shared:
        # On a server they may be another store's, in this namespace by mistake: not ours to remove.
        logger.warning(
            "the Chroma server holds %d banks that these records do not know", len(found.strangers)
        )
        found = replace(found, strangers={})
    if not found:
        return Finding(
            "index", True, f"the vector index agrees with the records: {counted(found.total, 'vector')}"
        )
    if not repair:
        return _wrong(str(found))
    try:
        if found.many:
            return _rebuilt(runtime, str(found))
        indexer.mend(found.missing, {**found.surplus, **found.strangers})
        if differences(runtime):
            return _rebuilt(runtime, str(found))
    except IndexUnavailableError as error:
        return _put_off(error) or _rebuilt(runtime, f"{found}; {error}")
    return Finding("index", False, f"{found}; put in order", True)


def _put_off(error: IndexUnavailableError) -> Finding | None:
    """Where the disk is full nothing tells whether the index is in order, and making it anew would fail too."""
    if error.reason != "full":
        return None
    return Finding(
        "index", False, f"not checked: {error}. Recall stays exact; run this again when there is room"
    )


def _wrong(problem: str) -> Finding:
    return Finding(
        "index", False, f"{problem}; recall stays exact. Repair puts the index in order, without embedding"
    )


def _rebuilt(runtime: Runtime, problem: str) -> Finding:
    try:
        written = runtime.indexer.rebuild()
    except IndexUnavailableError as error:
        return Finding("index", False, f"{problem}; it cannot be rebuilt now: {error}")
    return Finding("index", False, f"{problem}; rebuilt with {counted(written, 'vector')}", True)


def differences(runtime: Runtime) -> Differences:
    """Index against records, id by id, after a flush. Raises IndexUnavailableError.

    The records are read before and after the index, so that what changes meanwhile is never taken for wrong.
    """
    with runtime.indexer.held_still() as index:
        before, uids = _recorded(runtime)
        held = index.contents()
        after, uids_after = _recorded(runtime)
    missing: dict[str, list[str]] = {}
    surplus: dict[str, list[str]] = {}
    for uid, ids in before.items():
        still, there = after.get(uid, {}), held.get(uid, set())
        lost = sorted(id_ for id_, written in ids.items() if written and still.get(id_) and id_ not in there)
        if lost:
            missing[uid] = lost
    for uid, names in held.items():
        beyond = sorted(names - before.get(uid, {}).keys() - after.get(uid, {}).keys())
        if beyond:
            surplus[uid] = beyond
    known = uids | uids_after
    return Differences(
        missing,
        {uid: ids for uid, ids in surplus.items() if uid in known},
        {uid: ids for uid, ids in surplus.items() if uid not in known},
        sum(map(len, after.values())),
    )


def _recorded(runtime: Runtime) -> tuple[dict[str, dict[str, bool]], set[str]]:
    with runtime.database.read() as connection:
        return census.indexable(connection), {bank.uid for bank in banks.every(connection)}
