"""The user's own LlamaIndex models as MemoryBank's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from pydantic import Field
from scripted_llm import ScriptedLLM

from llamaindex_memorybank import MemoryBankMemory, from_llama_index, from_llm
from memorybank import InvalidInputError, MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder


class TwoWays(BaseEmbedding):
    """Tells queries from documents, as E5 and Cohere do, and counts the calls."""

    calls: list[str] = Field(default_factory=list)

    def _get_query_embedding(self, query: str) -> list[float]:
        self.calls.append("query")
        return [1.0, 0.0, 0.0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        self.calls.append("text")
        return [0.0, 1.0, 0.0]


def test_queries_and_documents_go_their_ways() -> None:
    """A query embedding is no text embedding; documents go in a batch."""
    embedder = from_llama_index(TwoWays(model_name="two"))
    assert np.asarray(embedder.embed_query("a")).tolist() == [1, 0, 0]
    assert np.asarray(embedder.embed_documents(["a", "b"])).tolist() == [[0, 1, 0], [0, 1, 0]]
    assert embedder.name == f"llama-index:{TwoWays.class_name()}:two"


def test_the_dimension_is_told_or_asked_for_once() -> None:
    """A model that tells its dimension is not called for it; another one is, once."""
    assert from_llama_index(MockEmbedding(embed_dim=7)).dimension == 7
    model = TwoWays(model_name="two", calls=[])
    embedder = from_llama_index(model)
    assert (embedder.dimension, embedder.dimension) == (3, 3)
    assert model.calls == ["query"]
    assert from_llama_index(model, dimension=3, name="mine").name == "mine"


def test_only_the_frameworks_models_are_wrapped() -> None:
    """Anything else is refused by name."""
    with pytest.raises(InvalidInputError, match="BaseEmbedding, not HashEmbedder"):
        from_llama_index(HashEmbedder())  # type: ignore[arg-type]  # what is refused
    with pytest.raises(InvalidInputError, match="LLM, not str"):
        from_llm("gpt")  # type: ignore[arg-type]  # what is refused


def test_a_store_over_a_users_model(tmp_path: Path) -> None:
    """The store takes the wrapped model, keeps its name, and recalls through it."""
    embedder = from_llama_index(TwoWays(model_name="two"))
    with MemoryStore.open(tmp_path, embedder=embedder, chroma=False) as store:
        store.bank("gary").remember("A cat.")
        assert len(store.bank("gary").recall("anything")) == 1
        assert store.embedder is not None
        assert store.embedder.name == embedder.name


def test_chat_models_are_asked_through_chat() -> None:
    """A chat model gets one user message; another model a completion."""
    llm = ScriptedLLM(["The summary."])
    assert from_llm(llm)("Sum this up.") == "The summary."
    assert [(m.role.value, m.content) for m in llm.seen[0]] == [("user", "Sum this up.")]
    assert from_llm(MockLLM())("echo") == "echo"


def test_finished_days_are_summed_up_in_the_background(tmp_path: Path, clock: FrozenClock) -> None:
    """The first exchange of a new day lets the days before be summed up by the user's model, on another thread."""
    llm = ScriptedLLM()
    with MemoryStore.open(
        tmp_path, embedder=HashEmbedder(), clock=clock, chroma=False, llm=from_llm(llm)
    ) as store:
        first = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="a")
        first.put({"role": "user", "content": "My cat Mochi was ill."})  # type: ignore[arg-type]  # a dict
        assert store.bank("gary").events(clock().date()) is None
        day = clock().date()
        clock.set(clock().replace(day=clock().day + 1))
        first.put({"role": "user", "content": "She is well again."})  # type: ignore[arg-type]  # a dict
        first.put({"role": "assistant", "content": "Good!"})  # type: ignore[arg-type]  # a dict
        bank = first.bank
        bank.runtime.background.drain(30)
        assert bank.events(day) is not None
    assert any("Mochi" in str(message.content) for call in llm.seen for message in call)
