"""The memory beside the talk: its tabs, each drawn when it is looked at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from nicegui import ui

from memorybank.app.desk import Desk
from memorybank.app.panels import days, fading, linked, own, recalled, searching, who

Draw = Callable[[Desk], Awaitable[None]]

_TABS: Mapping[str, Draw] = {
    "why": recalled.draw,
    "portrait": who.draw,
    "days": days.draw,
    "fading": fading.draw,
    "search": searching.draw,
    "links": linked.draw,
    "data": own.draw,
}


class Memory:
    """The tabs of one page."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._open = "why"
        names = {key: str(getattr(desk.texts, key)) for key in _TABS}
        with ui.tabs().props("dense no-caps mobile-arrows outside-arrows") as tabs:
            for key in _TABS:
                ui.tab(names[key]).props(f"id=tab-{key}")
        tabs.set_value(names["why"])
        self._keys = {name: key for key, name in names.items()}
        self._body = ui.element("div").classes("tab").props('role="tabpanel" tabindex="0"')
        self._body.props["aria-label"] = names["why"]
        tabs.on_value_change(lambda event: self._show(str(event.value)))

    async def _show(self, name: str) -> None:
        self._open = self._keys[name]
        self._body.props["aria-label"] = name
        await self._draw()

    async def refresh(self) -> None:
        """Draw the open tab anew; a search that stands there stays."""
        if self._open != "search":
            await self._draw()

    async def _draw(self) -> None:
        self._body.clear()
        with self._body:
            await _TABS[self._open](self._desk)
