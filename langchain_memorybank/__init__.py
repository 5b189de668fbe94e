"""MemoryBank for LangChain and LangGraph: middleware, history, retriever, tools, store, model wrappers.

    from langchain.agents import create_agent
    from langchain_memorybank import MemoryBankMiddleware
    from memorybank import MemoryStore

    store = MemoryStore.open("./memory")
    agent = create_agent(model, tools, middleware=[MemoryBankMiddleware(store)])
    agent.invoke({"messages": [("user", "I moved to Lisbon.")]}, context={"user_id": "gary"})

History, retriever, tools and model wrappers need ``langchain-core`` alone; the middleware needs ``langchain``,
the store ``langgraph``. Names are loaded at first use, so that nothing else is imported.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if find_spec("langchain_core") is None:
    raise ImportError(
        "langchain_memorybank needs LangChain; install it with: pip install 'memorybank-core[langchain]'"
    )

if TYPE_CHECKING:
    from langchain_memorybank.history import MemoryBankChatMessageHistory
    from langchain_memorybank.middleware import MemoryBankMiddleware
    from langchain_memorybank.models import from_chat_model, from_langchain
    from langchain_memorybank.retriever import MemoryBankRetriever
    from langchain_memorybank.store import MemoryBankStore
    from langchain_memorybank.tools import memorybank_tools

# Name → (module, what that module needs beyond langchain-core).
_HOMES = {
    "MemoryBankChatMessageHistory": ("history", None),
    "MemoryBankMiddleware": ("middleware", "langchain"),
    "MemoryBankRetriever": ("retriever", None),
    "MemoryBankStore": ("store", "langgraph"),
    "from_chat_model": ("models", None),
    "from_langchain": ("models", None),
    "memorybank_tools": ("tools", None),
}

__all__ = [
    "MemoryBankChatMessageHistory",
    "MemoryBankMiddleware",
    "MemoryBankRetriever",
    "MemoryBankStore",
    "from_chat_model",
    "from_langchain",
    "memorybank_tools",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'langchain_memorybank' has no attribute {name!r}")
    module, needs = home
    if needs is not None and find_spec(needs) is None:
        raise ImportError(f"{name} needs {needs}; install it with: pip install 'memorybank-core[langchain]'")
    value = getattr(import_module(f"langchain_memorybank.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
