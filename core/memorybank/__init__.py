"""MemoryBank: long-term memory for LLM companions and agents.

    store = MemoryStore.open("./memory")
    bank = store.bank("gary")
    bank.add([{"role": "user", "content": "My sister's cat is called Mochi."}], session="monday")
    bank.recall("What is the cat's name?")

Names are loaded at first use, so that importing the package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memorybank.bank import MemoryBank
    from memorybank.embedding import CallableEmbedder, Embedder, LocalEmbedder
    from memorybank.errors import (
        DamagedStoreError,
        EmbedderMismatchError,
        EmbeddingError,
        ImportFormatError,
        IndexUnavailableError,
        InvalidInputError,
        LLMError,
        MemoryBankError,
        NotFoundError,
        OwnerError,
        ReadOnlyError,
        RerankError,
        SchemaError,
        StoreError,
    )
    from memorybank.forgetting import ForgettingCurve, ForgettingPolicy
    from memorybank.models import (
        Consolidated,
        Context,
        Erased,
        Explanation,
        Failure,
        Finding,
        Forgotten,
        Level,
        Link,
        Maker,
        Memory,
        Message,
        Recalled,
        Report,
        Stats,
        Status,
        Version,
        Window,
    )
    from memorybank.rerank import CrossEncoder, Reranker
    from memorybank.store import MemoryStore

_HOMES = {
    "memorybank.bank": ("MemoryBank",),
    "memorybank.store": ("MemoryStore",),
    "memorybank.embedding": ("CallableEmbedder", "Embedder", "LocalEmbedder"),
    "memorybank.rerank": ("CrossEncoder", "Reranker"),
    "memorybank.forgetting": ("ForgettingCurve", "ForgettingPolicy"),
    "memorybank.errors": (
        "DamagedStoreError",
        "EmbedderMismatchError",
        "EmbeddingError",
        "ImportFormatError",
        "IndexUnavailableError",
        "InvalidInputError",
        "LLMError",
        "MemoryBankError",
        "NotFoundError",
        "OwnerError",
        "ReadOnlyError",
        "RerankError",
        "SchemaError",
        "StoreError",
    ),
    "memorybank.models": (
        "Consolidated",
        "Context",
        "Erased",
        "Explanation",
        "Failure",
        "Finding",
        "Forgotten",
        "Level",
        "Link",
        "Maker",
        "Memory",
        "Message",
        "Recalled",
        "Report",
        "Stats",
        "Status",
        "Version",
        "Window",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "CallableEmbedder",
    "Consolidated",
    "Context",
    "CrossEncoder",
    "DamagedStoreError",
    "Embedder",
    "EmbedderMismatchError",
    "EmbeddingError",
    "Erased",
    "Explanation",
    "Failure",
    "Finding",
    "ForgettingCurve",
    "ForgettingPolicy",
    "Forgotten",
    "ImportFormatError",
    "IndexUnavailableError",
    "InvalidInputError",
    "LLMError",
    "Level",
    "Link",
    "LocalEmbedder",
    "Maker",
    "Memory",
    "MemoryBank",
    "MemoryBankError",
    "MemoryStore",
    "Message",
    "NotFoundError",
    "OwnerError",
    "ReadOnlyError",
    "Recalled",
    "Report",
    "RerankError",
    "Reranker",
    "SchemaError",
    "Stats",
    "Status",
    "StoreError",
    "Version",
    "Window",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'memorybank' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
