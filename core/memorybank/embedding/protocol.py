"""What MemoryBank asks of an embedder."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from memorybank.errors import InvalidInputError


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of one dimension. Any object with these four members is one.

    ``name`` identifies the model: a store refuses an embedder of another name or dimension, so it must change
    whenever the vectors do. Vectors need not be normalised. An embedder may also have ``max_characters``
    (int): longer texts are cut before they reach it.
    """

    @property
    def name(self) -> str:
        """Identity of the model, version included."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    def embed_documents(self, texts: list[str], /) -> ArrayLike:
        """Vectors of texts that are stored, shape (len(texts), dimension)."""
        ...

    def embed_query(self, text: str, /) -> ArrayLike:
        """The vector of a text that is asked, shape (dimension,)."""
        ...


_HOW = (
    "An embedder has name: str, dimension: int, embed_documents(list[str]) and embed_query(str). "
    "Wrap a function from list[str] to vectors: CallableEmbedder(function, dimension=…, name=…)."
)


def as_embedder(obj: object) -> Embedder:
    """``obj`` itself if it is an embedder; else InvalidInputError: what is missing, how to wrap it."""
    kind = f"{obj.__name__} (the class itself)" if isinstance(obj, type) else type(obj).__name__
    if isinstance(obj, type):
        raise InvalidInputError(f"{kind} is not an embedder; give an instance of it. {_HOW}")
    missing = [
        part for part in ("name", "dimension", "embed_documents", "embed_query") if not hasattr(obj, part)
    ]
    if missing:
        hint = _HOW
        if set(missing) <= {"name", "dimension"}:
            hint += " The adapters for LangChain and LlamaIndex wrap those frameworks' own embedding classes."
        raise InvalidInputError(f"{kind} is not an embedder: it has no {', '.join(missing)}. {hint}")
    if not isinstance(obj, Embedder):
        raise InvalidInputError(f"{kind} is not an embedder. {_HOW}")
    problems = []
    if not isinstance(obj.name, str) or not obj.name.strip():
        problems.append("its name must be a non-blank string")
    if isinstance(obj.dimension, bool) or not isinstance(obj.dimension, int) or obj.dimension < 1:
        problems.append(f"its dimension must be a positive integer, not {obj.dimension!r}")
    if not callable(obj.embed_documents) or not callable(obj.embed_query):
        problems.append("its embed_documents and embed_query must be methods")
    if problems:
        raise InvalidInputError(f"{kind} is not an embedder: {'; '.join(problems)}. {_HOW}")
    return obj
