"""An agent that remembers: three conversations over eight days, on a clock that we move.

Runs without a key: the model is scripted, so that you see what reaches it. Put a real one in its place.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_memorybank import MemoryBankMiddleware
from memorybank import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder


class ShowingModel(GenericFakeChatModel):
    """Answers from a script, and prints the system message it was given."""

    def _generate(self, messages, *args, **kwargs):
        system = next((m.text for m in messages if m.type == "system"), "(none)")
        print(f"\n--- what the model is told, for {messages[-1].text!r}\n{system}")
        return super()._generate(messages, *args, **kwargs)


def main() -> None:
    clock = FrozenClock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    replies = ["What a lovely name!", "Take an umbrella.", "Mochi, from the shelter in Porto."]
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore.open(folder, clock=clock, embedder=HashEmbedder()) as store,
    ):
        store.bank("gary", timezone="Europe/Lisbon")
        memory = MemoryBankMiddleware(store)
        agent = create_agent(
            ShowingModel(messages=iter([AIMessage(reply) for reply in replies])),
            system_prompt="You are a kind companion.",
            middleware=[memory],
            checkpointer=InMemorySaver(),
        )

        def say(words: str, thread: str) -> None:
            agent.invoke(
                {"messages": [HumanMessage(words)]},
                {"configurable": {"thread_id": thread}},
                context={"user_id": "gary"},
            )

        say("I adopted a cat from the shelter in Porto. Her name is Mochi.", thread="monday")
        clock.advance(timedelta(days=2))
        say("It has been raining all day.", thread="wednesday")
        clock.advance(timedelta(days=5))
        say("What is the name of my cat?", thread="a week later")

        bank = memory.bank_for("gary")
        print("\n--- strength after a week")
        for one in bank.memories(levels=["turn"]):
            print(f"S={one.strength}  {one.began:%a %d %b}  {one.text.splitlines()[0]}")


if __name__ == "__main__":
    main()
