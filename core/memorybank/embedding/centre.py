"""Makes ``centre.npy``, the constant that ``LocalEmbedder`` subtracts.

    python -m memorybank.embedding.centre

It is the mean of the document vectors of ``centre_sentences.txt``: as many English as Chinese sentences, so that
neither language is the centre, embedded as turns are ("speaker: words"). Needs the extra ``local``; the same
model file gives the same constant.
"""

from __future__ import annotations

import sys
from itertools import cycle
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memorybank.embedding.local import LocalEmbedder

SPEAKERS = ("user", "assistant", "Anna", "小林", "Tom", "陈静")
_HERE = Path(__file__).parent


def sentences() -> list[str]:
    """The sentences, each after a speaker's name."""
    lines = (_HERE / "centre_sentences.txt").read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line and not line.startswith("#")]
    return [f"{name}: {text}" for name, text in zip(cycle(SPEAKERS), texts, strict=False)]


def compute() -> NDArray[np.float32]:
    """The mean vector, shape (384,)."""
    mean: NDArray[np.float64] = (
        LocalEmbedder(centred=False).embed_documents(sentences()).mean(0, dtype=np.float64)
    )
    return mean.astype(np.float32)


if __name__ == "__main__":
    made: NDArray[np.float32] = compute()
    np.save(_HERE / "centre.npy", made)
    sys.stdout.write(f"centre.npy: {made.shape[0]} numbers, length {np.linalg.norm(made):.4f}\n")
