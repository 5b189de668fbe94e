"""The memory beside the talk: its tabs, each drawn when it is looked at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from nicegui import ui

from memorybank.app.desk import Desk
from memorybank.app.panels import days, fading, linked, own, recalled, searching, who

Load = Callable[[Desk], Awaitable[Callable[[], None]]]
"""Fetches what a tab shows, and returns what draws it: whoever has turned to another tab meanwhile sees nothing of
it."""

_TABS: Mapping[str, Load] = {
    "why": recalled.load,
    "portrait": who.load,
    "days": days.load,
    "fading": fading.load,
    "search": searching.load,
    "links": linked.load,
    "data": own.load,
}


class Memory:
    """The tabs of one page."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._open = "why"
        self._asked = 0
        names = {key: str(getattr(desk.texts, key)) for key in _TABS}
        with ui.tabs().props("dense no-caps mobile-arrows outside-arrows") as tabs:
            for key in _TABS:
                ui.tab(names[key])
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
        """Draw the open tab anew; of a search only what was found."""
        if self._open != "search":
            await self._draw()
        elif self._desk.search_again is not None:
            await self._desk.search_again()

    async def recalled(self) -> None:
        """Something was recalled: show it while the answer is still being written."""
        if self._open == "why":
            await self._draw()

    async def _draw(self) -> None:
        self._asked += 1
        asked = self._asked
        draw = await _TABS[self._open](self._desk)
        if asked == self._asked and not self._body.is_deleted:
            self._body.clear()
            with self._body:
                draw()
