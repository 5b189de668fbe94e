"""A chat model that follows a script, calls tools when told to, and shows everything that it was sent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import PrivateAttr

Step = str | ChatMessage | Exception


def call(name: str, /, **kwargs: Any) -> ChatMessage:
    """A step: the model calls a tool, as OpenAI's integration stores it."""
    return ChatMessage(
        role="assistant",
        blocks=[],
        additional_kwargs={"tool_calls": [{"id": f"call-{name}", "name": name, "kwargs": kwargs}]},
    )


class ScriptedLLM(FunctionCallingLLM):
    """Answers from a list of steps, one a call; after the last, or without any, with ``"noted"``."""

    _steps: list[Step] = PrivateAttr(default_factory=list)
    _seen: list[list[ChatMessage]] = PrivateAttr(default_factory=list)
    _on_call: Callable[[], None] | None = PrivateAttr(default=None)

    def __init__(self, steps: Sequence[Step] = (), on_call: Callable[[], None] | None = None) -> None:
        super().__init__()
        self._steps = list(steps)
        self._seen = []
        self._on_call = on_call

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, context_window=100_000)

    @property
    def seen(self) -> list[list[ChatMessage]]:
        """What each call was sent."""
        return self._seen

    @property
    def last(self) -> str:
        """All the words of the latest call."""
        return "\n".join(str(message.content) for message in self._seen[-1])

    def script(self, *steps: Step) -> None:
        self._steps.extend(steps)

    def _next(self, messages: Sequence[ChatMessage]) -> ChatMessage:
        self._seen.append(copy.deepcopy(list(messages)))
        if self._on_call:
            self._on_call()
        step = self._steps.pop(0) if self._steps else "noted"
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, ChatMessage) else ChatMessage(role="assistant", content=step)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=self._next(messages))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        message = self._next(messages)

        def stream() -> ChatResponseGen:
            if not message.content:
                yield ChatResponse(message=message, delta="")
                return
            said = ""
            for word in message.content.split(" "):
                delta = word if not said else f" {word}"
                said += delta
                sent = ChatMessage(
                    role="assistant", content=said, additional_kwargs=dict(message.additional_kwargs)
                )
                yield ChatResponse(message=sent, delta=delta)

        return stream()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        found = self.stream_chat(messages)

        async def stream() -> ChatResponseAsyncGen:
            for one in found:
                yield one

        return stream()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._next([ChatMessage(role="user", content=prompt)]).content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return self.complete(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        text = self.complete(prompt).text

        def stream() -> CompletionResponseGen:
            yield CompletionResponse(text=text, delta=text)

        return stream()

    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        text = self.complete(prompt).text

        async def stream() -> CompletionResponseAsyncGen:
            yield CompletionResponse(text=text, delta=text)

        return stream()

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        messages = list(chat_history or [])
        if user_msg is not None:
            messages.append(
                ChatMessage(role="user", content=user_msg) if isinstance(user_msg, str) else user_msg
            )
        return {"messages": messages}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=one["id"], tool_name=one["name"], tool_kwargs=one["kwargs"])
            for one in response.message.additional_kwargs.get("tool_calls", [])
        ]
