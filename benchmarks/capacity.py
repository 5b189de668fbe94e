"""What many owners need: ``python -m benchmarks.capacity``. A day simulated from measured costs of one turn.

Owners come and go as a day has it (twice as many in the evening); each visit is a run of turns with a pause
between them. A process keeps the banks it used last in memory, up to a limit; whose bank is not there is loaded
first. What comes out: how many turns at once, how often a bank must be loaded, cores, memory and disk.
"""

from __future__ import annotations

import argparse
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

console = Console()
DAY = 86_400.0


@dataclass(frozen=True)
class Costs:
    """Measured with ``make bench`` and ``make bench-load`` on 2 cores, embedding excluded."""

    warm_ms: float = 9.0  # CPU of a turn whose bank is in memory
    load_ms: float = 4.5  # more where it is not (200 memories)
    embed_ms: float = 130.0  # the offline model on a question and an exchange; 0 with an embedding service
    row_bytes: int = 600 + 4 * 384  # a resident memory and its vector
    disk_bytes: int = 10_500  # a stored memory, records and index


@dataclass(frozen=True)
class Habits:
    """How owners use it (assumptions, not measurements)."""

    memories: int = 200
    daily: float = 0.05  # share of the owners who come on a day
    visits: float = 2.0  # visits of such a day
    turns: float = 10.0  # turns of a visit
    pause_s: float = 45.0  # between two turns of a visit


@dataclass(frozen=True)
class Need:
    """What a day asks for; all owners together."""

    turns_a_day: float
    peak_turns_s: float
    loads: float  # share of the turns whose bank had to be loaded
    cores: float
    resident_gb: float
    disk_tb: float


def simulate(
    owners: int, processes: int, limit_gb: float, costs: Costs, habits: Habits, seed: int = 7
) -> Need:
    """One process's share of the owners through one day; the rest is that many times as much."""
    rng = np.random.default_rng(seed)
    share = max(1, owners // processes)
    visits = rng.poisson(share * habits.daily * habits.visits)
    who = rng.integers(0, share, visits)
    # A day's curve: 1 + sin, its top in the evening.
    start = np.sort(_by_the_clock(rng, visits))
    count = rng.geometric(1 / habits.turns, visits)
    owner = np.repeat(who, count)
    nth = np.arange(owner.shape[0]) - np.repeat(np.cumsum(count) - count, count)
    waited = np.cumsum(np.where(nth == 0, 0.0, rng.exponential(habits.pause_s, owner.shape[0])))
    at = np.repeat(start - waited[nth == 0], count) + waited
    order = np.argsort(at)
    loads = _loads(owner[order].tolist(), int(limit_gb * 1e9 / (habits.memories * costs.row_bytes)))
    per_second = np.bincount((at[at < DAY] // 60).astype(np.int64), minlength=1440) / 60
    turns, peak = float(owner.shape[0]), float(per_second.max())
    ms = costs.warm_ms + costs.embed_ms + loads * costs.load_ms
    kept = min(limit_gb * 1e9, len(np.unique(owner)) * habits.memories * costs.row_bytes)
    return Need(
        turns_a_day=turns * processes,
        peak_turns_s=peak * processes,
        loads=loads,
        cores=peak * processes * ms / 1e3 / 0.6,  # at 60 % busy
        resident_gb=kept * processes / 1e9,
        disk_tb=owners * habits.memories * costs.disk_bytes / 1e12,
    )


def _by_the_clock(rng: np.random.Generator, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    hours = np.arange(24)
    weight = 1 + 0.9 * np.sin((hours - 13) / 24 * 2 * np.pi)
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        rng.choice(hours, n, p=weight / weight.sum()) + rng.random(n)
    ) * 3600.0
    return found


def _loads(turns: list[int], room: int) -> float:
    """Share of the turns whose bank is not among the ``room`` used last."""
    held: OrderedDict[int, None] = OrderedDict()
    missed = 0
    for owner in turns:
        if owner in held:
            held.move_to_end(owner)
            continue
        missed += 1
        held[owner] = None
        if len(held) > room:
            held.popitem(last=False)
    return missed / max(1, len(turns))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description=__doc__)
    parser.add_argument("--owners", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--per-process", type=int, default=100_000, help="owners that one process serves")
    parser.add_argument("--limit-gb", type=float, default=0.5, help="memory for banks in a process")
    parser.add_argument("--warm-ms", type=float, default=Costs.warm_ms)
    parser.add_argument("--load-ms", type=float, default=Costs.load_ms)
    parser.add_argument("--embed-ms", type=float, default=Costs.embed_ms)
    given = parser.parse_args()
    costs = Costs(warm_ms=given.warm_ms, load_ms=given.load_ms, embed_ms=given.embed_ms)
    table = Table(title=f"{Habits()}")
    for name in (
        *("owners", "processes", "turns a day", "turns/s at the peak", "banks loaded, % of turns"),
        *("cores", "memory, GB", "disk, TB"),
    ):
        table.add_column(name, justify="right")
    for owners in given.owners:
        processes = -(-owners // given.per_process)
        need = simulate(owners, processes, given.limit_gb, costs, Habits())
        table.add_row(
            *(f"{owners:,}", f"{processes}", f"{need.turns_a_day:,.0f}", f"{need.peak_turns_s:,.0f}"),
            *(
                f"{need.loads * 100:.1f}",
                f"{need.cores:,.1f}",
                f"{need.resident_gb:,.1f}",
                f"{need.disk_tb:,.2f}",
            ),
        )
    console.print(table)


if __name__ == "__main__":
    main()
