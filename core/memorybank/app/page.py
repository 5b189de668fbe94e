"""The page: at the door a profile is chosen, inside are the talk and the memory."""

from __future__ import annotations

from importlib.resources import files

from nicegui import ui

from memorybank.app.auth import new_owner
from memorybank.app.desk import Desk
from memorybank.app.house import House
from memorybank.app.languages import TEXTS, preferred
from memorybank.app.panels.memory import Memory
from memorybank.app.panels.talk import Talk
from memorybank.app.texts import Texts
from memorybank.app.visits import Visit
from memorybank.errors import MemoryBankError

STYLE = files("memorybank.app").joinpath("style.css").read_text("utf-8")


async def build(house: House, visit: Visit, accept: str) -> None:
    """Draw the page for a visit. ``accept``: the browser's Accept-Language."""
    language = visit.language = visit.language or preferred(accept)
    texts = TEXTS[language]
    ui.add_css(STYLE)
    ui.page_title(texts.full_title)
    # The framework's own words follow it, and it stands on the html element. The page object is this visit's alone.
    ui.context.client.page.language = texts.html
    ui.colors(primary="#14597d", negative="#b3261e")
    if visit.owner is None:
        _header(texts, visit, None)
        _door(house, visit, texts)
        return
    desk = Desk(house, visit, texts, house.seat(visit, language), ui.context.client)
    _header(texts, visit, desk)
    await _inside(desk)


def _header(texts: Texts, visit: Visit, desk: Desk | None) -> None:
    with ui.element("header").classes("top"):
        if desk is not None:
            ui.link(texts.skip, "#say").classes("skip")
        ui.label(texts.title).classes("name").props('role="heading" aria-level="1"')
        if desk is not None:
            if desk.house.model is not None:
                ui.label(texts.model.format(name=desk.house.model_name)).classes("model")
            else:
                ui.label(texts.offline_long).classes("model wide")
                ui.label(texts.offline).classes("model narrow").props["title"] = texts.offline_long
        ui.space()
        if desk is not None and desk.house.lists_profiles:
            ui.label(desk.bank.owner).classes("owner")
            ui.button(texts.switch, on_click=lambda: _leave(visit)).props("flat dense no-caps")
        change = ui.button(texts.other, on_click=lambda: _change_language(visit)).props("flat dense no-caps")
        change.props["aria-label"] = texts.language


def _change_language(visit: Visit) -> None:
    visit.language = "en" if visit.language == "zh" else "zh"
    ui.navigate.reload()


def _leave(visit: Visit) -> None:
    visit.open(None)
    ui.navigate.reload()


def _door(house: House, visit: Visit, texts: Texts) -> None:
    """Only drawn where the profiles are those of this machine."""

    def enter(owner: str) -> None:
        visit.open(owner)
        ui.navigate.reload()

    def start() -> None:
        name = str(field.value or "").strip() or new_owner()
        try:
            house.bank(name)
        except MemoryBankError as error:
            ui.notify(texts.gone_wrong.format(reason=error), type="negative")
            return
        enter(name)

    with ui.element("div").classes("door"):
        ui.label(texts.about)
        ui.label(texts.who).classes("title").props('role="heading" aria-level="2"')
        ui.label(texts.who_local).classes("quiet")
        with ui.element("ul").classes("profiles"):
            for owner in house.store.owners():
                with ui.element("li"):
                    button = ui.button(owner, on_click=lambda owner=owner: enter(owner))
                    button.props("outline no-caps")
                    button.props["aria-label"] = f"{texts.open}: {owner}"
        with ui.element("form").classes("ask-memory").on("submit.prevent", start):
            field = ui.input(texts.new_profile, placeholder=texts.new_profile_hint)
            field.props("outlined dense stack-label").classes("grow")
            ui.button(texts.start).props("no-caps type=submit")


async def _inside(desk: Desk) -> None:
    texts = desk.texts
    with ui.element("div").classes("room") as room:
        # On a phone one of the two is seen; the buttons that change between them are hidden elsewhere.
        with ui.element("nav").classes("sides"):
            for side, name in (("talk", texts.talk), ("memory", texts.memory)):
                ui.button(name, on_click=lambda side=side: _turn_to(room, side)).props("no-caps").classes(
                    side
                )
        with ui.element("section").classes("talk") as left:
            left.props["aria-label"] = texts.talk
            talk = Talk(desk)
        with ui.element("section").classes("memory") as right:
            right.props["aria-label"] = texts.memory
            memory = Memory(desk)

    async def refresh() -> None:
        if not client.is_deleted:
            await memory.refresh()
            await talk.refresh()  # last: it says that the turn is over

    client = desk.client
    desk.seat.pages[client.id] = refresh
    client.on_delete(lambda: desk.seat.pages.pop(client.id, None))
    talk.on_recalled = memory.recalled
    await refresh()


def _turn_to(room: ui.element, side: str) -> None:
    room.classes(remove="see-talk see-memory", add=f"see-{side}")
