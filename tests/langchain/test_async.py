"""No blocking call on the event loop: sqlite, files, locks and sleeps all happen on other threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from scripted_chat import ScriptedChatModel, calls

from langchain_memorybank import (
    MemoryBankChatMessageHistory,
    MemoryBankMiddleware,
    MemoryBankRetriever,
    MemoryBankStore,
    memorybank_tools,
)
from memorybank import MemoryBank, MemoryStore

blockbuster = pytest.importorskip("blockbuster", reason="blockbuster is not installed")


@pytest.fixture
def guard(bank: MemoryBank) -> Iterator[None]:
    """Any blocking call on the loop raises; what is loaded lazily is loaded before."""
    bank.add([{"role": "user", "content": "My cat is called Mochi."}], session="warm")
    bank.context("cat")
    with blockbuster.blockbuster_ctx():
        yield


async def test_the_guard_works(guard: None, bank: MemoryBank) -> None:
    """The plain call does block: the tests below would notice."""
    with pytest.raises(Exception, match="Blocking call"):
        bank.history("warm")


async def test_the_middleware_and_tools_do_not_block(guard: None, store: MemoryStore) -> None:
    """Trap 7: a whole agent turn with tools, streaming and a checkpointer."""
    model = ScriptedChatModel(
        calls(("search_memory", {"query": "cat"}), ("remember", {"text": "Gary has a cat."})), "Mochi."
    )
    agent = create_agent(
        model,
        memorybank_tools(store),
        middleware=[MemoryBankMiddleware(store, on_error="raise")],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    async for _ in agent.astream(
        {"messages": [HumanMessage("What is my cat called?")]}, config, context={"user_id": "gary"}
    ):
        pass
    assert "Mochi" in model.seen[0][0].text


async def test_history_retriever_and_store_do_not_block(guard: None, bank: MemoryBank) -> None:
    """All their async members."""
    history = MemoryBankChatMessageHistory(bank, "s")
    await history.aadd_messages([HumanMessage("Hi")])
    assert len(await history.aget_messages()) == 1
    await history.aclear()
    assert await MemoryBankRetriever(bank=bank).ainvoke("cat")
    items = MemoryBankStore(bank=bank)
    await items.aput(("t",), "k", {"text": "cat"})
    assert await items.aget(("t",), "k")
    assert await items.asearch(("t",), query="cat")
    assert await items.alist_namespaces()
    await items.adelete(("t",), "k")
