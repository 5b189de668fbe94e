"""The chat: words in, the answer as it is written, and what was said taken back or answered anew."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence

from nicegui import ui

from memorybank.app import views
from memorybank.app.desk import Desk
from memorybank.companion.stopping import STOPPED
from memorybank.companion.talk import Event, Heard, Piece, Recollection, Reply, Trouble
from memorybank.errors import MemoryBankError
from memorybank.text.counting import Count

_BEAT = 0.06  # seconds between two updates of an answer that is being written
# Enter says it; with Shift it is a line break, and while an input method composes it belongs to that.
_ON_ENTER = (
    "(e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing && e.keyCode !== 229) "
    "{ e.preventDefault(); emit(e.target.value); } }"
)


class Talk:
    """The chat of one page."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        texts = desk.texts
        self._log = ui.element("div").classes("log").props('role="log" aria-live="polite" tabindex="0"')
        self._log.props["aria-label"] = texts.talk
        self._notice = ui.label("").classes("notice").props('role="status"')
        with ui.element("div").classes("say"):
            self._field = (
                ui.textarea(texts.say)
                .props("outlined autogrow rows=1 maxlength=20000 for=say")
                .classes("field")
            )
            self._field.on("keydown", self._entered, js_handler=_ON_ENTER)
            self._send = ui.button(texts.send, on_click=self._sent).props("no-caps")
            self._stop = ui.button(texts.stop, on_click=self._stopped).props("no-caps color=negative")
        with ui.element("div").classes("buttons"):
            ui.button(texts.again, on_click=self._answer_again).props("flat dense no-caps")
            ui.button(texts.undo, on_click=self._take_back).props("flat dense no-caps")
            ui.button(texts.new_session, on_click=self._begin_anew).props("flat dense no-caps")
        self._answer: ui.label | None = None
        self._said: list[tuple[bool, str]] = []
        self.on_recalled: Callable[[], Awaitable[None]] | None = None

    async def refresh(self) -> None:
        """Show the conversation as it stands in the bank."""
        desk = self._desk
        said = await desk.work(lambda: views.said(desk.bank, desk.companion.session))
        there = [(message.role == "user", message.text) for message in said]
        # What stands there already is left alone: a screen reader would read it all again.
        if there != self._said or not there:
            self._draw(there)
        self._idle(not desk.seat.answering)
        self._to_end()
        # A button that went away leaves the focus nowhere.
        self._log.client.run_javascript(
            "if (document.activeElement === document.body) document.getElementById('say')?.focus()"
        )

    def _draw(self, there: Sequence[tuple[bool, str]]) -> None:
        self._log.clear()
        self._said = []
        with self._log:
            if not there:
                ui.label(self._desk.texts.hello).classes("quiet")
            for mine, text in there:
                self._bubble(mine, text)

    # -- what the visitor does ---------------------------------------------------------------------------------

    async def _entered(self, event: object) -> None:
        await self._say(str(getattr(event, "args", "") or ""))

    async def _sent(self) -> None:
        await self._say(str(self._field.value or ""))

    def _stopped(self) -> None:
        self._desk.seat.stop.set()

    async def _say(self, words: str) -> None:
        words = words.strip()
        if words and self._begin():
            self._field.set_value("")
            if not self._said:
                self._log.clear()
            with self._log:
                self._bubble(True, words)
            await self._follow(lambda: self._desk.companion.hear(words))

    async def _answer_again(self) -> None:
        if self._begin():
            await self._follow(self._desk.companion.again, anew=True)

    async def _take_back(self) -> None:
        desk, texts = self._desk, self._desk.texts
        if desk.seat.answering:
            desk.tell(texts.busy)
            return
        taken = await desk.attempt(desk.companion.take_back)
        if taken is None:
            desk.tell(texts.nothing_to_undo)
        else:
            gone = taken.erased
            desk.tell(texts.undone.format(messages=Count(gone.messages), memories=Count(gone.memories)))
            self._field.set_value(taken.words)
        await desk.changed()

    async def _begin_anew(self) -> None:
        desk = self._desk
        if desk.seat.answering:
            desk.tell(desk.texts.busy)
            return
        desk.house.new_session(desk.companion)
        self._notice.set_text("")
        await desk.changed()

    # -- an answer ---------------------------------------------------------------------------------------------

    def _begin(self) -> bool:
        seat = self._desk.seat
        if seat.answering:
            self._desk.tell(self._desk.texts.busy)
            return False
        seat.answering = True
        seat.stop.clear()
        self._notice.set_text(self._desk.texts.thinking)
        self._idle(False)
        return True

    async def _follow(self, turn: Callable[[], Generator[Event, None, None]], *, anew: bool = False) -> None:
        """Carry out a turn and show it; when it is over, what stands in the bank is shown."""
        desk = self._desk
        notice = ""
        try:
            events = turn()
            if anew:
                await self._redraw_before(events)
            notice = await self._events(events)
        except MemoryBankError as error:
            notice = desk.texts.gone_wrong.format(reason=error)
        finally:
            desk.seat.answering = False
            self._answer = None
        await desk.changed()
        if not self._log.client.is_deleted:
            self._notice.set_text(notice)

    async def _redraw_before(self, events: Iterator[Event]) -> None:
        """Let the old turn go and the words be heard again, then show the talk up to them."""
        await self._desk.work(lambda: next(events, None))
        said = await self._desk.work(lambda: views.said(self._desk.bank, self._desk.companion.session))
        self._draw([(message.role == "user", message.text) for message in said])

    async def _events(self, events: Iterator[Event]) -> str:
        """Show what happens until it is over; returns what is to be said about it."""
        notice, written, shown = "", "", time.monotonic()
        while (event := await self._desk.work(lambda: next(events, None))) is not None:
            if self._log.client.is_deleted:
                continue  # the page is gone; the turn is finished and kept all the same
            if isinstance(event, Piece):
                written += event.text
                if time.monotonic() - shown > _BEAT:
                    self._write(written)
                    shown = time.monotonic()
            elif isinstance(event, Recollection):
                self._write("…")
                if self.on_recalled is not None:
                    await self.on_recalled()
            elif isinstance(event, Reply):
                self._write(event.message.text)
            elif isinstance(event, Trouble):
                notice = self._trouble(event)
            elif isinstance(event, Heard):
                self._to_end()
        return notice

    def _trouble(self, event: Trouble) -> str:
        texts = self._desk.texts
        if event.reason == STOPPED:
            return texts.stopped
        return texts.failed.format(reason=event.reason or texts.no_text)

    def _write(self, text: str) -> None:
        if self._answer is None:
            with self._log:
                self._answer = self._bubble(False, text)
        self._answer.set_text(text)
        self._said[-1] = (False, text)
        self._to_end()

    # -- showing -----------------------------------------------------------------------------------------------

    def _bubble(self, mine: bool, text: str) -> ui.label:
        texts = self._desk.texts
        self._said.append((mine, text))
        them = texts.companion if self._desk.house.model is not None else texts.offline
        with ui.element("div").classes("said " + ("mine" if mine else "theirs")):
            ui.label(texts.you if mine else them).classes("who")
            return ui.label(text).classes("words")

    def _idle(self, idle: bool) -> None:
        self._send.set_visibility(idle)
        self._stop.set_visibility(not idle)
        self._log.props["aria-busy"] = "false" if idle else "true"

    def _to_end(self) -> None:
        self._log.client.run_javascript(
            f"const log = getHtmlElement({self._log.id}); if (log) log.scrollTop = log.scrollHeight"
        )
