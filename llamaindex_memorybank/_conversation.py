"""One session of one user: what was put but not written yet, what is shown, and the one recall of each turn."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from llamaindex_memorybank._convert import has_tool_calls, to_chat
from memorybank import Context, MemoryBank, MemoryBankError, Message, StoreError
from memorybank.accepting import Accepted, accept
from memorybank.rewinding import Shown, read, read_end, reset, rewrite

logger: logging.Logger = logging.getLogger("memorybank.llamaindex")

OnError = Callable[[Exception], None]
Credit = Literal["recalled", "used", "none"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A user turn: the id of the message before the user's (None: the first), and the user's words.

    It is the same before and after the user's message is stored, so every read of a turn finds one recall.
    """

    after: str | None
    query: str


class Conversation:
    """Thread-safe. Messages are queued at once, in the order of the calls, and written in batches."""

    def __init__(
        self,
        bank: MemoryBank,
        session: str,
        *,
        on_error: OnError | None = None,
        credit: Credit = "recalled",
        consolidate: bool = True,
    ) -> None:
        self.bank = bank
        self.session = session
        self._on_error = on_error
        self._credit = credit
        self._consolidate = consolidate
        self._queue: list[Message] = []
        self._queue_lock = threading.Lock()  # held for moments only: the event loop takes it
        self._write_lock = threading.RLock()
        self._recall_lock = threading.Lock()
        self._recalled: tuple[Turn, Context] | None = None
        self._uncredited: Context | None = None
        self._tended: date | None = None
        self._told = 0  # how many of the queue's first messages were told of as refused

    # -- writing -----------------------------------------------------------------------------------------------

    def queue(self, messages: Sequence[Message]) -> None:
        """Take messages, to be written by the next ``flush``. No I/O."""
        with self._queue_lock:
            self._queue.extend(messages)

    def flush(self) -> bool:
        """Write what was queued; whether all is written.

        What cannot be written is reported, shown all the same, and tried again by the next flush: a turn whose
        answer is there is not failed for it, and a message that is refused holds back no other.
        """
        try:
            done = self._write()
        except Exception as error:  # noqa: BLE001 - a redaction or driver may raise anything; the turn goes on
            self.report("messages are kept in this process until they can be written", error)
            return False
        told, self._told = self._told, 0 if done is None else len(done.refused)
        if done is None or done.error is None:
            return True
        if self._told > told:  # once, not with every message that follows
            self.report("messages are kept in this process until they can be written", done.error)
        return False

    def _write(self) -> Accepted | None:
        with self._write_lock:
            with self._queue_lock:
                batch = list(self._queue)
            if not batch:
                return None
            done = accept(self.bank, batch, session=self.session)
            with self._queue_lock:
                self._queue[: len(batch)] = [batch[i] for i in done.refused]
        self._settle(done.stored)
        return done

    def _let_go(self) -> None:
        """Write what was queued, before the session shows something else; what is refused is not wanted any more."""
        left = len(self._waiting())
        try:
            done = self._write()
            left = 0 if done is None else len(done.refused)
        except StoreError:  # nothing can be stored at present
            raise
        except Exception as error:  # noqa: BLE001 - a redaction may raise anything, and again for ever
            self.report("messages that are refused are left out", error)
        with self._queue_lock:
            del self._queue[:left]

    def _settle(self, stored: Sequence[Message]) -> None:
        """At the end of a turn: credit what the answer used; once a day, let finished days be summed up."""
        answers = [one.text for one in stored if one.role == "assistant" and one.text.strip()]
        context = self._uncredited
        if answers and context is not None:
            self._uncredited = None
            self.bank.reinforce(context.recalled, answers[-1], asking=self.session)
        today = stored[-1].at.date() if stored and stored[-1].at else None
        if self._consolidate and answers and today != self._tended:
            self._tended = today
            self.bank.consolidate_soon()

    def report(self, what: str, error: Exception) -> None:
        """Hand an error to ``on_error``, or log it."""
        if self._on_error is not None:
            self._on_error(error)
        else:
            logger.warning(
                "%s: %s", what, error if isinstance(error, MemoryBankError) else type(error).__name__
            )

    def set(self, messages: Sequence[Message]) -> None:
        """Let the session show exactly these messages. Raises StoreError, leaving it as it was."""
        with self._write_lock:
            self._let_go()
            rewrite(self.bank, self.session, messages)
        self._recalled = self._uncredited = None

    def reset(self) -> None:
        """Let the session show nothing; memories stay. Raises StoreError, leaving it as it was."""
        with self._write_lock:
            self._let_go()
            reset(self.bank, self.session)
        self._recalled = self._uncredited = None

    # -- reading -----------------------------------------------------------------------------------------------

    def everything(self) -> list[Message]:
        """All that the session shows."""
        self.flush()
        waiting = self._waiting()  # before reading: what another thread writes meanwhile is in one of the two
        found = read(self.bank, self.session)
        return [*found, *_unread(waiting, found)]

    def end(self, enough: Callable[[Sequence[Message]], bool]) -> Shown:
        """The end of what the session shows, see ``rewinding.read_end``."""
        self.flush()
        waiting = self._waiting()
        found = read_end(self.bank, self.session, enough)
        return replace(found, messages=(*found.messages, *_unread(waiting, found.messages)))

    def _waiting(self) -> list[Message]:
        with self._queue_lock:
            return list(self._queue)

    def context(
        self,
        turn: Turn,
        *,
        shown: Sequence[str],
        max_tokens: int,
        k: int,
        min_score: float | Literal["auto"] | None,
    ) -> Context:
        """What there is to remember for a turn: one recall and one reinforcement, however often it is read.

        Where recall fails, that is reported, and there is nothing to remember.
        """
        with self._recall_lock:
            if self._recalled is not None and self._recalled[0] == turn:
                return self._recalled[1]
            try:
                found = self.bank.context(
                    turn.query,
                    max_tokens=max_tokens,
                    session=self.session,
                    k=k,
                    min_score=min_score,
                    shown=shown,
                    reinforce=self._credit == "recalled",
                )
            except MemoryBankError as error:
                self.report("this turn goes on without memories", error)
                return Context("", 0)
            self._recalled = (turn, found)
            self._uncredited = found if self._credit == "used" else None
            return found


def _unread(waiting: Sequence[Message], found: Sequence[Message]) -> list[Message]:
    """What waits to be written and is not among what was read."""
    ids = {message.id for message in found if message.id is not None}
    return [message for message in waiting if message.id not in ids]


def turn_of(messages: Sequence[Message], query: str | None) -> tuple[Turn | None, bool]:
    """The turn in progress, and whether the user's message of it is among the messages already.

    Without a query: the last user message's. With one: that of the last user message if it says the same and has
    no answer yet, else a turn that begins after all of them. None if there is nothing to ask with.
    """
    last = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "user"), None)
    if query is not None and (last is None or messages[last].text != query or _answered(messages[-1])):
        return Turn(messages[-1].id if messages else None, query), False
    if last is None:
        return None, False
    return Turn(messages[last - 1].id if last else None, messages[last].text), True


def _answered(last: Message) -> bool:
    return last.role == "assistant" and not has_tool_calls(to_chat(last))
