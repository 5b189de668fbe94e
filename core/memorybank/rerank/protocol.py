"""What MemoryBank asks of a reranker."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from memorybank.errors import InvalidInputError


@runtime_checkable
class Reranker(Protocol):
    """Reads a question and a text together and says how well the text answers. Any such object is one.

    A reranker may also have ``languages`` (a set of "en" and "zh"): it is then left out where the question, or
    most of what was found, is in another language; and ``top`` (at least 1): how many of the best it reads (30).
    """

    @property
    def name(self) -> str:
        """Identity of the model, version included."""
        ...

    def score(self, query: str, texts: list[str], /) -> ArrayLike:
        """How well each text answers, shape (len(texts),), from 0 (not at all) to 1."""
        ...


_HOW = (
    "A reranker has name: str and score(query: str, texts: list[str]), which gives a number in 0..1 for each."
)


def as_reranker(obj: object) -> Reranker:
    """``obj`` itself if it is a reranker; else InvalidInputError: what is missing."""
    if isinstance(obj, type):
        raise InvalidInputError(f"{obj.__name__} is a class; give an instance of it. {_HOW}")
    kind = type(obj).__name__
    missing = [part for part in ("name", "score") if not hasattr(obj, part)]
    if missing:
        raise InvalidInputError(f"{kind} is not a reranker: it has no {', '.join(missing)}. {_HOW}")
    if not isinstance(obj, Reranker) or not callable(obj.score):
        raise InvalidInputError(f"{kind} is not a reranker: its score must be a method. {_HOW}")
    if not isinstance(obj.name, str) or not obj.name.strip():
        raise InvalidInputError(f"{kind} is not a reranker: its name must be a non-blank string. {_HOW}")
    top = getattr(obj, "top", 1)
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InvalidInputError(f"{kind} has top={top!r}; give a whole number from 1 on, or no top at all")
    return obj
