"""Which sentences of a dialogue are worth keeping, by names, titles, numbers, rare words and cues.

The weights were chosen on the development questions of MemoryBank (English and Chinese): the share of
questions whose answer keywords all survive at 30 % of the text's length. Neighbouring values lose .00-.05.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise

from memorybank.hierarchy import cues
from memorybank.text.terms import terms
from memorybank.text.words import ENGLISH as STOP_WORDS

LONGEST = 280
"""Characters of one quote. A longer sentence is cut at a clause, or where it must be."""

_ABBREVIATION = r"(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bMrs)(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)"
_END = re.compile(rf"(?:(?<![.!?]){_ABBREVIATION}[.!?]++[\"”’')]*+(?=\s|$)|[。！？；…]+[”’」』》）]*|\n+)")
_CLAUSE_END = re.compile(r"[,;:，、；：]\s*|\s")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
_HAN_RUN = re.compile(r"[\u4e00-\u9fff]{2,}")
_LATIN = re.compile(r"[A-Za-z]{3,}")
_SUFFIX = re.compile(r"(?:ing|ed|ly|es|s)$")


@dataclass(frozen=True, slots=True)
class Weights:
    """What each kind of evidence is worth, relative to a rare English word (1)."""

    title: float = 4.0
    name: float = 2.0
    number: float = 2.0
    rare: float = 1.0
    common: float = 0.25
    pairs: tuple[float, float, float] = (0.5, 0.2, 0.05)  # a Chinese pair with 0, 1, 2 common characters
    cue: float = 1.2  # a factor for each distinct cue, up to three
    mood: float = 1.3
    question: float = 0.25
    courtesy: float = 0.3
    answer: float = 1.2  # the user's words right after a question of the other
    own: float = 1.1  # the user's words
    again: float = 0.3  # what evidence is worth once a chosen sentence has it (diversity)


@dataclass(frozen=True)
class Line:
    """One thing said: by whom, when, and the id of what it comes from. ``own``: said by the bank's user."""

    source: str
    speaker: str
    text: str
    day: date
    own: bool = True


@dataclass(frozen=True)
class Sentence:
    """A sentence of a line, in its place. ``answers``: the sentence before it asked something."""

    line: Line
    text: str
    order: int
    answers: bool = False

    @property
    def trifling(self) -> bool:
        """Says nothing by itself: too short ("Sweet dreams!", 「好主意。」), or a question to the user.

        Not so if it answers a question, or holds a number or a title.
        """
        if self.answers or cues.NUMBER.search(self.core) or cues.TITLE.search(self.core):
            return False
        length = len(self.core) + sum(letter > "\u2e7f" for letter in self.core)
        return length < 14 or (not self.line.own and cues.QUESTION.search(self.core) is not None)

    @cached_property
    def core(self) -> str:
        """Without greetings and assent at its head."""
        return cues.FILLER.sub("", self.text)


def sentences(text: str) -> list[str]:
    """The sentences of a text, none longer than ``LONGEST``; line ends end a sentence too. Linear."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        found.extend(_pieces(text[start : match.end()].strip()))
        start = match.end()
    found.extend(_pieces(text[start:].strip()))
    return found


def _pieces(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > LONGEST:
        ends = [m.end() for m in _CLAUSE_END.finditer(sentence, start + LONGEST // 2, start + LONGEST)]
        end = ends[-1] if ends else start + LONGEST
        yield sentence[start:end].strip()
        start = end
    if rest := sentence[start:].strip():
        yield rest


def split(lines: Sequence[Line]) -> list[Sentence]:
    """All sentences of the lines, in order."""
    found: list[Sentence] = []
    asked_by: str | None = None
    for line in lines:
        parts = sentences(line.text)
        answers = asked_by is not None and asked_by != line.speaker
        found.extend(Sentence(line, part, len(found) + at, answers) for at, part in enumerate(parts))
        asked_by = line.speaker if any(cues.QUESTION.search(part) for part in parts[-2:]) else None
    return found


def evidence(text: str, weights: Weights) -> dict[str, float]:
    """Titles, names, numbers and words of a text, each with its worth."""
    found: dict[str, float] = {}
    for match in cues.TITLE.finditer(text):
        title = next(group for group in match.groups() if group)
        found["title " + title.casefold()] = weights.title
    for match in cues.NUMBER.finditer(text):
        found["number " + match[0].casefold()] = weights.number
    for name in _names(text):
        found["name " + name] = weights.name
    for word in {word.casefold().split("'")[0] for word in _WORD.findall(text)}:
        if len(word) < 2 or word in STOP_WORDS:
            continue
        common = word in cues.COMMON_WORDS or _SUFFIX.sub("", word) in cues.COMMON_WORDS
        for term in terms(word)[:1]:
            worth = weights.common if common else weights.rare
            found[term] = max(found.get(term, 0.0), worth)
    for run in _HAN_RUN.findall(text):
        for first, second in pairwise(run):
            usual = (first in cues.COMMON_CHARACTERS) + (second in cues.COMMON_CHARACTERS)
            found[first + second] = weights.pairs[usual]
    return found


def _names(text: str) -> Iterator[str]:
    """Capitalised words that are not merely the first of the sentence; Latin words in Chinese text."""
    for match in cues.NAME.finditer(text):
        word = match[0]
        alone = match.start() == 0 and " " not in word
        if not alone and word != "AI" and word.casefold() not in cues.COMMON_WORDS:
            yield word.casefold()
    if _HAN_RUN.search(text):
        yield from (
            word.casefold() for word in _LATIN.findall(text) if word.casefold() not in cues.COMMON_WORDS
        )


def factor(sentence: Sentence, weights: Weights) -> float:
    """By what the worth of the sentence's evidence is multiplied: cues and moods up, courtesies down."""
    core = sentence.core
    hits = {match[0].casefold() for match in cues.CUE.finditer(core)}
    value = weights.cue ** min(len(hits), 3)
    if cues.MOOD.search(core):
        value *= weights.mood
    if cues.QUESTION.search(core):
        value *= weights.question
    if cues.EMPTY.search(sentence.text):
        value *= weights.courtesy
    if sentence.line.own:
        value *= weights.own * (weights.answer if sentence.answers else 1.0)
    return value


def worth(found: Mapping[str, float], seen: Mapping[str, int], again: float) -> float:
    """The worth of evidence, each piece reduced by ``again`` for every time it was seen."""
    return sum(value * again ** seen.get(key, 0) for key, value in found.items())
