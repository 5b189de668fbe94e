"""The public API of llamaindex_memorybank, used as user code. Type-checked, never run."""

from __future__ import annotations

from pathlib import Path

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemory, Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle

from llamaindex_memorybank import (
    ForgettingPostprocessor,
    InsertMethod,
    MemoryBankBlock,
    MemoryBankMemory,
    MemoryBankRetriever,
    MemoryBankToolSpec,
    connect,
    from_llama_index,
    from_llm,
)
from memorybank import Level, MemoryBank, MemoryStore


def report(error: Exception) -> None:
    raise error


def memories(store: MemoryStore, llm: LLM, model: BaseEmbedding) -> BaseMemory:
    MemoryBankMemory.from_defaults(path="./memory", user_id="gary", llm=llm, embed_model=model)
    MemoryBankMemory.from_defaults(bank=store.bank("gary"), session_id="monday", credit="used")
    memory: MemoryBankMemory = MemoryBankMemory.from_defaults(
        store=store,
        user_id="gary",
        session_id="monday",
        chat_history=[ChatMessage(role="user", content="Hello")],
        token_limit=8_000,
        memory_token_limit=1_000,
        insert_method=InsertMethod.USER,
        on_error=report,
        k=8,
        min_score="auto",
    )
    history: list[ChatMessage] = memory.get(input=QueryBundle("cat"), initial_token_count=100)
    memory.set(history)
    memory.put(history[0])
    bank: MemoryBank = memory.bank
    bank.forget()
    restored: MemoryBankMemory = MemoryBankMemory.from_dict(memory.to_dict())
    restored.close()
    written: bool = memory.flush()
    assert written
    return memory


async def engines(llm: LLM, memory: MemoryBankMemory, bank: MemoryBank) -> str:
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    agent = FunctionAgent(tools=list(MemoryBankToolSpec(bank, allow_forget=True).to_tool_list()), llm=llm)
    await agent.run(user_msg="Hello", memory=memory)
    return str(await engine.achat("Hello"))


def retrieval(store: MemoryStore, bank: MemoryBank) -> list[NodeWithScore]:
    retriever = MemoryBankRetriever(
        bank, k=3, levels=[Level.NOTE, "turn"], asking="monday", since="2026-01-01"
    )
    RetrieverQueryEngine.from_args(
        retriever, node_postprocessors=[ForgettingPostprocessor(store=store, user_id="gary", weight=0.5)]
    )
    return retriever.retrieve("cat")


def blocks(bank: MemoryBank) -> Memory:
    block = MemoryBankBlock(bank=bank, max_tokens=800)
    memory = Memory.from_defaults(session_id="monday", memory_blocks=[block])
    block.flush(memory)
    return memory


def stores(path: Path, model: BaseEmbedding, llm: LLM) -> None:
    with MemoryStore.open(path, embedder=from_llama_index(model), llm=from_llm(llm)) as store:
        place: str = connect(store)
        assert place
