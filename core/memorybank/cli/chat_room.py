"""The room of a chat: lines come in, what happens is shown, as text for people or as JSON for programs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from memorybank.cli.chat_commands import (
    Again,
    Desk,
    Done,
    Outcome,
    Quit,
    Seen,
    Shown,
    Why,
    command_of,
    listened,
    run,
)
from memorybank.cli.output import (
    clean,
    emit_json_line,
    err,
    memory_head,
    note,
    out,
    print_body,
    print_recalled,
    snippet,
)
from memorybank.cli.texts import ENGLISH, Texts
from memorybank.companion.talk import Companion, Event, Heard, Piece, Recollection, Reply, Trouble
from memorybank.companion.wording import WORDINGS, Wording
from memorybank.errors import MemoryBankError


@dataclass
class Room:
    """Where it is talked: input, output, and how what happens is shown."""

    companion: Companion
    words: Wording
    json: bool
    source: TextIO
    texts: Texts = ENGLISH
    writing: bool = False  # whether a line of the reply is begun on the screen

    @property
    def live(self) -> bool:
        """Whether somebody sits there."""
        return self.source.isatty()

    def talk(self) -> int:
        """Until the input ends or /quit; returns how many turns had trouble."""
        failed = 0
        if not self.json:
            self._greet()
        read = self._reader()
        desk = Desk(self.companion, self.words, lambda question: self._confirmed(question, read))
        for line in listened(read):
            try:
                command = command_of(line)
                if command is None:
                    failed += self._turn(self.companion.hear(line[1:] if line.startswith("//") else line))
                elif isinstance(outcome := run(desk, *command), Quit):
                    break
                elif isinstance(outcome, Again):
                    failed += self._turn(self.companion.again())
                else:
                    self._tell(outcome)
            except MemoryBankError as error:
                failed += 1
                self._trouble(" ".join(str(error).split()))
        if self.live and not self.json:
            out().print(self.words.bye)
        return failed

    def _greet(self) -> None:
        owner, session = clean(self.companion.bank.owner), clean(self.companion.session)
        note(self.words.greeting.format(owner=owner, session=session))
        if self.companion.model is None:
            note(self.words.no_model)

    def _turn(self, events: Generator[Event, None, None]) -> bool:
        """Carry out a turn; True if there was trouble."""
        troubled = False
        try:
            for event in events:
                troubled = troubled or isinstance(event, Trouble)
                self._show(event)
        except KeyboardInterrupt:
            events.close()
            self._end_line()
            note(self.words.stopped)
        return troubled

    # -- showing -----------------------------------------------------------------------------------------------

    def _show(self, event: Event) -> None:
        if self.json:
            emit_json_line(_of_event(event))
        elif isinstance(event, Piece):
            sys.stdout.write(clean(event.text))
            sys.stdout.flush()
            self.writing = True
        elif isinstance(event, Recollection):
            self._recollection(event)
        elif isinstance(event, Trouble):
            self._end_line()
            self._trouble(self.words.failed.format(reason=event.reason or self.words.empty))
        elif isinstance(event, Reply):
            self._end_line()

    def _recollection(self, event: Recollection) -> None:
        """One line: which memories, how good, by which part of the score most. ``/why`` tells the rest."""
        if not event.recalled:
            if self.companion.model is None:  # else nothing at all would be seen of this turn
                note(f"[{self.words.nothing}]")
            return
        best = [
            f"{rank} {snippet(one.memory.text, 32)} ({one.score:.2f}{_strongest(one.parts, self.texts)})"
            for rank, one in enumerate(event.recalled[:3], 1)
        ]
        more = f" +{len(event.recalled) - 3}" if len(event.recalled) > 3 else ""
        note(f"[{self.words.recalled}: {'; '.join(best)}{more}]")

    def _tell(self, outcome: Outcome) -> None:
        if self.json:
            emit_json_line(_of_outcome(outcome))
            return
        console, zone = out(), self.companion.bank.timezone
        if isinstance(outcome, Done):
            console.print(Text(clean(outcome.text)), soft_wrap=True)
        elif isinstance(outcome, Why):
            print_recalled(console, outcome.recalled, zone, self.texts)
        elif isinstance(outcome, Shown):
            console.print(Text(memory_head(outcome.memory, zone, self.texts), style="dim"))
            print_body(console, outcome.memory.text, longest=20_000, texts=self.texts)
        elif isinstance(outcome, Seen):
            self._window(console, outcome)

    def _window(self, console: Console, seen: Seen) -> None:
        if seen.window.digest is not None:
            console.print(Text(self.words.digest, style="dim"))
            print_body(console, seen.window.digest.text, texts=self.texts)
        for message in seen.window.messages:
            said = f"{message.name or message.role}: {message.text}"
            print_body(console, said, indent=0, texts=self.texts)

    def _trouble(self, text: str) -> None:
        if self.json:
            emit_json_line({"kind": "trouble", "reason": text})
        else:
            err().print(Text(clean(text), style="yellow"), soft_wrap=True)

    def _end_line(self) -> None:
        if self.writing and not self.json:
            sys.stdout.write("\n")
            sys.stdout.flush()
        self.writing = False

    # -- listening ---------------------------------------------------------------------------------------------

    def _reader(self) -> Callable[[], str | None]:
        if self.live:
            # Loaded for its effect: input() gets line editing, where the platform has it. Nothing is saved.
            with contextlib.suppress(ImportError):
                import_module("readline")
            return lambda: self._typed("> ")
        if hasattr(self.source, "reconfigure"):
            self.source.reconfigure(encoding="utf-8", errors="replace")

        def piped() -> str | None:
            return self.source.readline() or None

        return piped

    def _typed(self, prompt: str) -> str | None:
        try:
            return input(prompt)
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            return None

    def _confirmed(self, question: str, read: Callable[[], str | None]) -> bool:
        """Ask; the next line is the answer, from a pipe too. No answer is no."""
        if self.live:
            answer = self._typed(clean(question))
        else:
            if not self.json:
                note(question)
            answer = read()
        return answer is not None and answer.strip().lower() in self.words.yes


def _strongest(parts: Mapping[str, float], texts: Texts) -> str:
    """The part that a score owes most to, shown as ``, lexical 0.41``."""
    if not parts:
        return ""
    name = max(parts, key=lambda one: parts[one])
    return f"{texts.separator}{texts.parts.get(name, name)} {parts[name]:.2f}"


def _of_event(event: Event) -> dict[str, Any]:
    if isinstance(event, Heard):
        return {"kind": "heard", "message": event.message}
    if isinstance(event, Recollection):
        return {"kind": "recalled", "recalled": event.recalled}
    if isinstance(event, Piece):
        return {"kind": "piece", "text": event.text}
    if isinstance(event, Reply):
        return {"kind": "reply", "message": event.message, "used": event.used}
    return {"kind": "trouble", "reason": event.reason or WORDINGS["en"].empty}


def _of_outcome(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Done):
        return {"kind": "done", "text": outcome.text, "result": outcome.result}
    if isinstance(outcome, Why):
        return {"kind": "why", "recalled": outcome.recalled}
    if isinstance(outcome, Shown):
        return {"kind": "memory", "memory": outcome.memory}
    if isinstance(outcome, Seen):
        return {"kind": "window", "messages": outcome.window.messages, "digest": outcome.window.digest}
    return {"kind": "quit"}
