"""All translation between LangChain's messages and documents and MemoryBank's own."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    message_to_dict,
    messages_from_dict,
)

from memorybank import Message, Recalled
from memorybank.context import WORDINGS
from memorybank.hierarchy.fencing import CLOSE, OPEN, defuse, indent
from memorybank.text.language import detect

logger: logging.Logger = logging.getLogger("memorybank.langchain")

LONGEST_NAME = 512  # characters of a session or an id that MemoryBank stores
_TYPED = "__memorybank__"
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    # Roles of ChatMessage, as providers spell them.
    "user": "user",
    "assistant": "assistant",
    "developer": "system",
}


def usable_name(value: object) -> str:
    """A thread or message id as a name that can be stored: numbers and UUIDs as text, very long ones hashed."""
    text = str(value)
    if len(text) <= LONGEST_NAME:
        return text
    return f"{text[:64]}#{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


# -- messages in -----------------------------------------------------------------------------------------------


def normalise(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Whole messages: the chunks of one streamed reply are joined; instructions (RemoveMessage) are left out."""
    found: list[BaseMessage] = []
    for message in messages:
        if not isinstance(message, BaseMessage):
            raise TypeError(f"expected a LangChain message, got {type(message).__name__}")
        if message.type == "remove":
            continue
        last = found[-1] if found else None
        if (
            isinstance(message, AIMessageChunk)
            and isinstance(last, AIMessageChunk)
            and (last.id == message.id or message.id is None)
        ):
            found[-1] = last + message
            continue
        found.append(message)
    return [message_chunk_to_message(message) for message in found]


def to_message(message: BaseMessage) -> Message:
    """A LangChain message as MemoryBank stores it: its words as text, the whole of it as payload."""
    said = message.role if isinstance(message, ChatMessage) else message.type
    role = _ROLES.get(said.strip().lower())
    name = message.name
    if role is None:  # a speaker of the application's own, such as ChatMessage(role="narrator")
        role, name = "user", name or said
    return Message(
        role=role,
        text=str(message.text),
        id=usable_name(message.id) if message.id and message.id.strip() else None,
        name=name,
        payload=to_payload(message),
    )


def is_spoken(message: BaseMessage) -> bool:
    """Whether somebody in the conversation said it: not a framework's own insertion, not a system prompt."""
    return message.type not in {"system", "remove"} and not message.additional_kwargs.get("lc_source")


# -- messages out ----------------------------------------------------------------------------------------------


def from_message(message: Message) -> BaseMessage:
    """The LangChain message that was stored, as it was; one made of role and text if it came another way."""
    stored = from_payload(message.payload)
    if stored is not None:
        return stored
    if message.role == "assistant":
        return AIMessage(message.text, id=message.id, name=message.name)
    if message.role == "system":
        return SystemMessage(message.text, id=message.id, name=message.name)
    if message.role == "tool":
        return ToolMessage(
            message.text, id=message.id, name=message.name, tool_call_id=message.id or "unknown"
        )
    return HumanMessage(message.text, id=message.id, name=message.name)


# -- payload ---------------------------------------------------------------------------------------------------


def to_payload(message: BaseMessage) -> str:
    """Lossless and pure ASCII: lone surrogates and NUL come through any database."""
    return json.dumps(encode(message_to_dict(message)), ensure_ascii=True, separators=(",", ":"))


def from_payload(payload: str | None) -> BaseMessage | None:
    """The message in a payload; None if there is none, or if another adapter wrote it."""
    if not payload:
        return None
    try:
        data = decode(json.loads(payload))
        if not isinstance(data, Mapping) or not {"type", "data"} <= data.keys():
            return None
        return messages_from_dict([cast("dict[str, Any]", data)])[0]
    except (ValueError, TypeError, KeyError):  # not JSON, or not a message of LangChain's
        logger.warning("a stored payload is not a LangChain message; the message is made from its text")
        return None


_ENCODERS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (bytes, "bytes", lambda v: base64.b64encode(v).decode("ascii")),
    (bytearray, "bytearray", lambda v: base64.b64encode(v).decode("ascii")),
    (datetime, "datetime", lambda v: v.isoformat()),
    (date, "date", lambda v: v.isoformat()),
    (time, "time", lambda v: v.isoformat()),
    (timedelta, "timedelta", lambda v: [v.days, v.seconds, v.microseconds]),
    (UUID, "uuid", str),
    (Decimal, "decimal", str),
    (tuple, "tuple", lambda v: [encode(one) for one in v]),
    (frozenset, "frozenset", lambda v: [encode(one) for one in v]),
    (set, "set", lambda v: [encode(one) for one in v]),
)
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "bytes": base64.b64decode,
    "bytearray": lambda v: bytearray(base64.b64decode(v)),
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda v: timedelta(*v),
    "uuid": UUID,
    "decimal": Decimal,
    "tuple": lambda v: tuple(decode(one) for one in v),
    "frozenset": lambda v: frozenset(decode(one) for one in v),
    "set": lambda v: {decode(one) for one in v},
    "dict": lambda v: {decode(key): decode(one) for key, one in v},
    "text": str,
}


def encode(value: Any) -> Any:
    """A value as JSON can hold it, with the type of what JSON has no word for."""
    if value is None or isinstance(value, bool | int | float | str):
        return value if type(value) in _PLAIN else _plain(value)
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value) and _TYPED not in value:
            return {key: encode(one) for key, one in value.items()}
        return {_TYPED: "dict", "value": [[encode(key), encode(one)] for key, one in value.items()]}
    if isinstance(value, list):
        return [encode(one) for one in value]
    for kind, name, made in _ENCODERS:
        if isinstance(value, kind):
            return {_TYPED: name, "value": made(value)}
    if hasattr(value, "model_dump"):  # a pydantic object, as a tool's artifact may be
        return encode(value.model_dump())
    logger.warning("a %s in a message cannot be stored; its text is kept instead", type(value).__name__)
    return {_TYPED: "text", "value": str(value)}


_PLAIN = {type(None), bool, int, float, str}


def _plain(value: object) -> Any:
    """The plain value in a subclass (an Enum's, a numpy float's, a str subclass's)."""
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value) if kind is not str else str.__str__(value)
    return value


def decode(value: Any) -> Any:
    """The inverse of ``encode``. Raises KeyError for a type it does not know."""
    if isinstance(value, list):
        return [decode(one) for one in value]
    if isinstance(value, dict):
        if _TYPED in value:
            return _DECODERS[value[_TYPED]](value["value"])
        return {key: decode(one) for key, one in value.items()}
    return value


# -- documents -------------------------------------------------------------------------------------------------


def to_document(recalled: Recalled, zone: ZoneInfo) -> Document:
    """A recalled memory as a Document; ``date`` is the local day (ISO 8601) it is about."""
    memory = recalled.memory
    began = memory.began.astimezone(zone)
    return Document(
        id=memory.id,
        page_content=memory.text,
        metadata={
            "level": memory.level.value,
            "date": began.date().isoformat(),
            "began": began.isoformat(),
            "ended": memory.ended.astimezone(zone).isoformat(),
            "score": recalled.score,
            "similarity": recalled.similarity,
            "retention": recalled.retention,
            "strength": memory.strength,
            "session_id": memory.session,
            "speaker": memory.speaker,
            "sources": list(memory.sources),
        },
    )


# -- the system message ----------------------------------------------------------------------------------------


def extended(system: SystemMessage | None, block: str) -> SystemMessage:
    """The system message with the block at its end. What stood there stays as it was, byte for byte."""
    if system is None or not system.content:
        return SystemMessage(block) if system is None else system.model_copy(update={"content": block})
    content: Any = system.content
    if isinstance(content, str):
        joined: Any = f"{content}\n\n{block}"
    else:
        joined = [*content, {"type": "text", "text": f"\n\n{block}"}]
    return system.model_copy(update={"content": joined})


def merged(systems: Sequence[SystemMessage]) -> SystemMessage | None:
    """Several leading system messages as one: providers accept one only."""
    if not systems:
        return None
    first = systems[0]
    for other in systems[1:]:
        content = other.content
        if isinstance(content, str):
            first = extended(first, content)
        else:
            own: Any = (
                [{"type": "text", "text": first.content}] if isinstance(first.content, str) else first.content
            )
            first = first.model_copy(update={"content": [*own, *content]})
    return first


def as_block_message(block: str) -> HumanMessage:
    """The block as a message of its own, marked as the framework's: nobody said it."""
    return HumanMessage(block, additional_kwargs={"lc_source": "memorybank"})


def with_id(message: Message, id_: str) -> Message:
    """The message under an id, so that storing it again stores it once."""
    return message if message.id else replace(message, id=id_)


def listed(recalled: Sequence[Recalled], zone: ZoneInfo) -> str:
    """Recalled memories for a tool's answer, best first: date, what it is, words (as data), id."""
    words = WORDINGS["zh" if _mostly_chinese(recalled) else "en"]
    lines = []
    for one in recalled:
        day = one.memory.began.astimezone(zone)
        what = words.levels[one.memory.level]
        text = indent(defuse(one.memory.text))
        lines.append(
            f"- ({day:%Y-%m-%d} {words.weekdays[day.weekday()]}, {what}) {text}\n  [id: {one.memory.id}]"
        )
    return "\n".join([OPEN, words.note, *lines, CLOSE])


def _mostly_chinese(recalled: Sequence[Recalled]) -> bool:
    return detect("\n".join(one.memory.text for one in recalled)) == "zh"
