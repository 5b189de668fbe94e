"""What is the visitor's own: how much there is, the export, and the way out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from nicegui import ui

from memorybank.app import views
from memorybank.app.desk import Desk
from memorybank.bank import MemoryBank
from memorybank.models import Erased
from memorybank.text.counting import Count


async def load(desk: Desk) -> Callable[[], None]:
    """Counts, export, erase."""
    texts = desk.texts
    holdings = await desk.work(lambda: views.holdings(desk.bank, texts))

    def draw() -> None:
        ui.label(holdings)
        ui.label(texts.export_long).classes("quiet")
        ui.button(texts.export, on_click=lambda: _export(desk)).props("no-caps outline")
        ui.label(texts.erase_long).classes("quiet")
        ui.button(texts.erase, on_click=lambda: _erase(desk)).props("no-caps outline color=negative")

    return draw


async def _export(desk: Desk) -> None:
    content = await desk.attempt(lambda: exported(desk.bank))
    if content is not None:
        with desk.client:
            ui.download.content(content, "memorybank-export.jsonl", "application/jsonl")
        desk.tell(desk.texts.exported)


async def _erase(desk: Desk) -> None:
    texts = desk.texts
    sure = f"{texts.erase_long}\n\n{texts.erase_sure}"
    if not await desk.confirmed(sure, texts.erase, typed=texts.erase_word):
        return
    desk.seat.stop.set()
    erased: Erased | None = await desk.attempt(desk.bank.erase)
    if erased is None:
        return
    desk.tell(texts.erased.format(messages=Count(erased.messages), memories=Count(erased.memories)))
    desk.visit.open(None if desk.house.lists_profiles else desk.visit.owner)
    with desk.client:
        ui.navigate.reload()


def exported(bank: MemoryBank) -> bytes:
    """Everything of the bank's owner, as ``MemoryBank.export`` writes it; the file on the way is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="memorybank-export-") as folder:
        path = Path(folder) / "export.jsonl"
        bank.export(path)
        return path.read_bytes()
