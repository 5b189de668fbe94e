"""Chat messages in the shape of OpenAI's API, as JSONL or JSON; also conversations in ShareGPT's shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

from memorybank.clock import to_utc, zone_of
from memorybank.errors import ImportFormatError, InvalidInputError
from memorybank.interchange.source import Located
from memorybank.interchange.times import parse_time
from memorybank.interchange.values import ImportOptions, ImportRecord, Item, Problem, Severity
from memorybank.models import Message

_ROLES = {
    "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "gpt": "assistant", "model": "assistant",
    "system": "system", "developer": "system",
    "tool": "tool", "function": "tool",
}  # fmt: skip
_ROLE_KEYS = ("role", "from")
_TEXT_KEYS = ("content", "text", "value")
_TIME_KEYS = ("at", "timestamp", "created_at", "create_time", "time", "date")
_OWNER_KEYS = ("owner", "user_id")
_SESSION_KEYS = ("session", "session_id", "thread_id", "conversation_id")
_LISTS = ("messages", "conversations")
_UTC = zone_of("UTC")


def matches(value: Any) -> bool:
    """Whether this is a message, or an object with a list of messages."""
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(name), list) for name in _LISTS):
        return True
    return any(isinstance(value.get(key), str) for key in _ROLE_KEYS) and any(
        key in value for key in _TEXT_KEYS
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """What a container says for all its messages."""

    owner: str | None
    session: str
    where: str


@dataclass(slots=True)
class _Ids:
    """Ids for messages without one: a digest of owner, session, role, time and text, and which copy it is.

    ``said`` is when the last message of each owner's session was said.
    """

    seen: Counter[str] = field(default_factory=Counter)
    said: dict[tuple[str, str | None], datetime] = field(default_factory=dict)

    def make(self, *parts: object) -> str:
        plain = "\x1f".join(str(part) for part in parts).encode("utf-8", "surrogatepass")
        digest = blake2b(plain, digest_size=10).hexdigest()
        self.seen[digest] += 1
        return f"m-{digest}" if self.seen[digest] == 1 else f"m-{digest}~{self.seen[digest]}"


def parse(values: Iterable[Located], options: ImportOptions) -> Iterator[Item]:
    """Every message; ``owner``/``user_id``, ``session``, ``id``, ``name`` and a time are read when given.

    A message's own owner and session come before those of its container, those before the options. Without
    any owner the whole file is refused (``ImportFormatError``). Parts of other kinds than text become
    ``[image]`` and the like; a message without any text (a bare tool call) is noted.
    """
    ids = _Ids()
    for located in values:
        if isinstance(located.value, list):
            yield from _all(located.value, _Place(None, _default(options), located.where), options, ids)
            continue
        if not isinstance(located.value, dict):
            yield Problem(located.where, f"a message was expected, not {type(located.value).__name__}")
            continue
        inner = next(
            (located.value[name] for name in _LISTS if isinstance(located.value.get(name), list)), None
        )
        if inner is None:
            yield _message(located.value, _Place(None, _default(options), located.where), options, ids)
            continue
        number = located.line if located.key is None else located.key
        session = _name(located.value, (*_SESSION_KEYS, "id")) or f"{_default(options)}/{number}"
        yield from _all(
            inner, _Place(_name(located.value, _OWNER_KEYS), session, located.where), options, ids
        )


def _default(options: ImportOptions) -> str:
    return options.session or "imported"


def _all(messages: list[Any], place: _Place, options: ImportOptions, ids: _Ids) -> Iterator[Item]:
    for index, value in enumerate(messages):
        where = f"{place.where}, message {index}"
        if isinstance(value, dict):
            yield _message(value, _Place(place.owner, place.session, where), options, ids)
        else:
            yield Problem(where, f"a message was expected, not {type(value).__name__}")


def _message(value: dict[str, Any], place: _Place, options: ImportOptions, ids: _Ids) -> Item:
    role = _ROLES.get(str(_first(value, _ROLE_KEYS)).strip().lower())
    if role is None:
        return Problem(place.where, f"unknown or missing role; known: {', '.join(sorted(_ROLES))}")
    text = text_of(_first(value, _TEXT_KEYS))
    if text is None:
        return Problem(place.where, "content is neither text nor a list of parts")
    if not text.strip():
        return Problem(place.where, "no text (a bare tool call, or empty)", Severity.NOTE)
    stamp = _first(value, _TIME_KEYS)
    at = parse_time(stamp)
    if at is None and stamp is not None:
        return Problem(place.where, "its time is neither ISO 8601 nor seconds since the epoch; left out")
    owner = _name(value, _OWNER_KEYS) or place.owner or options.owner
    if owner is None:
        raise ImportFormatError(f"{place.where}: the file names no owner; give one with --owner.")
    session = _name(value, _SESSION_KEYS) or place.session
    # A message without a time was said with the one before it, not when it is imported.
    at = at or ids.said.get((owner, session))
    if at is not None and _plausible(at):
        ids.said[owner, session] = at
    own = value.get("id")
    given = isinstance(own, str | int) and not isinstance(own, bool) and str(own).strip()
    identifier = str(own) if given else ids.make(owner, session, role, stamp, text)
    return ImportRecord(owner, session, Message(role, text, at, identifier, _name(value, ("name",))))


def _plausible(at: datetime) -> bool:
    """Whether a bank would take this time: what it refuses must not be refused of the messages that follow too."""
    try:
        to_utc(at, _UTC)
    except InvalidInputError:
        return False
    return True


def text_of(content: Any) -> str | None:
    """The text of a content: a string, null (empty) or a list of parts; None if it is none of these."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    pieces = [_part(part) for part in content]
    return "\n".join(piece for piece in pieces if piece)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text", part.get("refusal"))
    if isinstance(text, str):
        return text
    kind = str(part.get("type", part.get("content_type", ""))).lower()
    return next((f"[{known}]" for known in ("image", "audio", "video", "file") if known in kind), "")


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((value[key] for key in keys if value.get(key) is not None), None)


def _name(value: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of ``keys`` that holds a name: non-blank text, or a number."""
    found = _first(value, keys)
    if isinstance(found, bool) or not isinstance(found, str | int) or not str(found).strip():
        return None
    return str(found)
