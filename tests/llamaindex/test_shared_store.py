"""One store for all: what was told elsewhere is recalled here, and the other way round."""

from __future__ import annotations

import pytest
from llama_index.core.chat_engine import SimpleChatEngine
from scripted_llm import ScriptedLLM

from llamaindex_memorybank import MemoryBankMemory, MemoryBankRetriever
from memorybank import MemoryStore

FACT = "My sister's cat is called Mochi."
QUESTION = "What is my sister's cat called?"


def ask(store: MemoryStore, session: str = "here") -> ScriptedLLM:
    llm = ScriptedLLM(["Mochi."])
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id=session)
    SimpleChatEngine.from_defaults(llm=llm, memory=memory).chat(QUESTION)
    return llm


def test_told_to_the_core_recalled_here(store: MemoryStore) -> None:
    """Messages that the core was given are memories of an engine, and its words are memories of the core."""
    store.bank("gary").add([{"role": "user", "content": FACT}], session="elsewhere")
    assert ask(store).last.count(FACT) == 1
    assert [message.text for message in store.bank("gary").history("here")] == [QUESTION, "Mochi."]


def test_a_session_of_another_origin_goes_on(store: MemoryStore) -> None:
    """A session without our payloads is a history by role and words."""
    store.bank("gary").add(
        [
            {"role": "user", "content": "Hello", "name": "Gary"},
            {"role": "tool", "content": "42", "payload": '{"other": 1}'},
        ],
        session="here",
    )
    llm = ask(store)
    assert [message.role.value for message in llm.seen[0]] == ["user", "tool", "user"]


def test_what_langchain_was_told_is_recalled_here(store: MemoryStore) -> None:
    """Issue 5.7: a LangChain history and this engine work over one store; each recalls what the other was told."""
    pytest.importorskip("langchain_core", reason="LangChain is not installed")
    import langchain_memorybank as lc

    history = lc.MemoryBankChatMessageHistory(store.bank("gary"), session_id="lc")
    history.add_user_message(FACT)
    history.add_ai_message("Lovely.")
    assert ask(store).last.count(FACT) == 1
    found = lc.MemoryBankRetriever(bank=store.bank("gary")).invoke(QUESTION)
    assert any(QUESTION in document.page_content for document in found)
    nodes = MemoryBankRetriever(store.bank("gary")).retrieve("Lovely cat")
    assert any(FACT in node.text for node in nodes)


def test_a_langchain_agent_and_an_engine(store: MemoryStore) -> None:
    """Issue 5.7: told to a LangChain agent with our middleware, asked here."""
    pytest.importorskip("langchain_core", reason="LangChain is not installed")
    import langchain_memorybank as lc

    agents = pytest.importorskip("langchain.agents", reason="LangChain is not installed")
    models = pytest.importorskip("langchain_core.language_models", reason="LangChain is not installed")
    messages = pytest.importorskip("langchain_core.messages", reason="LangChain is not installed")
    model = models.GenericFakeChatModel(messages=iter([messages.AIMessage("Lovely.")]))
    agent = agents.create_agent(model, [], middleware=[lc.MemoryBankMiddleware(store, user_id="gary")])
    agent.invoke({"messages": [("user", FACT)]}, {"configurable": {"thread_id": "lc"}})
    assert ask(store).last.count(FACT) == 1
