"""How Chinese names days: 「5月3日」「上周三」「三天前」「去年夏天」."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from memorybank.text import spans
from memorybank.text.spans import Handler, Rule, Span, Spread

_DIGITS = {c: n for n, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
_NEAR = {
    "大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3,
}  # fmt: skip
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "上年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_SHIFTS = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_WEEKDAYS = {c: n for n, c in enumerate("一二三四五六日")} | {"天": 6}
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_FEASTS = {
    "元旦": (1, 1), "情人节": (2, 14), "妇女节": (3, 8), "劳动节": (5, 1), "五一": (5, 1), "儿童节": (6, 1),
    "教师节": (9, 10), "国庆": (10, 1), "双十一": (11, 11), "平安夜": (12, 24), "圣诞": (12, 25),
}  # fmt: skip

_HAN = "〇零一二两三四五六七八九十"
_N = r"(?P<n>\d{1,3}|[一二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]|半)"
_FEW = r"(?P<few>好?几|数|若干)"
_UNIT = r"(?P<unit>天|日|周|星期|礼拜|月|年)"
_Y = r"(?P<year>(?<!\d)(?:19|20)\d\d|[一二][〇零一二三四五六七八九]{3})[ ]?年"
_REL_Y = "(?<![以之然最文说])(?P<near_year>" + "|".join(sorted(_YEARS, key=len, reverse=True)) + ")"
_SOME_Y = rf"(?:(?:{_Y}|{_REL_Y})的?[ ]?)"
_MONTH = (
    r"(?P<month>(?<!\d)(?:1[0-2]|0?[1-9])|(?<![〇零一二两三四五六七八九十])(?:十[一二]?|[一二三四五六七八九]))"
    r"[ ]?月"
)
_DAY = r"(?P<day>[0-3]?\d|二十[一二三四五六七八九]?|三十一?|十[一二三四五六七八九]?|[一二三四五六七八九])[ ]?"
_DAY2 = (
    r"(?P<day2>[0-3]?\d|二十[一二三四五六七八九]?|三十一?|十[一二三四五六七八九]?|[一二三四五六七八九])[ ]?"
)
_TO = r"[ ]?(?:-|\u2013|\u2014+|~|到|至)[ ]?"
_PART = r"(?P<which>初|上旬|中旬|下旬|底|末)"
_BEFORE = r"(?:之前|以前|前)(?![台面后往来进锋景辈])"
_WEEK = r"(?:周|星期|礼拜)"
_POINTER = r"(?<![马晚早网路身线世以])(?P<pointer>上上|上|这|本|下下|下)(?:一?个|一)?"


def number_of(text: str) -> int:
    """3 of "3" and 「三」, 23 of 「二十三」, 2021 of 「二〇二一」."""
    if text.isdigit():
        return int(text)
    if "十" in text:
        tens, ones = text.split("十", 1)
        return 10 * (_DIGITS[tens] if tens else 1) + (_DIGITS[ones] if ones else 0)
    value = 0
    for character in text:
        value = 10 * value + _DIGITS[character]
    return value


def _part(span: Span, which: str | None) -> Span:
    if not which:
        return span
    return spans.part(span, {"初": "early", "上旬": "early", "中旬": "middle"}.get(which, "late"))


def _year_of(match: re.Match[str]) -> Callable[[date], int | None]:
    """The year that stands before a month or season: 「2021年」, 「去年」, or none."""
    fields = match.groupdict()
    if fields.get("year"):
        number = number_of(match["year"])
        return lambda _: number
    if fields.get("near_year"):
        shift = _YEARS[match["near_year"]]
        return lambda reference: reference.year + shift
    return lambda _: None


def _day(match: re.Match[str]) -> Spread | None:
    number, first = number_of(match["month"]), number_of(match["day"])
    last = number_of(match.groupdict().get("day2") or match["day"])
    if last < first:
        return None
    year_of = _year_of(match)

    def spread(reference: date) -> Span:
        year = year_of(reference)
        begin = date(year, number, first) if year else spans.past_day(reference, number, first)[0]
        return begin, begin.replace(day=last)

    return spread


def _month(match: re.Match[str]) -> Spread:
    number, which, year_of = number_of(match["month"]), match["which"], _year_of(match)

    def spread(reference: date) -> Span:
        year = year_of(reference)
        return _part(spans.month(year, number) if year else spans.past_month(reference, number), which)

    return spread


def _near_month(match: re.Match[str]) -> Spread:
    shift, which, day = _SHIFTS[match["pointer"]], match["which"], match["day"]

    def spread(reference: date) -> Span:
        found = spans.months(reference, shift)
        if day:
            return (found[0].replace(day=number_of(day)),) * 2
        return _part(found, which)

    return spread


def _year(match: re.Match[str]) -> Spread:
    which, year_of = match["which"], _year_of(match)

    def spread(reference: date) -> Span:
        return _part(spans.year(year_of(reference) or reference.year), which)

    return spread


def _season(match: re.Match[str]) -> Spread:
    name, year_of = _SEASONS[match["season"]], _year_of(match)
    pointer = match.groupdict().get("pointer")

    def spread(reference: date) -> Span:
        year = year_of(reference)
        if year:
            return spans.season(year, name)
        if pointer == "上":
            return spans.past_season(reference, name, finished=True)
        return spans.season(reference.year - (name == "winter" and reference.month < 3), name)

    return spread


def _near(match: re.Match[str]) -> Spread:
    shift = _NEAR[match["near"]]
    return lambda reference: spans.days(reference, shift)


def _weekday(match: re.Match[str]) -> Spread:
    number, pointer = _WEEKDAYS[match["weekday"]], match.groupdict().get("pointer")
    if pointer:
        return lambda reference: spans.days(spans.week(reference, _SHIFTS[pointer])[0], number)
    return lambda reference: spans.past_weekday(reference, number, today=True)


def _week(match: re.Match[str]) -> Spread:
    shift = _SHIFTS[match["pointer"]]
    return lambda reference: spans.week(reference, shift)


def _weekend(match: re.Match[str]) -> Spread:
    pointer = match["pointer"]
    if pointer:
        return lambda reference: spans.weekend(reference, _SHIFTS[pointer])
    return lambda reference: spans.weekend(reference, 0 if reference.weekday() >= 5 else -1)


def _ago(match: re.Match[str]) -> Spread | None:
    """三天前, 两个月前, 半年前, 几天前, 十几年前."""
    unit, fields = _UNITS[match["unit"]], match.groupdict()
    if fields["few"] or fields["dozens"]:
        near, far = (2, 7) if fields["few"] else (11, 19) if match["dozens"] == "十几" else (20, 90)
        return lambda reference: (spans.ago(reference, far, unit)[0], spans.ago(reference, near, unit)[1])
    if match["unit"] == "月" and not match["piece"] and match["n"] not in ("半", "两"):
        return None  # 三月前 is "before March"
    if match["n"] == "半":
        if unit not in ("month", "year"):
            return None
        middle, slack = (15, 3) if unit == "month" else (182, 30)
        return lambda reference: spans.days(reference, -middle - slack, -middle + slack)
    count = number_of(match["n"])
    return lambda reference: spans.ago(reference, count, unit)


def _beside(match: re.Match[str]) -> Spread | None:
    unit, count, sign = _UNITS[match["unit"]], number_of(match["n"]), -1 if match["side"] == "前" else 1
    if unit == "week" and count == 1:
        return lambda reference: spans.days(reference, *((-7, -1) if sign < 0 else (1, 7)))
    return lambda reference: spans.ago(reference, -sign * count, unit)


def _lately(match: re.Match[str]) -> Spread | None:
    unit, fields = _UNITS[match["unit"]], match.groupdict()
    if fields.get("few"):
        return lambda reference: spans.lately(reference, 6, unit)
    if match["n"] == "半":
        span = {"month": 15, "year": 182}.get(unit)
        return (lambda reference: spans.days(reference, -span, 0)) if span else None
    count = number_of(match["n"])
    return lambda reference: spans.lately(reference, count, unit)


def _within(first: int, last: int) -> Handler:
    return lambda _: lambda reference: spans.days(reference, first, last)


def _feast(match: re.Match[str]) -> Spread:
    (number, day), year_of = _FEASTS[match["feast"]], _year_of(match)

    def spread(reference: date) -> Span:
        year = year_of(reference)
        return spans.days(date(year, number, day), 0) if year else spans.past_day(reference, number, day)

    return spread


_NOT_COUNTED = rf"(?<![{_HAN}每几半多同\d])"
_FEAST = "(?P<feast>" + "|".join(_FEASTS) + ")"
_MONTHLY = rf"(?!\d|[天台]|[ ]?{_N}[ ]?[次回遍趟度])"

CALENDAR: tuple[Rule, ...] = (
    (rf"{_SOME_Y}?{_MONTH}[ ]?{_DAY}[日号]?{_TO}{_DAY2}[日号]", _day, "月"),
    (rf"{_SOME_Y}?{_MONTH}[ ]?{_DAY}[日号]", _day, "月"),
    (rf"{_SOME_Y}?{_MONTH}份?{_PART}?{_MONTHLY}", _month, "月"),
    (rf"(?:{_Y}|{_REL_Y}){_PART}?(?![前后级头轻])", _year, "年"),
    (rf"{_SOME_Y}(?P<season>[春夏秋冬])[天季]?", _season, "春 夏 秋 冬"),
    (
        rf"{_NOT_COUNTED}{_SOME_Y}?{_FEAST}(?![零一二三四五六七八九十百千万亿\d])",
        _feast,
        "旦 节 五 国 双 夜 诞",
    ),
)
RELATIVE: tuple[Rule, ...] = (
    (r"(?<![以之目眼当提跟面先])(?P<near>大?前)[天晚日](?![气赋空真下才生线天夕])", _near, "前"),
    (r"(?<![以之然最背先])(?P<near>大?后)天(?![气赋空真下才生线天])", _near, "后"),
    (r"(?P<near>昨|(?<!当)今|(?<![文说证声聪黎光透])明)[天日晚夜早晨儿]", _near, "昨 今 明"),
    (rf"{_NOT_COUNTED}{_POINTER}{_WEEK}(?P<weekday>[一二三四五六日天])(?![气空])", _weekday, "周 期 拜"),
    (rf"{_NOT_COUNTED}(?<!个){_WEEK}(?P<weekday>[一二三四五六日])(?![个天年月])", _weekday, "周 期 拜"),
    (rf"{_NOT_COUNTED}(?<!个)(?:星期|礼拜)(?P<weekday>天)(?!气)", _weekday, "期 拜"),
    (rf"{_POINTER}{_WEEK}(?![{_HAN}日天末\d围边密全期刊岁杰星转游身遭长])", _week, "周 期 拜"),
    (rf"(?<![每个])(?:{_POINTER})?周末", _weekend, "末"),
    (rf"{_POINTER}月(?:份)?(?:{_PART}|{_DAY}[日号])?(?![亮饼光球季台])", _near_month, "月"),
    (r"(?P<pointer>这|本|上)个?(?P<season>[春夏秋冬])[天季]", _season, "春 夏 秋 冬"),
    (rf"(?<![第\d])(?:{_N}|{_FEW}|(?P<dozens>十几|几十))[ ]?(?P<piece>个?){_UNIT}{_BEFORE}", _ago, "前"),
    (rf"(?<![第\d])(?:{_N}|{_FEW})[ ]?个?半?(?:小时|钟头){_BEFORE}", _within(-1, 0), "前"),
    (rf"(?<![第\d])(?:{_N}|{_FEW})[ ]?分钟{_BEFORE}", _within(0, 0), "前"),
    (rf"(?:过去|最近|近)(?:的)?这?(?:{_N}|{_FEW})[ ]?个?{_UNIT}", _lately, "去 近"),
    (r"这(?:几|两|些)[天日]", _within(-4, 0), "这"),
    (r"前(?:几|些)[天日]", _within(-7, -1), "前"),
    (r"前两天", _within(-3, -1), "前"),
    (r"前(?:段时间|阵子|一阵|一段时间|段日子)", _within(-60, -7), "前"),
)
BESIDE: tuple[Rule, ...] = ((rf"的?之?(?P<side>前|后)的?{_N}[ ]?个?{_UNIT}", _beside, "前 后"),)
"""Phrases that need the day named before them: 5月3日「前一周」."""
