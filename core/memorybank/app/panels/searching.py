"""Looking for memories: by words, by days, or both."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from memorybank.app import views
from memorybank.app.desk import Desk
from memorybank.app.panels import cards


async def load(desk: Desk) -> Callable[[], None]:
    """The form, and below it what was found."""
    return lambda: _draw(desk)


def _draw(desk: Desk) -> None:
    texts = desk.texts

    desk.search_again = None

    async def find() -> None:
        desk.search_again = find
        found = await desk.attempt(
            lambda: views.search(
                desk.bank,
                texts,
                desk.house.now(),
                str(query.value or ""),
                str(since.value or ""),
                str(until.value or ""),
                archived=bool(archived.value),
            )
        )
        if body.is_deleted:
            return
        body.clear()
        with body:
            ui.label(texts.found.format(n=len(found or ()))).classes("quiet").props('role="status"')
            cards.show(desk, found or (), texts.found_none)

    with ui.element("form").classes("ask-memory").props('role="search"').on("submit.prevent", find):
        query = ui.input(texts.query).props("outlined dense type=search").classes("grow")
        since = ui.input(texts.since).props("outlined dense type=date stack-label")
        until = ui.input(texts.until).props("outlined dense type=date stack-label")
        archived = ui.checkbox(texts.with_archived)
        ui.button(texts.find).props("no-caps type=submit")
    body = ui.element("div")
