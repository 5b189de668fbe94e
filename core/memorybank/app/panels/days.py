"""What happened: all in all, and day by day."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nicegui import ui

from memorybank.app import pictures, views
from memorybank.app.desk import Desk
from memorybank.app.panels import cards
from memorybank.models import Level
from memorybank.text.counting import Count


async def load(desk: Desk) -> Callable[[], None]:
    """The global events, then the days, newest first; what was said on a day is shown when it is opened."""
    texts = desk.texts
    found = await desk.work(lambda: views.days(desk.bank, texts))
    whole = await desk.work(lambda: views.overall(desk.bank, Level.EVENTS, texts))

    def draw() -> None:
        _summing(desk)
        if found:
            make = partial(pictures.timeline, desk.bank, texts, desk.house.now())
            cards.picture(desk, make, texts.picture_days)
        else:
            ui.label(texts.days_none).classes("quiet")
        if whole is not None:
            ui.label(texts.overall).classes("title").props('role="heading" aria-level="2"')
            with ui.element("ul").classes("cards"):
                cards.one(desk, whole)
        for day in found:
            _day(desk, day)

    return draw


def _day(desk: Desk, day: views.Day) -> None:
    ui.label(day.title).classes("title").props('role="heading" aria-level="2"')
    if day.summary is None:
        ui.label(desk.texts.not_summed).classes("quiet")
    else:
        with ui.element("ul").classes("cards"):
            cards.one(desk, day.summary)
    with ui.expansion(desk.texts.talk_of_day.format(n=Count(len(day.cards)))).props("dense") as folded:
        pass

    def unfold(event: object) -> None:
        if folded.value and not list(folded.default_slot.children):
            with folded:
                cards.show(desk, day.cards, "")

    folded.on_value_change(unfold)


def _summing(desk: Desk) -> None:
    texts = desk.texts

    async def sum_up() -> None:
        button.disable()
        desk.tell(texts.summing)
        done = await desk.attempt(lambda: desk.bank.consolidate(now=desk.house.now()))
        if done is not None:
            told = texts.summed_failed if done.failed else texts.summed
            counts = {"made": len(done.made), "updated": len(done.updated), "failed": len(done.failed)}
            desk.tell(told.format(**counts), bad=bool(done.failed))
        await desk.changed()

    button = ui.button(texts.sum_up, on_click=sum_up).props("flat dense no-caps")
