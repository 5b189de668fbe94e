"""Any function as an embedder."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from memorybank.errors import InvalidInputError

EmbeddingFunction = Callable[[list[str]], ArrayLike]
"""From n texts to n vectors (lists, numpy arrays, anything numpy can read)."""


class CallableEmbedder:
    """Wraps a function ``list[str] -> vectors``: a service's client, a model of one's own.

    ``name`` must change whenever the vectors do (model, version, prefix). ``query_function`` serves models
    that embed questions differently. ``max_characters`` cuts longer texts before the call (default 6,000).
    """

    def __init__(
        self,
        function: EmbeddingFunction,
        dimension: int,
        name: str,
        *,
        query_function: EmbeddingFunction | None = None,
        max_characters: int | None = None,
    ) -> None:
        problems = [
            f"{what} must be a function from list[str] to vectors, not async"
            for what, given in (("function", function), ("query_function", query_function or function))
            if not callable(given) or inspect.iscoroutinefunction(given)
        ]
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            problems.append(f"dimension must be a positive integer, not {dimension!r}")
        if not isinstance(name, str) or not name.strip():
            problems.append("name must be a non-blank string")
        if max_characters is not None and max_characters < 1:
            problems.append(f"max_characters must be at least 1, not {max_characters}")
        if problems:
            raise InvalidInputError("; ".join(problems))
        self.name = name
        self.dimension = dimension
        self.max_characters = max_characters
        self._function = function
        self._query_function = query_function or function

    def embed_documents(self, texts: list[str]) -> ArrayLike:
        """What the function returns, unchecked."""
        return self._function(texts)

    def embed_query(self, text: str) -> ArrayLike:
        """The one vector that the function returns for the one text, unchecked."""
        vectors = np.asarray(self._query_function([text]))
        return vectors[0] if vectors.ndim == 2 and len(vectors) == 1 else vectors
