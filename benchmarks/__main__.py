"""``make bench``: what a chat turn costs, and whether it stays flat. Embedding time is excluded throughout."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.contenders import ChromaAlone, Contender, Floor, Ours
from benchmarks.material import FreeEmbedder, talk
from benchmarks.timing import Timing, each, race, rss_mb
from memorybank import MemoryStore

console = Console()
Result = dict[str, object]


def turn(folder: Path, memories: int, turns: int) -> Result:
    """One owner: ours against the floors and against Chroma alone."""
    embedder = FreeEmbedder()
    fill = {"gary": talk(memories, seed=1)}
    texts = talk(3 * (turns + 10), seed=2)
    contenders: list[Contender] = [
        Ours(folder / "ours", embedder, fill),
        Floor(folder / "floor", embedder, fill, resident=True),
        Floor(folder / "disk", embedder, fill, resident=False),
        ChromaAlone(folder / "chroma", embedder, fill),
    ]
    found = race(contenders, texts, turns)
    for one in contenders:
        one.close()
    return _show(f"a chat turn at {memories:,} memories of one owner", found, "MemoryBank")


def owners(folder: Path, many: int, turns: int) -> Result:
    """Many owners × 200 against one × 200, each turn another owner's."""
    embedder = FreeEmbedder()
    one = {"gary": talk(200, seed=1)}
    crowd = {f"user-{i}": talk(200, seed=i) for i in range(many)}
    texts = talk(3 * (turns + 10), seed=2)
    ones: list[Contender] = [
        Ours(folder / "one", embedder, one, name="1 owner x 200"),
        Ours(folder / "crowd", embedder, crowd, name=f"{many:,} owners x 200"),
    ]
    found = race(ones, texts, turns, warm=20)
    before = rss_mb()
    for contender in ones:
        contender.close()
    shown = _show(f"a chat turn with {many:,} owners", found, f"{many:,} owners x 200")
    console.print(f"memory of the process with both stores open: {before:,.0f} MiB")
    return {**shown, "rss_mb": before}


def large(folder: Path, memories: int, calls: int) -> Result:
    """Recall in a large bank against a small one, and the rate of a bulk import against Chroma's own bulk add."""
    embedder = FreeEmbedder()
    small, big = talk(1_000, seed=1), talk(memories, seed=3)
    questions = [" ".join(text.split()[:8]) for text in talk(calls, seed=5)]
    embedder.prepare([f"speaker {i % 2}: {text}" for i, text in enumerate(small)])
    embedder.prepare([f"speaker {i % 2}: {text}" for i, text in enumerate(big)])
    embedder.prepare(big)
    embedder.prepare(questions)
    with MemoryStore.open(folder / "ours", embedder=embedder) as store:
        for owner, texts in (("small", small), ("big", big)):
            start = time.perf_counter()
            store.bank(owner, timezone="UTC").add(
                [
                    {"role": "user", "name": f"speaker {i % 2}", "content": text}
                    for i, text in enumerate(texts)
                ],
                session="all",
            )
            added = time.perf_counter() - start
            store.flush()
            flushed = time.perf_counter() - start
        found = []
        for owner in ("small", "big"):
            bank = store.bank(owner, timezone="UTC")
            bank.recall("warm up")
            asks: list[Callable[[], object]] = [
                partial(bank.recall, question, 6, reinforce=False) for question in questions
            ]
            found.append(each(f"recall in {len(small if owner == 'small' else big):,}", asks))
    start = time.perf_counter()
    ChromaAlone(folder / "chroma", embedder, {"big": big}).close()
    chroma = time.perf_counter() - start
    shown = _show("recall in a large bank", found, found[1].name)
    console.print(
        f"bulk import of {memories:,}: durable and recallable after {added:.1f} s ({memories / added:,.0f}/s), "
        f"in the index after {flushed:.1f} s; Chroma's own bulk add {chroma:.1f} s: "
        f"{chroma / added:.2f}x its rate, {chroma / flushed:.2f}x with the index"
    )
    return {**shown, "import_s": added, "indexed_s": flushed, "chroma_s": chroma}


def memory(folder: Path, many: int) -> Result:
    """Memory of a process that opens many owners one after another."""
    embedder = FreeEmbedder(keep=5_000)
    limit = 64 * 2**20
    steps: list[tuple[int, float]] = []
    with MemoryStore.open(folder / "ours", embedder=embedder, chroma=False, memory_limit=limit) as store:
        for i in range(many):
            bank = store.bank(f"user-{i}", timezone="UTC")
            bank.add(
                [{"role": "user", "name": "a", "content": text} for text in talk(200, seed=i)], session="s"
            )
            bank.recall("w1 w2 w3")
            if (i + 1) % (many // 4) == 0:
                steps.append((i + 1, rss_mb()))
    table = Table(title=f"memory of a process, banks limited to {limit // 2**20} MiB")
    table.add_column("owners opened", justify="right")
    table.add_column("RSS, MiB", justify="right")
    for owner, mb in steps:
        table.add_row(f"{owner:,}", f"{mb:,.0f}")
    console.print(table)
    return {"steps": steps}


def _show(title: str, found: list[Timing], ours: str) -> Result:
    mine = next(one for one in found if one.name == ours)
    table = Table(title=title)
    for name in ("", "p50, ms", "p95, ms", f"{ours} / this"):
        table.add_column(name, justify="left" if not name else "right")
    for one in found:
        table.add_row(one.name, f"{one.p50:.2f}", f"{one.p95:.2f}", f"{mine.p50 / one.p50:.2f}")
    console.print(table)
    return {"title": title, "timings": [asdict(one) for one in found]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("only", nargs="*", help="turn, owners, large, memory (default: all)")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, to see that everything runs")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    quick = given.quick
    parts: dict[str, Callable[[Path], Result]] = {
        "turn": lambda folder: turn(folder, 200 if quick else 1_000, 20 if quick else 200),
        "turn5000": lambda folder: turn(folder, 500 if quick else 5_000, 20 if quick else 100),
        "owners": lambda folder: owners(folder, 20 if quick else 1_000, 40 if quick else 400),
        "large": lambda folder: large(folder, 3_000 if quick else 100_000, 20 if quick else 100),
        "memory": lambda folder: memory(folder, 40 if quick else 1_000),
    }
    results: dict[str, Result] = {}
    for name, run in parts.items():
        if given.only and not any(name.startswith(one) for one in given.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            results[name] = run(Path(folder))
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
