"""What the demo plays: a dialogue in the ``messages`` format, and questions with the day they are asked on."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from importlib.resources import as_file, files
from pathlib import Path
from zoneinfo import ZoneInfo

from memorybank.errors import InvalidInputError
from memorybank.text.language import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
_EVENING = time(20)


@dataclass(frozen=True, slots=True)
class Question:
    """``ask`` it ``day`` days after the first; ``expects`` stands in what should be found first, or near it."""

    day: int
    ask: str
    expects: str
    reason: str


@dataclass(frozen=True, slots=True)
class Script:
    """One language's demo."""

    language: Language
    owner: str
    timezone: str
    first: date
    questions: tuple[Question, ...]
    note: str
    look_back: Question

    def evening(self, day: int) -> datetime:
        """Eight in the evening, ``day`` days after the first, in the owner's zone."""
        return datetime.combine(self.first + timedelta(days=day), _EVENING, ZoneInfo(self.timezone))


def load_script(language: str) -> Script:
    """The script of a language. Raises ``InvalidInputError`` for one that there is none for."""
    if language not in LANGUAGES:
        raise InvalidInputError(
            f"the demo has no language {language!r}; choose one of {', '.join(LANGUAGES)}"
        )
    with dialogue(language) as path:
        content = json.loads(path.read_text("utf-8"))
    return Script(
        language="zh" if language == "zh" else "en",
        owner=content["owner"],
        timezone=content["timezone"],
        first=datetime.fromisoformat(content["messages"][0]["at"]).date(),
        questions=tuple(Question(**question) for question in content["questions"]),
        note=content["note"],
        look_back=Question(**content["look_back"]),
    )


def dialogue(language: str) -> AbstractContextManager[Path]:
    """The dialogue as a file on disk, for the importer."""
    return as_file(files("memorybank.demo").joinpath(f"companion.{language}.json"))
