"""Digests: what slid out of a session's window, kept in one rolling text (after SoulMem)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from memorybank.clock import day_of, to_micros
from memorybank.hierarchy.placing import Draft
from memorybank.hierarchy.salience import Line
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.hierarchy.window import DigestStep, digest_steps
from memorybank.hierarchy.writers import Writer
from memorybank.models import Level, Memory, Message
from memorybank.records import banks, derived, marks, memories, transcript
from memorybank.records.derived import Derived, SessionMark
from memorybank.records.memories import Row
from memorybank.runtime import Runtime
from memorybank.text.language import Language, detect
from memorybank.turns import spoken

_CATCH_UP = 200  # messages read at once when much is overdue: each step compares every source it rests on
Attempt = Callable[[str, Callable[[], Draft]], Memory | None]


@dataclass(frozen=True)
class Digesting:
    """One run over the sessions of a bank in which something was said lately."""

    runtime: Runtime
    owner: str
    zone: ZoneInfo
    language: Language | None
    now: datetime
    settings: HierarchySettings
    writer: Writer

    def run(self, attempt: Attempt) -> None:
        """Rewrite the digests that are due. ``attempt`` writes and stores one draft."""
        since = to_micros(self.now) - self.settings.digest_within // timedelta(microseconds=1)
        with self.runtime.database.read() as connection:
            bank = banks.find(connection, self.owner)
            if bank is None:
                return
            lively = derived.lively_sessions(connection, bank.key, self.settings.window.size, since)
        for mark in lively:
            self._session(bank.key, mark, attempt)

    def _session(self, bank: int, mark: SessionMark, attempt: Attempt) -> None:
        with self.runtime.database.read() as connection:
            digest, old, through, forced = self._found(connection, bank, mark)
            if not self._may_be_due(mark, through, forced):
                return
            rows = memories.of_session(connection, mark.key, self.owner, mark.name)
            said = transcript.last(connection, mark.key, mark.length - through - 1, self.owner, mark.name)
            held = None
            if digest is not None:
                found = derived.of_levels(connection, bank, (Level.DIGEST,))
                held = next((one for one in found if one.key == digest.key), None)
        turns = [row for row in rows if row.memory.level is Level.TURN]
        for step in digest_steps(said, self.settings.window, through, forced, at_once=_CATCH_UP):
            made = attempt(
                f"digest of a session, to message {step.through}", self._draft(step, old, turns, held, mark)
            )
            if made is None:
                return
            old = made.text
            with self.runtime.database.read() as connection:
                found = derived.of_levels(connection, bank, (Level.DIGEST,))
            held = next((one for one in found if one.id == made.id), None)

    def _found(
        self, connection: Connection, bank: int, mark: SessionMark
    ) -> tuple[Row | None, str, int, Collection[int]]:
        digests = derived.digests(connection, bank, mark.key, self.owner, mark.name)
        digest = digests[0] if digests else None
        return digest, *_standing(digest), marks.of_session(connection, mark.key)

    def due(self) -> bool:
        """Whether ``run`` would have anything to write."""
        since = to_micros(self.now - self.settings.digest_within)
        with self.runtime.database.read() as connection:
            bank = banks.find(connection, self.owner)
            if bank is None:
                return False
            for mark in derived.lively_sessions(connection, bank.key, self.settings.window.size, since):
                _, _, through, forced = self._found(connection, bank.key, mark)
                if self._may_be_due(mark, through, forced):
                    return True
        return False

    def _may_be_due(self, mark: SessionMark, through: int, forced: Collection[int]) -> bool:
        window = self.settings.window
        if any(through < position < mark.length - window.size for position in forced):
            return True
        first = 0 if through < 0 else through + 1
        following = -(-first // window.mark_every) * window.mark_every
        return following < mark.length - window.size

    def _draft(
        self, step: DigestStep, old: str, turns: list[Row], held: Derived | None, mark: SessionMark
    ) -> Callable[[], Draft]:
        lines = [self._line(message) for message in step.messages if spoken(message)]
        last = step.messages[-1].position
        read = [row.memory for row in turns if row.position is not None and row.position <= last]

        def draft() -> Draft:
            language = self.language or detect("\n".join(line.text for line in lines))
            text = self.writer.digest(old, lines, language) if lines else old
            return Draft(
                level=Level.DIGEST,
                text=text,
                maker=self.writer.maker,
                seen={memory.id: memory.text for memory in read},
                began=read[0].began if read else self.now,
                ended=read[-1].ended if read else self.now,
                position=step.through,
                held=held,
                session=mark.key,
                session_name=mark.name,
            )

        return draft

    def _line(self, message: Message) -> Line:
        speaker = message.name or message.role
        day = day_of(message.at or self.now, self.zone)
        return Line(message.id or "", speaker, spoken(message), day, message.role == "user")


def _standing(digest: Row | None) -> tuple[str, int]:
    """The old digest and the position it covers; a stale one may quote what is gone: all is read anew."""
    if digest is None or digest.memory.stale or digest.position is None:
        return "", -1
    return digest.memory.text, digest.position
