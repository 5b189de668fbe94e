"""A chat model that follows a script and remembers what it was shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

Step = str | AIMessage | BaseException | Callable[[list[BaseMessage]], "str | AIMessage"]


class ScriptedChatModel(BaseChatModel):
    """Answers step by step; the last step is repeated. ``seen`` holds the messages of every call."""

    script: list[Any]
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _tools: list[Any] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, *script: Step) -> None:
        super().__init__(script=list(script))

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def seen(self) -> list[list[BaseMessage]]:
        return self._seen

    @property
    def offered(self) -> list[Any]:
        return self._tools

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        self._tools = list(tools)
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        with self._lock:
            step = self.script[min(len(self._seen), len(self.script) - 1)]
            self._seen.append(list(messages))
        if isinstance(step, BaseException):
            raise step
        if callable(step):
            step = step(messages)
        return AIMessage(step) if isinstance(step, str) else step.model_copy(deep=True)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._next(messages)
        words = str(reply.text).split(" ")
        for i, word in enumerate(words):
            last = i == len(words) - 1
            chunk = AIMessageChunk(
                content=word if last else word + " ",
                tool_call_chunks=[
                    {"name": c["name"], "args": _json(c["args"]), "id": c["id"], "index": n}
                    for n, c in enumerate(reply.tool_calls)
                ]
                if last
                else [],
            )
            made = ChatGenerationChunk(message=chunk)
            if run_manager:
                run_manager.on_llm_new_token(word, chunk=made)
            yield made


def _json(value: Any) -> str:
    import json

    return json.dumps(value)


def calls(*named: tuple[str, dict[str, Any]], say: str = "") -> AIMessage:
    """A reply that calls tools: ``calls(("weather", {"city": "Lisbon"}))``."""
    return AIMessage(
        say,
        tool_calls=[
            ToolCall(name=name, args=args, id=f"call-{i}-{name}") for i, (name, args) in enumerate(named)
        ],
    )


def system_of(messages: Sequence[BaseMessage]) -> str:
    """The text of the one leading system message; "" if there is none. Fails if there are more."""
    systems = [m for m in messages if isinstance(m, SystemMessage)]
    assert len(systems) <= 1, "more than one system message reached the model"
    if not systems:
        return ""
    assert messages[0] is systems[0], "the system message does not lead"
    return str(systems[0].text)
