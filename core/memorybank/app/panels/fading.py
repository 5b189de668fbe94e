"""What is fading, when it will be archived, and what is archived already."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nicegui import ui

from memorybank.app import pictures, views
from memorybank.app.desk import Desk
from memorybank.app.panels import cards
from memorybank.text.counting import Count


async def load(desk: Desk) -> Callable[[], None]:
    """First to fade first."""
    texts, now = desk.texts, desk.house.now()
    found = await desk.work(lambda: views.fading(desk.bank, texts, now))
    archived = await desk.work(lambda: views.archive(desk.bank, texts))

    def draw() -> None:
        ui.label(texts.fading_long).classes("quiet")
        if found:
            cards.picture(desk, partial(pictures.fading, found, desk.bank, texts, now), texts.picture_fading)
        else:
            ui.label(texts.fading_none).classes("quiet")
        if desk.bank.policy.archive_below:
            ui.button(texts.forget_now, on_click=lambda: _let_fade(desk)).props("flat dense no-caps")
        else:
            ui.label(texts.archives_nothing).classes("quiet")
        with ui.element("ul").classes("cards"):
            for number, one in enumerate(found, 1):
                cards.one(desk, one.card, number, one.fate)
        ui.label(texts.archive).classes("title").props('role="heading" aria-level="2"')
        cards.show(desk, archived, texts.archive_none)

    return draw


async def _let_fade(desk: Desk) -> None:
    texts, now = desk.texts, desk.house.now()
    planned = await desk.attempt(lambda: desk.bank.forget(now=now, dry_run=True))
    if planned is None:
        return
    going = len(planned.archived) + len(planned.purged)
    if going and not await desk.confirmed(texts.forget_now_sure.format(n=Count(going)), texts.forget_now):
        return
    done = await desk.attempt(lambda: desk.bank.forget(now=now))
    if done is not None:
        counts = {"archived": len(done.archived), "purged": len(done.purged), "kept": len(done.kept)}
        desk.tell(texts.forget_now_done.format(**counts))
    await desk.changed()
