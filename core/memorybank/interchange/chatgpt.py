"""ChatGPT's data export: ``conversations.json``, a tree of messages per conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from memorybank.errors import ImportFormatError
from memorybank.interchange.messages import text_of
from memorybank.interchange.source import Located
from memorybank.interchange.times import parse_time
from memorybank.interchange.values import ImportOptions, ImportRecord, Item, Problem, Severity
from memorybank.models import Message

_SPOKEN = ("text", "multimodal_text")


def matches(value: Any) -> bool:
    """Whether this is one conversation."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def parse(conversations: Iterable[Located], options: ImportOptions) -> Iterator[Item]:
    """What the user and ChatGPT said on the branch that is shown: session = conversation id, id = message id.

    Abandoned branches, hidden messages, tools, custom instructions and reasoning are not what was said.
    """
    if options.owner is None:
        raise ImportFormatError("A ChatGPT export does not name its owner; give one with --owner.")
    for conversation in conversations:
        value = conversation.value
        if not matches(value):
            yield Problem(conversation.where, "not a conversation with a 'mapping'")
            continue
        own = value.get("conversation_id") or value.get("id")
        if not isinstance(own, str) or not own.strip():
            yield Problem(conversation.where, "the conversation has no id")
            continue
        yield from _conversation(options.owner, own, value)


def _conversation(owner: str, session: str, value: dict[str, Any]) -> Iterator[Item]:
    where = f"conversation {session}"
    path, complete = _path(value["mapping"], value.get("current_node"))
    if not complete:
        yield Problem(where, "the tree of messages is broken; what is connected was read", Severity.NOTE)
    last = parse_time(value.get("create_time"))
    for key, node in path:
        message = node.get("message")
        if not isinstance(message, dict):
            continue  # the root
        role = _role(message)
        if role is None:
            continue
        text = _text(message)
        if not text.strip():
            continue
        at = parse_time(message.get("create_time")) or (last and last + timedelta(seconds=1))
        if at is None:
            yield Problem(f"{where}, message {key}", "no time, neither its own nor the conversation's")
            continue
        last = _after(at, last)
        identifier = message.get("id") if isinstance(message.get("id"), str) else key
        yield ImportRecord(owner, session, Message(role, text, last, identifier))


def _after(at: datetime, last: datetime | None) -> datetime:
    """Times as given, but never before the message that is answered."""
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at if last is None or last.tzinfo is None or at > last else last + timedelta(milliseconds=1)


def _path(mapping: dict[str, Any], current: Any) -> tuple[list[tuple[str, dict[str, Any]]], bool]:
    """Nodes from the root to the current one; whether the way was whole."""
    if not isinstance(current, str) or current not in mapping:
        current = _last_leaf(mapping)
    path: list[tuple[str, dict[str, Any]]] = []
    seen: set[str] = set()
    while isinstance(current, str):
        node = mapping.get(current)
        if current in seen or not isinstance(node, dict):
            return path[::-1], False
        seen.add(current)
        path.append((current, node))
        current = node.get("parent")
    return path[::-1], True


def _last_leaf(mapping: dict[str, Any]) -> str | None:
    leaves = [key for key, node in mapping.items() if isinstance(node, dict) and not node.get("children")]
    return leaves[-1] if leaves else None


def _role(message: dict[str, Any]) -> str | None:
    author, extra = message.get("author"), message.get("metadata")
    role = author.get("role") if isinstance(author, dict) else None
    hidden = isinstance(extra, dict) and extra.get("is_visually_hidden_from_conversation")
    return role if role in ("user", "assistant") and not hidden else None


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if not isinstance(content, dict) or content.get("content_type") not in _SPOKEN:
        return ""
    return text_of(content.get("parts")) or ""
