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
        # By what a memory says itself; who reads a single quote does not see the talk around it.
        near = sorted(recalled(), key=lambda one: one.dense + one.lexical, reverse=True)
        found = next((one for one in near if _quotable(_words(one))), None)
        if found is not None:
            day = found.memory.began.astimezone(ZoneInfo(zone)).strftime(phrases.date)
            told = phrases.found.format(day=day, quote=_words(found))
        # In words, as a model would speak: the page shows that it streams.
        start = 0
        for end, character in enumerate(told, 1):
            if character in " ，。：“" or end == len(told):
                yield told[start:end]
                start = end

    return reply


def _quotable(words: str) -> bool:
    """A question of the user's is no answer to the next one."""
    return bool(words) and not words.endswith(("?", "？"))


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
