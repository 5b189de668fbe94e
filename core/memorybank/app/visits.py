"""Visits: what the page knows of a browser, by a random cookie; in memory, gone with the process."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from memorybank.companion.talk import Companion
from memorybank.text.language import Language

_MOST = 10_000  # visits kept; the one unused longest goes first


Refresh = Callable[[], Awaitable[None]]


@dataclass
class Seat:
    """A visitor's place before an owner's companion. ``pages``: what shows anew, on every page that is open, what has
    changed; by the page's id."""

    companion: Companion
    stop: threading.Event
    answering: bool = False
    pages: dict[str, Refresh] = field(default_factory=dict)


@dataclass
class Visit:
    """One browser. ``owner``: whose memory it sees (None: nobody's yet)."""

    owner: str | None = None
    language: Language | None = None
    seat: Seat | None = None

    def open(self, owner: str | None) -> None:
        """See another owner's memory: nothing of the former one stays."""
        if self.seat is not None:
            self.seat.stop.set()
        self.owner, self.seat = owner, None


class Visits:
    """The visits of a running page. ``cookie`` is the name under which browsers bring their token."""

    def __init__(self, cookie: str) -> None:
        self.cookie = cookie
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Visit] = OrderedDict()
        self._pages: dict[str, Visit] = {}

    def enter(self, token: str | None, owner: str | None) -> tuple[Visit, str | None]:
        """The visit of a token, and a new token where that is unknown. ``owner``: what the hook says (None: no
        hook); a visit never passes from one owner to another, whatever cookie is brought."""
        with self._lock:
            visit = None if token is None else self._known.get(token)
            if token is not None and visit is not None and (owner is None or visit.owner == owner):
                self._known.move_to_end(token)
                return visit, None
            fresh = secrets.token_urlsafe(32)
            visit = self._known[fresh] = Visit(owner)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
            return visit, fresh

    def show(self, page: str, visit: Visit) -> None:
        """Note that a page, by its random id, was made for a visit."""
        with self._lock:
            self._pages[page] = visit

    def close(self, page: str) -> None:
        """Forget a page."""
        with self._lock:
            self._pages.pop(page, None)

    def may_join(self, page: str, visit: Visit) -> bool:
        """Whether a connection of this visit may go on with a page: only with one of its own."""
        with self._lock:
            return self._pages.get(page, visit) is visit
