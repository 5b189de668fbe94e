"""Records into banks: batched by session, idempotent, with an account of what was new and what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memorybank.errors import InvalidInputError
from memorybank.interchange.values import ImportRecord, Item, Problem, Severity
from memorybank.models import Message

BATCH = 1000
"""Messages held before they are added. A session's part of a batch is one transaction."""

_KEPT_PROBLEMS = 1000


class Bank(Protocol):
    """The part of ``MemoryBank`` that an import needs."""

    def add(self, messages: Sequence[Message], session: str) -> list[Message]: ...

    def history(self, session: str, last: int | None = None) -> list[Message]: ...


@dataclass(slots=True)
class Loaded:
    """The account of one import. ``known`` messages were there before; ``problems`` keeps the first 1,000."""

    added: int = 0
    known: int = 0
    owners: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    counts: dict[Severity, int] = field(default_factory=lambda: dict.fromkeys(Severity, 0))

    @property
    def complete(self) -> bool:
        """Whether everything in the file was imported; notes lose nothing."""
        return not (self.counts[Severity.SKIPPED] or self.counts[Severity.FATAL])

    def report(self, problem: Problem) -> None:
        """Count a problem, and keep it while there are few."""
        self.counts[problem.severity] += 1
        if len(self.problems) < _KEPT_PROBLEMS:
            self.problems.append(problem)


def load(
    items: Iterable[Item],
    bank_of: Callable[[str], Bank],
    *,
    on_progress: Callable[[int], None] | None = None,
    batch: int = BATCH,
) -> Loaded:
    """Add every record to its owner's bank. Records that a bank refuses become problems; the others go on.

    ``on_progress`` is called with the number of messages that were just dealt with. Errors of the store
    itself (``StoreError``) are raised: what was added until then stays, and importing the file again goes on
    from there.
    """
    loaded = Loaded()
    held: dict[tuple[str, str], list[ImportRecord]] = {}
    count = 0
    for item in items:
        if isinstance(item, Problem):
            loaded.report(item)
            continue
        held.setdefault((item.owner, item.session), []).append(item)
        count += 1
        if count >= batch:
            _flush(held, bank_of, loaded, on_progress)
            count = 0
    _flush(held, bank_of, loaded, on_progress)
    return loaded


def _flush(
    held: dict[tuple[str, str], list[ImportRecord]],
    bank_of: Callable[[str], Bank],
    loaded: Loaded,
    on_progress: Callable[[int], None] | None,
) -> None:
    for (owner, session), records in held.items():
        messages = [record.message for record in _distinct(records, loaded)]
        try:
            _add(bank_of(owner), owner, session, messages, loaded)
        except InvalidInputError as error:  # the owner itself is refused
            loaded.report(Problem(f"{owner!r}, {session}", f"{len(messages)} messages: {error}"))
        if on_progress is not None:
            on_progress(len(records))
    held.clear()


def _distinct(records: list[ImportRecord], loaded: Loaded) -> list[ImportRecord]:
    """The records without those whose id another record of the same batch bears with other words."""
    texts: dict[str | None, str] = {}
    kept = []
    for record in records:
        message = record.message
        if message.id in texts and texts[message.id] != message.text:
            where = f"{record.owner!r}, {record.session}, id {message.id}"
            loaded.report(Problem(where, "the id stands twice with different texts; the first was kept"))
            continue
        texts[message.id] = message.text
        kept.append(record)
    return kept


def _add(bank: Bank, owner: str, session: str, messages: list[Message], loaded: Loaded) -> None:
    try:
        last = bank.history(session, last=1)
        before = last[-1].position if last else -1
        stored = bank.add(messages, session)
    except InvalidInputError as error:
        if len(messages) == 1:
            where = f"{owner!r}, {session}, message {messages[0].id}"
            loaded.report(Problem(where, str(error).removeprefix("messages[0]: ")))
            return
        for message in messages:  # find the one that is refused
            _add(bank, owner, session, [message], loaded)
        return
    added = len({message.position for message in stored if message.position > before})
    loaded.added += added
    loaded.known += len(messages) - added
    loaded.owners[owner] = loaded.owners.get(owner, 0) + added
