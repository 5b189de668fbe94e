"""What the benchmarks work on: invented talk with a realistic spread of words, and vectors that cost nothing."""

from __future__ import annotations

import hashlib
import threading

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
_VOCABULARY = 8_000
_KEPT = 250_000  # texts whose vectors are kept when new ones come


class FreeEmbedder:
    """Vectors by lookup: embedding time is no part of what is measured. A text's vector is a mix of its words'.

    ``keep``: how many texts' vectors stay in memory, the latest (1.5 kB each); the others are made
    again when asked for.
    """

    name = "benchmark-384"
    dimension = DIMENSION

    def __init__(self, seed: int = 7, keep: int = _KEPT) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        rng = np.random.default_rng(seed)
        self._words = rng.standard_normal((_VOCABULARY, DIMENSION)).astype(np.float32)
        self._known: dict[str, NDArray[np.float32]] = {}

    def prepare(self, texts: list[str]) -> NDArray[np.float32]:
        """Make the vectors of these texts beforehand. Any thread may call it."""
        with self._lock:
            return self._made(texts)

    def _made(self, texts: list[str]) -> NDArray[np.float32]:
        for text in texts:
            if text not in self._known:
                rows = [_number(word) for word in text.split()]
                vector = self._words[rows].sum(axis=0)
                self._known[text] = vector / np.linalg.norm(vector)
        found: NDArray[np.float32] = np.stack([self._known[text] for text in texts])
        while len(self._known) > self._keep:
            del self._known[next(iter(self._known))]
        return found

    def embed_documents(self, texts: list[str], /) -> NDArray[np.float32]:
        return self.prepare(texts)

    def embed_query(self, text: str, /) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.prepare([text])[0]
        return found


def _number(word: str) -> int:
    if word.startswith("w") and word[1:].isdigit():
        return int(word[1:]) % _VOCABULARY
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little") % _VOCABULARY


def talk(n: int, seed: int, words: int = 18) -> list[str]:
    """``n`` texts whose words follow Zipf's law, as words of real talk do."""
    rng = np.random.default_rng(seed)
    ranks = np.minimum(rng.zipf(1.25, size=(n, words)), _VOCABULARY) - 1
    return [" ".join(f"w{rank}" for rank in row) for row in ranks.tolist()]
