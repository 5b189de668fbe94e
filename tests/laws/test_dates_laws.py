"""Laws of reading dates, on any text at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.text.dates import find_dates

ENGLISH = "May|may|7|7th|,|-|to|the|week|before|last|Friday|2023|of|in|ago|two|days|and|between|since|31"
CHINESE = "5月3日|前|后|一周|三天|上|周|三|去年|夏天|到|的|昨天|个|月|半|年|１|\x00|\ud800|. |early|summer"
PIECES = st.sampled_from([*ENGLISH.split("|"), *CHINESE.split("|")])
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=100)
MIXED = st.lists(st.tuples(PIECES, st.sampled_from(["", " "])).map("".join), max_size=25).map("".join)
MOMENTS = st.datetimes(timezones=st.just(UTC))


@given(ANY_TEXT | MIXED, MOMENTS)
def test_any_text_is_read(text: str, now: datetime) -> None:
    """Never raises, on any day; spans are in order, apart, inside the text, and do not end before they begin."""
    found = find_dates(text, now)
    at = 0
    for span in found:
        assert at <= span.start < span.end <= len(text)
        assert span.first <= span.last
        at = span.end
    assert find_dates(text, now) == found


@given(st.datetimes(datetime(1951, 1, 1), datetime(2098, 12, 31), timezones=st.just(UTC)))
def test_written_days_are_read_back(day: datetime) -> None:
    """Every day from 1951 to 2098, written out in four ways, is read as itself whatever today is."""
    month = day.strftime("%B")
    for text in (
        f"{day:%Y-%m-%d}",
        f"on {day.day} {month}, {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    ):
        for now in (day, day + timedelta(9_999)):
            assert [(span.first, span.last) for span in find_dates(text, now)] == [(day.date(), day.date())]


@given(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)), st.integers(1, 360))
def test_a_day_without_a_year_is_the_last_one(now: datetime, back: int) -> None:
    """A day less than a year ago, named without its year, is found."""
    day = (now - timedelta(back)).date()
    if (day.month, day.day) != (2, 29):
        assert [span.first for span in find_dates(f"{day.month}月{day.day}日", now)] == [day]
        assert [span.first for span in find_dates(f"{back} days ago", now)] == [day]


@pytest.mark.parametrize(
    "seed", ["7 May ", "the week before ", "1-", "5月3日到", "the ", "上周", "last Friday on ", "二", "2023-"]
)
def test_work_grows_with_length(seed: str) -> None:
    """On 200,000 characters of what could be dates it ends within the test's time limit: a quadratic step would
    need hours."""
    repeats = 200_000 // len(seed)
    assert len(find_dates(seed * repeats, datetime(2023, 6, 14, tzinfo=UTC))) <= 2 * repeats
