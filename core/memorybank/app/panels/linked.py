"""What links to what, as a picture and in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nicegui import ui

from memorybank.app import pictures, views
from memorybank.app.desk import Desk
from memorybank.app.panels import cards


async def load(desk: Desk) -> Callable[[], None]:
    """The recall map, and below it each memory with its links."""
    texts = desk.texts
    recalled = [one.memory.id for one in desk.companion.recalled]
    drawn = await desk.work(lambda: pictures.mapped(desk.bank, recalled, desk.house.now()))

    def draw() -> None:
        ui.label(texts.links_long).classes("quiet")
        if not drawn.links:
            ui.label(texts.links_none).classes("quiet")
            return
        cards.picture(desk, partial(pictures.map_of, drawn, texts), texts.picture_links)
        fates = views.linked(drawn.memories, drawn.links, texts)
        with ui.element("ul").classes("cards"):
            for number, one in enumerate(drawn.memories, 1):
                cards.one(desk, views.card(one, texts, desk.zone), number, fates[one.id])

    return draw
