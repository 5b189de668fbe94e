"""The English words that dates are made of, as pieces of regular expressions."""

from __future__ import annotations

import re

NUMBERS = {
    word: n
    for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())  # noqa: SIM905 - a sentence of words
} | {"a": 1, "an": 1}
MONTHS = {
    name: n
    for n, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sept sep", "october oct", "november nov", "december dec"), 1,
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: n
    for n, names in enumerate(
        ("monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu", "friday fri",
         "saturday sat", "sunday sun")
    )
    for name in names.split()
}  # fmt: skip
_TENS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
    " fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
ORDINALS = {word: n for n, word in enumerate(_TENS.split(), 1)}
ORDINALS |= {f"twenty {word}": 20 + n for word, n in list(ORDINALS.items())[:9]}
ORDINALS |= {"thirtieth": 30, "thirty first": 31}
FEASTS = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25), "halloween": (10, 31),
    "new year's eve": (12, 31), "new year's day": (1, 1), "valentine's day": (2, 14),
}  # fmt: skip

S = r"[ \t\n]{1,3}"
M = "(?P<month>" + "|".join(MONTHS) + r")\b\.?"
NAMED = "|".join(name for name in WEEKDAYS if name.endswith("day"))
WD = "(?P<weekday>" + "|".join(WEEKDAYS) + r")\b"
D = (
    r"(?P<day>[0-3]?\d(?:st|nd|rd|th)|[0-3]?\d(?![\d.:%]\d|\d|%)|"
    + "|".join(word.replace(" ", "[ -]") for word in sorted(ORDINALS, key=len, reverse=True))
    + r")(?![\w%])"
)
D2 = r"(?P<day2>[0-3]?\d)(?:st|nd|rd|th)?(?![\w%])"
Y = r"(?P<year>(?:19|20)\d\d)(?![\w%]|[.,]\d)"
MAYBE_Y = rf"(?:,?[ \t\n]{{0,3}}(?:of{S}|in{S})?{Y})?"
TO = rf"(?:[ \t]?[-\u2013\u2014~][ \t]?|{S}(?:to|through|till|until){S}(?:the{S})?)"
N = r"(?P<n>\d{1,3}|" + "|".join(NUMBERS) + ")"
SOME = rf"(?:{N}|(?P<few>(?:a{S}|the{S}|past{S})?(?:few|couple(?:{S}of)?)|several))"
UNIT = r"(?P<unit>day|night|week|month|year)s?\b"
SEASON = r"(?P<season>spring|summer|autumn|fall|winter)\b"

POINTER = "last|past|previous|this|next"
INSIDE = rf"(?P<inside>(?:in|during|since|until|throughout|back{S}in){S}(?:the{S})?)"
PART = (
    rf"(?P<which>early|mid|late|(?:the{S})?(?:beginning|start|middle|end|first{S}half|second{S}half){S}of)"
    rf"(?:{S}|-)(?:the{S})?"
)


def number_of(text: str) -> int:
    """3 of "3" and "three"."""
    return int(text) if text.isdigit() else NUMBERS[text.lower()]


def day_of(text: str) -> int:
    """7 of "7", "7th" and "seventh"."""
    plain = text.lower().replace("-", " ")
    return ORDINALS[plain] if plain in ORDINALS else int(plain.rstrip("sthndr"))


def part_named(match: re.Match[str]) -> str:
    """The part of a month, year or season: "early", "mid-", "end of", "first half of"."""
    word = (match.groupdict().get("which") or "").lower().removeprefix("the").strip()
    for key, value in (
        ("first", "first"), ("second", "second"), ("early", "early"), ("begin", "early"), ("start", "early"),
        ("mid", "middle"), ("late", "late"), ("end", "late"),
    ):  # fmt: skip
        if word.startswith(key):
            return value
    return ""
