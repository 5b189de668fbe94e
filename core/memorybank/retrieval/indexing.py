"""What of a text goes into the lexical index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memorybank.retrieval.lexical import ASKS
from memorybank.text.terms import hash_terms, terms

_CLOSING = " \t\r\n\"'”’）)】」』*_~"
_QUESTION_MARKS = "?？"


def index_terms(text: str) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Hashes and counts of the terms of a memory's text, and the mark ``ASKS`` if it ends in a question.

    The text of a turn is its lines "speaker: words"; the speaker's name belongs in the index (measured: a
    question names who it is about). The previous turn does not: neighbours lend their scores in ranking.
    """
    hashes, counts = hash_terms(terms(text))
    if not text.rstrip(_CLOSING).endswith(tuple(_QUESTION_MARKS)):
        return hashes, counts
    return np.insert(hashes, 0, np.uint64(ASKS)), np.insert(counts, 0, np.uint16(1))
