"""Who the visitor is to the companion: the portrait, and those of single days."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from memorybank.app import views
from memorybank.app.desk import Desk
from memorybank.app.panels import cards
from memorybank.models import Level


async def load(desk: Desk) -> Callable[[], None]:
    """The global portrait first."""
    whole = await desk.work(lambda: views.overall(desk.bank, Level.PORTRAIT, desk.texts))
    single = await desk.work(lambda: views.portraits(desk.bank, desk.texts))

    def draw() -> None:
        ui.label(desk.texts.portrait_long).classes("quiet")
        cards.show(desk, [*([] if whole is None else [whole]), *single], desk.texts.portrait_none)
        _notes(desk)

    return draw


def _notes(desk: Desk) -> None:
    async def keep() -> None:
        text = str(field.value or "").strip()
        if text:
            made = await desk.attempt(lambda: desk.bank.remember(text, now=desk.house.now()))
            if made is not None:
                desk.tell(desk.texts.remembered)
            await desk.changed()

    with ui.element("form").classes("ask-memory").on("submit.prevent", keep):
        field = ui.input(desk.texts.remember_hint).props("outlined dense").classes("grow")
        ui.button(desk.texts.remember).props("no-caps dense type=submit")
