"""What an export may claim: values that the records can hold, so that a damaged file is refused as one."""

from __future__ import annotations

import math

from memorybank.clock import zone_of
from memorybank.errors import ImportFormatError, InvalidInputError
from memorybank.intake import check_name, check_owner
from memorybank.interchange.export_lines import Header, Line, LinkLine, MarkLine, MemoryLine
from memorybank.models import Message, Version

_ROLES = frozenset({"user", "assistant", "system", "tool"})
_LONGEST_ID = 64  # characters of a memory's id: ours have 32
_LARGEST = 2**31 - 1


def check_header(header: Header) -> None:
    """Raises ImportFormatError unless owner, zone and language are ones that a bank can have."""
    try:
        check_owner(header.owner)
        zone_of(header.timezone)
    except InvalidInputError as error:
        raise ImportFormatError(f"the export's header is damaged: {error}") from error
    if header.language not in (None, "en", "zh"):
        raise ImportFormatError("the export's header is damaged: its language is not 'en', 'zh' or null")


def check_line(line: Line) -> None:
    """Raises ImportFormatError for a line that could be read but says what cannot be."""
    try:
        match line:
            case Message():
                _message(line)
            case MemoryLine():
                _memory(line)
            case Version():
                _number(line.version, 1, "version")
            case MarkLine():
                check_name(line.session, "session")
                check_name(line.message, "id")
            case LinkLine():
                if not (math.isfinite(line.weight) and line.weight >= 0):
                    raise InvalidInputError("a link's weight is not a number from 0")
    except InvalidInputError as error:
        raise ImportFormatError(f"the export is damaged: {error}") from error


def _message(message: Message) -> None:
    if message.role not in _ROLES:
        raise InvalidInputError(f"a message has the role {message.role!r}")
    if message.at is None:
        raise InvalidInputError("a message has no time")
    check_name(message.session, "session")
    check_name(message.id, "id")
    _optional(message.name, "name")
    _optional(message.payload, "payload")
    _number(message.position, 0, "position")


def _memory(line: MemoryLine) -> None:
    memory = line.memory
    # The id names the vector in the index, which takes neither NUL nor lone surrogates.
    if len(check_name(memory.id, "id")) > _LONGEST_ID or not memory.id.isprintable():
        raise InvalidInputError("a memory has an id that is none of MemoryBank's")
    if memory.session is not None:
        check_name(memory.session, "session")
    _optional(memory.speaker, "speaker")
    _number(memory.strength, 1, "strength")
    _number(memory.version, 1, "version")
    if line.position is not None:
        _number(line.position, 0, "position")


def _optional(value: object, what: str) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{what} is {type(value).__name__}, not a string")


def _number(value: object, least: int, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
        raise InvalidInputError(f"{what}={value!r}")
