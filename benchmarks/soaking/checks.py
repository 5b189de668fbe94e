"""What must be true after a kill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Connection

from benchmarks.soaking.child import Named
from memorybank.records import banks
from memorybank.records.migrations import read_meta
from memorybank.records.schema import SCHEMA_VERSION, memories, metadata, vectors
from memorybank.store import MemoryStore


class Counting(Named):
    """Counts what is embedded, so that a repair that embeds is seen."""

    embedded = 0

    def embed_documents(self, texts: list[str]) -> NDArray[Any]:
        """Rows as ever."""
        self.embedded += len(texts)
        return super().embed_documents(texts)


@dataclass
class Known:
    """What the store was said to hold, over all kills so far."""

    messages: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Acknowledged message ids by (owner, session), in order."""
    gone: dict[str, set[str]] = field(default_factory=dict)
    """Ids of memories that were said to be destroyed, by owner."""
    removed: dict[str, set[str]] = field(default_factory=dict)
    """Ids of the messages that went with them, by owner."""
    erased: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    credited: Counter[tuple[str, str]] = field(default_factory=Counter)


def learn(known: Known, lines: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Take in what a child said; returns the call that was cut off, if any."""
    cut: dict[str, Any] | None = None
    for line in lines:
        if "begun" in line:
            cut = line["begun"]
        elif "done" in line:
            _acknowledged(known, line["done"])
            cut = None
    return cut


def _acknowledged(known: Known, about: dict[str, Any]) -> None:
    if "ids" in about:
        known.messages.setdefault((about["owner"], about["session"]), []).extend(about["ids"])
    elif "gone" in about:
        known.gone.setdefault(about["owner"], set()).update(about["gone"])
        known.removed.setdefault(about["owner"], set()).update(about["sources"])
    elif "erased" in about:
        known.erased.add(about["erased"])
    elif "imported" in about:
        known.imported.add(about["imported"])
    elif "credited" in about:
        known.credited[(about["owner"], about["credited"])] += 1


def embedder_of(folder: Path) -> Counting:
    """The embedder that the store is of at present: a reindex may have been finished, or not."""
    with (
        MemoryStore.open(folder, embedder=None, chroma=False) as store,
        store.runtime.database.read() as connection,
    ):
        return Counting(read_meta(connection, "embedder_name") or "soak-0")


@dataclass(frozen=True)
class Outcome:
    """What a check found. ``faults`` should be empty."""

    faults: tuple[str, ...]
    unclean: bool
    """Whether the doctor found something to repair."""


def check(folder: Path, known: Known, cut: dict[str, Any] | None, exported: int) -> Outcome:
    """Open the store as its user would, and compare it with what is known. ``exported``: memories of an import."""
    faults: list[str] = []
    embedder = embedder_of(folder)
    with MemoryStore.open(folder, embedder=embedder) as store:
        faults += _schema(store)
        faults += _messages(store, known, cut)
        faults += _memories(store, known, cut, exported)
        waiting = sum(store.bank(owner).stats().unembedded for owner in store.owners())
        report = store.doctor()
        unclean = not report.ok
        if unclean:
            report = store.doctor(repair=True)
        if not report.ok:
            faults.append("not repaired: " + "; ".join(f.detail for f in report.findings if not f.ok))
        elif unclean and not store.doctor().ok:
            faults.append("not in order after the repair")
        if embedder.embedded > waiting:
            faults.append(f"{embedder.embedded} texts were embedded again, {waiting} had no vector")
        faults += _searched(store)
    return Outcome(tuple(faults), unclean)


def _schema(store: MemoryStore) -> list[str]:
    """Whether the tables are those of this version, a migration that was cut off included."""
    with store.runtime.database.read() as connection:
        version = read_meta(connection, "schema_version")
        there = sa.inspect(connection)
        wanted = {(table.name, index.name) for table in metadata.sorted_tables for index in table.indexes}
        held = {(name, one["name"]) for name in there.get_table_names() for one in there.get_indexes(name)}
    faults = [] if version == str(SCHEMA_VERSION) else [f"schema {version} instead of {SCHEMA_VERSION}"]
    return faults + [f"{name} is not there" for _, name in sorted(wanted - held, key=str)]


def _messages(store: MemoryStore, known: Known, cut: dict[str, Any] | None) -> list[str]:
    faults = []
    if cut and "ids" in cut:
        key = (cut["owner"], cut["session"])
        held = {message.id for message in store.bank(key[0]).history(key[1])}
        there = [id_ for id_ in cut["ids"] if id_ in held]
        if there and there != cut["ids"]:
            faults.append(f"half of an add: {len(there)} of {len(cut['ids'])}")
        if there:  # it was committed, and killed before it could say so
            known.messages.setdefault(key, []).extend(there)
    if cut and "gone" in cut:  # all of it went, or nothing
        left = set(cut["gone"]) & {memory.id for memory in store.bank(cut["owner"]).memories()}
        if left and len(left) < len(cut["gone"]):
            faults.append(f"half of a deletion: {len(left)} of {len(cut['gone'])} memories are left")
        if not left:
            _acknowledged(known, cut)
    for (owner, session), ids in known.messages.items():
        present = [message.id for message in store.bank(owner).history(session)]
        expected = [id_ for id_ in ids if id_ not in known.removed.get(owner, ())]
        if present != expected:
            lost, more = len(set(expected) - set(present)), len(set(present) - set(expected))
            faults.append(
                f"{owner}/{session}: {lost} acknowledged messages lost, {more} back, or their order"
            )
    return faults


def _memories(store: MemoryStore, known: Known, cut: dict[str, Any] | None, exported: int) -> list[str]:
    faults = []
    owners = set(store.owners())
    for owner, gone in known.gone.items():
        back = gone & {memory.id for memory in store.bank(owner).memories()}
        if back:
            faults.append(f"{len(back)} destroyed memories are back")
    if owners & known.erased:
        faults.append(f"{len(owners & known.erased)} erased owners are back")
    if known.imported - owners:
        faults.append(f"{len(known.imported - owners)} imported owners are lost")
    for name in owners:
        if name.startswith("imported") and store.bank(name).stats().total != exported:
            faults.append(f"half of an import: {store.bank(name).stats().total} of {exported} memories")
    for (owner, id_), credits in known.credited.items():
        found = [memory for memory in store.bank(owner).memories() if memory.id == id_]
        extra = int(bool(cut and cut.get("credited") == id_))
        if found and not credits <= found[0].strength - 1 <= credits + extra:
            faults.append(f"strength {found[0].strength} after {credits} credits")
        if found and extra:
            known.credited[(owner, id_)] = found[0].strength - 1
    return faults


def _searched(store: MemoryStore) -> list[str]:
    """Whether the index finds what it should hold: some memories of each owner, by their own vectors."""
    index, missed = store.runtime.indexer.index(), 0
    with store.runtime.database.read() as connection:
        for bank in banks.every(connection):
            held = _some(list(_vectors(connection, bank.key)), 5)
            missed += sum(id_ not in index.search(bank.uid, vector, 10).ids for id_, vector in held)
    return [f"{missed} vectors are not found by themselves"] if missed else []


def _vectors(connection: Connection, bank: int) -> Iterator[tuple[str, NDArray[np.float32]]]:
    query = (
        sa.select(memories.c.id, vectors.c.vector)
        .join(vectors, vectors.c.key == memories.c.key)
        .where(memories.c.bank == bank)
    )
    for id_, blob in connection.execute(query):
        yield id_, np.frombuffer(blob, "<f4").astype(np.float32)


def _some(items: Sequence[Any], n: int) -> Sequence[Any]:
    return items[:: max(1, len(items) // n)][:n]
