"""Who writes summaries and portraits: quotes chosen by rule, or a language model with timeout and checks."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from memorybank.errors import LLMError
from memorybank.hierarchy import extractive
from memorybank.hierarchy.prompts import Language, Prompts, fill, instructions
from memorybank.hierarchy.replies import clean
from memorybank.hierarchy.salience import Line
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.models import Level, Maker
from memorybank.tokens import TokenCounter, truncate


@dataclass(frozen=True, slots=True)
class Part:
    """A text to be joined with others: the id of its memory, and the days it is about."""

    id: str
    first: date
    last: date
    text: str


class Writer(Protocol):
    """What consolidation asks for. Every method may raise LLMError; "" means that there is nothing to say."""

    @property
    def maker(self) -> Maker: ...

    def day(self, level: Level, day: date, lines: Sequence[Line], language: Language) -> str:
        """A day's events or portrait."""

    def join(self, level: Level, parts: Sequence[Part], language: Language, *, block: bool) -> str:
        """One text of events or portrait from many: a block of days, or the global one."""

    def digest(self, old: str, lines: Sequence[Line], language: Language) -> str:
        """A session's digest from the old one and the messages that slid out."""


@dataclass(frozen=True)
class Quoting:
    """Writes by quoting (``extractive``)."""

    settings: HierarchySettings
    counter: TokenCounter

    @property
    def maker(self) -> Maker:
        return Maker.EXTRACTIVE

    def day(self, level: Level, day: date, lines: Sequence[Line], language: Language) -> str:
        if level is Level.DAY_PORTRAIT:
            return extractive.day_portrait(
                lines, self.settings.portrait, cost=self.counter, language=language
            )
        budget = self.settings.day_length(sum(self.counter(line.text) for line in lines))
        return extractive.day_events(lines, budget, cost=self.counter, language=language)

    def join(self, level: Level, parts: Sequence[Part], language: Language, *, block: bool) -> str:
        rows = [(part.id, part.first, part.text) for part in parts]
        if level is Level.EVENTS:
            budget = self.settings.block if block else self.settings.events
            return extractive.join_events(
                rows, budget, cost=self.counter, language=language, lately=not block
            )
        budget = self.settings.block if block else self.settings.overall_portrait
        return extractive.join_portraits(rows, budget, cost=self.counter, language=language, lately=not block)

    def digest(self, old: str, lines: Sequence[Line], language: Language) -> str:
        budget = self.settings.digest
        fresh = extractive.day_events(lines, budget, cost=self.counter, language=language)
        rows = [("", lines[0].day, old), ("", lines[0].day, fresh)]
        return extractive.join_events(rows, budget, cost=self.counter, language=language)


@dataclass
class Spent:
    """What a model was asked for so far."""

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    failed_in_a_row: int = 0


@dataclass(frozen=True)
class Modelling:
    """Writes by asking a language model. Long inputs are read in parts; what comes back is checked."""

    llm: Callable[[str], str]
    settings: HierarchySettings
    counter: TokenCounter
    redact: Callable[[str], str] | None = None
    spent: Spent = field(default_factory=Spent)

    @property
    def maker(self) -> Maker:
        return Maker.LLM

    def day(self, level: Level, day: date, lines: Sequence[Line], language: Language) -> str:
        prompts = self._prompts(language)
        rows = [f"{extractive.speaker_label(line.speaker, language)}: {line.text}" for line in lines]
        total = self.counter("\n".join(rows))
        events = level is Level.DAY_EVENTS
        length = self.settings.day_length(total) if events else self.settings.portrait
        template = prompts.day_events if events else prompts.day_portrait
        written = [
            self._ask(template, text, day, day, length, language, may_be_nothing=not events)
            for text in self._portions(rows)
        ]
        told = [text for text in written if text]
        if len(told) < 2:
            return told[0] if told else ""
        return self._merged(
            prompts.merge_events if events else prompts.merge_portrait, told, day, length, language
        )

    def join(self, level: Level, parts: Sequence[Part], language: Language, *, block: bool) -> str:
        prompts = self._prompts(language)
        if level is Level.EVENTS:
            template = prompts.merge_events if block else prompts.events
            length = self.settings.block if block else self.settings.events
        else:
            template = prompts.merge_portrait if block else prompts.portrait
            length = self.settings.block if block else self.settings.overall_portrait
        texts = [_dated(part) for part in parts]
        if (
            self.counter("\n\n".join(texts)) > self.settings.read
        ):  # longer than planned for: each gives a little
            texts = [truncate(text, self.settings.read // len(texts) - 2, self.counter) for text in texts]
        text = "\n\n".join(texts)
        first, last = min(part.first for part in parts), max(part.last for part in parts)
        return self._ask(template, text, first, last, length, language)

    def digest(self, old: str, lines: Sequence[Line], language: Language) -> str:
        rows = [f"{extractive.speaker_label(line.speaker, language)}: {line.text}" for line in lines]
        first, last = lines[0].day, lines[-1].day
        for text in self._portions(rows):
            prompt = self._prompts(language).digest
            old = self._ask(prompt, text, first, last, self.settings.digest, language, old=old)
        return old

    def _prompts(self, language: Language) -> Prompts:
        return self.settings.prompts[language]

    def _merged(self, template: str, texts: Sequence[str], day: date, length: int, language: Language) -> str:
        return self._ask(template, "\n".join(texts), day, day, length, language)

    def _portions(self, rows: Sequence[str]) -> list[str]:
        """The rows in portions of at most ``read`` tokens; a single longer row is cut."""
        portions: list[list[str]] = []
        room = 0
        for row in rows:
            cost = self.counter(row) + 1
            if cost > self.settings.read:
                row, cost = truncate(row, self.settings.read, self.counter), self.settings.read
            if not portions or cost > room:
                portions.append([])
                room = self.settings.read
            portions[-1].append(row)
            room -= cost
        return ["\n".join(portion) for portion in portions]

    def _ask(
        self,
        template: str,
        text: str,
        first: date,
        last: date,
        length: int,
        language: Language,
        *,
        old: str = "",
        may_be_nothing: bool = False,
    ) -> str:
        if self.counter(text) > self.settings.read:
            text = truncate(text, self.settings.read, self.counter)
        prompt = fill(template, text, first=first, last=last, tokens=length, language=language, old=old)
        if self.spent.failed_in_a_row >= self.settings.give_up_after:
            raise LLMError(f"not asked: the model failed {self.spent.failed_in_a_row} times in a row")
        self.spent.calls += 1
        self.spent.prompt_tokens += self.counter(prompt)
        try:
            reply = ask(self.llm, prompt, self.settings.timeout)
        except LLMError:
            self.spent.failed_in_a_row += 1
            raise
        self.spent.failed_in_a_row = 0
        if isinstance(reply, str):
            self.spent.reply_tokens += self.counter(reply)
        written = clean(reply, instructions=instructions(template), may_be_nothing=may_be_nothing)
        written = truncate(written, 2 * length, self.counter).strip()
        return self.redact(written) if self.redact else written


def _dated(part: Part) -> str:
    days = part.first.isoformat() if part.first == part.last else f"{part.first} – {part.last}"
    return f"[{days}]\n{part.text}"


def ask(llm: Callable[[str], str], prompt: str, timeout: float) -> object:
    """The model's reply, whatever it is; LLMError if it raises or takes longer than ``timeout`` seconds.

    The call runs in a thread of its own, which is left behind when it does not end. The error names the kind of
    exception only: its words may hold the prompt.
    """
    replies: list[object] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            replies.append(llm(prompt))
        except BaseException as error:  # noqa: BLE001 - any failure of a foreign model is an LLMError of ours
            errors.append(error)

    context = contextvars.copy_context()  # tracing of the caller's framework goes along
    thread = threading.Thread(target=context.run, args=(call,), name="memorybank-llm", daemon=True)
    thread.start()
    thread.join(timeout)
    if errors:
        raise LLMError(f"the model raised {type(errors[0]).__name__}") from errors[0]
    if not replies:
        raise LLMError(f"the model gave no reply within {timeout:g} s")
    return replies[0]
