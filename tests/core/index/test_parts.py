"""How rows of many banks are put into writes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memorybank.index.parts import Part, filled, writes


def part(bank: str, count: int) -> Part:
    """``count`` rows whose one number tells which they are."""
    return Part(bank, [f"{bank}{i}" for i in range(count)], np.arange(count, dtype=np.float32)[:, None])


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 7))
def test_writes_are_full_and_nothing_is_lost(counts: list[int], most: int) -> None:
    """All rows in their order, each with its vector; every write but the last has ``most`` rows, none has no row."""
    parts = [part(chr(97 + i), count) for i, count in enumerate(counts)]
    made = list(filled(parts, most))
    sizes = [sum(len(one) for one in write) for write in made]
    assert sizes == [most] * (sum(counts) // most) + ([sum(counts) % most] if sum(counts) % most else [])
    assert all(len(one) for write in made for one in write)
    rows = [
        (one.bank, name, int(row[0]))
        for write in made
        for one in write
        for name, row in zip(one.ids, one.vectors, strict=True)
    ]
    assert rows == [(one.bank, f"{one.bank}{i}", i) for one in parts for i in range(len(one))]


def test_a_write_holds_one_group() -> None:
    """Banks that do not lie together never share a write."""
    parts = {bank: part(bank, 3) for bank in "abc"}
    found = [[(one.bank, len(one)) for one in write] for write in writes(parts, [["c", "a"], ["b"]], 4)]
    assert found == [[("c", 3), ("a", 1)], [("a", 2)], [("b", 3)]]
