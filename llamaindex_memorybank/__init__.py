"""MemoryBank for LlamaIndex: a memory for chat engines and agents, a block, a retriever, tools, model wrappers.

    from llama_index.core.chat_engine import SimpleChatEngine
    from llamaindex_memorybank import MemoryBankMemory

    memory = MemoryBankMemory.from_defaults(path="./memory", user_id="gary", session_id="monday")
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)

Everything works over one store, shared with the LangChain adapter and the core.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
    raise ImportError(
        "llamaindex_memorybank needs LlamaIndex; install it with: pip install 'memorybank-core[llamaindex]'"
    )

from llama_index.core.memory.memory import InsertMethod

from llamaindex_memorybank._stores import connect
from llamaindex_memorybank.block import MemoryBankBlock
from llamaindex_memorybank.memory import MemoryBankMemory
from llamaindex_memorybank.models import from_llama_index, from_llm
from llamaindex_memorybank.postprocessor import ForgettingPostprocessor
from llamaindex_memorybank.retriever import MemoryBankRetriever
from llamaindex_memorybank.tools import MemoryBankToolSpec

__all__ = [
    "ForgettingPostprocessor",
    "InsertMethod",
    "MemoryBankBlock",
    "MemoryBankMemory",
    "MemoryBankRetriever",
    "MemoryBankToolSpec",
    "connect",
    "from_llama_index",
    "from_llm",
]
