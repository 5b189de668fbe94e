"""``make bench-load``: many owners, many turns at once, and other memories beside ours, with the same free vectors.

Three tables: the same chat turn in every memory that is installed, interleaved; ours as owners grow, with memory,
open files and disk; ours with 1 to 32 turns at once. ``--shared`` adds PostgreSQL and a Chroma server, started here.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tqdm import tqdm  # type: ignore[import-untyped]  # no stubs

from benchmarks.contenders import Contender
from benchmarks.material import FreeEmbedder, talk
from benchmarks.peers import EMBEDDED, contenders, shared_contenders
from benchmarks.timing import percentile, race, rss_mb
from memorybank import MemoryStore

console = Console()
PER_OWNER = 200
K = 6
SHARED = "postgres"
Figures = dict[str, object]


def peers(owners: int, turns: int, names: Sequence[str]) -> list[Figures]:
    """The same turn in each memory, one after the other, each turn another owner's; then those on PostgreSQL."""
    embedder = FreeEmbedder()
    fill = {f"user-{i}": talk(PER_OWNER, seed=i) for i in range(owners)}
    found: list[Figures] = []
    with contenders(embedder, fill, [n for n in names if n != SHARED], console.print) as ready:
        found += _raced(f"a chat turn, {owners:,} owners x {PER_OWNER}", ready, owners, turns)
    if SHARED in names:
        with shared_contenders(embedder, fill, console.print) as ready:
            title = f"a chat turn on PostgreSQL, {owners:,} owners x {PER_OWNER}"
            found += _raced(title, ready, owners, turns)
    return found


def _raced(title: str, ready: Sequence[Contender], owners: int, turns: int) -> list[Figures]:
    if not ready:
        return []
    texts = talk(3 * (turns + 10), seed=2_000_003)
    found = race(ready, texts, turns, warm=min(owners, 25))
    table = _table(title, "", "p50, ms", "p95, ms", "p99, ms")
    for one in found:
        table.add_row(one.name, f"{one.p50:.2f}", f"{one.p95:.2f}", f"{one.p99:.2f}")
    console.print(table)
    return [{"owners": owners, "name": t.name, "p50": t.p50, "p95": t.p95, "p99": t.p99} for t in found]


def growth(
    store: MemoryStore, embedder: FreeEmbedder, sizes: list[int], turns: int, folder: Path
) -> list[Figures]:
    """Our own turn as owners are added; each turn another owner's, met for the first time and once more."""
    table = _table(
        f"MemoryBank, owners x {PER_OWNER}",
        *(
            "owners",
            "first turn p50",
            "p95",
            "p99",
            "again p50",
            "p95",
            "RSS, MiB",
            "files",
            "disk, kB/memory",
        ),
    )
    rows: list[Figures] = []
    made = 0
    for size in sizes:
        for i in tqdm(range(made, size), desc=f"to {size:,} owners", leave=False, disable=None):
            said = [_named(j, text) for j, text in enumerate(talk(PER_OWNER, seed=i))]
            store.bank(f"user-{i}", timezone="UTC").add(said, session="earlier")
        made = size
        store.flush()
        step = max(1, size // turns)
        chosen = [f"user-{i}" for i in range(0, size, step)][:turns]
        texts = talk(6 * len(chosen), seed=size + 1_000_000)
        first, again = (
            [
                _turn(store, embedder, owner, texts[at : at + 3])
                for at, owner in zip(range(3 * n, 6 * len(chosen), 6), chosen, strict=False)
            ]
            for n in (0, 1)
        )
        bytes_ = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        row: Figures = {
            "owners": size,
            **{f"first_p{p}": percentile(first, p) for p in (50, 95, 99)},
            **{f"again_p{p}": percentile(again, p) for p in (50, 95)},
            "rss_mb": rss_mb(),
            "files": _open_files(),
            "disk_kb": bytes_ / 1024 / (size * PER_OWNER),
        }
        rows.append(row)
        table.add_row(
            *(f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" for value in row.values())
        )
    console.print(table)
    return rows


def crowd(
    store: MemoryStore, embedder: FreeEmbedder, owners: int, threads: list[int], turns: int
) -> list[Figures]:
    """Turns at once: each thread another owner's."""
    table = _table("MemoryBank, turns at once", "threads", "turns/s", "p50, ms", "p95, ms", "p99, ms")
    rows: list[Figures] = []
    for n in threads:
        texts = talk(3 * turns, seed=n + 3_000_000)
        embedder.prepare(texts)
        taken: list[float] = []
        numbers, lock = itertools.count(), threading.Lock()

        def work(
            texts: list[str] = texts, taken: list[float] = taken, numbers: Iterator[int] = numbers
        ) -> None:
            while (i := next(numbers)) < turns:
                spent = _turn(store, embedder, f"user-{i % owners}", texts[3 * i : 3 * i + 3])
                with lock:  # noqa: B023 - the threads end before the loop goes on
                    taken.append(spent)

        start = time.perf_counter()
        crew = [threading.Thread(target=work) for _ in range(n)]
        for one in crew:
            one.start()
        for one in crew:
            one.join()
        rate = turns / (time.perf_counter() - start)
        row = {"threads": n, "rate": rate, **{f"p{p}": percentile(taken, p) for p in (50, 95, 99)}}
        rows.append(dict(row))
        table.add_row(f"{n}", f"{rate:,.0f}", *(f"{row[f'p{p}']:.1f}" for p in (50, 95, 99)))
    console.print(table)
    return rows


def _turn(store: MemoryStore, embedder: FreeEmbedder, owner: str, texts: list[str]) -> float:
    """Milliseconds of one turn; the vectors are made before."""
    said, reply, asked = texts[0], texts[1], " ".join(texts[2].split()[:8])
    embedder.prepare([f"user: {said}\nassistant: {reply}", asked])
    start = time.perf_counter()
    bank = store.bank(owner, timezone="UTC")
    bank.add([{"role": "user", "content": said}, {"role": "assistant", "content": reply}], session="now")
    bank.recall(asked, K)
    return (time.perf_counter() - start) * 1e3


def _named(i: int, text: str) -> dict[str, object]:
    return {"role": "user", "name": f"speaker {i % 2}", "content": text}


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return -1


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for name in columns:
        table.add_column(name, justify="right" if name else "left")
    return table


@contextlib.contextmanager
def _shared(embedder: FreeEmbedder) -> Iterator[tuple[MemoryStore, Path]]:
    """A store on PostgreSQL and a Chroma server, both started here and durable."""
    from benchmarks.servers import ChromaServer, PostgresServer

    with tempfile.TemporaryDirectory() as folder:
        postgres, chroma = PostgresServer(durable=True), ChromaServer(Path(folder))
        try:
            postgres.start()
            chroma.start()
            with MemoryStore.open(database=postgres.make(), chroma=chroma.url, embedder=embedder) as store:
                yield store, postgres.folder
        finally:
            chroma.stop()
            postgres.remove()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--owners", type=int, nargs="*", default=[1, 100, 1_000, 5_000])
    parser.add_argument("--peers", type=int, nargs="*", default=[1, 25], help="owners in the table of peers")
    parser.add_argument(
        "--memories",
        nargs="*",
        default=[*EMBEDDED, SHARED],
        choices=[*EMBEDDED, SHARED],
        help="which memories are in the table of peers",
    )
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 4, 16, 32])
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument(
        "--shared", action="store_true", help="ours on PostgreSQL and a Chroma server as well"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    results: dict[str, object] = {
        "peers": [row for n in given.peers for row in peers(n, given.turns, given.memories)]
    }
    if not given.owners:
        _written(given.json, results)
        return
    embedder = FreeEmbedder(keep=5_000)  # the process's memory is measured
    with tempfile.TemporaryDirectory() as folder, MemoryStore.open(folder, embedder=embedder) as store:
        console.rule("embedded: SQLite and Chroma in one folder")
        results["growth"] = growth(store, embedder, given.owners, given.turns, Path(folder))
        results["crowd"] = crowd(store, embedder, max(given.owners), given.threads, given.turns)
    if given.shared:
        with _shared(embedder) as (store, place):
            console.rule("shared: PostgreSQL and a Chroma server")
            sizes = [size for size in given.owners if size <= 100]
            results["shared_growth"] = growth(store, embedder, sizes, given.turns, place)
            results["shared_crowd"] = crowd(store, embedder, max(sizes), given.threads, given.turns)
    _written(given.json, results)


def _written(path: Path | None, results: dict[str, object]) -> None:
    if path is not None:
        path.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
