"""Small banks for ranking tests, and a dense search that answers from vectors that the corpus does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memorybank.retrieval.corpus import Corpus
from memorybank.retrieval.indexing import index_terms
from memorybank.retrieval.lexical import LexicalIndex
from memorybank.text.dates import find_dates

START = datetime(2023, 5, 1, 9, tzinfo=UTC)
NOW = datetime(2023, 6, 1, 9, tzinfo=UTC)


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rows of length 1."""
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def corpus_of(
    texts: Sequence[str],
    vectors: NDArray[np.float32] | None = None,
    *,
    session_length: int = 4,
    speakers: Sequence[str] = (),
) -> Corpus:
    """One turn a text; ``session_length`` turns a session, one session a day; speakers by the line's name."""
    n = len(texts)
    session = np.arange(n, dtype=np.int32) // session_length
    at = [START + timedelta(days=int(s), minutes=i) for i, s in enumerate(session)]
    previous = np.where(np.arange(n) % session_length > 0, np.arange(n) - 1, -1).astype(np.int32)
    following = np.full(n, -1, dtype=np.int32)
    following[previous[previous >= 0]] = np.flatnonzero(previous >= 0)
    mentions = [
        (row, span.first.toordinal(), span.last.toordinal())
        for row, text in enumerate(texts)
        for span in find_dates(text, at[row])
    ]
    spans = np.array(mentions, dtype=np.int32).reshape(-1, 3)
    lexical = LexicalIndex.build([index_terms(text) for text in texts])
    names = list(speakers)
    seconds = np.array([moment.timestamp() for moment in at], dtype=np.float64)
    return Corpus(
        vectors=vectors,
        lexical=lexical,
        alive=np.ones(n, dtype=bool),
        archived=np.zeros(n, dtype=bool),
        level=np.zeros(n, dtype=np.int8),
        session=session,
        speaker=np.array(
            [names.index(t.split(":")[0]) if t.split(":")[0] in names else -1 for t in texts], dtype=np.int32
        ),
        speakers=tuple(speakers),
        began=seconds,
        ended=seconds,
        day=np.array([moment.toordinal() for moment in at], dtype=np.int32),
        previous=previous,
        following=following,
        strength=np.ones(n, dtype=np.int32),
        last_recalled=np.full(n, np.nan),
        length=lexical.lengths,
        mention_row=spans[:, 0],
        mention_first=spans[:, 1],
        mention_last=spans[:, 2],
        link_from=np.zeros(0, dtype=np.int32),
        link_to=np.zeros(0, dtype=np.int32),
        link_weight=np.zeros(0, dtype=np.float32),
    )


WORDS = (
    *("tea", "boat", "violin", "garden", "river", "exam", "dentist", "bread"),
    *("cat", "mountain", "novel", "guitar", "market", "snow", "letter", "train"),
)


def random_bank(n: int, seed: int = 0, dimension: int = 16) -> tuple[Corpus, NDArray[np.float64]]:
    """A bank of ``n`` turns of two speakers about random words, and the generator's query directions."""
    rng = np.random.default_rng(seed)
    texts = []
    for row in range(n):
        words = " ".join(rng.choice(WORDS, 4))
        ending = "?" if row % 5 == 0 else " on 3 May." if row % 7 == 0 else "."
        texts.append(f"{'Ada' if row % 2 else 'Ben'}: {words}{ending}")
    vectors = unit(rng.normal(size=(n, dimension)))
    return corpus_of(texts, vectors, speakers=("Ada", "Ben")), rng.normal(size=(20, dimension))


class SearchBeside:
    """A ``DenseSearch`` over vectors that the corpus itself does not hold."""

    def __init__(self, vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> None:
        self._similarities = vectors @ vector

    def search(self, vector: NDArray[np.float32], n: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Exact, best first."""
        rows = np.argsort(-self._similarities, kind="stable")[:n]
        return rows, self._similarities[rows]

    def similarities(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosines of rows."""
        return self._similarities[rows]


def without_vectors(corpus: Corpus) -> Corpus:
    """The same bank, its vectors not resident."""
    return replace(corpus, vectors=None)
