"""Embedders: the protocol, the offline default, any callable, and the one checked door to all of them."""

from memorybank.embedding.callable import CallableEmbedder, EmbeddingFunction
from memorybank.embedding.checked import embed_documents, embed_query
from memorybank.embedding.local import MISSING_LOCAL, LocalEmbedder, default_embedder
from memorybank.embedding.protocol import Embedder, as_embedder

__all__ = [
    "MISSING_LOCAL",
    "CallableEmbedder",
    "Embedder",
    "EmbeddingFunction",
    "LocalEmbedder",
    "as_embedder",
    "default_embedder",
    "embed_documents",
    "embed_query",
]
