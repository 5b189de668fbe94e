"""Makes ``centre.npy``, the constant that ``LocalEmbedder`` subtracts.

    python -m memorybank.embedding.centre

Row 0 is the mean of the document vectors, row 1 that of the query vectors, both over ``centre_sentences.txt``
(English and Chinese in equal parts, so that neither language becomes the centre). Statements are embedded as
turns are: "speaker: words". Needs the extra ``local``; the same model file gives the same constant.
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


def sentences() -> tuple[list[str], list[str]]:
    """The statements, each after a speaker's name, and the questions."""
    lines = (_HERE / "centre_sentences.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t", 1) for line in lines if line and not line.startswith("#")]
    statements = [text for kind, text in pairs if kind == "d"]
    questions = [text for kind, text in pairs if kind == "q"]
    return [f"{name}: {text}" for name, text in zip(cycle(SPEAKERS), statements, strict=False)], questions


def compute() -> NDArray[np.float32]:
    """The two mean vectors, shape (2, 384)."""
    embedder = LocalEmbedder(centred=False)
    statements, questions = sentences()
    passage = embedder.embed_documents(statements).mean(axis=0)
    query = np.stack([embedder.embed_query(question) for question in questions]).mean(axis=0)
    return np.stack([passage, query]).astype(np.float32)


if __name__ == "__main__":
    made = compute()
    np.save(_HERE / "centre.npy", made)
    sys.stdout.write(f"centre.npy: shape {made.shape}, lengths {np.linalg.norm(made, axis=1).round(4)}\n")
