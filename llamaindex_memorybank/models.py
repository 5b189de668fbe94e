"""The user's own LlamaIndex models as MemoryBank's embedder and language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.llm import LLM
from numpy.typing import NDArray

from memorybank import Embedder, InvalidInputError

# Where integrations keep the length of their vectors. What is not there is asked of the model, once.
_DIMENSION_FIELDS = ("embed_dim", "dimensions", "dimension")


class LlamaIndexEmbedder:
    """A ``BaseEmbedding`` as an Embedder. Documents and queries go different ways, as many models want it."""

    def __init__(
        self, model: BaseEmbedding, *, dimension: int | None = None, name: str | None = None
    ) -> None:
        self._model = model
        self._dimension = dimension
        self.name: str = name or f"llama-index:{model.class_name()}:{model.model_name}"

    @property
    def dimension(self) -> int:
        """Length of the vectors. Asked for at the store's opening; costs one call if the model does not tell."""
        if self._dimension is None:
            told = [getattr(self._model, field, None) for field in _DIMENSION_FIELDS]
            sizes = [one for one in told if isinstance(one, int) and one > 0]
            self._dimension = sizes[0] if sizes else len(self._model.get_query_embedding("dimension"))
        return self._dimension

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Rows of shape (len(texts), dimension)."""
        return np.asarray(self._model.get_text_embedding_batch(texts), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A vector of shape (dimension,)."""
        return np.asarray(self._model.get_query_embedding(text), dtype=np.float32)


def from_llama_index(
    embed_model: BaseEmbedding, *, dimension: int | None = None, name: str | None = None
) -> Embedder:
    """Wrap a LlamaIndex embedding model: ``MemoryStore.open(path, embedder=from_llama_index(model))``.

    ``name`` (default: class and model name) is kept in the store, which then takes no other embedder.
    Raises InvalidInputError for anything but a ``BaseEmbedding``.
    """
    if not isinstance(embed_model, BaseEmbedding):
        raise InvalidInputError(
            f"embed_model must be a llama_index BaseEmbedding, not {type(embed_model).__name__}"
        )
    return LlamaIndexEmbedder(embed_model, dimension=dimension, name=name)


def from_llm(llm: LLM, **kwargs: Any) -> Callable[[str], str]:
    """Wrap a LlamaIndex model as the store's ``llm``, which writes summaries and portraits.

    Chat models are asked through ``chat``, others through ``complete``; ``kwargs`` go to each call.
    Raises InvalidInputError for anything but an ``LLM``.
    """
    if not isinstance(llm, LLM):
        raise InvalidInputError(f"llm must be a llama_index LLM, not {type(llm).__name__}")

    def ask(prompt: str) -> str:
        if llm.metadata.is_chat_model:
            return (
                llm.chat([ChatMessage(role=MessageRole.USER, content=prompt)], **kwargs).message.content or ""
            )
        return llm.complete(prompt, **kwargs).text

    return ask
