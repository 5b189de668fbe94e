"""MemoryBankMiddleware in ``create_agent``: what a user gets, on a frozen clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from scripted_chat import ScriptedChatModel, calls, system_of

from langchain_memorybank import MemoryBankMiddleware
from memorybank import MemoryStore, OwnerError
from memorybank.testing import FrozenClock

Run = Callable[..., None]


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def said(words: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(words)]}


def by_invoke(agent: Any, words: str, config: Any, context: Any) -> None:
    agent.invoke(said(words), config, context=context)


def by_stream(agent: Any, words: str, config: Any, context: Any) -> None:
    list(agent.stream(said(words), config, context=context, stream_mode="messages"))


def by_ainvoke(agent: Any, words: str, config: Any, context: Any) -> None:
    asyncio.run(agent.ainvoke(said(words), config, context=context))


def by_astream(agent: Any, words: str, config: Any, context: Any) -> None:
    async def go() -> None:
        async for _ in agent.astream(said(words), config, context=context, stream_mode="messages"):
            pass

    asyncio.run(go())


RUNS = pytest.mark.parametrize("run", [by_invoke, by_stream, by_ainvoke, by_astream])


def texts(store: MemoryStore, session: str, user: str = "gary") -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in store.bank(user).history(session)]


@RUNS
@pytest.mark.parametrize("saver", [None, InMemorySaver])
def test_a_fact_of_day_1_reaches_the_model_on_day_8(
    run: Run, saver: Any, store: MemoryStore, clock: FrozenClock
) -> None:
    """What was told in one thread is in the prompt of another, dated, once, in one leading system message."""
    model = ScriptedChatModel("Congratulations on the cat!", "Fine.", "She is called Mochi.")
    agent = create_agent(
        model,
        system_prompt="You are kind.",
        middleware=[MemoryBankMiddleware(store)],
        checkpointer=saver() if saver else None,
    )
    context = {"user_id": "gary"}
    run(agent, "I got a cat. Her name is Mochi.", thread("day 1"), context)
    clock.advance(timedelta(days=2))
    run(agent, "The weather is awful today.", thread("day 3"), context)
    clock.advance(timedelta(days=5))
    run(agent, "What is the name of my cat?", thread("day 8"), context)

    system = system_of(model.seen[-1])
    assert system.startswith("You are kind.")
    assert system.count("Her name is Mochi") == 1
    assert "2026-03-02 Mon" in system
    assert "What is the name of my cat?" not in system, "the question was recalled to itself"
    assert texts(store, "day 1") == [
        ("user", "I got a cat. Her name is Mochi."),
        ("assistant", "Congratulations on the cat!"),
    ]
    assert texts(store, "day 8") == [("user", "What is the name of my cat?"), ("assistant", "She is called Mochi.")]
