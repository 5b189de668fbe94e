"""kill -9 at random moments of what writes: nothing acknowledged is lost, nothing is half done. The short form of
``python -m benchmarks.soak``."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak import soak, table


@pytest.mark.slow
def test_a_few_kills(tmp_path: Path) -> None:
    """Adding, deleting, erasing, migrating, one kill each: no fault, and the table says how many calls were made."""
    tallies = soak(4, ["add", "delete", "erase", "migrate"], tmp_path, seed=3, longest=0.5)
    assert [tally.faults for tally in tallies.values()] == [[], [], [], []]
    assert [tally.kills for tally in tallies.values()] == [1, 1, 1, 1]
    assert table(tallies).row_count == 5
