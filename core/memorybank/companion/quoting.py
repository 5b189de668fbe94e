"""The companion without a language model: it answers by quoting what it remembers.

Whoever shows its replies says what it is; the replies themselves do not, as they are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from memorybank.companion.speaking import ChatModel, Said
from memorybank.models import Level, Recalled
from memorybank.text.language import Language

_QUOTED = 160  # characters of one memory; enough for a sentence or two
_USER = "user: "


@dataclass(frozen=True, slots=True)
class _Phrases:
    found: str
    nothing: str
    date: str


_PHRASES: Mapping[Language, _Phrases] = {
    "en": _Phrases(
        "On {day} you said: “{quote}”",
        "Noted. Nothing that I remember is close to it.",
        "%d %B %Y",
    ),
    "zh": _Phrases(
        "{day}你说过：“{quote}”",
        "记下了。没有想起相近的往事。",
        "%Y年%m月%d日",
    ),
}


def quoting(recalled: Callable[[], Sequence[Recalled]], zone: str, language: Language) -> ChatModel:
    """A chat model that knows no language: its reply quotes the best of ``recalled()``, days in ``zone``."""
    phrases = _PHRASES[language]

    def reply(messages: Sequence[Said]) -> Iterator[str]:
        told = phrases.nothing
        for one in recalled():
            quote = _words(one)
            if quote:
                day = one.memory.began.astimezone(ZoneInfo(zone)).strftime(phrases.date)
                told = phrases.found.format(day=day, quote=quote)
                break
        # In words, as a model would speak: the page shows that it streams.
        start = 0
        for end, character in enumerate(told, 1):
            if character in " ，。：“" or end == len(told):
                yield told[start:end]
                start = end

    return reply


def _words(one: Recalled) -> str:
    """What the user said in a turn or a note, shortened; "" for what others said and for summaries."""
    if one.memory.level not in (Level.TURN, Level.NOTE):
        return ""
    text = one.memory.text
    if one.memory.level is Level.TURN:
        lines = [line.removeprefix(_USER) for line in text.splitlines() if line.startswith(_USER)]
        text = lines[0] if lines else ""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else f"{line[: _QUOTED - 1].rstrip()}…"
