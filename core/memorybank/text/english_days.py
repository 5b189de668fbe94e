"""English dates of the calendar: "7 May", "May 3-5, 2023", "in June", "summer of 2021"."""

from __future__ import annotations

import re
from datetime import date

from memorybank.text import spans
from memorybank.text.english_words import (
    D2,
    FEASTS,
    INSIDE,
    MAYBE_Y,
    MONTHS,
    ORDINALS,
    PART,
    POINTER,
    SEASON,
    TO,
    D,
    M,
    S,
    Y,
    day_of,
    part_named,
)
from memorybank.text.spans import Rule, Span, Spread


def _is_month(match: re.Match[str]) -> bool:
    """Whether "may", "march" or "mar" is the month: written as a name, or with an ordinal, "of" or a year."""
    word = match["month"]
    if word.lower() not in ("may", "march", "mar") or word[0].isupper():
        return True
    return bool(match.groupdict().get("year") or re.search(r"\d(?:st|nd|rd|th)| of ", match[0].lower()))


def _calendar_day(match: re.Match[str]) -> Spread | None:
    if not _is_month(match):
        return None
    number, first = MONTHS[match["month"].lower()], day_of(match["day"])
    last = int(match.groupdict().get("day2") or first)
    if last < first:
        return None
    if match["year"]:
        year = int(match["year"])
        return lambda _: (date(year, number, first), date(year, number, last))

    def spread(reference: date) -> Span:
        begin = spans.past_day(reference, number, first)[0]
        return begin, begin.replace(day=last)

    return spread


def _calendar_month(match: re.Match[str]) -> Spread | None:
    word, which = match["month"], part_named(match)
    number, fields = MONTHS[word.lower()], match.groupdict()
    year, pointer = fields.get("year"), (fields.get("pointer") or "").lower()
    if pointer and word in ("may", "march", "mar"):
        return None

    def spread(reference: date) -> Span:
        if year:
            found = spans.month(int(year), number)
        elif pointer == "this":
            found = spans.month(reference.year, number)
        elif pointer == "next":
            found = spans.month(reference.year + (number <= reference.month), number)
        else:
            found = spans.past_month(
                spans.days(reference, -reference.day)[0] if pointer else reference, number
            )
        return spans.part(found, which) if which else found

    return spread


def _week_of_month(match: re.Match[str]) -> Spread | None:
    number, nth = MONTHS[match["month"].lower()], ORDINALS.get(match["nth"].lower(), 0)
    year = match["year"]

    def spread(reference: date) -> Span:
        first, last = spans.month(int(year), number) if year else spans.past_month(reference, number)
        return spans.days(last, -6, 0) if not nth else spans.days(first, 7 * nth - 7, 7 * nth - 1)

    return spread


def _year(match: re.Match[str]) -> Spread:
    number, which = int(match["year"]), part_named(match)
    return lambda _: spans.part(spans.year(number), which) if which else spans.year(number)


def _numeric(match: re.Match[str]) -> Spread:
    year, number, day = match["year"], int(match["month"]), int(match["day"])
    return lambda _: spans.days(date(int(year), number, day), 0)


def _numeric_month(match: re.Match[str]) -> Spread:
    year, number = int(match["year"]), int(match["month"])
    return lambda _: spans.month(year, number)


def _season_of_year(match: re.Match[str]) -> Spread:
    name, year = match["season"].lower().replace("fall", "autumn"), int(match["year"])
    return lambda _: spans.season(year, name)


def _slashed(match: re.Match[str]) -> Spread:
    """5/7/2023 is 7 May unless only the other order can be; 7.5.2023 is 7 May, as dots are used."""
    one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
    month, day = (two, one) if match["dot"] == "." or one > 12 else (one, two)
    return lambda _: spans.days(date(year + 2000 * (year < 100), month, day), 0)


def _feast(match: re.Match[str]) -> Spread:
    number, day = FEASTS[match["feast"].lower().replace("\u2019", "'")]
    year = match["year"]
    if year:
        return lambda _: spans.days(date(int(year), number, day), 0)
    return lambda reference: spans.past_day(reference, number, day)


def _of_this_month(match: re.Match[str]) -> Spread:
    day = day_of(match["day"])

    def spread(reference: date) -> Span:
        for shift in range(0, -3, -1):
            first, last = spans.months(reference, shift)
            if day <= last.day and first.replace(day=day) <= reference:
                return spans.days(first, day - 1)
        raise ValueError(f"no day {day} in the last months")

    return spread


_BEGIN, _END = r"(?<![\d./-])", r"(?!\d|[./-]\d)"
_ISO = rf"{_BEGIN}(?P<year>(?:19|20)\d\d)(?P<dash>[-/.])(?P<month>[01]?\d)(?P=dash)(?P<day>[0-3]?\d){_END}"
_ONE_TWO = rf"{_BEGIN}(?P<one>[0-3]?\d)(?P<dot>[/.-])(?P<two>[0-3]?\d)(?P=dot)"
_SLASHED = rf"{_ONE_TWO}(?P<year>(?:19|20)\d\d){_END}"
_SHORT = rf"{_BEGIN}(?P<one>[0-3]?\d)(?P<dot>/)(?P<two>[0-3]?\d)/(?P<year>\d\d){_END}"
_FEAST = r"(?P<feast>" + "|".join(sorted(FEASTS, key=len, reverse=True)).replace("'", "['\u2019]") + r")\b"
_CLEAR = "(?P<month>january|february|july|september|october|november|december)"
_NTH = "first|second|third|fourth|fifth|last"

_NAMES = " ".join(MONTHS)

RULES: tuple[Rule, ...] = (
    (rf"\b{M}{S}(?:the{S})?{D}{TO}{D2}{MAYBE_Y}", _calendar_day, _NAMES),
    (rf"\b{M}{S}(?:the{S})?{D}{MAYBE_Y}", _calendar_day, _NAMES),
    (rf"(?<![\w.,/:$-]){D}{TO}{D2}{S}(?:of{S})?{M}{MAYBE_Y}", _calendar_day, _NAMES),
    (rf"(?<![\w.,/:$-]){D}{S}(?:of{S})?{M}{MAYBE_Y}", _calendar_day, _NAMES),
    (_ISO, _numeric, "YEAR"),
    (_SLASHED, _slashed, "YEAR"),
    (_SHORT, _slashed, "/"),
    (r"(?<![\d./-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])", _numeric_month, "YEAR"),
    (rf"\b(?:{PART})?{M},?{S}(?:of{S})?{Y}", _calendar_month, _NAMES),
    (rf"\b{INSIDE}{M}", _calendar_month, _NAMES),
    (rf"\b{PART}{M}", _calendar_month, _NAMES),
    (rf"\b(?P<pointer>{POINTER}){S}{M}", _calendar_month, _NAMES),
    (rf"\b{_CLEAR}\b", _calendar_month, _NAMES),
    (rf"\b(?P<nth>{_NTH}){S}week{S}(?:of|in){S}{M}{MAYBE_Y}", _week_of_month, _NAMES),
    (rf"\b{INSIDE}(?:year{S})?{Y}", _year, "YEAR"),
    (rf"\b{PART}{Y}", _year, "YEAR"),
    (rf"\bof{S}(?P<year>(?:19|20)\d\d)(?=[ \t]*(?:[,.?!;]|\Z))", _year, "YEAR"),
    (rf"\b{SEASON},?{S}(?:of{S})?{Y}", _season_of_year, "YEAR"),
    (rf"\b{_FEAST}{MAYBE_Y}", _feast, "christmas halloween new valentine"),
    (rf"\bon{S}the{S}(?P<day>[0-3]?\d(?:st|nd|rd|th))(?=[ \t]*(?:[,.?!;]|\Z))", _of_this_month, "the"),
)
