"""The public API as a user writes it. Type-checked (mypy --strict), never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, create_retriever_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore, Item, SearchItem

from langchain_memorybank import (
    MemoryBankChatMessageHistory,
    MemoryBankMiddleware,
    MemoryBankRetriever,
    MemoryBankStore,
    from_chat_model,
    from_langchain,
    memorybank_tools,
)
from memorybank import Embedder, Erased, Level, MemoryBank, MemoryStore


@dataclass
class Context:
    user_id: str


def agent(model: BaseChatModel, store: MemoryStore) -> None:
    memory = MemoryBankMiddleware(store, k=8, levels=["turn", Level.NOTE], inject="human", on_error=print)
    assert_type(memory.bank_for("gary"), MemoryBank)
    assert_type(memory.erase("gary"), Erased)
    middleware: list[AgentMiddleware[Any, Any, Any]] = [memory]
    made = create_agent(
        model,
        tools=memorybank_tools(store),
        middleware=middleware,
        checkpointer=InMemorySaver(),
        store=MemoryBankStore(store),
    )
    made.invoke({"messages": [HumanMessage("Hi")]}, {"configurable": {"thread_id": "t"}})
    typed = create_agent(model, middleware=[MemoryBankMiddleware(store)], context_schema=Context)
    typed.invoke({"messages": [HumanMessage("Hi")]}, context=Context("gary"))
    MemoryBankMiddleware(bank=store.bank("gary"), tools=memorybank_tools(bank=store.bank("gary")))


def history(bank: MemoryBank, store: MemoryStore) -> BaseChatMessageHistory:
    held = MemoryBankChatMessageHistory(bank, "monday", window=20)
    held.add_messages([HumanMessage("Hi"), AIMessage("Hello")])
    assert_type(held.messages, list[BaseMessage])
    return MemoryBankChatMessageHistory(store=store, user_id="gary", session_id="monday")


def retrieve(bank: MemoryBank) -> BaseRetriever:
    retriever = MemoryBankRetriever(bank=bank, k=4, levels=[Level.TURN], score_threshold=0.2, reinforce=False)
    assert_type(retriever.invoke("cat", k=3), list[Document])
    create_retriever_tool(retriever, "memory", "Search memory.")
    return retriever


def tools(store: MemoryStore) -> list[BaseTool]:
    return memorybank_tools(store, user_id="gary", only=["search_memory"])


def items(store: MemoryStore) -> BaseStore:
    held = MemoryBankStore(store, user_id="gary", fields=["text"])
    held.put(("preferences",), "food", {"text": "no peanuts"}, index=["text"])
    assert_type(held.get(("preferences",), "food"), Item | None)
    assert_type(held.search(("preferences",), query="food", limit=3), list[SearchItem])
    assert_type(held.list_namespaces(prefix=("preferences",)), list[tuple[str, ...]])
    return held


def models(embeddings: Embeddings, model: BaseChatModel) -> MemoryStore:
    embedder = from_langchain(embeddings, name="mine", dimension=3)
    assert_type(embedder, Embedder)
    return MemoryStore.open("./memory", embedder=embedder, llm=from_chat_model(model, tags=["mine"]))
