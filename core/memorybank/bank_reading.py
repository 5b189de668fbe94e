"""The verbs of a bank that only read: history, lists, versions, explanations, counts, summaries."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from memorybank import keeping, linking, reporting
from memorybank.bank_base import BankBase, Time
from memorybank.clock import to_utc
from memorybank.errors import NotFoundError
from memorybank.hierarchy import consolidation
from memorybank.intake import check_count, check_ids, check_levels, check_name, check_role
from memorybank.models import Explanation, Level, Link, Memory, Message, Recalled, Stats, Version, Window


class BankReading(BankBase):
    """What can be asked of a bank without changing it. See ``MemoryBank``."""

    def history(self, session: str, last: int | None = None, *, role: str | None = None) -> list[Message]:
        """The session's messages, verbatim and in order; with ``last`` only the newest so many, with ``role``
        ("user", "assistant", "system", "tool") only those. Raises InvalidInputError for other roles."""
        name = check_name(session, "session")
        count = None if last is None else check_count(last, "last")
        return reporting.history(self._runtime, self._owner, name, count, check_role(role))

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

    def links(self, ids: str | Iterable[str], now: Time | None = None) -> list[Link]:
        """The links that these memories have, among themselves and to others of this owner: recalled together,
        made from one another, said one after the other. Unknown ids have none."""
        return linking.around(self._runtime, self._owner, check_ids(ids), now=self._now(now))

    def stats(self) -> Stats:
        """Counts of what the bank holds."""
        return reporting.stats(self._runtime, self._owner)

    def window(self, session: str) -> Window:
        """The recent messages of a session and the digest of what came before."""
        return reporting.window(self._runtime, self._owner, check_name(session, "session"))

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
