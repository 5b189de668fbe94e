"""The commands of ``memorybank chat``: what begins with a slash is meant for the memory, not for the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memorybank.cli.options import by_prefix
from memorybank.companion.talk import Companion
from memorybank.companion.wording import Wording
from memorybank.errors import InvalidInputError
from memorybank.models import Erased, Forgotten, Memory, Message, Recalled, Window
from memorybank.text.counting import Count


@dataclass(frozen=True, slots=True)
class Done:
    """A sentence for people, and what was done for programs."""

    text: str
    result: object = None


@dataclass(frozen=True, slots=True)
class Why:
    """The last recall with the parts of its scores."""

    recalled: tuple[Recalled, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A summary or portrait."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class Seen:
    """A session's window."""

    window: Window


@dataclass(frozen=True, slots=True)
class Again:
    """The last turn is answered anew."""


@dataclass(frozen=True, slots=True)
class Quit:
    """The talk ends."""


Outcome = Done | Why | Shown | Seen | Again | Quit
Confirm = Callable[[str], bool]
"""Asks the user a question that ends with what may be answered; True for yes."""


@dataclass(frozen=True)
class Desk:
    """What a command works on."""

    companion: Companion
    words: Wording
    confirm: Confirm

    def ids(self, command: str, argument: str) -> list[str]:
        """Ids from numbers of the last recall, or from ids or their beginnings. Raises InvalidInputError."""
        given = argument.split()
        if not given:
            raise InvalidInputError(self.words.needs.format(command=command, what=" N"))
        return [self._id(one) for one in given]

    def _id(self, given: str) -> str:
        last = self.companion.recalled
        if given.isascii() and given.isdigit() and 1 <= int(given) <= len(last):
            return last[int(given) - 1].memory.id
        return by_prefix(self.companion.bank, given).id

    def text(self, command: str, argument: str, what: str = "TEXT") -> str:
        """The argument, which must be there."""
        if not argument:
            raise InvalidInputError(self.words.needs.format(command=command, what=f" {what}"))
        return argument


Command = Callable[[Desk, str], Outcome]


def command_of(line: str) -> tuple[str, str] | None:
    """Name and argument of a command; None for words to the model. ``//…`` says ``/…``."""
    if not line.startswith(("/", "／")) or line.startswith("//"):
        return None
    name, _, argument = line[1:].partition(" ")
    return f"/{name.strip().lower()}", argument.strip()


def run(desk: Desk, name: str, argument: str) -> Outcome:
    """Carry out a command. Raises MemoryBankError: what cannot be done changes nothing."""
    command = COMMANDS.get(name)
    if command is None:
        raise InvalidInputError(desk.words.unknown.format(command=name))
    return command(desk, argument)


def _why(desk: Desk, argument: str) -> Outcome:
    found = desk.companion.recalled
    return Why(found) if found else Done(desk.words.nothing)


def _pin(desk: Desk, argument: str) -> Outcome:
    ids = desk.ids("/pin", argument)
    desk.companion.bank.pin(ids)
    return Done(desk.words.pinned.format(n=len(ids)), ids)


def _unpin(desk: Desk, argument: str) -> Outcome:
    ids = desk.ids("/unpin", argument)
    desk.companion.bank.unpin(ids)
    return Done(desk.words.unpinned.format(n=len(ids)), ids)


def _restore(desk: Desk, argument: str) -> Outcome:
    ids = desk.ids("/restore", argument)
    desk.companion.bank.restore(ids, now=desk.companion.clock())
    return Done(desk.words.restored.format(n=len(ids)), ids)


def _correct(desk: Desk, argument: str) -> Outcome:
    given, _, text = argument.partition(" ")
    id_ = desk.ids("/correct", given)[0]
    edited = desk.companion.bank.edit(id_, desk.text("/correct", text.strip()), now=desk.companion.clock())
    return Done(desk.words.corrected.format(id=edited.id[:8], version=edited.version), edited)


def _remember(desk: Desk, argument: str) -> Outcome:
    memory = desk.companion.bank.remember(desk.text("/remember", argument), now=desk.companion.clock())
    return Done(desk.words.remembered.format(id=memory.id[:8]), memory)


def _forget(desk: Desk, argument: str) -> Outcome:
    bank = desk.companion.bank
    if not argument:
        outcome: Forgotten = bank.forget(now=desk.companion.clock())
        told = desk.words.forgotten.format(
            archived=len(outcome.archived), purged=len(outcome.purged), kept=len(outcome.kept)
        )
        idle = bank.policy.archive_below == 0
        return Done(f"{told}. {desk.words.archives_nothing}" if idle else told, outcome)
    ids = desk.ids("/forget", argument)
    if not desk.confirm(desk.words.sure_delete.format(n=Count(len(ids)))):
        return Done(desk.words.left)
    erased: Erased = bank.delete(ids)
    gone = set(ids)
    kept = [one for one in desk.companion.recalled if one.memory.id not in gone]
    desk.companion.recalled = tuple(kept)
    return Done(
        desk.words.deleted.format(memories=Count(erased.memories), messages=Count(erased.messages)), erased
    )


def _export(desk: Desk, argument: str) -> Outcome:
    path = Path(desk.text("/export", argument, "FILE")).expanduser()
    if path.exists() and not desk.confirm(desk.words.sure_replace.format(path=path)):
        return Done(desk.words.left)
    lines = desk.companion.bank.export(path)
    return Done(desk.words.exported.format(n=Count(lines), path=path), {"path": path, "lines": lines})


def _undo(desk: Desk, argument: str) -> Outcome:
    taken = desk.companion.take_back()
    if taken is None:
        return Done(desk.words.no_turn)
    gone = taken.erased
    return Done(desk.words.undone.format(messages=Count(gone.messages), memories=Count(gone.memories)), gone)


def _again(desk: Desk, argument: str) -> Outcome:
    return Again()


def _portrait(desk: Desk, argument: str) -> Outcome:
    found = desk.companion.bank.portrait(argument or None)
    return Done(desk.words.no_portrait) if found is None else Shown(found)


def _events(desk: Desk, argument: str) -> Outcome:
    found = desk.companion.bank.events(argument or None)
    return Done(desk.words.no_events) if found is None else Shown(found)


def _window(desk: Desk, argument: str) -> Outcome:
    return Seen(desk.companion.bank.window(desk.companion.session))


def _mark(desk: Desk, argument: str) -> Outcome:
    marked: Message = desk.companion.bank.mark(desk.companion.session, argument or None)
    return Done(desk.words.marked, marked)


def _help(desk: Desk, argument: str) -> Outcome:
    return Done(desk.words.help, names())


def _quit(desk: Desk, argument: str) -> Outcome:
    return Quit()


COMMANDS: Mapping[str, Command] = {
    "/why": _why,
    "/pin": _pin,
    "/unpin": _unpin,
    "/restore": _restore,
    "/correct": _correct,
    "/remember": _remember,
    "/forget": _forget,
    "/export": _export,
    "/undo": _undo,
    "/again": _again,
    "/portrait": _portrait,
    "/events": _events,
    "/window": _window,
    "/mark": _mark,
    "/help": _help,
    "/quit": _quit,
    "/exit": _quit,
}


def names() -> list[str]:
    """Every command."""
    return sorted(COMMANDS)


def listened(lines: Callable[[], str | None]) -> Iterator[str]:
    """What is said, line by line, until there is no more; blank lines are nothing."""
    while (line := lines()) is not None:
        if line.strip():
            yield line.strip()
