"""A memory on the page: its words as plain text, and what can be done with it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence

from nicegui import ui

from memorybank.app import views
from memorybank.app.desk import Desk, put_away
from memorybank.text.counting import Count

_LONG = 600  # characters


def show(desk: Desk, cards: Sequence[views.Card], empty: str) -> None:
    """Memories one below the other."""
    if not cards:
        ui.label(empty).classes("quiet")
    with ui.element("ul").classes("cards"):
        for number, card in enumerate(cards, 1):
            one(desk, card, number)


def one(desk: Desk, card: views.Card, number: int | None = None, fate: str = "") -> None:
    """One memory."""
    with ui.element("li").classes("card" + (" archived" if card.archived else "")):
        ui.label(card.head if number is None else f"{number}. {card.head}").classes("head")
        _words(card.words)
        if fate:
            ui.label(fate).classes("quiet")
        if card.reasons:
            ui.label(f"{desk.texts.because}: {', '.join(card.reasons)}").classes("reasons")
        if card.used:
            ui.label(f"✓ {desk.texts.used}").classes("used")
        _buttons(desk, card)


def _words(words: str) -> None:
    """Text as text; where it is long it scrolls, by keyboard too."""
    label = ui.label(words).classes("words")
    if len(words) > _LONG:
        label.classes("long").props('tabindex="0" role="group"').props["aria-label"] = words[:40]


def picture(desk: Desk, make: Callable[[], bytes | None], description: str) -> None:
    """A picture, drawn while the rest is read already, with its description; what it shows stands in words too."""
    box = ui.element("div").classes("picture")

    async def fill() -> None:
        made = await desk.work(make)
        if box.is_deleted:
            return
        with box:
            if made is None:
                ui.label(desk.texts.no_pictures).classes("quiet")
                return
            image = ui.element("img")
            image.props["src"] = f"data:image/png;base64,{b64encode(made).decode()}"
            image.props["alt"] = description

    with box:
        ui.timer(0.01, fill, once=True)


def _buttons(desk: Desk, card: views.Card) -> None:
    texts = desk.texts
    with ui.element("div").classes("buttons"):
        if card.archived:
            _button(texts.restore, card, lambda: restore(desk, card))
        elif card.pinned:
            _button(texts.unpin, card, lambda: pin(desk, card, False))
        else:
            _button(texts.pin, card, lambda: pin(desk, card, True))
        _button(texts.correct, card, lambda: correct(desk, card))
        _button(texts.forget, card, lambda: forget(desk, card))


def _button(text: str, card: views.Card, act: object) -> None:
    made = ui.button(text, on_click=act).props("flat dense no-caps size=sm")  # type: ignore[arg-type]  # a handler
    # Said with the memory's beginning, so that twenty buttons "Pin" are not all one to a screen reader.
    made.props["aria-label"] = f"{text}: {card.words[:40]}"


async def pin(desk: Desk, card: views.Card, on: bool) -> None:
    """Keep it from fading, or let it fade again."""
    await desk.attempt(lambda: (desk.bank.pin if on else desk.bank.unpin)([card.id]))
    await desk.changed()


async def restore(desk: Desk, card: views.Card) -> None:
    """Bring it back from the archive."""
    await desk.attempt(lambda: desk.bank.restore([card.id], now=desk.house.now()))
    desk.tell(desk.texts.restored)
    await desk.changed()


async def correct(desk: Desk, card: views.Card) -> None:
    """Put its text right."""
    with desk.client, ui.dialog() as dialog, ui.card().classes("ask"):
        field = ui.textarea(desk.texts.correct, value=card.words).props("outlined autogrow autofocus")
        with ui.row().classes("buttons"):
            ui.button(desk.texts.cancel, on_click=lambda: dialog.submit(None)).props("flat no-caps")
            ui.button(desk.texts.save, on_click=lambda: dialog.submit(field.value)).props("no-caps")
    text = await dialog
    put_away(dialog)
    if text is None or text == card.words:
        return
    kept = views.as_kept(text, card, desk.texts)
    edited = await desk.attempt(lambda: desk.bank.edit(card.id, kept, now=desk.house.now()))
    if edited is not None:
        desk.tell(desk.texts.corrected)
    await desk.changed()


async def forget(desk: Desk, card: views.Card) -> None:
    """Destroy it for good, after asking."""
    if not await desk.confirmed(f"{desk.texts.forget_sure}\n\n{card.words[:200]}", desk.texts.forget):
        return
    erased = await desk.attempt(lambda: desk.bank.delete([card.id]))
    if erased is not None:
        desk.tell(
            desk.texts.forgotten.format(memories=Count(erased.memories), messages=Count(erased.messages))
        )
    await desk.changed()
