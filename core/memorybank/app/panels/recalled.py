"""What was recalled for the last answer, and why."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from memorybank.app import views
from memorybank.app.desk import Desk
from memorybank.app.panels import cards


async def load(desk: Desk) -> Callable[[], None]:
    """The memories that were put before the model, best first."""
    companion, texts = desk.companion, desk.texts
    found = await desk.work(
        lambda: views.why(companion.recalled, companion.used, texts, desk.zone, desk.bank)
    )

    def draw() -> None:
        ui.label(texts.why_long).classes("quiet")
        cards.show(desk, found, texts.why_none)

    return draw
