"""English days seen from today: "yesterday", "last Tuesday", "two weeks ago", "the week before"."""

from __future__ import annotations

import re
from datetime import date

from memorybank.text import spans
from memorybank.text.english_words import (
    NAMED,
    PART,
    SEASON,
    SOME,
    UNIT,
    WD,
    WEEKDAYS,
    N,
    S,
    number_of,
    part_named,
)
from memorybank.text.spans import Rule, Span, Spread


def _near(match: re.Match[str]) -> Spread:
    word = " ".join(match[0].lower().split())
    shift = {"day before": -2, "day after": 2, "tomorrow": 1, "yester": -1, "last": -1}
    ahead = next((n for key, n in shift.items() if key in word), 0)
    return lambda reference: spans.days(reference, ahead)


def _weekday(match: re.Match[str]) -> Spread | None:
    number, which = WEEKDAYS[match["weekday"].lower()], (match["pointer"] or "").lower()
    if which == "next":
        return lambda reference: spans.next_weekday(reference, number, today=False)
    if which in ("this", "this coming", "coming"):
        return lambda reference: spans.next_weekday(reference, number, today=True)
    if len(match["weekday"]) < 6 and not (which and match["weekday"][0].isupper()):
        return None  # "sun" and "wed" are words
    return lambda reference: spans.past_weekday(reference, number, today=which in ("", "on"))


def _weekday_of_week(match: re.Match[str]) -> Spread:
    number, shift = WEEKDAYS[match["weekday"].lower()], _SHIFTS[match["pointer"].lower()]
    return lambda reference: spans.days(spans.week(reference, shift)[0], number)


_SHIFTS = {
    "last": -1,
    "past": -1,
    "previous": -1,
    "this": 0,
    "current": 0,
    "next": 1,
    "coming": 1,
    "following": 1,
}


def _unit(match: re.Match[str]) -> Spread:
    """Last week, this month, early next year, last weekend, this past weekend."""
    words = match["pointer"].lower().split()
    shift, unit, which = _SHIFTS[words[-1]], match["unit"].lower(), part_named(match)

    def spread(reference: date) -> Span:
        if unit == "weekend":
            found = spans.weekend(reference, shift)
        elif unit == "week":
            found = spans.week(reference, shift)
        elif unit == "month":
            found = spans.months(reference, shift)
        else:
            found = spans.year(reference.year + shift)
        return spans.part(found, which) if which else found

    return spread


def _the_weekend(_: re.Match[str]) -> Spread:
    return lambda reference: spans.weekend(reference, 0 if reference.weekday() >= 5 else -1)


def _season(match: re.Match[str]) -> Spread | None:
    name = match["season"].lower().replace("fall", "autumn")
    words = (match.groupdict().get("pointer") or "").lower().split()
    if "this" in words and "past" not in words:
        return lambda reference: spans.season(
            reference.year - (name == "winter" and reference.month < 3), name
        )
    if "next" in words:
        return lambda reference: spans.past_season(spans.days(reference, 366)[0], name)
    return lambda reference: spans.past_season(reference, name, finished="last" in words)


def _ago(match: re.Match[str]) -> Spread | None:
    unit = match["unit"].lower()
    few = match["few"]
    if unit == "weekend":
        count = 2 if few else number_of(match["n"])
        return lambda reference: spans.weekend(reference, -count)
    unit = "day" if unit == "night" else unit
    if few:
        low, high = (1, 3) if "couple" in few.lower() else (2, 6)
        return lambda reference: (spans.ago(reference, high, unit)[0], spans.ago(reference, low, unit)[1])
    count = number_of(match["n"])
    return lambda reference: spans.ago(reference, count, unit)


def _lately(match: re.Match[str]) -> Spread:
    unit = match["unit"].lower().replace("night", "day")
    fields = match.groupdict()
    count = 6 if fields.get("few") else number_of(fields.get("n") or "1")
    return lambda reference: spans.lately(reference, count, unit)


def _beside(match: re.Match[str]) -> Spread:
    """The week before, two days after, the Sunday before: seen from the day named next."""
    sign = 1 if match["side"].lower().startswith("after") else -1
    unit, count = match["unit"].lower(), match["n"]
    if unit in WEEKDAYS:
        find = spans.next_weekday if sign > 0 else spans.past_weekday
        return lambda reference: find(reference, WEEKDAYS[unit], today=False)
    if unit == "weekend":
        return lambda reference: spans.weekend(reference, sign)
    if count is None and unit == "week":
        return lambda reference: spans.days(reference, *((1, 7) if sign > 0 else (-7, -1)))
    unit = unit if unit in ("week", "month", "year") else "day"
    return lambda reference: spans.ago(reference, -sign * number_of(count or "1"), unit)


def _hours_ago(match: re.Match[str]) -> Spread:
    """Without the clock, hours may reach into yesterday."""
    short = match["unit"].lower().startswith("min") or (match["n"] or "9").lower() in (
        "a",
        "an",
        "1",
        "one",
        "2",
    )
    return lambda reference: spans.days(reference, 0 if short else -1, 0)


def _other_day(_: re.Match[str]) -> Spread:
    return lambda reference: spans.days(reference, -7, -1)


def _before_last(match: re.Match[str]) -> Spread:
    unit = match["unit"].lower()
    if unit == "weekend":
        return lambda reference: spans.weekend(reference, -2)
    if unit == "week":
        return lambda reference: spans.week(reference, -2)
    return lambda reference: spans.ago(reference, 2, unit)


_DAYTIME = "morning|afternoon|evening|night"
_PERIOD = r"(?P<unit>weekend|week|month|year)\b"
_CLOCK = r"(?P<unit>hours?|hrs?|minutes?|mins?)"
_WEEK = rf"(?P<pointer>last|this|next){S}week"

_NAMES = " ".join(WEEKDAYS)
_SEASONS = "spring summer autumn fall winter"

RULES: tuple[Rule, ...] = (
    (rf"\b(?:the{S})?day{S}before{S}yesterday\b", _near, "yesterday"),
    (rf"\b(?:the{S})?day{S}after{S}tomorrow\b", _near, "tomorrow"),
    (
        rf"\b(?:yesterday|last{S}(?:night|evening)|tomorrow|today|tonight|this{S}(?:{_DAYTIME}))\b",
        _near,
        "yesterday last tomorrow today tonight this",
    ),
    (
        rf"(?<!every )(?<!each )\b"
        rf"(?:(?P<pointer>last|past|previous|this{S}past|this{S}coming|this|next|coming|on){S})?{WD}",
        _weekday,
        _NAMES,
    ),
    (rf"\b{WD},?{S}(?:of{S})?{_WEEK}\b", _weekday_of_week, _NAMES),
    (rf"\b{_WEEK}{S}(?:on{S})?{WD}", _weekday_of_week, _NAMES),
    (
        rf"\b(?:the{S}(?:last|past)|(?:this{S})?past){S}(?P<unit>week|month|year)\b(?!{S}of\b)",
        _lately,
        "last past",
    ),
    (
        rf"\b(?:{PART})?(?P<pointer>last|this{S}past|previous|this|current|next|coming){S}{_PERIOD}",
        _unit,
        "last past previous this current next coming",
    ),
    (rf"\b(?:over|at|on|during){S}the{S}(?:past{S})?weekend\b", _the_weekend, "weekend"),
    (rf"\b(?P<pointer>last|past|this{S}past|this|next){S}{SEASON}", _season, _SEASONS),
    (rf"\b(?P<inside>(?:in|during|over|throughout|since){S}(?:the{S})?){SEASON}", _season, _SEASONS),
    (rf"\b{SOME}{S}(?P<unit>day|night|weekend|week|month|year)s?{S}(?:ago|back)\b", _ago, "ago back"),
    (rf"\b{SOME}{S}{_CLOCK}{S}ago\b", _hours_ago, "ago"),
    (rf"\bthe{S}other{S}(?:day|night|evening|morning)\b", _other_day, "other"),
    (rf"\b(?:last|past|previous){S}{SOME}{S}{UNIT}", _lately, "last past previous"),
    (rf"\b(?:the{S})?{_PERIOD}{S}before{S}last\b", _before_last, "last"),
)
BESIDE: tuple[Rule, ...] = (
    (
        rf"\b(?:the{S}|{N}{S})?(?P<unit>day|night|evening|morning|weekend|week|month|year|{NAMED})s?"
        rf"{S}(?P<side>before|after|prior{S}to|following)\b",
        _beside,
        "before after prior following",
    ),
)
"""Phrases that need the day named next: "the week before" 3 August."""
