"""What all visitors of a page share: the store, the model, and how a visitor's companion is made."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from memorybank.app.auth import Identify
from memorybank.app.visits import Seat, Visit
from memorybank.bank import MemoryBank
from memorybank.clock import Clock
from memorybank.companion.quoting import quoting
from memorybank.companion.speaking import ChatModel
from memorybank.companion.stopping import stoppable
from memorybank.companion.talk import Companion, TalkSettings
from memorybank.companion.wording import SYSTEM
from memorybank.forgetting import ForgettingPolicy
from memorybank.store import MemoryStore
from memorybank.text.language import Language


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(64, "memorybank-app")  # replies that are waited for at once; our choice


@dataclass(frozen=True)
class House:
    """``model``: what answers (None: the companion only quotes), ``model_name``: as the page shows it.

    ``identify``: the hook of a server (None: the profiles of this machine, on a loopback address only).
    ``memories``: tokens of memory put before the model.
    """

    store: MemoryStore
    model: ChatModel | None = None
    model_name: str = ""
    identify: Identify | None = None
    policy: ForgettingPolicy = field(default_factory=ForgettingPolicy.companion)
    timezone: str | None = None
    clock: Clock | None = None
    memories: int = 1500
    threads: ThreadPoolExecutor = field(default_factory=_threads)

    @property
    def lists_profiles(self) -> bool:
        """Whether a visitor may choose among the owners of the store."""
        return self.identify is None

    def now(self) -> datetime:
        """The time."""
        return (self.clock or self.store.runtime.clock)()

    def bank(self, owner: str) -> MemoryBank:
        """The bank of an owner."""
        return self.store.bank(owner, timezone=self.timezone, policy=self.policy)

    def seat(self, visit: Visit, language: Language) -> Seat:
        """The place of a visit before its owner's companion, which speaks that language from the next turn on."""
        if visit.owner is None:
            raise ValueError("a visit without an owner has no seat")
        if visit.seat is None:
            bank = self.bank(visit.owner)
            today = self.now().astimezone(ZoneInfo(bank.timezone)).date().isoformat()
            visit.seat = Seat(Companion(bank, today, None, self.now), threading.Event())
        self._instruct(visit.seat, language)
        return visit.seat

    def new_session(self, companion: Companion) -> None:
        """Begin another conversation: the memory stays, the words said so far are no longer before the model."""
        local = self.now().astimezone(ZoneInfo(companion.bank.timezone))
        companion.session = f"{local:%Y-%m-%d %H:%M:%S}"
        companion.recalled = companion.used = ()

    def _instruct(self, seat: Seat, language: Language) -> None:
        companion = seat.companion
        # Who only quotes sees the words just said and nothing before them: the rest it must remember.
        window = 0 if self.model is None else TalkSettings().window
        companion.settings = TalkSettings(system=SYSTEM[language], memories=self.memories, window=window)
        model = self.model or quoting(lambda: companion.recalled, companion.bank.timezone, language)
        companion.model = stoppable(model, seat.stop.is_set)
