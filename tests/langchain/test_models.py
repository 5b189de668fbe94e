"""from_langchain, from_chat_model: the user's own models drive embedding and consolidation."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from scripted_chat import ScriptedChatModel

from langchain_memorybank import MemoryBankMiddleware, from_chat_model, from_langchain
from memorybank import EmbeddingError, InvalidInputError, LLMError, MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder


class HashEmbeddings(Embeddings):
    """LangChain's interface over words hashed."""

    model = "hash-3"

    def __init__(self) -> None:
        self._hash = HashEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(x) for x in self._hash.embed_query(text)]


def test_embeddings_become_an_embedder(tmp_path: Path) -> None:
    """Named by class and model, so that a store refuses another; the dimension is found out or given."""
    embedder = from_langchain(HashEmbeddings())
    assert (embedder.name, embedder.dimension) == ("HashEmbeddings/hash-3", 256)
    with MemoryStore.open(tmp_path, embedder=embedder, chroma=False) as store:
        bank = store.bank("gary")
        bank.add([{"role": "user", "content": "My cat is called Mochi."}])
        assert bank.recall("cat Mochi")[0].similarity > 0.3
    named = from_langchain(DeterministicFakeEmbedding(size=8), name="mine", dimension=8)
    assert (named.name, named.dimension) == ("mine", 8)


def test_embeddings_that_fail_say_so() -> None:
    """A clear error of ours; not an Embeddings: what to give."""

    class Down(HashEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            raise OSError("no network")

    with pytest.raises(EmbeddingError, match="dimension="):
        from_langchain(Down())
    with pytest.raises(InvalidInputError, match="Embeddings"):
        from_langchain("openai:text-embedding-3-small")  # type: ignore[arg-type]  # wrong on purpose


def test_a_chat_model_becomes_the_llm() -> None:
    """A text in, a text out; chat models, plain LLMs and chains; tagged, so that nothing leaks into a stream."""
    seen: list[Any] = []

    def reply(prompt: Any, config: Any) -> str:
        seen.append(config)
        return "fine"

    assert from_chat_model(ScriptedChatModel("A summary."))("Sum up.") == "A summary."
    assert from_chat_model(FakeListLLM(responses=["plain"]))("Sum up.") == "plain"
    assert from_chat_model(RunnableLambda(reply), tags=["mine"], metadata={"team": 1})("Sum up.") == "fine"
    assert {"nostream", "mine"} <= set(seen[0]["tags"])
    assert seen[0]["metadata"]["lc_source"] == "memorybank"
    assert seen[0]["metadata"]["team"] == 1


def test_the_tag_is_the_one_of_langgraph() -> None:
    """We spell it to need no LangGraph; it must stay the same."""
    from langgraph.constants import TAG_NOSTREAM

    from langchain_memorybank.models import _NO_STREAM

    assert _NO_STREAM == TAG_NOSTREAM


@pytest.mark.parametrize("step", [RuntimeError("secret words"), "", "  \n"])
def test_a_model_that_fails_or_says_nothing_is_an_llm_error(step: Any) -> None:
    """With the kind of error, without the words."""
    with pytest.raises(LLMError) as caught:
        from_chat_model(ScriptedChatModel(step))("Sum up.")
    assert "secret words" not in str(caught.value)


def test_its_calls_stay_out_of_the_users_stream(store: MemoryStore) -> None:
    """``stream_mode="messages"`` shows the agent's tokens only, although the LLM is called inside a node."""
    ask = from_chat_model(ScriptedChatModel("SUMMARY of the day"))

    def consult(question: str) -> str:
        """Consult."""
        return str(len(ask(question)))

    from scripted_chat import calls

    agent = create_agent(
        ScriptedChatModel(calls(("consult", {"question": "x"})), "Done."),
        [consult],
        middleware=[MemoryBankMiddleware(store)],
    )
    streamed = list(
        agent.stream({"messages": [HumanMessage("Hi")]}, context={"user_id": "g"}, stream_mode="messages")
    )
    assert "Done." in repr(streamed)
    assert "SUMMARY" not in repr(streamed)


def test_consolidation_runs_behind_the_turn_and_is_done_at_close(tmp_path: Path, clock: FrozenClock) -> None:
    """After a day's turn the finished day is summarised by the user's model, on another thread than the turn's; close
    waits for it."""
    import threading

    threads: list[int] = []

    def write(messages: list[Any]) -> str:
        threads.append(threading.get_ident())
        return "Gary moved to Porto on 2026-03-02."

    with MemoryStore.open(
        tmp_path,
        embedder=HashEmbedder(),
        clock=clock,
        chroma=False,
        llm=from_chat_model(ScriptedChatModel(write)),
    ) as store:
        agent = create_agent(ScriptedChatModel("Good."), middleware=[MemoryBankMiddleware(store)])
        store.bank("gary", timezone="UTC")
        agent.invoke({"messages": [HumanMessage("I moved to Porto.")]}, context={"user_id": "gary"})
        clock.advance(timedelta(days=1))
        agent.invoke({"messages": [HumanMessage("Good morning.")]}, context={"user_id": "gary"})
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=clock, chroma=False) as store:
        events = store.bank("gary").events("2026-03-02")
        assert events is not None
        assert "Porto" in events.text
    assert threads
    assert threading.get_ident() not in threads
