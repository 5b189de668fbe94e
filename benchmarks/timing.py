"""Interleaved timing: one turn of each in turn, so that a change of the machine's pace meets all alike."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tqdm import tqdm  # type: ignore[import-untyped]  # no stubs

from benchmarks.contenders import Contender


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one contender."""

    name: str
    p50: float
    p95: float
    p99: float


def race(
    contenders: Sequence[Contender], texts: Sequence[str], turns: int, *, warm: int = 10
) -> list[Timing]:
    """Time ``turns`` turns of each, after ``warm`` that are not counted."""
    taken: dict[str, list[float]] = {one.name: [] for one in contenders}
    for i in tqdm(range(warm + turns), desc="turns", leave=False, disable=None):
        said, reply, asked = (
            texts[3 * i % len(texts)],
            texts[(3 * i + 1) % len(texts)],
            texts[(3 * i + 2) % len(texts)],
        )
        asked = " ".join(asked.split()[:8])
        for one in contenders:
            start = time.perf_counter()
            one.turn(i, said, reply, asked)
            if i >= warm:
                taken[one.name].append((time.perf_counter() - start) * 1e3)
    return [_timing(name, found) for name, found in taken.items()]


def each(name: str, calls: Sequence[Callable[[], object]]) -> Timing:
    """Time each of these calls."""
    found = []
    for call in calls:
        start = time.perf_counter()
        call()
        found.append((time.perf_counter() - start) * 1e3)
    return _timing(name, found)


def _timing(name: str, found: Sequence[float]) -> Timing:
    return Timing(name, statistics.median(found), percentile(found, 95), percentile(found, 99))


def percentile(found: Sequence[float], p: int) -> float:
    """The value that ``p`` percent do not pass."""
    ordered = sorted(found)
    return ordered[min(len(ordered) - 1, int(p / 100 * len(ordered)))]


def rss_mb() -> float:
    """Resident memory of this process at present, in MiB (Linux), or its peak elsewhere."""
    try:
        with open("/proc/self/statm") as stream:
            return int(stream.read().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
