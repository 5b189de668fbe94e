"""MemoryBankBlock: long-term memory as a block of LlamaIndex's own ``Memory``."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.memory import BaseMemoryBlock, Memory
from pydantic import Field, PrivateAttr

from llamaindex_memorybank._convert import as_chat, defielded, query_text, to_message
from llamaindex_memorybank._shortening import shorten
from memorybank import MemoryBank, Message

_SESSION = "session_id"
_REMEMBERED = 256  # sessions whose latest recall is kept: a turn reads several times
_OVERLAP = 64  # messages read beyond those shown, to find where they belong


class MemoryBankBlock(BaseMemoryBlock[str]):
    """For ``Memory.from_defaults(memory_blocks=[MemoryBankBlock(bank=bank)])``.

    ``Memory`` hands messages on only when its queue overflows, so the block keeps what it is shown at every read
    as well, up to the user's message in progress; ``flush`` keeps the rest. A message is kept once, whichever way
    it comes. One block serves any number of sessions: the session is ``Memory``'s, else ``session_id``.
    """

    name: str = Field(default="memory", description="Tag around the block.")
    priority: int = Field(default=1, description="0: never shortened when there is too much.")
    bank: MemoryBank = Field(exclude=True)
    session_id: str = "default"
    max_tokens: int = Field(default=1_500, ge=1)
    k: int = Field(default=12, ge=1)
    min_score: float | Literal["auto"] | None = None

    _recalled: OrderedDict[str, tuple[tuple[int, str], str]] = PrivateAttr(default_factory=OrderedDict)
    _lock: Any = PrivateAttr(default_factory=threading.RLock)

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,
        session_id: str | None = None,
    ) -> None:
        """Keep messages of a session. Unlike the base class, it writes nothing into them: others hold them too."""
        if from_short_term_memory and not self.accept_short_term_memory:
            return
        await asyncio.to_thread(self._keep, session_id, messages)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._keep, None, messages)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await asyncio.to_thread(self._block, list(messages or ()), block_kwargs.get(_SESSION))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The block without its last memories, so many tokens shorter; None if nothing is left of it."""
        return shorten(content, tokens_to_truncate, self.bank.runtime.counter)

    async def aflush(self, memory: Memory) -> None:
        """Keep everything that a ``Memory`` holds, the turn in progress too. Twice is once."""
        await self.aput(await memory.aget_all(), session_id=memory.session_id)

    def flush(self, memory: Memory) -> None:
        """``aflush`` for programs without an event loop."""
        asyncio_run(self.aflush(memory))

    def _block(self, messages: list[ChatMessage], session_id: str | None) -> str:
        session = session_id or self.session_id
        with self._lock:
            done = messages[:-1] if messages and messages[-1].role is MessageRole.USER else messages
            shown = self._keep(session, done)
            asked = next((one for one in reversed(messages) if one.role is MessageRole.USER), None)
            query = query_text(asked) or ""
            # Memory adds its input to the history even where it is there already: one turn all the same.
            users = [query_text(one) for one in messages if one.role is MessageRole.USER]
            again = len(users) > 1 and users[-1] == users[-2] and not _answered(done)
            turn = (len(users) - again, query)
            known = self._recalled.get(session)
            if known is not None and known[0] == turn:
                return known[1]
            context = self.bank.context(
                query,
                max_tokens=self.max_tokens,
                session=session,
                k=self.k,
                min_score=self.min_score,
                shown=[one.id or "" for one in shown],
            )
            found = defielded(context.text)
            self._recalled[session] = (turn, found)
            self._recalled.move_to_end(session)
            while len(self._recalled) > _REMEMBERED:
                self._recalled.popitem(last=False)
            return found

    def _keep(self, session_id: str | None, messages: Sequence[ChatMessage]) -> list[Message]:
        """Store those that the session does not have yet; all of them as stored."""
        given = [_own(as_chat(message)) for message in messages]
        if not given:
            return []
        session = session_id or str(messages[0].additional_kwargs.get(_SESSION) or self.session_id)
        with self._lock:
            stored = self.bank.history(session, last=len(given) + _OVERLAP)
            held = _overlap(stored, given)
            if not held and len(stored) == len(given) + _OVERLAP:
                stored = self.bank.history(session)
                held = _overlap(stored, given)
            fresh = given[len(held) :]
            return [*held, *(self.bank.add(fresh, session=session) if fresh else [])]


def _own(chat: ChatMessage) -> Message:
    if _SESSION in chat.additional_kwargs:
        kwargs = {key: value for key, value in chat.additional_kwargs.items() if key != _SESSION}
        chat = chat.model_copy(update={"additional_kwargs": kwargs})
    return to_message(chat)


def _overlap(stored: Sequence[Message], given: Sequence[Message]) -> list[Message]:
    """The stored messages that are the first of the given ones: all of them somewhere, or as many as possible at
    the end. A history is shown again and again, a little longer each time."""
    old, new = [_key(one) for one in stored], [_key(one) for one in given]
    for at in range(len(old) - len(new), -1, -1):
        if old[at : at + len(new)] == new:
            return list(stored[at : at + len(new)])
    for n in range(min(len(old), len(new)), 0, -1):
        if old[-n:] == new[:n]:
            return list(stored[-n:])
    return []


def _key(message: Message) -> tuple[str | None, ...]:
    return (message.role, message.name, message.text, message.payload)


def _answered(messages: Sequence[ChatMessage]) -> bool:
    return bool(messages) and messages[-1].role is MessageRole.ASSISTANT
