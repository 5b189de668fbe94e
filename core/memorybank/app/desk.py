"""A page in front of one visitor: what its parts share, and how they ask, tell and wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar
from zoneinfo import ZoneInfo

from nicegui import Client, ui

from memorybank.app.house import House
from memorybank.app.texts import Texts
from memorybank.app.visits import Refresh, Seat, Visit
from memorybank.bank import MemoryBank
from memorybank.companion.talk import Companion
from memorybank.errors import MemoryBankError

logger: logging.Logger = logging.getLogger("memorybank.app")

T = TypeVar("T")


@dataclass
class Desk:
    """``seat`` is the visitor's place before the companion, ``client`` the page that is open. ``search_again`` shows
    anew what was searched for last."""

    house: House
    visit: Visit
    texts: Texts
    seat: Seat
    client: Client
    search_again: Refresh | None = None

    @property
    def companion(self) -> Companion:
        """Who the visitor talks with."""
        return self.seat.companion

    @property
    def bank(self) -> MemoryBank:
        """The visitor's own memory; the page reaches no other."""
        return self.companion.bank

    @property
    def zone(self) -> ZoneInfo:
        """The zone of the visitor's days."""
        return ZoneInfo(self.bank.timezone)

    async def work(self, task: Callable[[], T]) -> T:
        """Do something that reads or writes, without holding up other visitors."""
        return await asyncio.get_running_loop().run_in_executor(self.house.threads, task)

    async def attempt(self, task: Callable[[], T]) -> T | None:
        """The same; what cannot be done is told to the visitor, and None is returned."""
        try:
            return await self.work(task)
        except MemoryBankError as error:
            self.tell(self.texts.gone_wrong.format(reason=error), bad=True)
            return None

    async def changed(self) -> None:
        """Memories have changed: every page of this visitor shows what there is now."""
        for refresh in list(self.seat.pages.values()):
            await refresh()

    def tell(self, text: str, *, bad: bool = False) -> None:
        """A short notice, read out by screen readers too."""
        if self.client.is_deleted:
            return
        kind: Literal["negative", "info"] = "negative" if bad else "info"
        with self.client:  # not the button that was pressed: it may be gone by now
            ui.notify(text, type=kind, position="top", multi_line=True, timeout=4000)

    async def confirmed(self, question: str, yes: str, *, typed: str | None = None) -> bool:
        """Ask before something is destroyed; with ``typed`` the visitor must type that word."""
        with (
            self.client,
            ui.dialog().props(f'aria-label="{_plain(yes)}"') as dialog,
            ui.card().classes("ask"),
        ):
            ui.label(question)
            word = ui.input(self.texts.erase_type.format(word=typed)).props("outlined") if typed else None
            with ui.row().classes("buttons"):
                ui.button(self.texts.cancel, on_click=lambda: dialog.submit(False)).props("flat no-caps")
                go = ui.button(yes, on_click=lambda: dialog.submit(True)).props("color=negative no-caps")
            if word is not None:
                go.bind_enabled_from(word, "value", backward=lambda value: (value or "").strip() == typed)
        answer = await dialog
        put_away(dialog)
        return answer is True


def put_away(dialog: ui.dialog) -> None:
    """Take a dialog that was answered from the page, if the page is still there."""
    if not dialog.client.is_deleted:
        dialog.delete()


def _plain(text: str) -> str:
    return text.replace('"', "")
