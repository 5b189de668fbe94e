"""Kill -9 at random moments, then check: ``python -m benchmarks.soak --kills 200``.

A child process does one thing to a store (add, flush, consolidate, forget, delete, erase, import, reindex,
reinforce, rebuild, migrate) until it is killed at a random moment. Then the store is opened as ever and checked:
what was acknowledged is there, what was cut off is there whole or not at all, the doctor finds it in order or
repairs it without embedding, and memories are found by their own texts. One folder per verb goes through all its
kills.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tqdm import tqdm  # type: ignore[import-untyped]  # no stubs

from benchmarks.soaking.checks import Known, check, learn
from benchmarks.soaking.child import START, VERBS, Named, texts
from memorybank.store import MemoryStore

GROWN = 3_000
"""Memories of an owner above which a folder is begun anew, so that a check takes the same time throughout."""


@dataclass
class Tally:
    """One verb's row of the table."""

    kills: int = 0
    calls: int = 0
    cut: int = 0
    unclean: int = 0
    faults: list[str] = field(default_factory=list)


def soak(
    kills: int, verbs: Sequence[str], folder: Path, *, seed: int, longest: float, report: Path | None = None
) -> dict[str, Tally]:
    """Kill ``kills`` times, the verbs by turns; at most ``longest`` seconds after the child is at work.

    The counts so far are in ``report`` after every kill. Ctrl-C ends it early, with what was counted until then.
    """
    draw = random.Random(seed)  # noqa: S311 - repeatable, no secret
    tallies = {verb: Tally() for verb in verbs}
    known = {verb: Known() for verb in verbs}
    exported = _prepare(folder, verbs, draw)
    with contextlib.suppress(KeyboardInterrupt):
        for number in tqdm(range(kills), desc="kill -9", unit="kill", disable=None):
            verb = verbs[number % len(verbs)]
            _once(
                verb,
                number,
                folder / verb / "memory",
                tallies[verb],
                known,
                exported,
                draw,
                f"{seed}",
                longest,
            )
            if report is not None:
                report.write_text(
                    json.dumps({name: vars(tally) for name, tally in tallies.items()}, indent=1)
                )
    return tallies


def _once(
    verb: str,
    number: int,
    place: Path,
    tally: Tally,
    known: dict[str, Known],
    exported: int,
    draw: random.Random,
    seed: str,
    longest: float,
) -> None:
    lines = _killed(verb, place, f"{seed}-{number}", draw.uniform(0, longest))
    cut = learn(known[verb], lines)
    outcome = check(place, known[verb], cut, exported)
    tally.kills += 1
    tally.calls += sum("done" in line for line in lines)
    tally.cut += cut is not None
    tally.unclean += outcome.unclean
    tally.faults += [f"kill {number}: {fault}" for fault in outcome.faults]
    if _grown(place):
        shutil.rmtree(place)
        known[verb] = Known()
        _fill(place, draw)


def _prepare(folder: Path, verbs: Sequence[str], draw: random.Random) -> int:
    """A filled store per verb, and an export to import; returns the memories of the export."""
    source = folder / "source"
    _fill(source, draw)
    with MemoryStore.open(source, embedder=Named("soak-0"), chroma=False) as store:
        bank = store.bank("owner0")
        bank.export(folder / "export.jsonl")
        exported = bank.stats().total
    for verb in verbs:
        (folder / verb).mkdir()
        shutil.copytree(source, folder / verb / "memory")
        shutil.copy(folder / "export.jsonl", folder / verb / "export.jsonl")
    return exported


def _fill(place: Path, draw: random.Random, n: int = 150) -> None:
    with MemoryStore.open(place, embedder=Named("soak-0")) as store:
        for owner in ("owner0", "owner1", "owner2"):
            said: list[dict[str, Any]] = [
                {"role": "user", "content": text, "at": START} for text in texts(draw, n)
            ]
            store.bank(owner, timezone="UTC").add(said, session="before")


def _grown(place: Path) -> bool:
    with MemoryStore.open(place, embedder=None, chroma=False) as store:
        held = [store.bank(owner).stats().total for owner in store.owners()]
    return max(held, default=0) > GROWN or len(held) > 30


def _killed(verb: str, place: Path, seed: str, after: float) -> list[dict[str, Any]]:
    """What the child said until it was killed ``after`` seconds."""
    from benchmarks.soaking.checks import embedder_of

    program = [
        sys.executable,
        "-m",
        "benchmarks.soaking.child",
        verb,
        str(place),
        embedder_of(place).name,
        seed,
    ]
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(program, stdout=said, stderr=subprocess.PIPE, text=True)  # noqa: S603 - ours
        try:
            _wait_ready(child, said.fileno(), seed)
            time.sleep(after)
        finally:
            child.kill()
            _, words = child.communicate()
        said.seek(0)
        lines = [json.loads(line) for line in said if line.endswith("\n")]
    if child.returncode != -9:
        raise RuntimeError(f"the child for {verb} ended by itself ({child.returncode}): {words[-2000:]}")
    return lines


def _wait_ready(child: subprocess.Popen[str], said: int, seed: str) -> None:
    import os

    limit = time.monotonic() + 300
    while os.fstat(said).st_size == 0 and child.poll() is None:
        if time.monotonic() > limit:
            raise RuntimeError(f"the child of seed {seed} was not at work within 300 s")
        time.sleep(0.01)


def table(tallies: dict[str, Tally]) -> Table:
    """The verbs with their kills, and what went wrong."""
    made = Table("killed in", "kills", "calls acknowledged", "calls cut off", "doctor repaired", "faults")
    for verb, tally in tallies.items():
        counts = (tally.kills, tally.calls, tally.cut, tally.unclean, len(tally.faults))
        made.add_row(verb, *map(str, counts))
    total = [
        sum(getattr(tally, name) for tally in tallies.values())
        for name in ("kills", "calls", "cut", "unclean")
    ]
    made.add_row(
        "all", *map(str, total), str(sum(len(tally.faults) for tally in tallies.values())), style="bold"
    )
    return made


def main(given: Sequence[str] | None = None) -> int:
    """The command. Exit code 1 if something was lost, half done or not repaired."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--verbs", nargs="+", choices=list(VERBS), default=list(VERBS), metavar="VERB")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=1.5, help="seconds of work before the kill, at most")
    parser.add_argument("--json", type=Path, help="also write the counts there, after every kill")
    options = parser.parse_args(given)
    console = Console()
    with tempfile.TemporaryDirectory(prefix="memorybank-soak-") as folder:
        tallies = soak(
            options.kills,
            options.verbs,
            Path(folder),
            seed=options.seed,
            longest=options.longest,
            report=options.json,
        )
    console.print(table(tallies))
    for verb, tally in tallies.items():
        for fault in tally.faults:
            console.print(f"{verb}: {fault}", markup=False)
    return int(any(tally.faults for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
