"""A turn of talk: the user's words are stored, what fits is recalled, the model answers, what it used is credited.

The order keeps the user's words safe: they are in the records before anything that can fail is tried.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from zoneinfo import ZoneInfo

from memorybank.bank import MemoryBank
from memorybank.clock import Clock
from memorybank.companion.speaking import ChatModel, Said, without_thoughts
from memorybank.companion.taking_back import TakenBack, take_back
from memorybank.companion.wording import SYSTEM, TODAY
from memorybank.context import strip_context
from memorybank.errors import LLMError, MemoryBankError
from memorybank.models import Context, Message, Recalled

logger: logging.Logger = logging.getLogger("memorybank.companion")

CUT = " …"
"""Ends a reply that was broken off, as it is stored."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The user's words are stored."""

    message: Message


@dataclass(frozen=True, slots=True)
class Recollection:
    """What was put before the model, best first."""

    recalled: tuple[Recalled, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply is stored; ``used`` are the ids of the memories that it drew on."""

    message: Message
    used: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something failed: in few words; "" stands for a reply without text."""

    reason: str


Event = Heard | Recollection | Piece | Reply | Trouble


@dataclass(frozen=True, slots=True)
class TalkSettings:
    """``system``: the instruction to the model, ``{today}`` in it is replaced by the date.

    ``memories``: tokens for what is remembered; ``window``: tokens for the last messages of the session (the
    newest is always there). ``tend_every``: after so many turns, and at a day's first, finished days and digests
    are written in the background. Our choice, all of them.
    """

    system: str = SYSTEM["en"]
    memories: int = 1500
    window: int = 2000
    tend_every: int = 10


@dataclass
class Companion:
    """One session of talk over one bank; without a model it only listens and recalls.

    ``recalled`` is what was put before the model last, ``used`` the ids of what its answer drew on.
    """

    bank: MemoryBank
    session: str
    model: ChatModel | None
    clock: Clock
    settings: TalkSettings = field(default_factory=TalkSettings)
    recalled: tuple[Recalled, ...] = ()
    used: tuple[str, ...] = ()
    _credited: frozenset[str] = frozenset()
    _tended: date | None = None
    _turns: int = 0

    def hear(self, text: str) -> Generator[Event, None, None]:
        """One turn. Raises MemoryBankError if the words cannot be stored; everything after that is an event.

        Whoever stops listening (``close``) stops the reply; what was said of it by then is stored.
        """
        self._credited = frozenset()
        yield from self._turn(text)

    def again(self) -> Generator[Event, None, None]:
        """The last turn taken back and answered anew, as ``hear``; nothing happens if there is none.

        What the first answer credited is not credited twice: asking again is no sign that a memory was of use.
        """
        credited = self._credited.union(self.used)
        taken = take_back(self.bank, self.session)
        if taken is not None:
            self._credited = credited
            yield from self._turn(taken.words)

    def take_back(self) -> TakenBack | None:
        """Destroy the session's last turn and what was remembered of it; None if there is none."""
        self.recalled = self.used = ()
        return take_back(self.bank, self.session)

    def _turn(self, text: str) -> Generator[Event, None, None]:
        self.used = ()
        now = self.clock()
        stored = self.bank.add([{"role": "user", "content": text}], session=self.session, now=now)
        yield Heard(stored[0])
        shown = self._window()
        context = Context("", 0)
        try:
            context = self._remember(text, shown, now)
        except MemoryBankError as error:
            yield Trouble(str(error))
        self.recalled = context.recalled
        yield Recollection(context.recalled)
        if self.model is not None:
            yield from self._answer(text, self._prompt(context, shown, now), context)
        self._tend(now)

    def _window(self) -> list[Message]:
        """The newest messages that fit; they stand in the prompt themselves."""
        room, kept = self.settings.window, list[Message]()
        for message in reversed(self.bank.window(self.session).messages):
            room -= self.bank.runtime.counter(message.text) + 4
            if room < 0 and kept:
                break
            kept.append(message)
        return kept[::-1]

    def _remember(self, text: str, shown: Sequence[Message], now: datetime) -> Context:
        return self.bank.context(
            text,
            max_tokens=self.settings.memories,
            session=self.session,
            now=now,
            reinforce=False,
            shown=[message.id for message in shown if message.id is not None],
        )

    def _prompt(self, context: Context, shown: Sequence[Message], now: datetime) -> list[Said]:
        today = now.astimezone(ZoneInfo(self.bank.timezone)).date().isoformat()
        system = self.settings.system.replace(TODAY, today)
        head = {"role": "system", "content": f"{system}\n\n{context.text}".strip()}
        return [head, *alternating(shown)]

    def _answer(self, asked: str, prompt: Sequence[Said], context: Context) -> Iterator[Event]:
        said: list[str] = []
        reason, whole = "", False
        try:
            for piece in without_thoughts(self.model(prompt) if self.model is not None else ()):
                said.append(piece)
                yield Piece(piece)
            whole = True
        except LLMError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - a model may raise anything; the talk goes on
            # Its message may quote the prompt.
            reason = f"the model raised {type(error).__name__}"
        finally:
            message = self._keep("".join(said), whole)
        if not whole or message is None:
            logger.info("a reply failed")
            yield Trouble(reason)
        if message is not None:
            fresh = [one for one in context.recalled if one.memory.id not in self._credited]
            used = self.bank.reinforce(
                fresh, message.text, now=self.clock(), query=asked, asking=self.session
            )
            self.used = tuple(used)
            yield Reply(message, self.used)

    def _keep(self, reply: str, whole: bool) -> Message | None:
        """Store a reply as far as it came, without what it repeats of our own block."""
        text = strip_context(reply).strip()
        if not text:
            return None
        words = {"role": "assistant", "content": text if whole else text + CUT}
        return self.bank.add([words], session=self.session, now=self.clock())[0]

    def _tend(self, now: datetime) -> None:
        self._turns += 1
        today = now.astimezone(ZoneInfo(self.bank.timezone)).date()
        if today != self._tended or self._turns % self.settings.tend_every == 0:
            self._tended = today
            self.bank.consolidate_soon(now=now)


def alternating(messages: Sequence[Message]) -> list[Said]:
    """Messages for a chat model: user first, then in turns. Those of one side in a row become one message.

    Words that got no answer stand beside the next ones; many models refuse two messages of one side in a row.
    """
    told: list[Message] = []
    for message in messages:
        if message.role not in ("user", "assistant") or not message.text.strip():
            continue
        if told and told[-1].role == message.role:
            told[-1] = replace(told[-1], text=f"{told[-1].text}\n\n{message.text}")
        elif told or message.role == "user":
            told.append(message)
    return [{"role": message.role, "content": message.text} for message in told]
