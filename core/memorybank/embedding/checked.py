"""The only door to an embedder: what comes out is float32, finite, of the right shape, of unit length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memorybank.embedding.cutting import clean, cut
from memorybank.embedding.protocol import Embedder
from memorybank.errors import EmbeddingError, InvalidInputError

# Fits the 8,191 tokens that embedding services commonly take, Chinese (up to 1.3 tokens a character)
# included. Local models with less room truncate by themselves, or say so with `max_characters`.
MAX_CHARACTERS = 6_000
_SHORTEST = 1e-12
# Squared lengths between which float32 keeps its precision: nearly every embedder's vectors.
_SAFE_LEAST, _SAFE_MOST = 1e-6, 1e6


def embed_documents(
    embedder: Embedder, texts: Sequence[str], *, batch_size: int = 64, progress: bool = False
) -> NDArray[np.float32]:
    """Unit vectors of texts to store, shape (len(texts), dimension), float32, in order.

    Texts longer than the embedder's ``max_characters`` (default 6,000) are cut to their beginning and end.
    ``progress`` shows a bar on stderr. InvalidInputError for a text that is blank or not a string (before
    anything is embedded); EmbeddingError when the embedder raises or returns something other than finite,
    non-zero vectors of its dimension.
    """
    if batch_size < 1:
        raise InvalidInputError(f"batch_size is {batch_size}; give at least 1")
    ready = [_ready(text, embedder, f"text {number} of {len(texts)}") for number, text in enumerate(texts, 1)]
    vectors = np.empty((len(ready), embedder.dimension), dtype=np.float32)
    for start in _steps(range(0, len(ready), batch_size), progress):
        batch = ready[start : start + batch_size]
        try:
            raw = embedder.embed_documents(batch)
        except Exception as error:  # foreign code: an embedder may raise anything
            raise _raised(embedder, error) from error
        vectors[start : start + len(batch)] = _unit(embedder, raw, (len(batch), embedder.dimension))
    return vectors


def embed_query(embedder: Embedder, text: str) -> NDArray[np.float32]:
    """The unit vector of a question, shape (dimension,), float32. Cuts, raises like ``embed_documents``."""
    ready = _ready(text, embedder, "the query")
    try:
        raw = embedder.embed_query(ready)
    except Exception as error:  # foreign code: an embedder may raise anything
        raise _raised(embedder, error) from error
    return _unit(embedder, raw, (embedder.dimension,))


def _ready(text: object, embedder: Embedder, which: str) -> str:
    if not isinstance(text, str):
        raise InvalidInputError(f"{which} is {type(text).__name__}; give a string")
    limit = getattr(embedder, "max_characters", None) or MAX_CHARACTERS
    ready = cut(clean(text), limit)
    if not text.strip():
        raise InvalidInputError(f"{which} is blank; there is nothing to embed")
    return ready if ready.strip() else "\ufffd"  # of NULs alone nothing is left


def _unit(embedder: Embedder, raw: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float32]:
    if type(raw) is np.ndarray and raw.dtype == np.float32 and raw.shape == shape:
        with np.errstate(all="ignore"):  # what overflows goes the long way
            squares = np.vecdot(raw, raw)
        if squares.min(initial=1.0) > _SAFE_LEAST and squares.max(initial=1.0) < _SAFE_MOST:  # no NaN passes
            made: NDArray[np.float32] = raw / np.sqrt(squares)[..., None]
            return made
    if isinstance(raw, np.ndarray) and np.iscomplexobj(raw):
        raise EmbeddingError(f"embedder {embedder.name!r} returned complex numbers; the vectors are refused")
    try:
        # Through float64, so that values beyond float32 are scaled down instead of becoming infinite.
        vectors = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(
            f"embedder {embedder.name!r} returned {type(raw).__name__}, not numbers of shape {shape}"
        ) from error
    if vectors.shape != shape:
        raise EmbeddingError(
            f"embedder {embedder.name!r} returned shape {vectors.shape}, expected {shape}; "
            "check its dimension, and that it returns one vector per text"
        )
    if not np.isfinite(vectors).all():
        raise EmbeddingError(
            f"embedder {embedder.name!r} returned NaN or infinite numbers; the vectors are refused"
        )
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    if (largest < _SHORTEST).any():
        raise EmbeddingError(
            f"embedder {embedder.name!r} returned a vector of zeros; the vectors are refused"
        )
    vectors = vectors / largest  # first by the largest number: squares of huge numbers would overflow
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    units: NDArray[np.float32] = vectors.astype(np.float32)
    return units


def _raised(embedder: Embedder, error: Exception) -> EmbeddingError:
    # The type only: messages of embedding services may quote the text.
    return EmbeddingError(f"embedder {embedder.name!r} raised {type(error).__name__}; see the chained error")


def _steps(steps: range, progress: bool) -> Iterable[int]:
    if not progress:
        return steps
    from tqdm import tqdm  # type: ignore[import-untyped]  # no stubs; here, as few calls want a bar

    bar: Iterable[int] = tqdm(steps, desc="embedding", unit="batch", disable=None)
    return bar
