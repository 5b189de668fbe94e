"""The values of an import: what a parser yields, and the limits that bound it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from memorybank.models import Message


class Severity(StrEnum):
    """``note``: nothing was lost. ``skipped``: this record was left out. ``fatal``: reading stopped here."""

    NOTE = "note"
    SKIPPED = "skipped"
    FATAL = "fatal"


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """One message of a file, and whose it is.

    ``message.id`` is deterministic: reading the file again gives the same id, so a second import adds
    nothing. ``message.at`` is when it was said, by the file; a naive time is local time in the bank's zone;
    None when the file gives none.
    """

    owner: str
    session: str
    message: Message


@dataclass(frozen=True, slots=True)
class Problem:
    """A defect of the file: where it stands (line, or user, day, session), and what is wrong with it.

    Neither part carries texts of messages.
    """

    where: str
    reason: str
    severity: Severity = Severity.SKIPPED

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


Item = ImportRecord | Problem


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of what is read: bytes of the whole file, bytes of one record, levels of nesting.

    A record is one line of JSONL, or one element of the outermost array or object. The largest records met in
    public data are LongMemEval's questions with 5 MB each.
    """

    file_bytes: int = 16 * 1024**3
    record_bytes: int = 64 * 1024**2
    depth: int = 64


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the caller knows and the file may not.

    ``owner``: for formats that name their owners (memorybank, locomo, longmemeval) only this one is read;
    for the others (messages, chatgpt) it is whose memory the messages become, unless the record names its
    own. ``session``: the session of messages that name none.
    """

    owner: str | None = None
    session: str | None = None
    limits: Limits = Limits()
