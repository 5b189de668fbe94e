"""The exact scan and ExactIndex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.index import ExactIndex, VectorIndex, scan
from tests.contracts.index_contract import IndexContract, unit_rows


class TestExactIndex(IndexContract):
    """ExactIndex keeps the contract."""

    @pytest.fixture
    def index(self) -> VectorIndex:
        return ExactIndex()


@given(st.integers(0, 60), st.integers(-1, 70), st.integers(0, 5))
def test_scan_is_the_sorted_whole(count: int, n: int, seed: int) -> None:
    """scan gives what sorting all similarities by (-similarity, row) gives, ties included."""
    rows = np.random.default_rng(seed).integers(-1, 2, size=(count, 3)).astype(np.float32)  # many equal rows
    query = np.array([1, 2, 3], dtype=np.float32)
    similarities = rows @ query
    expected = sorted(range(count), key=lambda row: (-similarities[row], row))[: max(n, 0)]
    found, values = scan(rows, query, n)
    assert found.tolist() == expected
    assert values.tolist() == similarities[expected].tolist()


def test_scan_of_nothing() -> None:
    """No rows, or none asked for: empty arrays of the promised types."""
    for matrix, n in ((np.empty((0, 4), dtype=np.float32), 5), (unit_rows(3), 0)):
        found, values = scan(matrix, matrix.sum(axis=0), n)
        assert (found.dtype, values.dtype) == (np.intp, np.float32)
        assert len(found) == len(values) == 0


@given(st.lists(st.tuples(st.sampled_from("uds"), st.integers(0, 12), st.integers(0, 30)), max_size=60))
def test_exact_index_agrees_with_a_dictionary(steps: list[tuple[str, int, int]]) -> None:
    """After any sequence of writes and deletions the index holds what a dictionary would hold."""
    rows = unit_rows(31, dimension=8)
    index, model = ExactIndex(), {}
    for step, name, row in steps:
        if step == "u":
            index.upsert("bank", [str(name)], rows[row : row + 1])
            model[str(name)] = row
        elif step == "d":
            index.delete("bank", [str(name)])
            model.pop(str(name), None)
        else:
            hits = index.search("bank", rows[row], 40)
            assert set(hits.ids) == set(model)
            for found, similarity in zip(hits.ids, hits.similarities, strict=True):
                assert similarity == pytest.approx(float(rows[model[found]] @ rows[row]), abs=1e-5)
    assert index.ids("bank") == set(model)
    assert index.count("bank") == len(model)
