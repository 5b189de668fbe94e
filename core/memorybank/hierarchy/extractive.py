"""Summaries without a language model: salient quotes, verbatim, with speaker and date. Nothing is invented.

Measured on MemoryBank's development questions: at 30 % of the text's length (speaker labels counted) all
answer keywords of .71 of the questions survive in the day's quotes, in English and in Chinese; random
sentences keep .31 / .27, the beginning of each day .31 / .30.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from memorybank.hierarchy.salience import Line, Sentence, Weights, evidence, factor, split, worth
from memorybank.hierarchy.selfreport import KINDS, Kind, kind_of

Language = Literal["en", "zh"]
Cost = Callable[[str], int]

_SPEAKERS = {"en": {}, "zh": {"user": "用户", "assistant": "助手"}}
_WEIGHTS = Weights()
_OLD = 0.3  # our choice, as is the half-life: a global text tells of lately, and of the most telling before
_HALF_LIFE = 60.0
_PADDING = 0.05  # what is worth less than this part of the best is left out, whatever room there is
_TELLING = 1.0  # evidence that a self-report must hold: "I'll give it a try" says nothing of anyone


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that were said, by whom, on which day, and the id of the message or memory they come from."""

    source: str
    speaker: str
    text: str
    day: date
    value: float
    order: int
    kind: Kind | None = None


def salient(
    lines: Sequence[Line],
    budget: int,
    *,
    cost: Cost = len,
    language: Language = "en",
    weights: Weights = _WEIGHTS,
) -> list[Quote]:
    """The quotes that together keep most of what was said within ``budget`` (in the unit of ``cost``).

    Greedy by worth for cost, with worth falling for what is already said (diversity). In the order of the
    dialogue. Deterministic. Speaker labels count towards the budget. At least one quote if anything was said.
    """
    return _choose(split(lines), budget, cost, language, weights)


def _choose(
    units: Sequence[Sentence],
    budget: int,
    cost: Cost,
    language: Language,
    weights: Weights,
    fading: float | None = None,
) -> list[Quote]:
    """``fading``: days in which what lies back loses half of its advantage (down to ``_OLD``); None: no matter."""
    found = [evidence(unit.core, weights) for unit in units]
    newest = max((unit.line.day for unit in units), default=date.min)
    ages = [(newest - unit.line.day).days for unit in units]
    fresh = [1.0 if fading is None else _OLD + (1 - _OLD) * 0.5 ** (age / fading) for age in ages]
    factors = [factor(unit, weights) * fresh[at] for at, unit in enumerate(units)]
    costs = [max(1, cost(f"{speaker_label(unit.line.speaker, language)}: {unit.text}\n")) for unit in units]
    seen: Counter[str] = Counter()
    heap = [
        (-worth(found[at], seen, weights.again) * factors[at] / costs[at], at) for at in range(len(units))
    ]
    heapq.heapify(heap)
    chosen: dict[int, float] = {}
    best = 0.0
    while heap:
        _, at = heapq.heappop(heap)
        if costs[at] > budget or units[at].trifling:
            continue
        now = worth(found[at], seen, weights.again) * factors[at] / costs[at]
        if heap and -now > heap[0][0]:  # worth only falls, so a stale head is put back where it belongs
            heapq.heappush(heap, (-now, at))
            continue
        best = max(best, now)
        if now <= best * _PADDING:
            break
        chosen[at] = now
        budget -= costs[at]
        seen.update(found[at].keys())
    if not chosen and units:
        chosen[max(range(len(units)), key=lambda at: (worth(found[at], {}, 1.0) * factors[at], -at))] = 0.0
    return [_quote(units[at], chosen[at]) for at in sorted(chosen)]


def _quote(unit: Sentence, value: float) -> Quote:
    kind = kind_of(unit.text) if unit.line.own else None
    return Quote(unit.line.source, unit.line.speaker, unit.text, unit.line.day, value, unit.order, kind)


def speaker_label(speaker: str, language: Language) -> str:
    """How a speaker is called in a summary."""
    return _SPEAKERS[language].get(speaker, speaker)


def day_events(lines: Sequence[Line], budget: int, *, cost: Cost = len, language: Language = "en") -> str:
    """The day's quotes under its date, one speaker's neighbouring quotes in one line. Empty without words."""
    quotes = salient(lines, budget, cost=cost, language=language)
    if not quotes:
        return ""
    title = {"en": "{} (quotes)", "zh": "{}（摘录）"}[language].format(quotes[0].day.isoformat())
    rows: list[str] = []
    before: str | None = None
    for quote in quotes:
        text = quote.text.replace("\n", " ")
        if quote.speaker == before:
            rows[-1] += (" " if language == "en" else "") + text
        else:
            rows.append(f"{speaker_label(quote.speaker, language)}{_COLON[language]}{text}")
        before = quote.speaker
    return "\n".join([title, *rows])


_COLON = {"en": ": ", "zh": "："}


def day_portrait(lines: Sequence[Line], budget: int, *, cost: Cost = len, language: Language = "en") -> str:
    """What the user said about themselves that day, quoted and labelled (likes, mood …). Empty if nothing."""
    units = [
        unit
        for unit in split(lines)
        if unit.line.own
        and kind_of(unit.text) is not None
        and worth(evidence(unit.core, _WEIGHTS), {}, 1.0) >= _TELLING
    ]
    if not units:
        return ""
    quotes = _choose(units, budget, cost, language, _WEIGHTS)
    return "\n".join(_self_row(quote, language) for quote in _by_kind(quotes))


def _by_kind(quotes: Iterable[Quote]) -> list[Quote]:
    return sorted(quotes, key=lambda q: (list(KINDS).index(q.kind or "fact"), -q.day.toordinal(), q.order))


def _self_row(quote: Quote, language: Language) -> str:
    name = KINDS[quote.kind or "fact"][language]
    if quote.speaker != "user":
        name += f" ({quote.speaker})" if language == "en" else f"（{quote.speaker}）"
    text = quote.text.replace("\n", " ")
    if language == "zh":
        return f"{name}：「{text}」（{quote.day.isoformat()}）"
    return f'{name}: "{text}" ({quote.day.isoformat()})'


_ROW_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TITLE_ROW = re.compile(r"^\d{4}-\d\d-\d\d *(?:\(quotes\)|（摘录）)?$")


def join_events(
    days: Sequence[tuple[str, date, str]],
    budget: int,
    *,
    cost: Cost = len,
    language: Language = "en",
    lately: bool = True,
) -> str:
    """One text from many: the most salient rows of day summaries, each dated, oldest first.

    ``days``: (id, day, text), of days or of blocks of days that were joined before. With ``lately`` recent days
    count for more.
    """
    quotes = _choose(_rows(days), budget, cost, language, _WEIGHTS, _HALF_LIFE if lately else None)
    return "\n".join(quote.text for quote in sorted(quotes, key=lambda q: (q.day, q.order)))


def join_portraits(
    days: Sequence[tuple[str, date, str]],
    budget: int,
    *,
    cost: Cost = len,
    language: Language = "en",
    lately: bool = True,
) -> str:
    """One portrait from many: the most salient quotes by kind, newest first; repetitions count little."""
    newest_first = sorted(days, key=lambda entry: entry[1], reverse=True)
    units = _rows(newest_first)
    quotes = _choose(units, budget, cost, language, _WEIGHTS, _HALF_LIFE if lately else None)
    names = [name for both in KINDS.values() for name in both.values()]

    def place(quote: Quote) -> tuple[int, int, int]:
        label = re.split(" ?[(（:：]", quote.text, maxsplit=1)[0]
        return (names.index(label) if label in names else len(names), -quote.day.toordinal(), quote.order)

    return "\n".join(quote.text for quote in sorted(quotes, key=place))


def _rows(days: Sequence[tuple[str, date, str]]) -> list[Sentence]:
    """Each row of each text as one unit that carries its date."""
    units: list[Sentence] = []
    for source, day, text in days:
        for row in text.split("\n"):
            words = row.strip()
            if not words or _TITLE_ROW.match(words):
                continue
            dated = _ROW_DATE.search(words)
            own_day = _day(dated[0]) if dated else None
            if own_day is None:
                words = f"{day.isoformat()} {words}"
            line = Line(source, "", words, own_day or day)
            units.append(Sentence(line, words, len(units)))
    return units


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
