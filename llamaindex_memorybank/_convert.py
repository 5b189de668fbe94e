"""Everything that is translation: LlamaIndex's messages, queries and nodes to MemoryBank's values and back.

Field names of the framework are seen in this module only.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import ValidationError

from memorybank import InvalidInputError, Message, Recalled
from memorybank.rewinding import new_id

_PAYLOAD = "llama_index"
_ROLES = {
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}
# ReActAgent stores its whole reasoning as one message; what it told the user follows the last "Answer:".
_REASONING = re.compile(r"^\s*(?:Thought|Action|Observation):", re.MULTILINE)
_ANSWER = re.compile(r"^[ \t]*Answer:[ \t]*", re.MULTILINE)
# What the engines' own templates would substitute inside a message: {query_str}, {context_str}, …
_FIELD = re.compile(r"\{([A-Za-z_][\w.]*)\}")


def as_chat(value: object) -> ChatMessage:
    """A ChatMessage from one, or from a dict {"role", "content"}. Raises InvalidInputError for other things."""
    if isinstance(value, ChatMessage):
        return value
    if isinstance(value, Mapping):
        try:
            return ChatMessage(**value)
        except (ValidationError, TypeError) as error:
            raise InvalidInputError("a dict is not a chat message; give 'role' and 'content'") from error
    raise InvalidInputError(f"a message must be a ChatMessage or a dict, not {type(value).__name__}")


def query_text(value: object) -> str | None:
    """The words of what a caller gave as input: None, text, QueryBundle, ChatMessage or dict. "" is None."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, QueryBundle):
        return value.query_str or None
    return as_chat(value).content or None


def has_tool_calls(chat: ChatMessage) -> bool:
    """Whether an assistant's message calls tools, in whichever way the model's integration tells it."""
    return bool(chat.additional_kwargs.get("tool_calls")) or any(
        getattr(block, "block_type", "") == "tool_call" for block in chat.blocks
    )


def spoken(chat: ChatMessage) -> str:
    """What a message says to the other side; "" for tool traffic, thoughts and media."""
    text = chat.content or ""
    if _ROLES[chat.role] != "assistant":
        return text
    if has_tool_calls(chat):
        return ""
    if _REASONING.match(text):
        answers = list(_ANSWER.finditer(text))
        return text[answers[-1].end() :].strip() if answers else ""
    return text


def to_message(chat: ChatMessage) -> Message:
    """The message to store: role, words, and a lossless payload where these two would not bring it back."""
    role, text = _ROLES[chat.role], spoken(chat)
    name = chat.additional_kwargs.get("name") if role in ("user", "assistant") else None
    plain = (
        chat.role.value == role
        and not chat.additional_kwargs
        and [type(block) for block in chat.blocks] == [TextBlock]
        and chat.content == text
    )
    return Message(
        role,
        text,
        id=new_id(),
        name=name if isinstance(name, str) else None,
        payload=None if plain else json.dumps({_PAYLOAD: _dump(chat)}),
    )


def _dump(chat: ChatMessage) -> Any:
    try:
        return chat.model_dump(mode="json", exclude_none=True)
    except ValueError:  # pydantic's serialisation error: an integration put an object of its own into kwargs
        return json.loads(json.dumps(chat.model_dump(exclude_none=True), default=_spelled))


def _spelled(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def to_chat(message: Message) -> ChatMessage:
    """The ChatMessage that was stored, a new object each time; by role and words where another framework
    stored it, or where what it refers to (a file) is gone."""
    found = _load(message.payload) if message.payload is not None else None
    if found is not None:
        return found
    kwargs = {"name": message.name} if message.name else {}
    return ChatMessage(
        role=MessageRole(message.role), blocks=[TextBlock(text=message.text)], additional_kwargs=kwargs
    )


def _load(payload: str) -> ChatMessage | None:
    try:
        data = json.loads(payload)[_PAYLOAD]
        kwargs = data.get("additional_kwargs", {})
        # ChatMessage turns "images" into blocks when it is made; they are among the blocks already.
        images = kwargs.pop("images", None)
        chat = ChatMessage(**data)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    if images is not None:
        chat.additional_kwargs["images"] = images
    return chat


def defielded(text: str) -> str:
    """The text with ``{name}`` spelled ``{ name }``: chat engines fill such fields in whatever they send.

    For text that is injected; what is stored stays as it is.
    """
    return _FIELD.sub(r"{ \1 }", text)


def to_node(recalled: Recalled) -> NodeWithScore:
    """A recalled memory as a node: its id, its words, and what is known of it as metadata."""
    memory = recalled.memory
    metadata = {
        "memory_id": memory.id,
        "owner": memory.owner,
        "level": memory.level.value,
        "date": memory.began.date().isoformat(),
        "began": memory.began.isoformat(),
        "ended": memory.ended.isoformat(),
        "session": memory.session,
        "strength": memory.strength,
        "retention": round(recalled.retention, 6),
        "similarity": round(recalled.similarity, 6),
    }
    hidden = [key for key in metadata if key not in ("date", "level")]
    node = TextNode(
        id_=memory.id,
        text=memory.text,
        metadata=metadata,
        excluded_embed_metadata_keys=list(metadata),
        excluded_llm_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=recalled.score)
