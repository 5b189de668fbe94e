"""The days that a text names, seen from Wednesday 14 June 2023."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from memorybank.text.dates import DaySpan, find_dates

NOW = datetime(2023, 6, 14, 15, 30, tzinfo=UTC)


def spans(text: str, now: datetime = NOW) -> list[str]:
    """Each span as "first" or "first/last"."""
    return [
        str(found.first) if found.days == 1 else f"{found.first}/{found.last}"
        for found in find_dates(text, now)
    ]


ENGLISH = [
    # days of the calendar
    ("What did we cook on 7 May?", ["2023-05-07"]),
    ("on 7 May, 2022", ["2022-05-07"]),
    ("the 7th of May 2022", ["2022-05-07"]),
    ("May 7", ["2023-05-07"]),
    ("May 7th", ["2023-05-07"]),
    ("may 7th was fun", ["2023-05-07"]),
    ("May 7,2021", ["2021-05-07"]),
    ("Aug. 15, 2022", ["2022-08-15"]),
    ("Sept 3rd", ["2022-09-03"]),
    ("on december 24", ["2022-12-24"]),
    ("May the 4th", ["2023-05-04"]),
    ("the second of March", ["2023-03-02"]),
    ("April twenty-first", ["2023-04-21"]),
    ("on 29 February", ["2020-02-29"]),
    ("14 June", ["2023-06-14"]),
    ("15 June", ["2022-06-15"]),
    ("2023-05-07", ["2023-05-07"]),
    ("2023/5/7", ["2023-05-07"]),
    ("at 2023-05-07T18:00", ["2023-05-07"]),
    ("5/7/2023", ["2023-05-07"]),
    ("25/7/2022", ["2022-07-25"]),
    ("7.5.2023", ["2023-05-07"]),
    ("5/7/23", ["2023-05-07"]),
    ("on the 3rd.", ["2023-06-03"]),
    ("on the 20th, we met", ["2023-05-20"]),
    ("Friday, 26 May 2023", ["2023-05-26"]),
    ("May 3 (Wednesday)", ["2023-05-03"]),
    # several days
    ("May 3-5", ["2023-05-03/2023-05-05"]),
    ("May 3 to 5, 2021", ["2021-05-03/2021-05-05"]),
    ("3rd to 5th of May", ["2023-05-03/2023-05-05"]),
    ("from May 3 to June 2", ["2023-05-03/2023-06-02"]),
    ("between August 11 and August 15 2022", ["2022-08-11/2022-08-15"]),
    ("from 28 December to 3 January", ["2022-12-28/2023-01-03"]),
    ("from Monday to yesterday", ["2023-06-12/2023-06-13"]),
    ("7 May and 9 May", ["2023-05-07", "2023-05-09"]),
    # months, seasons, years
    ("in June", ["2023-06-01/2023-06-30"]),
    ("in July", ["2022-07-01/2022-07-31"]),
    ("in may", ["2023-05-01/2023-05-31"]),
    ("in March 2021", ["2021-03-01/2021-03-31"]),
    ("her December concert", ["2022-12-01/2022-12-31"]),
    ("2022-11", ["2022-11-01/2022-11-30"]),
    ("last June", ["2022-06-01/2022-06-30"]),
    ("early May", ["2023-05-01/2023-05-10"]),
    ("at the end of October 2022", ["2022-10-22/2022-10-31"]),
    ("the first half of September 2022", ["2022-09-01/2022-09-15"]),
    ("the second week of November", ["2022-11-08/2022-11-14"]),
    ("last week of May", ["2023-05-25/2023-05-31"]),
    ("in 2021", ["2021-01-01/2021-12-31"]),
    ("the summer of 2021", ["2021-06-01/2021-08-31"]),
    ("in summer 2021", ["2021-06-01/2021-08-31"]),
    ("last summer", ["2022-06-01/2022-08-31"]),
    ("this summer", ["2023-06-01/2023-08-31"]),
    ("in the fall", ["2022-09-01/2022-11-30"]),
    ("last winter", ["2022-12-01/2023-02-28"]),
    ("last month", ["2023-05-01/2023-05-31"]),
    ("this year", ["2023-01-01/2023-12-31"]),
    ("last year", ["2022-01-01/2022-12-31"]),
    ("the year before last", ["2021-01-01/2021-12-31"]),
    ("on Christmas Eve", ["2022-12-24"]),
    ("Valentine's Day 2022", ["2022-02-14"]),
    # seen from today
    ("today", ["2023-06-14"]),
    ("this morning", ["2023-06-14"]),
    ("yesterday evening", ["2023-06-13"]),
    ("last night", ["2023-06-13"]),
    ("the day before yesterday", ["2023-06-12"]),
    ("tomorrow", ["2023-06-15"]),
    ("two days ago", ["2023-06-12"]),
    ("10 days ago", ["2023-06-04"]),
    ("a week ago", ["2023-06-04/2023-06-10"]),
    ("two months ago", ["2023-04-01/2023-04-30"]),
    ("four years ago", ["2019-01-01/2019-12-31"]),
    ("a few days ago", ["2023-06-08/2023-06-12"]),
    ("the other day", ["2023-06-07/2023-06-13"]),
    ("twenty minutes ago; 5 minutes ago", ["2023-06-14"]),
    ("on Friday", ["2023-06-09"]),
    ("on Wednesday", ["2023-06-14"]),
    ("last Wednesday", ["2023-06-07"]),
    ("Sunday night", ["2023-06-11"]),
    ("this Friday", ["2023-06-16"]),
    ("next Wednesday", ["2023-06-21"]),
    ("Tuesday last week", ["2023-06-06"]),
    ("last week", ["2023-06-05/2023-06-11"]),
    ("this week", ["2023-06-12/2023-06-18"]),
    ("the week before last", ["2023-05-29/2023-06-04"]),
    ("last weekend", ["2023-06-10/2023-06-11"]),
    ("over the weekend", ["2023-06-10/2023-06-11"]),
    ("two weekends ago", ["2023-06-03/2023-06-04"]),
    ("in the past three days", ["2023-06-11/2023-06-14"]),
    ("over the last month", ["2023-05-15/2023-06-14"]),
    ("since Monday", ["2023-06-12/2023-06-14"]),
    # seen from another day
    ("the day before May 7", ["2023-05-06", "2023-05-07"]),
    ("the week before August 3, 2022", ["2022-07-27/2022-08-02", "2022-08-03"]),
    ("two days after 7 May", ["2023-05-09", "2023-05-07"]),
    ("the Sunday before October 25, 2022", ["2022-10-23", "2022-10-25"]),
    ("last Friday, as mentioned on 23 January, 2022", ["2022-01-21", "2022-01-23"]),
    ("last weekend before April 10, 2022", ["2022-04-02/2022-04-03", "2022-04-10"]),
]

CHINESE = [
    # days of the calendar
    ("我在5月3日提到过什么？", ["2023-05-03"]),
    ("5月3号", ["2023-05-03"]),
    ("５月３日", ["2023-05-03"]),
    ("5 月 3 日", ["2023-05-03"]),
    ("05月03日", ["2023-05-03"]),
    ("五月三号", ["2023-05-03"]),
    ("十二月二十四日", ["2022-12-24"]),
    ("六月三十日", ["2022-06-30"]),
    ("2021年5月3日", ["2021-05-03"]),
    ("二〇二一年五月三日", ["2021-05-03"]),
    ("去年5月3日", ["2022-05-03"]),
    ("今年三月八号", ["2023-03-08"]),
    ("2023-05-03那天", ["2023-05-03"]),
    ("上个月3号", ["2023-05-03"]),
    ("本月1日", ["2023-06-01"]),
    ("5月3日（周三）", ["2023-05-03"]),
    ("2月29日", ["2020-02-29"]),
    # several days
    ("5月3日到5日", ["2023-05-03/2023-05-05"]),
    ("5月3日至6月2日", ["2023-05-03/2023-06-02"]),
    ("3月到5月", ["2023-03-01/2023-05-31"]),
    ("周一到周三", ["2023-06-12/2023-06-14"]),
    ("5月3日和5月9日", ["2023-05-03", "2023-05-09"]),
    # months, seasons, years
    ("5月我们去了哪里", ["2023-05-01/2023-05-31"]),
    ("七月份", ["2022-07-01/2022-07-31"]),
    ("2021年8月", ["2021-08-01/2021-08-31"]),
    ("去年十一月", ["2022-11-01/2022-11-30"]),
    ("5月初", ["2023-05-01/2023-05-10"]),
    ("五月中旬", ["2023-05-11/2023-05-21"]),
    ("去年底", ["2022-09-01/2022-12-31"]),
    ("上个月底", ["2023-05-22/2023-05-31"]),
    ("上个月", ["2023-05-01/2023-05-31"]),
    ("这个月", ["2023-06-01/2023-06-30"]),
    ("上上个月", ["2023-04-01/2023-04-30"]),
    ("2021年", ["2021-01-01/2021-12-31"]),
    ("去年", ["2022-01-01/2022-12-31"]),
    ("前年", ["2021-01-01/2021-12-31"]),
    ("今年", ["2023-01-01/2023-12-31"]),
    ("去年夏天", ["2022-06-01/2022-08-31"]),
    ("2020年的冬天", ["2020-12-01/2021-02-28"]),
    ("这个夏天", ["2023-06-01/2023-08-31"]),
    ("国庆节", ["2022-10-01"]),
    ("去年圣诞节", ["2022-12-25"]),
    ("五一去了哪里", ["2023-05-01"]),
    # seen from today
    ("今天", ["2023-06-14"]),
    ("今早", ["2023-06-14"]),
    ("今天下雨了", ["2023-06-14"]),
    ("昨天", ["2023-06-13"]),
    ("昨晚", ["2023-06-13"]),
    ("前天", ["2023-06-12"]),
    ("大前天", ["2023-06-11"]),
    ("明天", ["2023-06-15"]),
    ("后天", ["2023-06-16"]),
    ("三天前", ["2023-06-11"]),
    ("10天之前", ["2023-06-04"]),
    ("一周前", ["2023-06-04/2023-06-10"]),
    ("两个星期以前", ["2023-05-28/2023-06-03"]),
    ("两个月前", ["2023-04-01/2023-04-30"]),
    ("三年前", ["2020-01-01/2020-12-31"]),
    ("半年前", ["2022-11-14/2023-01-13"]),
    ("几天前", ["2023-06-07/2023-06-12"]),
    ("前几天", ["2023-06-07/2023-06-13"]),
    ("两个小时前", ["2023-06-13/2023-06-14"]),
    ("周五", ["2023-06-09"]),
    ("周三", ["2023-06-14"]),
    ("星期天", ["2023-06-11"]),
    ("礼拜二", ["2023-06-13"]),
    ("上周三", ["2023-06-07"]),
    ("上个星期日", ["2023-06-11"]),
    ("上上周五", ["2023-06-02"]),
    ("这周五", ["2023-06-16"]),
    ("下周一", ["2023-06-19"]),
    ("上周", ["2023-06-05/2023-06-11"]),
    ("这一周", ["2023-06-12/2023-06-18"]),
    ("上周末", ["2023-06-10/2023-06-11"]),
    ("周末我去了公园", ["2023-06-10/2023-06-11"]),
    ("最近三天", ["2023-06-11/2023-06-14"]),
    ("过去一年", ["2022-06-14/2023-06-14"]),
    ("这几天", ["2023-06-10/2023-06-14"]),
    # seen from another day
    ("5月3日前一天", ["2023-05-03", "2023-05-02"]),
    ("5月3日的前一周", ["2023-05-03", "2023-04-26/2023-05-02"]),
    ("5月3日之后三天", ["2023-05-03", "2023-05-06"]),
]

NONE = [
    "May I ask something?",
    "you may 2 of them",
    "we march on, second to none",
    "wed in haste, sat in the sun",
    "They fall in love every spring",
    "spring water",
    "version 1.2.3 and 10.0.0.1",
    "it costs $20.23 or 19.99",
    "open 24/7, half is 1/2",
    "call 2023-555-1234",
    "April said hello to June",
    "every Friday and most Sundays",
    "31 June",
    "February 30",
    "at 10:30",
    "it lasted a week",
    "the week before I left",
    "20000 steps, room 2023",
    "an August body",
    "chapter 7 may help",
    "我们三天打鱼，两天晒网",
    "五月天的演唱会",
    "以前天气很好",
    "他很有前天赋",
    "每周五健身，一周三次",
    "晚上周杰伦唱歌",
    "今年轻人很多",
    "需要3个月",
    "一月一次",
    "第三天前台没人",
    "6月31日",
    "以后天天见",
    "周围很安静",
    "13月5日",
    "",
]


@pytest.mark.parametrize(("text", "expected"), ENGLISH)
def test_english(text: str, expected: list[str]) -> None:
    """English days, ranges, months, seasons, years and distances."""
    assert spans(text) == expected


@pytest.mark.parametrize(("text", "expected"), CHINESE)
def test_chinese(text: str, expected: list[str]) -> None:
    """Chinese days, ranges, months, seasons, years and distances."""
    assert spans(text) == expected


@pytest.mark.parametrize("text", NONE)
def test_no_day_is_named(text: str) -> None:
    """Verbs, names, prices, versions, habits and days that do not exist are not dates."""
    assert spans(text) == []


def test_offsets_point_into_the_text_as_given() -> None:
    """Offsets count characters of the original, wide digits and pictures included."""
    text = "\U0001f389 at ５月３日, then last Tuesday"
    assert [text[found.start : found.end] for found in find_dates(text, NOW)] == ["５月３日", "last Tuesday"]


def test_explicit_tells_the_calendar_from_a_distance() -> None:
    """Dates of the calendar are explicit; distances to today are not."""
    assert [found.explicit for found in find_dates("7 May, in June, 5月3日, last week, 昨天", NOW)] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_today_is_the_day_where_it_is_said() -> None:
    """The same moment is another day in another zone: "yesterday" follows the zone of ``now``."""
    moment = datetime(2023, 6, 14, 23, 30, tzinfo=UTC)
    east = moment.astimezone(timezone(timedelta(hours=9)))
    assert spans("yesterday", moment) == ["2023-06-13"]
    assert spans("yesterday", east) == ["2023-06-14"]


def test_weekends_seen_from_a_weekend() -> None:
    """On a Sunday "last weekend" is the one before, "over the weekend" the present one."""
    sunday = datetime(2023, 6, 18, 12, tzinfo=UTC)
    assert spans("last weekend", sunday) == ["2023-06-10/2023-06-11"]
    assert spans("over the weekend", sunday) == ["2023-06-17/2023-06-18"]


def test_at_the_ends_of_the_calendar() -> None:
    """Where the calendar ends nothing is named, and nothing raises."""
    text = "yesterday, tomorrow, last year, 300 years ago, 前天, 去年, last winter, last week"
    for now in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)):
        assert all(isinstance(found, DaySpan) for found in find_dates(text, now))


def test_a_span_counts_its_days() -> None:
    """``days`` includes both ends."""
    assert DaySpan(date(2023, 5, 1), date(2023, 5, 31), 0, 3).days == 31
