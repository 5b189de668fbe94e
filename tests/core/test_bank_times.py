"""Time: UTC in storage, days in the bank's zone, whatever the machine's; absurd dates are refused at the border."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from memorybank.bank import MemoryBank
from memorybank.clock import day_bounds, day_of, from_micros, local_ordinals, to_micros, to_utc, zone_of
from memorybank.errors import InvalidInputError
from memorybank.store import MemoryStore
from tests.conftest import OpenStore
from tests.core.talking import held, texts, user

ZONES = ["UTC", "Europe/Berlin", "Asia/Shanghai", "US/Pacific", "Asia/Kathmandu"]
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("zone", ZONES)
def test_any_way_of_naming_a_moment_is_that_moment(store: MemoryStore, zone: str) -> None:
    """Aware, naive in the bank's zone, ISO text with and without offset: stored in UTC, read back equal."""
    bank = store.bank("gary", timezone=zone)
    moment = datetime(2026, 7, 1, 23, 30, 0, 123_456, tzinfo=ZoneInfo(zone))
    for i, at in enumerate(
        [
            moment,
            moment.astimezone(UTC),
            moment.replace(tzinfo=None),
            moment.isoformat(),
            "2026-07-01T23:30:00.123456",
        ]
    ):
        (stored,) = bank.add([user(f"hello {i}", at=at)], session="s")
        assert stored.at == moment
        assert bank.history("s")[-1].at == moment
        assert bank.history("s")[-1].at.tzinfo is UTC  # type: ignore[union-attr]  # stored messages have a time
    assert {row["day"] for row in held(store, bank).values()} == {date(2026, 7, 1).toordinal()}


def test_a_message_without_time_was_said_now_or_at(bank: MemoryBank) -> None:
    """Its own time goes before ``at``, ``at`` before ``now``, ``now`` before the clock."""
    own, at, now = (datetime(2025, month, 1, tzinfo=UTC) for month in (1, 2, 3))
    stored = bank.add([user("a", at=own), user("b")], session="s", at=at, now=now)
    stored += bank.add([user("c")], session="s", now=now)
    stored += bank.add([user("d")], session="s")
    assert [m.at for m in stored] == [own, at, now, datetime(2026, 1, 1, 9, tzinfo=UTC)]
    assert [m.created for m in bank.memories(levels=["turn"])][-1] == datetime(2026, 1, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 6, 1), 24)]
)
def test_days_are_as_long_as_the_clocks_say(day: date, hours: int) -> None:
    """23 and 25 hours where clocks change; a day ends where the next begins."""
    begins, ends = day_bounds(day, BERLIN)
    assert ends - begins == timedelta(hours=hours)
    assert day_bounds(day + timedelta(days=1), BERLIN)[0] == ends
    assert day_of(begins, BERLIN) == day_of(ends - timedelta(microseconds=1), BERLIN) == day
    assert day_of(ends, BERLIN) == day + timedelta(days=1)


def test_what_is_said_in_the_doubled_hour_belongs_to_its_day(store: MemoryStore) -> None:
    """On a 25-hour day all of it is one day, found by its date."""
    bank = store.bank("gary", timezone="Europe/Berlin")
    begins, ends = day_bounds(date(2026, 10, 25), BERLIN)
    moment = begins
    while moment < ends:
        bank.add([user(f"said at {moment.isoformat()}")], session="s", at=moment)
        moment += timedelta(minutes=30)
    bank.add([user("said the day after")], session="s", at=ends)
    days = [row["day"] for row in held(store, bank).values()]
    assert days.count(date(2026, 10, 25).toordinal()) == 50
    assert days.count(date(2026, 10, 26).toordinal()) == 1


def test_days_of_many_times_are_those_of_each(store: MemoryStore) -> None:
    """The vectorised days agree with one look-up each, quarter-hour zones and changes of clocks included."""
    draw = np.random.default_rng(3)
    for name in [*ZONES, "Australia/Lord_Howe", "Pacific/Apia"]:
        zone = zone_of(name)
        seconds = draw.uniform(-2e9, 4e9, 300)
        expected = [day_of(datetime.fromtimestamp(s, UTC), zone).toordinal() for s in seconds]
        assert local_ordinals(seconds, zone).tolist() == expected


def test_microseconds_are_exact() -> None:
    """Every moment between year 1 and 9999 survives the way through storage."""
    for moment in (
        datetime(1, 1, 3, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
        datetime(9999, 12, 28, 23, 59, 59, 999_999, tzinfo=UTC),
    ):
        assert from_micros(to_micros(moment)) == moment


ABSURD = [
    "yesterday",
    "",
    "2026-13-01",
    "2026-02-30",
    5,
    1_767_225_600.0,
    date(2026, 1, 1),
    datetime.min,
    datetime.max,
    datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=12))),
    timedelta(days=1),
    True,
]


@pytest.mark.parametrize("at", ABSURD, ids=repr)
def test_absurd_dates_are_refused_everywhere(bank: MemoryBank, at: object) -> None:
    """As ``at`` and as ``now``, in messages and calls: one clear error, nothing stored."""
    doors = [
        lambda: bank.add([user("x", at=at)], session="s"),
        lambda: bank.add([user("x")], session="s", at=at),  # type: ignore[arg-type]  # wrong on purpose
        lambda: bank.add([user("x")], session="s", now=at),  # type: ignore[arg-type]  # wrong on purpose
        lambda: bank.remember("x", at=at),  # type: ignore[arg-type]  # wrong on purpose
        lambda: bank.recall("x", now=at),  # type: ignore[arg-type]  # wrong on purpose
        lambda: bank.forget(now=at),  # type: ignore[arg-type]  # wrong on purpose
        lambda: bank.memories(since=at),  # type: ignore[arg-type]  # wrong on purpose
    ]
    for door in doors:
        with pytest.raises(InvalidInputError):
            door()
    assert bank.stats().total == 0


@pytest.mark.parametrize("year", [1, 1582, 1900, 1969, 2038, 2100, 9999])
def test_far_years_are_stored_recalled_and_explained(bank: MemoryBank, year: int) -> None:
    """Texts with relative dates included; R is 1 for the future and almost 0 for long ago."""
    at = datetime(year, 6, 15, 12, tzinfo=UTC)
    for text in (
        "Yesterday I met Mochi",
        "Last year in June, two weeks ago",
        "去年夏天，上周三，三天前",
        "on 29 February",
    ):
        bank.add([user(text)], session="s", at=at)
    assert len(bank.recall("Mochi yesterday last year", k=9, reinforce=False)) >= 1
    assert bank.history("s")[0].at == at
    told = bank.explain(bank.memories()[0])
    assert told.retention == pytest.approx(1.0 if year > 2026 else 0.0, abs=0.6)
    assert bank.consolidate(now="2026-02-01").failed == []


def test_a_clock_that_goes_back_is_no_error(open_store: OpenStore) -> None:
    """Nothing is negative, nothing raises, order is the order of adding."""
    times = [datetime(2026, 1, 10, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)]
    bank = open_store(clock=lambda: times[0]).bank("gary")
    bank.add([user("first")], session="s")
    times.reverse()
    bank.add([user("second")], session="s")
    assert texts(bank.history("s")) == ["first", "second"]
    assert all(0 <= r.retention <= 1 for r in bank.recall("first second"))
    assert bank.explain(bank.memories()[1]).elapsed >= timedelta(0)


def test_a_clock_without_zone_is_taken_in_the_banks(open_store: OpenStore) -> None:
    """A user's own clock may be naive."""
    bank = open_store(clock=lambda: datetime(2026, 7, 1, 12)).bank("gary", timezone="Asia/Shanghai")
    (stored,) = bank.add([user("x")])
    assert stored.at == datetime(2026, 7, 1, 4, tzinfo=UTC)


def test_the_machines_zone_changes_no_answer(tmp_path: Path) -> None:
    """The same calls under five values of TZ print the same."""
    code = textwrap.dedent("""
        import sys
        from datetime import datetime
        from memorybank.store import MemoryStore
        from memorybank.testing import HashEmbedder
        with MemoryStore.open(sys.argv[1], embedder=HashEmbedder(64), chroma=False) as store:
            bank = store.bank("gary", timezone="Europe/Berlin")
            for day in (28, 29, 30):
                bank.add([{"role": "user", "content": f"diary of {day}"}], at=datetime(2026, 3, day, 0, 30))
            found = bank.recall("What did I say on 29 March?", k=1, now="2026-04-01T00:30:00", reinforce=False)
            print([m.at.isoformat() for m in bank.history("default")], found[0].memory.text)
    """)
    said = set()
    for number, zone in enumerate(ZONES):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / str(number))],
            env={**os.environ, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        said.add(done.stdout)
    assert len(said) == 1
    assert "diary of 29" in said.pop()


def test_to_utc_names_what_was_wrong() -> None:
    """The message says which argument, what was given and what is allowed."""
    with pytest.raises(InvalidInputError, match="since='soon' is not an ISO 8601"):
        to_utc("soon", BERLIN, "since")
