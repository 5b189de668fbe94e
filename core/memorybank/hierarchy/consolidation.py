"""Consolidation: days into summaries and portraits, days together into the global ones, sessions into digests.

Each text is written outside any transaction and stored in a small one of its own: what is done is done, whenever
the process dies, and adding goes on meanwhile. Before it is stored its sources are compared with what was read;
if one was edited or deleted, the text is discarded and stays to be written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from zoneinfo import ZoneInfo

from memorybank import reporting
from memorybank.clock import day_of, from_micros
from memorybank.errors import LLMError
from memorybank.hierarchy.agenda import DAILY, OVERALL, Agenda, Task, agenda
from memorybank.hierarchy.digesting import Digesting
from memorybank.hierarchy.grouping import Plan, plan
from memorybank.hierarchy.placing import Draft, place, withdraw
from memorybank.hierarchy.reading_turns import lines_of
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.hierarchy.writers import Modelling, Part, Quoting, Writer
from memorybank.models import Consolidated, Failure, Level, Memory
from memorybank.records import banks, derived, memories
from memorybank.records.derived import Derived
from memorybank.runtime import Runtime
from memorybank.text.language import Language, detect

logger: logging.Logger = logging.getLogger("memorybank.consolidation")

Progress = Callable[[str, int, int], None]
"""Called with what is being written, how many texts are done, and how many there are (as known so far)."""

MOVED = "its sources changed while it was written; it is written anew next time"
_CHARACTERS_PER_TOKEN = (
    2.5  # a cautious mean of English (4) and Chinese (1-1.5), to plan groups without reading
)


@dataclass
class _Outcome:
    made: list[Memory] = field(default_factory=list)
    updated: list[Memory] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)


@dataclass
class Consolidation:
    """One run over one bank."""

    runtime: Runtime
    owner: str
    zone: ZoneInfo
    language: Language | None
    now: datetime
    settings: HierarchySettings
    writer: Writer
    progress: Progress | None = None
    outcome: _Outcome = field(default_factory=_Outcome)

    def run(self, until: date) -> None:
        """Days up to ``until``, then the globals, then the digests."""
        todo = self._agenda(until)
        if todo is None:
            return
        for at, task in enumerate(todo.tasks):
            self._tell(task.day.day.isoformat(), at, len(todo.tasks))
            self._day(task)
        withdraw(self.runtime, self.owner, todo.obsolete)
        for daily in DAILY:
            self._tell(OVERALL[daily].value, len(todo.tasks), len(todo.tasks))
            self._overall(daily)
        Digesting(
            self.runtime, self.owner, self.zone, self.language, self.now, self.settings, self.writer
        ).run(self._attempt)

    def _agenda(self, until: date) -> Agenda | None:
        with self.runtime.database.read() as connection:
            bank = banks.find(connection, self.owner)
            if bank is None:
                return None
            marks = derived.turn_marks(connection, bank.key)
            held = derived.of_levels(connection, bank.key, DAILY)
        return agenda(marks, held, self.zone, until)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)

    def _day(self, task: Task) -> None:
        """Write what is missing of a day."""
        with self.runtime.database.read() as connection:
            bank = banks.find(connection, self.owner)
            if bank is None:
                return
            rows = memories.by_ids(connection, bank.key, task.day.turns, self.owner, {})
            roles: dict[str, tuple[str, str | None]] = {}
            for session in {row.session for row in rows.values() if row.session is not None}:
                ids = [s for row in rows.values() if row.session == session for s in row.memory.sources]
                roles.update(derived.roles(connection, session, ids))
        turns = [rows[id_].memory for id_ in task.day.turns if id_ in rows]
        lines = lines_of(turns, roles, self.zone)
        if not lines:
            return
        language = self.language or detect("\n".join(line.text for line in lines))
        for level, held in task.held.items():
            self._attempt(
                f"{level.value} {task.day.day.isoformat()}",
                lambda level=level, held=held: Draft(  # type: ignore[misc]  # mypy cannot type defaulted lambdas
                    level=level,
                    text=self.writer.day(level, task.day.day, lines, language),
                    maker=self.writer.maker,
                    seen={turn.id: turn.text for turn in turns},
                    began=from_micros(task.day.began),
                    ended=from_micros(task.day.ended),
                    position=task.day.weight,
                    held=held,
                ),
            )

    def _overall(self, daily: Level) -> None:
        """Bring the global text over all days of a level up to date, and the blocks of days below it."""
        level = OVERALL[daily]
        with self.runtime.database.read() as connection:
            bank = banks.find(connection, self.owner)
            if bank is None:
                return
            held = derived.of_levels(connection, bank.key, (daily, level))
        days = {
            day_of(from_micros(one.began), self.zone).toordinal(): one
            for one in held
            if one.level is daily and one.length
        }
        blocks = {one.position: one for one in held if one.level is level and one.position is not None}
        top = next((one for one in held if one.level is level and one.position is None), None)
        sizes = {day: 12 + int(one.length / _CHARACTERS_PER_TOKEN) for day, one in days.items()}
        tree = plan(sizes, self.settings.read, self.settings.block)
        ids = {day: one.id for day, one in days.items()}
        if not days:
            withdraw(self.runtime, self.owner, [*blocks.values(), *([top] if top else [])])
            return
        renewed = self._blocks(level, tree, blocks, ids)
        if renewed is None:
            return
        members = [ids[key] for key in tree.top]
        if _outdated(top, members, renewed) and self._joined(level, members, None, top) is None:
            return
        kept = {block.code for block in tree.blocks if len(block.members) > 1}
        withdraw(self.runtime, self.owner, [one for code, one in blocks.items() if code not in kept])

    def _blocks(
        self, level: Level, tree: Plan, held: dict[int, Derived], ids: dict[int, str]
    ) -> set[str] | None:
        """Write the blocks that are missing or stale; returns their ids, None if one could not be written.

        ``ids`` (memory id by day or block) gains the blocks'.
        """
        renewed: set[str] = set()
        for block in tree.blocks:
            members = [ids[key] for key in block.members]
            one = held.get(block.code)
            if len(members) == 1:
                ids[block.code] = members[0]
            elif one is not None and not _outdated(one, members, renewed):
                ids[block.code] = one.id
            else:
                made = self._joined(level, members, block.code, one)
                if made is None:
                    return None
                ids[block.code] = made.id
                renewed.add(made.id)
        return renewed

    def _joined(
        self, level: Level, members: Sequence[str], code: int | None, held: Derived | None
    ) -> Memory | None:
        with self.runtime.database.read() as connection:
            bank = banks.find(connection, self.owner)
            if bank is None:
                return None
            rows = memories.by_ids(connection, bank.key, members, self.owner, {})
        sources = [rows[id_].memory for id_ in members if id_ in rows]
        parts = [self._part(memory) for memory in sources if memory.text]
        if len(parts) < len(members):
            return None  # one was deleted or emptied this moment: the next run plans anew
        language = self.language or detect("\n".join(part.text for part in parts[-20:]))

        def draft() -> Draft:
            return Draft(
                level=level,
                text=self.writer.join(level, parts, language, block=code is not None),
                maker=self.writer.maker,
                seen={memory.id: memory.text for memory in sources},
                began=min(memory.began for memory in sources),
                ended=max(memory.ended for memory in sources),
                position=code,
                held=held,
            )

        return self._attempt(level.value if code is None else f"{level.value} of a block of days", draft)

    def _part(self, memory: Memory) -> Part:
        first, last = (at.astimezone(self.zone).date() for at in (memory.began, memory.ended))
        return Part(memory.id, first, last, memory.text)

    def _attempt(self, subject: str, draft: Callable[[], Draft]) -> Memory | None:
        """Write one text and store it; a failure is noted, logged without texts, and changes nothing."""
        try:
            written = draft()
        except LLMError as error:
            self._fail(subject, str(error))
            return None
        linked = self.settings.linked if written.level is Level.DAY_EVENTS else 0
        placed = place(self.runtime, self.owner, written, zone=self.zone, now=self.now, linked=linked)
        if placed is None:
            self._fail(subject, MOVED)
            return None
        block = written.position is not None and written.level in (Level.EVENTS, Level.PORTRAIT)
        if not block and written.text and placed.changed:
            (self.outcome.made if placed.made else self.outcome.updated).append(placed.memory)
        return placed.memory

    def _fail(self, subject: str, reason: str) -> None:
        logger.warning("%s could not be written: %s", subject, reason)
        self.outcome.failed.append(Failure(subject, reason))


def consolidate(
    runtime: Runtime,
    owner: str,
    *,
    zone: ZoneInfo,
    language: str | None,
    until: date,
    now: datetime,
    settings: HierarchySettings | None = None,
    progress: Progress | None = None,
) -> Consolidated:
    """Write what is missing or stale of days up to ``until`` (inclusive), the globals, and digests.

    With a model in ``runtime`` it writes; without one, texts are quotes. Never raises for what a model does:
    failures are in the outcome and are tried again by the next call.
    """
    chosen = settings or HierarchySettings()
    model = Modelling(runtime.llm, chosen, runtime.counter, runtime.redact) if runtime.llm else None
    writer: Writer = model or Quoting(chosen, runtime.counter)
    wanted: Language | None = "zh" if language == "zh" else "en" if language == "en" else None
    run = Consolidation(runtime, owner, zone, wanted, now, chosen, writer, progress)
    run.run(until)
    done, spent = run.outcome, model.spent if model else None
    return Consolidated(
        done.made,
        done.updated,
        done.failed,
        calls=spent.calls if spent else 0,
        prompt_tokens=spent.prompt_tokens if spent else 0,
        reply_tokens=spent.reply_tokens if spent else 0,
    )


def _outdated(held: Derived | None, members: Sequence[str], renewed: set[str]) -> bool:
    return held is None or held.stale or held.sources != tuple(members) or not renewed.isdisjoint(members)


def current(
    runtime: Runtime, owner: str, level: Level, day: date | None, *, zone: ZoneInfo, until: date
) -> Memory | None:
    """The summary or portrait of a day (or the global one), ``stale`` if it lacks turns of days up to ``until``."""
    found = reporting.derived(runtime, owner, level, day, zone)
    if found is None or found.stale:
        return found
    since = None if day is None else day
    last = until if day is None else day
    with runtime.database.read() as connection:
        bank = banks.find(connection, owner)
        if bank is None:
            return None
        marks = derived.turn_marks(connection, bank.key)
        held = derived.of_levels(connection, bank.key, DAILY)
    todo = agenda(marks, held, zone, last, since)
    daily = next((one for one, overall in OVERALL.items() if overall is level), level)
    lacking = any(daily in task.held for task in todo.tasks) or any(
        one.level is daily for one in todo.obsolete
    )
    return replace(found, stale=lacking)
