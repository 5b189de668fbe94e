"""LangChain's models as MemoryBank's: embeddings as an Embedder, a chat model as the LLM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from memorybank import Embedder, EmbeddingError, InvalidInputError, LLMError

# LangGraph leaves calls with this tag out of the user's token stream (langgraph.constants.TAG_NOSTREAM; spelled
# here because langchain-core is enough for this module).
_NO_STREAM = "nostream"
_NAMES = ("model", "model_name", "model_id", "deployment", "repo_id")


class _LangChainEmbedder:
    """LangChain's ``Embeddings`` behind the four members of an Embedder."""

    def __init__(self, embeddings: Embeddings, name: str, dimension: int) -> None:
        self._embeddings = embeddings
        self.name = name
        self.dimension = dimension

    def __repr__(self) -> str:
        return f"from_langchain({type(self._embeddings).__name__}, name={self.name!r}, dimension={self.dimension})"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of stored texts, shape (len(texts), dimension)."""
        return self._embeddings.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, shape (dimension,)."""
        return self._embeddings.embed_query(text)


def from_langchain(
    embeddings: Embeddings, *, name: str | None = None, dimension: int | None = None
) -> Embedder:
    """Any LangChain ``Embeddings`` as the embedder of a store: ``MemoryStore.open(…, embedder=from_langchain(e))``.

    ``name`` identifies the model in the store (default: class and model name). ``dimension`` is the length of
    its vectors; left out, one word is embedded to find it out. Raises EmbeddingError if that fails.
    """
    if not isinstance(embeddings, Embeddings):
        raise InvalidInputError(
            f"from_langchain takes a LangChain Embeddings object, not {type(embeddings).__name__}"
        )
    if dimension is None:
        try:
            dimension = len(embeddings.embed_query("memory"))
        except Exception as error:  # any provider's own error
            raise EmbeddingError(
                f"{type(embeddings).__name__} could not embed a word to find out its dimension "
                f"({type(error).__name__}); give dimension="
            ) from error
    return _LangChainEmbedder(embeddings, name or _name_of(embeddings), dimension)


def _name_of(embeddings: Embeddings) -> str:
    kind = type(embeddings).__name__
    for attribute in _NAMES:
        model = getattr(embeddings, attribute, None)
        if isinstance(model, str) and model.strip():
            return f"{kind}/{model}"
    return kind


def from_chat_model(
    model: BaseLanguageModel[Any] | Runnable[Any, Any], **config: Any
) -> Callable[[str], str]:
    """A LangChain chat model as the LLM that writes summaries: ``MemoryStore.open(…, llm=from_chat_model(model))``.

    Its calls carry the tag that keeps them out of an agent's token stream, and ``lc_source`` in their metadata.
    ``config`` is added to the RunnableConfig of every call (``tags``, ``metadata``, ``callbacks`` …).
    A failing or empty answer raises LLMError.
    """
    if not isinstance(model, Runnable):
        raise InvalidInputError(f"from_chat_model takes a LangChain chat model, not {type(model).__name__}")
    settings: RunnableConfig = {
        "run_name": "memorybank",
        **config,  # type: ignore[typeddict-item]  # the caller's own keys of RunnableConfig
        "tags": [*config.get("tags", ()), _NO_STREAM, "memorybank"],
        "metadata": {**config.get("metadata", {}), "lc_source": "memorybank", **_internal()},
    }

    def ask(prompt: str) -> str:
        try:
            reply = model.invoke(prompt, settings)
        except Exception as error:  # any provider's own error
            raise LLMError(f"{type(model).__name__} failed: {type(error).__name__}") from error
        text = str(reply.text) if isinstance(reply, BaseMessage) else str(reply)
        if not text.strip():
            raise LLMError(f"{type(model).__name__} gave an empty answer")
        return text

    return ask


def _internal() -> dict[str, Any]:
    """LangChain's own mark of a middleware's inner call, where this version has one."""
    try:
        from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
    except ImportError:
        return {}
    return dict(internal_call_metadata())
