"""What every VectorIndex keeps. A concrete suite inherits it and gives the fixture ``index``."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from memorybank.errors import InvalidInputError
from memorybank.index import ExactIndex, Hits, VectorIndex
from memorybank.index.parts import Part

DIMENSION = 48


def unit_rows(count: int, seed: int = 0, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Random directions, unit length."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def names(count: int, start: int = 0) -> list[str]:
    """Ids as the store makes them: short, plain."""
    return [f"m{number}" for number in range(start, start + count)]


def assert_same(found: Hits, expected: Hits) -> None:
    """The same ids in the same order, and the same similarities up to float32 arithmetic."""
    assert found.ids == expected.ids
    np.testing.assert_allclose(found.similarities, expected.similarities, atol=1e-5)


class IndexContract:
    """The rules; ``index`` is empty and is closed by the fixture."""

    @pytest.fixture
    def index(self) -> VectorIndex:
        raise NotImplementedError("the concrete suite gives the index")

    def test_nearest_come_first_with_their_cosine(self, index: VectorIndex) -> None:
        """search gives the n nearest, best first, with their cosine as float32."""
        rows = unit_rows(300)
        index.upsert("bank", names(300), rows)
        query = unit_rows(1, seed=9)[0]
        hits = index.search("bank", query, 12)
        cosines = rows @ query
        best = np.argsort(-cosines)[:12]
        assert hits.ids == [f"m{row}" for row in best]
        np.testing.assert_allclose(hits.similarities, cosines[best], atol=1e-5)
        assert hits.similarities.dtype == np.float32

    def test_many_banks_are_written_as_if_one_by_one(self, index: VectorIndex) -> None:
        """upsert_many keeps banks apart, replaces what is known, joins parts of one bank, leaves out empty ones."""
        rows = unit_rows(300)
        banks = [f"bank{i}" for i in range(100)]
        index.upsert("bank7", ["m0"], unit_rows(1, seed=3))
        index.upsert_many([Part(bank, names(2), rows[2 * i : 2 * i + 2]) for i, bank in enumerate(banks)])
        index.upsert_many([Part("bank7", ["m2"], rows[200:201]), Part("bank7", ["m3", "m2"], rows[201:203])])
        index.upsert_many([Part("nobody", [], rows[:0])])
        assert index.contents() == {
            bank: {"m0", "m1"} | ({"m2", "m3"} if bank == "bank7" else set()) for bank in banks
        }
        for i in (0, 7, 99):
            assert index.search(banks[i], rows[2 * i], 1).ids == ["m0"]
        assert index.search("bank7", rows[202], 1).ids == ["m2"]

    def test_one_part_that_is_not_allowed_changes_nothing(self, index: VectorIndex) -> None:
        """Many are written as one is: checked before."""
        bad = unit_rows(1, seed=5) * 2
        with pytest.raises(InvalidInputError):
            index.upsert_many([Part("a", ["m"], unit_rows(1)), Part("b", ["m"], bad)])
        with pytest.raises(InvalidInputError):
            index.upsert_many(
                [Part("a", ["m"], unit_rows(1)), Part("b", ["m"], unit_rows(1, dimension=DIMENSION + 1))]
            )
        assert index.contents() == {}

    def test_banks_that_lie_together_are_named_once(self, index: VectorIndex) -> None:
        """together parts the banks into groups; each is in one of them."""
        banks = [f"bank{i}" for i in range(50)]
        index.upsert_many([Part(bank, ["m"], unit_rows(1, seed=i)) for i, bank in enumerate(banks)])
        index.promote("bank3")
        groups = index.together(banks)
        assert sorted(bank for group in groups for bank in group) == sorted(banks)
        assert all(groups)
        assert index.together([]) == []

    def test_a_vector_finds_itself_with_cosine_one(self, index: VectorIndex) -> None:
        """The space is the cosine, not a distance: identical is 1, opposite is -1."""
        row = unit_rows(1)
        index.upsert("bank", ["same", "opposite"], np.concatenate([row, -row]))
        hits = index.search("bank", row[0], 2)
        assert hits.ids == ["same", "opposite"]
        np.testing.assert_allclose(hits.similarities, [1, -1], atol=1e-5)

    def test_fewer_rows_than_asked_for(self, index: VectorIndex) -> None:
        """n above the size of the bank gives the whole bank, each id once."""
        index.upsert("bank", names(7), unit_rows(7))
        index.upsert("other", names(500), unit_rows(500, seed=1))
        hits = index.search("bank", unit_rows(1, seed=2)[0], 1000)
        assert sorted(hits.ids) == names(7)

    def test_unknown_bank_is_empty(self, index: VectorIndex) -> None:
        """A bank that was never written has no hits, no ids, a count of 0, and can be dropped."""
        index.upsert("bank", names(3), unit_rows(3))
        for bank in ("nobody", "BANK", "bank ", "银行"):
            assert len(index.search(bank, unit_rows(1)[0], 5)) == 0
            assert index.ids(bank) == set()
            assert index.count(bank) == 0
            assert index.drop(bank) == 0
            index.delete(bank, ["m0"])
        assert index.count("bank") == 3

    def test_empty_index_answers(self, index: VectorIndex) -> None:
        """An index without any row gives empty hits, not an error."""
        assert index.search("bank", unit_rows(1)[0], 5).ids == []

    def test_banks_are_walls(self, index: VectorIndex) -> None:
        """The same ids and vectors in many banks: a bank sees and changes only its own."""
        rows = unit_rows(20)
        banks = [f"owner-{number}" for number in range(40)]
        for number, bank in enumerate(banks):
            index.upsert(bank, [f"{bank}/{i}" for i in range(20)], unit_rows(20, seed=number))
            index.upsert(bank, ["shared"], rows[:1])
        for bank in banks:
            hits = index.search(bank, rows[0], 21)
            assert len(hits) == 21
            assert all(name == "shared" or name.startswith(bank + "/") for name in hits.ids)
        index.delete(banks[0], ["shared"])
        assert index.drop(banks[1]) == 21
        assert "shared" not in index.ids(banks[0])
        assert all(index.count(bank) == 21 for bank in banks[2:])

    def test_odd_names_never_meet(self, index: VectorIndex) -> None:
        """Banks and ids may hold any character, and no two pairs are taken for each other."""
        pairs = [
            ("a", "b:c"), ("a:b", "c"), ("~a", "b"), ("a/../b", "x"), ("e@mail.example", "x"), ("王小明", "记忆"),
            ("x" * 500, "y" * 300), (" ", " "), ("'; DROP TABLE", "$where"), ("é", "1"), ("e\u0301", "1"),
        ]  # fmt: skip
        rows = unit_rows(len(pairs))
        for row, (bank, name) in enumerate(pairs):
            index.upsert(bank, [name], rows[row : row + 1])
        for row, (bank, name) in enumerate(pairs):
            assert index.ids(bank) == {name}
            assert_same(index.search(bank, rows[row], 3), Hits([name], np.ones(1, dtype=np.float32)))

    def test_upsert_replaces(self, index: VectorIndex) -> None:
        """Writing an id again replaces its vector; writing the same again changes nothing."""
        rows = unit_rows(10)
        for _ in range(3):
            index.upsert("bank", names(10), rows)
        assert index.count("bank") == 10
        index.upsert("bank", ["m3"], rows[7:8])
        index.upsert("bank", ["m7"], rows[3:4])
        assert index.search("bank", rows[3], 1).ids == ["m7"]
        assert index.search("bank", rows[7], 1).ids == ["m3"]
        assert index.count("bank") == 10

    def test_id_twice_in_one_batch(self, index: VectorIndex) -> None:
        """Of an id given twice in one call the last vector counts."""
        rows = unit_rows(3)
        index.upsert("bank", ["a", "b", "a"], rows)
        assert index.ids("bank") == {"a", "b"}
        assert index.search("bank", rows[2], 1).ids == ["a"]
        assert index.search("bank", rows[0], 1).similarities[0] < 0.99

    def test_deleted_never_return(self, index: VectorIndex) -> None:
        """Deleted ids are in no answer, however often and in whatever order; they may be written again."""
        rows = unit_rows(400)
        index.upsert("bank", names(400), rows)
        gone = set(names(400)[::3]) | {"m399"}
        index.delete("bank", sorted(gone))
        index.delete("bank", [*sorted(gone), "never there"])
        assert index.ids("bank") == set(names(400)) - gone
        assert index.count("bank") == 400 - len(gone)
        for row in (0, 3, 201, 399):
            assert not gone & set(index.search("bank", rows[row], 50).ids)
        index.upsert("bank", ["m0"], rows[:1])
        assert index.search("bank", rows[0], 1).ids == ["m0"]

    def test_empty_batches_are_no_calls(self, index: VectorIndex) -> None:
        """No ids: nothing to do, and no error."""
        index.upsert("bank", [], np.empty((0, DIMENSION), dtype=np.float32))
        index.delete("bank", [])
        assert index.count("bank") == 0

    def test_drop_counts_and_empties(self, index: VectorIndex) -> None:
        """drop says how many there were; the bank is then unknown and can be filled anew."""
        index.upsert("bank", names(450), unit_rows(450))
        assert index.drop("bank") == 450
        assert index.drop("bank") == 0
        assert index.search("bank", unit_rows(1)[0], 5).ids == []
        index.upsert("bank", names(2), unit_rows(2))
        assert index.ids("bank") == {"m0", "m1"}

    def test_promoting_changes_no_answer(self, index: VectorIndex) -> None:
        """A bank that is said to be large answers as before, and so do its neighbours."""
        rows = unit_rows(450)
        twin = ExactIndex()
        for each in (index, twin):
            each.upsert("large", names(450), rows)
            each.upsert("small", names(30), rows[:30])
            each.delete("large", ["m5"])
        index.promote("large")
        index.promote("large")
        for each in (index, twin):
            each.upsert("large", ["m9", "new"], unit_rows(2, seed=5))
            each.delete("large", ["m17", "m18"])
        for bank in ("large", "small"):
            assert index.ids(bank) == twin.ids(bank)
            for query in unit_rows(5, seed=3):
                assert_same(index.search(bank, query, 10), twin.search(bank, query, 10))
        assert index.drop("large") == twin.drop("large")
        assert index.ids("large") == set()
        assert index.count("small") == 30

    def test_promoting_an_empty_bank(self, index: VectorIndex) -> None:
        """A bank may be said to be large before it has anything: before a large import."""
        index.promote("large")
        assert index.search("large", unit_rows(1)[0], 5).ids == []
        index.upsert("large", names(5), unit_rows(5))
        assert index.ids("large") == set(names(5))
        with pytest.raises(InvalidInputError):
            index.upsert("large", ["x"], unit_rows(1, dimension=DIMENSION + 1))

    @pytest.mark.parametrize(
        "bad",
        [
            np.full((1, DIMENSION), np.nan, dtype=np.float32),
            np.full((1, DIMENSION), np.inf, dtype=np.float32),
            np.zeros((1, DIMENSION), dtype=np.float32),
            2 * unit_rows(1),
            unit_rows(2),
            unit_rows(1)[0],
            np.empty((1, 0), dtype=np.float32),
        ],
        ids=["nan", "inf", "zero", "not unit", "two rows", "no matrix", "no dimensions"],
    )
    def test_bad_vectors_are_refused(self, index: VectorIndex, bad: NDArray[np.float32]) -> None:
        """NaN, infinities, zero, wrong lengths and shapes are refused and change nothing."""
        index.upsert("bank", ["kept"], unit_rows(1))
        with pytest.raises(InvalidInputError):
            index.upsert("bank", ["bad"], bad)
        assert index.ids("bank") == {"kept"}

    def test_another_dimension_is_refused(self, index: VectorIndex) -> None:
        """One index, one dimension, whichever bank is written or asked."""
        index.upsert("bank", ["kept"], unit_rows(1))
        other = unit_rows(1, dimension=DIMENSION - 1)
        for bank in ("bank", "other"):
            with pytest.raises(InvalidInputError, match="dimensions"):
                index.upsert(bank, ["bad"], other)
            with pytest.raises(InvalidInputError, match="dimensions"):
                index.search(bank, other[0], 1)
        assert index.ids("other") == set()

    def test_bad_arguments_are_refused(self, index: VectorIndex) -> None:
        """Blank banks and ids, n below 1, a query that is not a vector."""
        row = unit_rows(1)
        with pytest.raises(InvalidInputError):
            index.upsert("", ["a"], row)
        with pytest.raises(InvalidInputError):
            index.upsert("bank", [""], row)
        with pytest.raises(InvalidInputError):
            index.search("bank", row[0], 0)
        with pytest.raises(InvalidInputError):
            index.search("bank", row, 1)
        with pytest.raises(InvalidInputError):
            index.search("bank", np.full(DIMENSION, np.nan, dtype=np.float32), 1)

    def test_a_write_of_many_batches(self, index: VectorIndex) -> None:
        """One call with more rows than any internal batch or page holds."""
        rows = unit_rows(5300, dimension=DIMENSION)
        index.upsert("bank", names(5300), rows)
        assert index.count("bank") == 5300
        assert index.search("bank", rows[5299], 1).ids == ["m5299"]
        index.delete("bank", names(5299))
        assert index.ids("bank") == {"m5299"}

    def test_threads(self, index: VectorIndex) -> None:
        """Several threads write, delete and search: nothing is lost, no error, no foreign hit."""
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                bank, rows = f"bank-{number % 3}", unit_rows(60, seed=number)
                for at in range(0, 60, 20):
                    ids = [f"t{number}-{i}" for i in range(at, at + 20)]
                    index.upsert(bank, ids, rows[at : at + 20])
                    assert index.search(bank, rows[at], 1).ids == ids[:1]
                index.delete(bank, [f"t{number}-0"])
            except BaseException as error:  # noqa: BLE001 - handed to the main thread
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert [index.count(f"bank-{number}") for number in range(3)] == [118, 118, 118]

    def test_close_twice(self, index: VectorIndex) -> None:
        """Closing twice is closing once."""
        index.upsert("bank", ["a"], unit_rows(1))
        index.close()
        index.close()
