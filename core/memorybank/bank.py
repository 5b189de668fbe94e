"""MemoryBank: one owner's memory. The order of steps; no storage detail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from memorybank import keeping, recalling, reinforcing, reporting, transfer, upkeep, writing
from memorybank.clock import to_utc
from memorybank.errors import InvalidInputError, NotFoundError
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy
from memorybank.hierarchy import consolidation
from memorybank.hierarchy.consolidation import Progress
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.intake import check_count, check_ids, check_levels, check_name, redacted, to_messages
from memorybank.models import (
    Consolidated,
    Context,
    Erased,
    Explanation,
    Forgotten,
    Level,
    Memory,
    Message,
    Recalled,
    Stats,
    Version,
    Window,
)
from memorybank.runtime import Runtime

Time = datetime | str


class MemoryBank:
    """One owner's memory. Made by ``MemoryStore.bank``; safe to use from several threads.

    Times are datetimes or ISO 8601 texts; a naive one is taken in the bank's zone. ``now`` is the store's clock
    unless given. Every method raises StoreError when the records cannot be used.
    """

    def __init__(
        self,
        runtime: Runtime,
        owner: str,
        *,
        zone: ZoneInfo,
        language: str | None,
        curve: ForgettingCurve,
        policy: ForgettingPolicy,
    ) -> None:
        self._runtime = runtime
        self._owner = owner
        self._zone = zone
        self._language = language
        self._curve = curve
        self._policy = policy

    def __repr__(self) -> str:
        return f"MemoryBank(owner={self._owner!r}, timezone={self._zone.key!r})"

    @property
    def owner(self) -> str:
        """Whose memory this is."""
        return self._owner

    @property
    def timezone(self) -> str:
        """The IANA zone whose midnights separate the days."""
        return self._zone.key

    @property
    def runtime(self) -> Runtime:
        """The parts of the store, for the adapters and tools of this project."""
        return self._runtime

    @property
    def curve(self) -> ForgettingCurve:
        """How memories fade."""
        return self._curve

    @property
    def policy(self) -> ForgettingPolicy:
        """What follows from fading."""
        return self._policy

    # -- writing -----------------------------------------------------------------------------------------------

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
        + 1, t = 0 (not in a store opened read-only). ``min_score`` leaves out what fits too little ("auto": the floor calibrated for the embedder).
        ``asking`` names the session in which the question is put: its turn in progress is not recalled to itself,
        what it used lately ranks a little higher, and a memory is credited once per user turn.
        A blank query recalls nothing. Raises InvalidInputError.
        """
        request = self._request(
            query, k, levels, since, until, session, now, min_score, include_archived, asking
        )
        recalled = recalling.recall(self._runtime, self._owner, request)
        if reinforce and not self._runtime.database.read_only:
            reinforcing.reinforce(
                self._runtime, self._owner, [r.memory for r in recalled], asking=asking, now=request.now
            )
        return recalled

    def reinforce(
        self,
        recalled: Sequence[Recalled],
        answer: str | None = None,
        now: Time | None = None,
        *,
        asking: str | None = None,
    ) -> list[str]:
        """Credit the recalled memories that the answer draws on (all of them without an answer); returns their ids.

        No LLM: see ``hierarchy.attribution``. ``asking`` as in ``recall``.
        """
        used = recalling.used(self._runtime, recalled, answer)
        return reinforcing.reinforce(self._runtime, self._owner, used, asking=asking, now=self._now(now))

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
            check_count(window, "window")
        request = self._request(query, k, levels, None, None, None, now, min_score, False, session)
        context = recalling.context(
            self._runtime,
            self._owner,
            request,
            max_tokens=max_tokens,
            window=window,
            language=self._language,
            shown=frozenset(shown),
        )
        if reinforce and not self._runtime.database.read_only:
            reinforcing.reinforce(
                self._runtime,
                self._owner,
                [r.memory for r in context.recalled],
                asking=session,
                now=request.now,
            )
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

    # -- reading -----------------------------------------------------------------------------------------------

    def history(self, session: str, last: int | None = None, *, role: str | None = None) -> list[Message]:
        """The session's messages, verbatim and in order; with ``last`` only the newest so many, with ``role``
        ("user", "assistant", "system", "tool") only those."""
        name = check_name(session, "session")
        count = None if last is None else check_count(last, "last")
        return reporting.history(self._runtime, self._owner, name, count, role)

    def sessions(self) -> list[str]:
        """Names of the sessions, in order of their making."""
        return reporting.sessions(self._runtime, self._owner)

    def memories(
        self,
        *,
        levels: Iterable[Level | str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        include_archived: bool = True,
    ) -> list[Memory]:
        """Every memory, by time."""
        return reporting.listing(
            self._runtime,
            self._owner,
            levels=check_levels(levels),
            since=None if since is None else to_utc(since, self._zone, "since"),
            until=None if until is None else to_utc(until, self._zone, "until"),
            include_archived=include_archived,
        )

    def get(self, ids: str | Iterable[str]) -> list[Memory]:
        """Memories by id, in the order asked. Raises NotFoundError."""
        wanted = check_ids(ids)
        found = keeping.find(self._runtime, self._owner, wanted)
        missing = [id_ for id_ in wanted if id_ not in found]
        if missing:
            raise NotFoundError(f"this owner has no memory {missing[0]!r}")
        return [found[id_] for id_ in wanted]

    def versions(self, id: str) -> list[Version]:
        """Earlier texts of a memory, oldest first."""
        return reporting.versions(self._runtime, self._owner, check_name(id, "id"))

    def explain(self, id: str | Memory | Recalled, now: Time | None = None) -> Explanation:
        """Why a memory stands where it stands: t, unit, S, R, the rule that applies, what ``forget`` would do,
        and for a ``Recalled`` the parts of its score. Raises NotFoundError."""
        return reporting.explain(
            self._runtime, self._owner, id, curve=self._curve, policy=self._policy, now=self._now(now)
        )

    def stats(self) -> Stats:
        """Counts of what the bank holds."""
        return reporting.stats(self._runtime, self._owner)

    # -- hierarchy ---------------------------------------------------------------------------------------------

    def window(self, session: str) -> Window:
        """The recent messages of a session and the digest of what came before."""
        return reporting.window(self._runtime, self._owner, check_name(session, "session"))

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
        self.consolidate(now=now)

    def events(self, day: date | str | None = None) -> Memory | None:
        """The event summary of a day, or the global one; None if it has not been made yet."""
        return self._derived(Level.DAY_EVENTS, Level.EVENTS, day)

    def portrait(self, day: date | str | None = None) -> Memory | None:
        """The portrait of the user on a day, or the global one; None if it has not been made yet."""
        return self._derived(Level.DAY_PORTRAIT, Level.PORTRAIT, day)

    def _derived(self, daily: Level, overall: Level, day: date | str | None) -> Memory | None:
        wanted = None if day is None else self._day(day, "day")
        return consolidation.current(
            self._runtime,
            self._owner,
            overall if wanted is None else daily,
            wanted,
            zone=self._zone,
            until=self._yesterday(self._now(None)),
        )

    def _yesterday(self, now: datetime) -> date:
        return now.astimezone(self._zone).date() - timedelta(days=1)

    def _day(self, value: object, what: str) -> date:
        """A local day from a date, a datetime or an ISO 8601 text of either."""
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        if isinstance(value, str) and len(value.strip()) == len("YYYY-MM-DD"):
            try:
                return date.fromisoformat(value.strip())
            except ValueError as error:
                raise InvalidInputError(
                    f"{what}={value!r} is not a date; give a date or 'YYYY-MM-DD'"
                ) from error
        if not isinstance(value, str | datetime):
            raise InvalidInputError(f"{what} must be a date, not {type(value).__name__}")
        return to_utc(value, self._zone, what).astimezone(self._zone).date()

    # -- forgetting --------------------------------------------------------------------------------------------

    def forget(self, now: Time | None = None, *, dry_run: bool = False) -> Forgotten:
        """Archive and purge what the policy says has faded; ``dry_run`` only tells. Twice at one ``now`` is once."""
        return keeping.forget(
            self._runtime,
            self._owner,
            curve=self._curve,
            policy=self._policy,
            now=self._now(now),
            dry_run=dry_run,
        )

    def restore(self, ids: str | Iterable[str], now: Time | None = None) -> None:
        """Bring archived memories back. Raises NotFoundError."""
        keeping.restore(self._runtime, self._owner, check_ids(ids), now=self._now(now))

    def pin(self, ids: str | Iterable[str]) -> None:
        """Keep memories from being archived or purged. Raises NotFoundError."""
        keeping.pin(self._runtime, self._owner, check_ids(ids), pinned=True)

    def unpin(self, ids: str | Iterable[str]) -> None:
        """Let pinned memories fade again. Raises NotFoundError."""
        keeping.pin(self._runtime, self._owner, check_ids(ids), pinned=False)

    def delete(self, ids: str | Iterable[str]) -> Erased:
        """Destroy memories, turns together with their messages; unknown ids are passed over.

        What was made from them may quote them: it is emptied, and written anew by the next ``consolidate``.
        """
        return keeping.delete(self._runtime, self._owner, check_ids(ids))

    def clear(self, session: str) -> Erased:
        """Destroy a session: its messages, the turns made of them and its digest."""
        return keeping.clear(self._runtime, self._owner, check_name(session, "session"))

    def erase(self) -> Erased:
        """Remove this owner from the store altogether: the same as ``MemoryStore.erase(owner)``."""
        return upkeep.erase(self._runtime, self._owner)

    def export(self, path: str | Path) -> int:
        """Write everything of this owner to a JSONL file (see ``MemoryStore.import_bank``); returns its lines.

        Vectors are included. The file (mode 0600) appears whole or not at all. Raises StoreError.
        """
        return transfer.export(self._runtime, self._owner, path, now=self._now(None))

    # -- help --------------------------------------------------------------------------------------------------

    def _now(self, now: Time | None) -> datetime:
        return to_utc(self._runtime.clock() if now is None else now, self._zone, "now")

    def _text(self, text: object) -> str:
        if not isinstance(text, str):
            raise InvalidInputError(f"text must be a string, not {type(text).__name__}")
        if not text.strip():
            raise InvalidInputError("text is blank; there is nothing to remember")
        return redacted(text, self._runtime.redact)
