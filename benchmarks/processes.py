"""``python -m benchmarks.processes``: several processes add to and recall from one store, and nothing may go wrong.

Every thread of every process shares an owner with one thread of each other process, and writes by turns into a
session of its own and into one that all of them share. Afterwards the store is read and compared with what the
writers were told: every message once, each writer's in order, positions without a gap, strengths exactly one more
than the recalls that returned a memory, and the index complete. Embedding time is excluded.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import queue
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.servers import ChromaServer, MissingServerError, PostgresServer
from memorybank import MemoryBank, MemoryStore
from memorybank.testing import HashEmbedder

WAIT_SECONDS = 120.0  # until all processes have opened the store


@dataclass(frozen=True)
class Place:
    """Where the store is: a folder, or a database and a Chroma server."""

    name: str
    folder: Path | None = None
    database: str | None = None
    chroma: str | None = None

    def open(self, *, flush_on_close: bool = True) -> MemoryStore:
        """Open the store."""
        return MemoryStore.open(
            self.folder,
            database=self.database,
            chroma=self.chroma,
            embedder=HashEmbedder(384),
            flush_on_close=flush_on_close,
        )


@dataclass(frozen=True)
class Load:
    """How much: each of ``processes`` × ``threads`` adds ``adds`` exchanges and recalls after each."""

    processes: int = 4
    threads: int = 8
    adds: int = 500
    k: int = 3

    @property
    def total(self) -> int:
        """Exchanges added in all."""
        return self.processes * self.threads * self.adds


@dataclass
class Done:
    """What one process did: seconds of each call, how often each memory was returned, by owner, and errors."""

    added: list[float] = field(default_factory=list)
    recalled: list[float] = field(default_factory=list)
    returned: dict[str, Counter[str]] = field(default_factory=dict)
    missed: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """A run: times in milliseconds, and whatever was found wrong (nothing, if all is well)."""

    place: str
    exchanges: int
    seconds: float
    flush_seconds: float
    add_p50: float
    add_p95: float
    add_p99: float
    recall_p50: float
    recall_p95: float
    recall_p99: float
    wrong: tuple[str, ...]


def owner_of(thread: int) -> str:
    """The owner that this thread of every process writes for."""
    return f"owner-{thread}"


def said(process: int, thread: int, number: int) -> str:
    """The words of one exchange; no two are alike."""
    return f"writer p{process}t{thread} noted item n{number} about topic w{number % 17}"


def run(place: Place, load: Load) -> Outcome:
    """Let the processes loose, then read the store and compare."""
    place.open().close()  # the tables are made once; first openings that race have a test of their own
    context = multiprocessing.get_context("spawn")
    barrier: Barrier = context.Barrier(load.processes + 1)
    results: Queue[Done] = context.Queue()
    workers = [
        context.Process(target=_process, args=(place, load, number, barrier, results))
        for number in range(load.processes)
    ]
    for worker in workers:
        worker.start()
    barrier.wait(WAIT_SECONDS)
    start = time.perf_counter()
    done = [_awaited(results, workers) for _ in workers]
    seconds = time.perf_counter() - start
    for worker in workers:
        worker.join()
    with place.open() as store:
        start = time.perf_counter()
        store.flush()
        flushed = time.perf_counter() - start
        wrong = tuple(check(store, load, done))
    added = [one for each in done for one in each.added]
    recalled = [one for each in done for one in each.recalled]
    return Outcome(
        place.name, load.total, seconds, flushed, *_percentiles(added), *_percentiles(recalled), wrong
    )


def _awaited(results: Queue[Done], workers: Sequence[BaseProcess]) -> Done:
    while True:
        try:
            return results.get(timeout=1.0)
        except queue.Empty:
            if any(worker.exitcode for worker in workers):
                raise RuntimeError("a process ended early; its error is above") from None


def _process(place: Place, load: Load, number: int, barrier: Barrier, results: Queue[Done]) -> None:
    done = Done()
    lock = threading.Lock()
    with place.open(flush_on_close=False) as store:  # what is left is flushed, and timed, at the end
        threads = [
            threading.Thread(target=_thread, args=(store, load, number, thread, done, lock))
            for thread in range(load.threads)
        ]
        barrier.wait(WAIT_SECONDS)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        results.put(done)


def _thread(
    store: MemoryStore, load: Load, process: int, thread: int, done: Done, lock: threading.Lock
) -> None:
    bank = store.bank(owner_of(thread), timezone="UTC")
    own = f"of p{process}"
    added: list[float] = []
    recalled: list[float] = []
    returned: Counter[str] = Counter()
    missed = 0
    try:
        for number in range(load.adds):
            text = said(process, thread, number)
            start = time.perf_counter()
            bank.add(
                [{"role": "user", "content": text}, {"role": "assistant", "content": "noted"}],
                session="shared" if number % 2 else own,
            )
            middle = time.perf_counter()
            found = bank.recall(text, k=load.k)
            recalled.append(time.perf_counter() - middle)
            added.append(middle - start)
            returned.update(one.memory.id for one in found)
            missed += not any(text in one.memory.text for one in found)
    except Exception as error:  # noqa: BLE001 - whatever a caller would have met is the outcome
        with lock:
            done.errors.append(f"p{process}t{thread}: {type(error).__name__}: {error}")
    with lock:
        done.added += added
        done.recalled += recalled
        done.missed += missed
        done.returned.setdefault(owner_of(thread), Counter()).update(returned)


def check(store: MemoryStore, load: Load, done: Sequence[Done]) -> Iterator[str]:
    """What is wrong with the store, in words; nothing if all is as the writers were told."""
    for each in done:
        yield from each.errors
        if each.missed:
            yield f"{each.missed} recalls did not see the exchange that was added just before"
    for thread in range(load.threads):
        bank = store.bank(owner_of(thread))
        yield from _check_transcript(bank, load, thread)
        expected: Counter[str] = Counter()
        for each in done:
            expected.update(each.returned.get(owner_of(thread), {}))
        counted = {one.id: one.strength - 1 for one in bank.memories() if one.strength > 1}
        if counted != dict(expected):
            yield f"{bank.owner}: {sum(counted.values())} increments counted, {expected.total()} were made"
    report = store.doctor()
    if not report.ok:
        yield f"doctor: {report}"
    unindexed = sum(store.bank(owner).stats().unindexed for owner in store.owners())
    if unindexed:
        yield f"{unindexed} memories are not in the index after the flush"


def _check_transcript(bank: MemoryBank, load: Load, thread: int) -> Iterator[str]:
    stored: Counter[str] = Counter()
    for session in bank.sessions():
        messages = bank.history(session)
        if [one.position for one in messages] != list(range(len(messages))):
            yield f"{bank.owner}, {session!r}: positions have gaps"
        texts = [one.text for one in messages if one.role == "user"]
        stored.update(texts)
        for process in range(load.processes):
            mine = [text for text in texts if text.startswith(f"writer p{process}t{thread} ")]
            if mine != sorted(mine, key=_number):
                yield f"{bank.owner}, {session!r}: messages of process {process} are out of order"
    wanted = Counter(said(p, thread, n) for p in range(load.processes) for n in range(load.adds))
    if stored != wanted:
        lost, doubled = wanted - stored, stored - wanted
        yield f"{bank.owner}: {lost.total()} messages are missing, {doubled.total()} are there too often"


def _number(text: str) -> int:
    return int(text.split(" item n")[1].split()[0])


def _percentiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    if len(seconds) < 2:
        return (0.0, 0.0, 0.0)
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return cuts[49] * 1e3, cuts[94] * 1e3, cuts[98] * 1e3


@contextmanager
def shared(database: str | None, chroma: str | None) -> Iterator[Place]:
    """A database and a Chroma server: those given, or private ones for the time of the run."""
    with tempfile.TemporaryDirectory() as folder:
        postgres = PostgresServer(durable=True) if database is None else None
        index = ChromaServer(Path(folder)) if chroma is None else None
        try:
            if postgres is not None:
                postgres.start()
                database = postgres.make() + "&connect_timeout=300"  # the machine may be busy
            if index is not None:
                index.start()
                chroma = index.url
            yield Place("PostgreSQL + Chroma server", database=database, chroma=chroma)
        finally:
            if index is not None:
                index.stop()
            if postgres is not None:
                postgres.remove()


def table(load: Load, outcomes: Sequence[Outcome]) -> Table:
    """The outcomes, one a row."""
    made = Table(
        title=f"{load.processes} processes x {load.threads} threads x {load.adds} adds, each with a recall"
    )
    heads = (
        "store",
        "seconds",
        "adds/s",
        "add p50/p95/p99, ms",
        "recall p50/p95/p99, ms",
        "flush, s",
        "wrong",
    )
    for name in heads:
        made.add_column(name, justify="left" if name in ("store", "wrong") else "right")
    for one in outcomes:
        made.add_row(
            one.place,
            f"{one.seconds:.1f}",
            f"{one.exchanges / one.seconds:.0f}",
            f"{one.add_p50:.0f} {one.add_p95:.0f} {one.add_p99:.0f}",
            f"{one.recall_p50:.0f} {one.recall_p95:.0f} {one.recall_p99:.0f}",
            f"{one.flush_seconds:.1f}",
            "nothing" if not one.wrong else str(len(one.wrong)),
        )
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument(
        "only", nargs="*", choices=["folder", "shared", []], help="which store (default: both)"
    )
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=8, help="of each process")
    parser.add_argument("--adds", type=int, default=500, help="of each thread")
    parser.add_argument("--database", help="an empty PostgreSQL database (default: a private server)")
    parser.add_argument("--chroma", help="a Chroma server's address (default: a private server)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    load = Load(given.processes, given.threads, given.adds)
    console = Console()
    outcomes: list[Outcome] = []
    if not given.only or "folder" in given.only:
        with tempfile.TemporaryDirectory() as folder:
            outcomes.append(run(Place("one folder", folder=Path(folder) / "memory"), load))
    if not given.only or "shared" in given.only:
        try:
            with shared(given.database, given.chroma) as place:
                outcomes.append(run(place, load))
        except MissingServerError as error:
            sys.exit(str(error))
    console.print(table(load, outcomes))
    wrong = [f"{one.place}: {problem}" for one in outcomes for problem in one.wrong]
    for problem in wrong:
        console.print(problem, style="red", markup=False)
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=2))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
