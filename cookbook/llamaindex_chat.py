"""A chat engine and an agent that remember: three conversations over eight days, on a clock that we move.

Runs without a key: the model is scripted, so that you see what reaches it. Put a real one in its place.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ChatResponseGen
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.workflow import Context
from pydantic import Field

from llamaindex_memorybank import MemoryBankMemory, MemoryBankToolSpec
from memorybank import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder


class ShowingModel(MockLLM):
    """Answers from a script, and prints the memory message it was given."""

    replies: list[str] = Field(default_factory=list)

    def __init__(self, *replies: str) -> None:
        super().__init__()
        self.replies = list(replies)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        memory = next((m.content for m in messages if "<memorybank>" in (m.content or "")), "(nothing)")
        asked = [m.content for m in messages if m.role.value == "user"][-1]
        print(f"\n--- what the model is reminded of, for {asked!r}\n{memory}")
        return ChatResponse(message=ChatMessage(role="assistant", content=self.replies.pop(0)))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        yield self.chat(messages)


def remembering(store: MemoryStore, session: str) -> MemoryBankMemory:
    return MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id=session)


async def main() -> None:
    clock = FrozenClock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore.open(folder, clock=clock, embedder=HashEmbedder()) as store,
    ):
        bank = store.bank("gary", timezone="Europe/Lisbon")

        engine = SimpleChatEngine.from_defaults(
            llm=ShowingModel("What a lovely name!"), memory=remembering(store, "monday")
        )
        engine.chat("I got a cat yesterday. Her name is Mochi.")

        clock.advance(timedelta(days=2))
        engine = SimpleChatEngine.from_defaults(
            llm=ShowingModel("Take an umbrella."), memory=remembering(store, "wednesday")
        )
        engine.chat("It is raining and I have to walk to work.")

        clock.advance(timedelta(days=5))
        llm = ShowingModel("Thought: I remember.\nAnswer: Mochi.")
        agent = ReActAgent(tools=MemoryBankToolSpec(bank).to_tool_list(), llm=llm, streaming=False)
        ctx = Context(agent)
        answer = await agent.run(
            user_msg="What is the name of my cat?", memory=remembering(store, "next monday"), ctx=ctx
        )
        print(f"\nThe agent says: {answer}")

        # Saved, restored and run again, the agent has the same memory: it reconnects by itself.
        saved = ctx.to_dict()
        llm.replies.append("Thought: I remember.\nAnswer: You are welcome.")
        await agent.run(user_msg="Thank you!", ctx=Context.from_dict(agent, saved))

        print("\n--- what is remembered")
        for memory in bank.memories():
            print(f"S={memory.strength}  {memory.began:%a %d %b}  {memory.text.splitlines()[0]}")


if __name__ == "__main__":
    asyncio.run(main())
