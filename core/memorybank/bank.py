"""MemoryBank: one owner's memory. The order of steps; no storage detail."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from memorybank import composing, keeping, recalling, reinforcing, reporting, telling, writing
from memorybank.bank_base import Time
from memorybank.bank_keeping import BankKeeping
from memorybank.bank_reading import BankReading
from memorybank.clock import to_utc
from memorybank.errors import InvalidInputError, StoreError
from memorybank.hierarchy import consolidation
from memorybank.hierarchy.consolidation import Progress
from memorybank.hierarchy.due import due, standing
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.intake import (
    check_count,
    check_kind,
    check_levels,
    check_name,
    check_recalled,
    check_shown,
    to_messages,
)
from memorybank.models import Consolidated, Context, Level, Memory, Message, Recalled
from memorybank.watch import watched

logger: logging.Logger = logging.getLogger("memorybank.bank")


class MemoryBank(BankReading, BankKeeping):
    """One owner's memory. Made by ``MemoryStore.bank``; safe to use from several threads.

    Times are datetimes or ISO 8601 texts; a naive one is taken in the bank's zone. ``now`` is the store's clock
    unless given. Every method raises StoreError when the records cannot be used.
    """

    # -- writing -----------------------------------------------------------------------------------------------

    @watched("add", telling.added, telling.messages_added)
    def add(
        self,
        messages: Sequence[Message | Mapping[str, object]],
        session: str = "default",
        at: Time | None = None,
        now: Time | None = None,
        *,
        progress: bool = False,
    ) -> list[Message]:
        """Store messages of a session, in order, and return them as stored.

        A message is a ``Message`` or a dict ``{"role", "content"}`` with optional ``id``, ``at``, ``name``,
        ``payload``. ``at`` is when those without their own time were said. What is returned survives kill -9.
        Idempotent by (owner, session, id); without an id two equal messages are two messages.
        ``progress`` shows a bar while many are embedded. Raises InvalidInputError, storing nothing.
        """
        moment = self._now(now)
        said = moment if at is None else to_utc(at, self._zone)
        name = check_name(session, "session")
        checked = to_messages(messages, at=said, zone=self._zone, redact=self._runtime.redact)
        if not checked:
            return []
        return writing.add(
            self._runtime,
            self._owner,
            name,
            checked,
            zone=self._zone,
            language=self._language,
            now=moment,
            progress=progress,
        )

    def remember(self, text: str, at: Time | None = None, now: Time | None = None) -> Memory:
        """Store a note: something told to be remembered explicitly. Raises InvalidInputError if it is blank."""
        moment = self._now(now)
        said = moment if at is None else to_utc(at, self._zone)
        return keeping.remember(
            self._runtime,
            self._owner,
            self._text(text),
            at=said,
            zone=self._zone,
            language=self._language,
            now=moment,
        )

    def edit(self, id: str, text: str, now: Time | None = None) -> Memory:
        """Correct a memory's text. The transcript stays verbatim, the old text becomes an earlier version, and
        what was made from it becomes stale. Raises NotFoundError, InvalidInputError."""
        return keeping.edit(
            self._runtime,
            self._owner,
            check_name(id, "id"),
            self._text(text),
            zone=self._zone,
            now=self._now(now),
        )

    # -- recalling ---------------------------------------------------------------------------------------------

    @watched("recall", telling.recalled)
    def recall(
        self,
        query: str,
        k: int = 6,
        *,
        levels: Iterable[Level | str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        session: str | None = None,
        now: Time | None = None,
        reinforce: bool = True,
        min_score: float | Literal["auto"] | None = None,
        include_archived: bool = False,
        asking: str | None = None,
    ) -> list[Recalled]:
        """The memories that fit the query, best first, at most ``k``.

        ``levels`` (default: turns, notes and day events), ``since``/``until`` (by the time the memory is about),
        ``session`` (only what was said there) narrow the search. ``reinforce`` credits what is returned: strength
        + 1, t = 0 (not in a store opened read-only). ``min_score`` leaves out what fits too little ("auto": the
        floor calibrated for the embedder).
        ``asking`` names the session in which the question is put: its turn in progress is not recalled to itself,
        what it used lately ranks a little higher, and a memory is credited once per user turn.
        A blank query recalls nothing. Raises InvalidInputError.
        """
        request = self._request(
            query, k, levels, since, until, session, now, min_score, include_archived, asking
        )
        recalled = recalling.recall(self._runtime, self._owner, request)
        if reinforce:
            self._credit(recalled, asking, request.now)
        return recalled

    def _credit(self, recalled: Sequence[Recalled], asking: str | None, now: datetime) -> None:
        """Credit what a recall returns. Where that cannot be stored (a full disk), what was found counts more."""
        if self._runtime.database.read_only:
            return
        try:
            reinforcing.reinforce(
                self._runtime, self._owner, [r.memory for r in recalled], asking=asking, now=now
            )
        except StoreError as error:
            logger.warning("what was recalled could not be credited: %s", error)

    @watched("reinforce", telling.credited)
    def reinforce(
        self,
        recalled: Sequence[Recalled],
        answer: str | None = None,
        now: Time | None = None,
        *,
        query: str | None = None,
        asking: str | None = None,
    ) -> list[str]:
        """Credit the recalled memories that the answer draws on (all of them without an answer); returns their ids.

        No LLM: see ``hierarchy.attribution``. ``query`` is what was asked (default: what the user said last in
        the session ``asking``): words of the answer that only repeat it are no sign of use. ``asking`` as in
        ``recall``.
        """
        listed = check_recalled(recalled)
        for text, what in ((answer, "answer"), (query, "query")):
            if text is not None:
                check_kind(text, str, what)
        name = None if asking is None else check_name(asking, "asking")
        if query is None and answer is not None and name is not None:
            said = reporting.history(self._runtime, self._owner, name, 1, "user")
            query = said[0].text if said else None
        used = reinforcing.used(listed, answer, query)
        return reinforcing.reinforce(self._runtime, self._owner, used, asking=name, now=self._now(now))

    @watched("context", telling.in_context)
    def context(
        self,
        query: str,
        *,
        max_tokens: int = 1500,
        session: str | None = None,
        window: int | None = None,
        now: Time | None = None,
        reinforce: bool = True,
        k: int = 12,
        levels: Iterable[Level | str] | None = None,
        min_score: float | Literal["auto"] | None = None,
        shown: Iterable[str] = (),
    ) -> Context:
        """A block for a prompt, at most ``max_tokens`` long: portrait, global events, then recalled memories.

        ``session`` is the one that asks: its digest is included, and with ``window`` its last so many messages.
        ``shown``: ids of messages that the prompt holds anyway; what was made of these alone is left out.
        Only what fitted is credited. An owner with no memories gets an empty text.
        """
        check_count(max_tokens, "max_tokens")
        if window is not None:
            window = check_count(window, "window")
        request = self._request(query, k, levels, None, None, None, now, min_score, False, session)
        context = composing.context(
            self._runtime,
            self._owner,
            request,
            max_tokens=max_tokens,
            window=window,
            language=self._language,
            shown=check_shown(shown),
        )
        if reinforce:
            self._credit(context.recalled, session, request.now)
        return context

    def _request(
        self,
        query: str,
        k: int,
        levels: Iterable[Level | str] | None,
        since: Time | None,
        until: Time | None,
        session: str | None,
        now: Time | None,
        min_score: float | Literal["auto"] | None,
        include_archived: bool,
        asking: str | None,
    ) -> recalling.Request:
        if not isinstance(query, str):
            raise InvalidInputError(f"query must be a string, not {type(query).__name__}")
        if isinstance(min_score, bool) or not (
            min_score in (None, "auto") or (isinstance(min_score, int | float) and min_score == min_score)
        ):
            raise InvalidInputError(f"min_score={min_score!r}; give a number, 'auto' or None")
        return recalling.Request(
            query=query,
            k=check_count(k, "k"),
            levels=check_levels(levels),
            since=None if since is None else to_utc(since, self._zone, "since"),
            until=None if until is None else to_utc(until, self._zone, "until"),
            session=None if session is None else check_name(session, "session"),
            asking=None if asking is None else check_name(asking, "asking"),
            now=self._now(now),
            min_score=min_score,
            include_archived=include_archived,
            zone=self._zone,
            curve=self._curve,
            policy=self._policy,
        )

    # -- hierarchy ---------------------------------------------------------------------------------------------

    def mark(self, session: str, message_id: str | None = None) -> Message:
        """Mark a message of a session (default: its newest) and return it. Twice is once.

        Besides the regular marks (see ``hierarchy.window``): when the message slides out of the session's window,
        the next ``consolidate`` writes the digest anew. Raises NotFoundError.
        """
        wanted = None if message_id is None else check_name(message_id, "message_id")
        return keeping.mark(self._runtime, self._owner, check_name(session, "session"), wanted)

    @watched("consolidate", telling.consolidated, telling.spent)
    def consolidate(
        self,
        until: Time | date | None = None,
        now: Time | None = None,
        *,
        settings: HierarchySettings | None = None,
        progress: Progress | None = None,
    ) -> Consolidated:
        """Write what is missing or stale of day events, day portraits, the globals and the sessions' digests.

        ``until`` is the last day to write (default: yesterday, the last one that is over). With the store's
        ``llm`` the model writes; without one, texts are quotes. Calling it again changes nothing; what failed is
        in the result and is tried again then. ``settings``: lengths, timeout, prompts. ``progress`` is called
        with what is being written, how many days are done, and how many there are.
        """
        if settings is not None:
            check_kind(settings, HierarchySettings, "settings")
        if progress is not None and not callable(progress):
            raise InvalidInputError(f"progress must be callable, not {type(progress).__name__}")
        moment = self._now(now)
        last = self._yesterday(moment) if until is None else self._day(until, "until")
        return consolidation.consolidate(
            self._runtime,
            self._owner,
            zone=self._zone,
            language=self._language,
            until=last,
            now=moment,
            settings=settings,
            progress=progress,
        )

    def consolidate_soon(self, now: Time | None = None) -> None:
        """Consolidate on the store's background thread and return at once; failures are logged and retried later.

        For the end of a chat turn: no turn waits for a language model. ``MemoryStore.close`` waits for it.
        """
        moment = self._now(now)
        self._runtime.background.submit(f"consolidate {self._owner}", lambda: self._tend(moment))

    def _tend(self, now: datetime) -> None:
        until = self._yesterday(now)
        done = self._runtime.background.done
        if not due(self._runtime, self._owner, done.get(self._owner), until, now, self._zone):
            return
        seen = standing(self._runtime, self._owner, until)
        if seen is not None and not self.consolidate(now=now).failed:
            done[self._owner] = seen
