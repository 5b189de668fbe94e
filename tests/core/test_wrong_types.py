"""Whatever is given wrongly is refused by an error of ours, at once and with nothing half done."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorybank import ForgettingCurve, InvalidInputError, MemoryBank, MemoryStore
from memorybank.testing import HashEmbedder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with MemoryStore.open(tmp_path_factory.mktemp("s"), embedder=HashEmbedder(), chroma=False) as opened:
        opened.bank("gary").add([{"role": "user", "content": "hello there"}], session="s")
        yield opened


CALLS: list[Callable[[Any], object]] = [
    lambda b: b.events(date(9999, 12, 31)),
    lambda b: b.portrait(date(9999, 12, 31)),
    lambda b: b.reinforce(None),
    lambda b: b.reinforce(["x"]),
    lambda b: b.reinforce([], answer=5),
    lambda b: b.context("q", shown=None),
    lambda b: b.context("q", shown=[[]]),
    lambda b: b.pin([[]]),
    lambda b: b.unpin([[]]),
    lambda b: b.restore([[]]),
    lambda b: b.delete([[]]),
    lambda b: b.consolidate(settings=5),
    lambda b: b.consolidate(progress=5),
    lambda b: b.history("s", role=5),
    lambda b: b.history("s", role="robot"),
    lambda b: b.export(None),
    lambda b: b.export("\0"),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_bank_refuses(store: MemoryStore, call: Callable[[MemoryBank], object]) -> None:
    """Wrong arguments of a bank's verbs raise InvalidInputError."""
    with pytest.raises(InvalidInputError):
        call(store.bank("gary"))


LONG = "a secret told in the wrong place " * 30_000


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.add([{"role": "user", "content": "x"}], session="s", at=LONG),
        lambda b: b.recall("x", LONG),
        lambda b: b.recall("x", levels=[LONG]),
        lambda b: b.recall("x", since=LONG),
        lambda b: b.history("s", role=LONG),
        lambda b: b.consolidate(settings=LONG),
    ],
)
def test_what_was_given_is_quoted_in_part_only(
    store: MemoryStore, call: Callable[[MemoryBank], object]
) -> None:
    """A text in the wrong place fills no log."""
    with pytest.raises(InvalidInputError) as caught:
        call(store.bank("gary"))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("now", [datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)])
def test_every_time_that_is_taken_can_be_worked_with(store: MemoryStore, now: datetime) -> None:
    """The first and the last moment allowed, where days are not those of UTC."""
    bank = store.bank("mia", timezone="Asia/Shanghai")
    bank.add([{"role": "user", "content": "hello there"}], session="s")
    bank.consolidate(now=now)
    bank.forget(now=now, dry_run=True)
    assert bank.context("hello", now=now).text is not None


def test_a_score_that_nothing_reaches_is_no_error(store: MemoryStore) -> None:
    """Beyond what the scores' numbers hold, as well."""
    assert store.bank("gary").recall("hello", min_score=1e300) == []


@pytest.mark.parametrize("path", [None, "\0", "\ud800", ""])
def test_a_store_refuses_paths_that_cannot_be(store: MemoryStore, path: Any) -> None:
    """No file is called so."""
    with pytest.raises(InvalidInputError):
        store.import_bank(path)


@pytest.mark.parametrize("given", [{"policy": 5}, {"curve": -1}])
def test_a_store_refuses_other_rules(store: MemoryStore, given: dict[str, Any]) -> None:
    """Curve and policy are of their classes."""
    with pytest.raises(InvalidInputError):
        store.bank("x", **given)


@pytest.mark.parametrize(
    "given",
    [
        {"exact_limit": None},
        {"memory_limit": None},
        {"retrieval": -1},
        {"chroma": 0},
        {"chroma": True},
        {"clock": None},
        {"curve": -1},
        {"policy": -1},
    ],
    ids=str,
)
def test_opening_refuses(tmp_path: Path, given: dict[str, Any]) -> None:
    """Nonsense is refused when the store is opened, not later, and leaves nothing behind."""
    with pytest.raises(InvalidInputError):
        MemoryStore.open(tmp_path / "store", embedder=HashEmbedder(), **given)
    assert not (tmp_path / "store").exists()


def test_more_than_there_can_be_is_all_there_is(store: MemoryStore) -> None:
    """A number larger than databases take means everything."""
    assert len(store.bank("gary").history("s", last=2**63)) == 1


def test_a_curve_takes_numbers() -> None:
    """A strength that is no number is refused."""
    with pytest.raises(InvalidInputError):
        ForgettingCurve().retention("x", timedelta(1))  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize(
    ("old", "new"),
    [('"position":0', '"position":1e999'), ('"strength":1', '"strength":1e999')],
)
def test_an_import_refuses_numbers_beyond_number(
    store: MemoryStore, tmp_path: Path, old: str, new: str
) -> None:
    """Infinity in an export is damage, and nothing is stored."""
    from memorybank import ImportFormatError

    store.bank("gary").export(tmp_path / "x.jsonl")
    text = (tmp_path / "x.jsonl").read_text("utf-8")
    assert old in text
    (tmp_path / "y.jsonl").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(ImportFormatError):
        store.import_bank(tmp_path / "y.jsonl", owner="other")
    assert "other" not in store.owners()


def test_an_import_refuses_times_at_the_edge(store: MemoryStore, tmp_path: Path) -> None:
    """A time that no zone can express is damage."""
    from memorybank import ImportFormatError

    store.bank("gary").export(tmp_path / "x.jsonl")
    text = (tmp_path / "x.jsonl").read_text("utf-8")
    (tmp_path / "y.jsonl").write_text(
        text.replace('"last_recalled":null', '"last_recalled":"9999-12-31T23:59:59-14:00"', 1), "utf-8"
    )
    with pytest.raises(ImportFormatError):
        store.import_bank(tmp_path / "y.jsonl", owner="other")
