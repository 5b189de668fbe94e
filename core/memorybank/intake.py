"""The border: what callers give becomes checked values, or one clear error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from memorybank.clock import to_utc
from memorybank.errors import InvalidInputError, OwnerError, quoted
from memorybank.models import Level, Message, Recalled

LONGEST_NAME = 512  # characters of an owner, session or id: databases bound what they index

_MOST = 2**31  # of anything: databases take no larger numbers, and no bank has as many

_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}

Redact = Callable[[str], str]


def check_owner(owner: object) -> str:
    """The owner, if it is a usable one. Raises OwnerError: there is never a default owner."""
    if not isinstance(owner, str):
        raise OwnerError(f"owner must be a non-blank string, not {type(owner).__name__}: {quoted(owner)}")
    if not owner.strip() or not _visible(owner):
        raise OwnerError("owner is blank; give the id of the user whose memory this is")
    if len(owner) > LONGEST_NAME:
        raise OwnerError(f"owner has {len(owner)} characters; at most {LONGEST_NAME} are allowed")
    return owner


def check_name(value: object, what: str) -> str:
    """A session name or an id: a non-blank string of at most 512 characters. Raises InvalidInputError."""
    if not isinstance(value, str):
        raise InvalidInputError(
            f"{what} must be a non-blank string, not {type(value).__name__}: {quoted(value)}"
        )
    if not value.strip():
        raise InvalidInputError(f"{what} is blank; give a non-blank string")
    if len(value) > LONGEST_NAME:
        raise InvalidInputError(f"{what} has {len(value)} characters; at most {LONGEST_NAME} are allowed")
    return value


def _visible(text: str) -> bool:
    # Zero-width and control characters alone are as blank as spaces.
    return any(c.isprintable() and not c.isspace() for c in text) or any(
        0xD800 <= ord(c) < 0xE000 for c in text
    )


def check_levels(levels: Iterable[Level | str] | None) -> tuple[Level, ...] | None:
    """Levels by value or name; None means every level. Raises InvalidInputError for unknown ones."""
    if levels is None:
        return None
    if isinstance(levels, str):
        levels = [levels]
    if not isinstance(levels, Iterable):
        raise InvalidInputError(f"levels must be a list of levels, not {type(levels).__name__}")
    found = []
    for level in levels:
        try:
            found.append(Level(level))
        except ValueError as error:
            allowed = ", ".join(repr(one.value) for one in Level)
            raise InvalidInputError(f"unknown level {quoted(level)}; allowed are {allowed}") from error
    if not found:
        raise InvalidInputError("levels is empty; give at least one level, or None for all")
    return tuple(found)


def check_count(value: object, what: str) -> int:
    """A whole number of at least 1. Raises InvalidInputError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInputError(f"{what} must be a whole number of at least 1, not {quoted(value)}")
    if value < 1:
        raise InvalidInputError(f"{what}={value}; give at least 1")
    return min(value, _MOST)


T = TypeVar("T")


def check_kind(value: object, kind: type[T], what: str) -> T:
    """The value, if it is of that class. Raises InvalidInputError."""
    if not isinstance(value, kind):
        raise InvalidInputError(
            f"{what} must be a {kind.__name__}, not {type(value).__name__}: {quoted(value)}"
        )
    return value


def check_recalled(value: object) -> list[Recalled]:
    """A list of what ``recall`` returned. Raises InvalidInputError."""
    if isinstance(value, str | bytes | Recalled) or not isinstance(value, Iterable):
        raise InvalidInputError(f"recalled must be a list of Recalled, not {type(value).__name__}")
    return [check_kind(one, Recalled, "each of recalled") for one in value]


def check_shown(value: object) -> frozenset[str]:
    """Ids of messages. Raises InvalidInputError."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"shown must be a list of message ids, not {type(value).__name__}")
    return frozenset(check_kind(one, str, "each of shown") for one in value)


def check_path(value: object) -> Path:
    """A path. Raises InvalidInputError for what no file can be called."""
    if not isinstance(value, str | Path) or not str(value):
        raise InvalidInputError(f"path must be a file's path, not {quoted(value)}")
    try:
        os.fsencode(value)
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"path={quoted(value)} has characters that no file name can hold") from error
    if "\0" in str(value):
        raise InvalidInputError(f"path={quoted(value)} has characters that no file name can hold")
    return Path(value)


def check_ids(ids: object) -> list[str]:
    """A list of ids from one id or several, each once, in order. Raises InvalidInputError."""
    given = [ids] if isinstance(ids, str) else ids
    if not isinstance(given, Iterable):
        raise InvalidInputError(f"ids must be a list of memory ids, not {type(ids).__name__}")
    listed = list(given)
    for one in listed:
        if not isinstance(one, str):
            raise InvalidInputError(f"a memory id must be a string, not {type(one).__name__}: {quoted(one)}")
    return list(dict.fromkeys(listed))


def to_messages(items: object, *, at: datetime, zone: ZoneInfo, redact: Redact | None) -> list[Message]:
    """Messages with role, text and time, from dicts or Messages; ``at`` is the time of those without their own.

    Raises InvalidInputError naming the position of what is wrong.
    """
    if isinstance(items, Message | Mapping):
        items = [items]
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"messages must be a list of dicts {{'role': …, 'content': …}} or Messages, not {type(items).__name__}"
        )
    return [_message(item, f"messages[{i}]", at, zone, redact) for i, item in enumerate(items)]


def redacted(text: str, redact: Redact | None) -> str:
    """The text as the hook leaves it. Raises InvalidInputError if the hook gives anything but a string."""
    if redact is None:
        return text
    found = redact(text)
    if not isinstance(found, str):
        raise InvalidInputError(f"redact gave {type(found).__name__}; it must give a string for every text")
    return found


def _message(item: object, where: str, at: datetime, zone: ZoneInfo, redact: Redact | None) -> Message:
    if isinstance(item, Mapping):
        missing = [
            key
            for key in ("role", "content")
            if key not in item and not (key == "content" and "text" in item)
        ]
        if missing:
            raise InvalidInputError(f"{where} has no {missing[0]!r}; expected 'role' and 'content'")
        content = item["content"] if "content" in item else item["text"]
        item = Message(
            item["role"],
            _text(content, where),
            item.get("at"),
            item.get("id"),
            item.get("name"),
            item.get("payload"),
        )
    if not isinstance(item, Message):
        raise InvalidInputError(f"{where} must be a dict or a Message, not {type(item).__name__}")
    return _checked(item, where, at, zone, redact)


def check_role(role: object) -> str | None:
    """A role as it is kept ("human" is "user"), None for all. Raises InvalidInputError for unknown ones."""
    return None if role is None else _role(role)


def _role(role: object, where: str = "") -> str:
    if not isinstance(role, str) or role.strip().lower() not in _ROLES:
        raise InvalidInputError(
            f"{where}role {quoted(role)} is not known; allowed are {', '.join(sorted(_ROLES))}"
        )
    return _ROLES[role.strip().lower()]


def _checked(m: Message, where: str, at: datetime, zone: ZoneInfo, redact: Redact | None) -> Message:
    role = _role(m.role, f"{where}: ")
    if not isinstance(m.text, str):
        raise InvalidInputError(f"{where}: the text must be a string, not {type(m.text).__name__}")
    for value, what in ((m.name, "name"), (m.payload, "payload")):
        if value is not None and not isinstance(value, str):
            raise InvalidInputError(f"{where}: {what} must be a string or None, not {type(value).__name__}")
    return replace(
        m,
        role=role,
        text=redacted(m.text, redact),
        at=at if m.at is None else to_utc(m.at, zone, f"{where}: at"),
        id=None if m.id is None else check_name(m.id, f"{where}: id"),
        name=(m.name.strip() or None) if m.name else None,
        payload=redacted(m.payload, redact) if m.payload else m.payload,
    )


def _text(content: object, where: str) -> str:
    """The text of a message's content: a string, None (a bare tool call), or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        parts = []
        for part in content:
            if isinstance(part, str):
                parts.append(part)
            elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
                parts.append(part["text"])
        return "\n".join(parts)
    raise InvalidInputError(
        f"{where}: content must be a string, None or a list of parts, not {type(content).__name__}"
    )
