"""The stage of recall that asks a reranker: which texts, in which language, and what if it fails."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorybank.errors import RerankError
from memorybank.models import Recalled
from memorybank.rerank.blending import EXCHANGE_WEIGHT, SHARES, TOP, WEIGHT, both, rerank
from memorybank.rerank.checked import score
from memorybank.rerank.protocol import Reranker
from memorybank.text.language import detect

_BEFORE = (
    300  # characters of what was said before, its end: more would push the text out of the model's window
)

logger: logging.Logger = logging.getLogger("memorybank.rerank")


class RerankStage:
    """A reranker in its place: it reads its ``top`` best of what was found (``blending.TOP`` if it names none).

    It never breaks a recall: if the reranker fails, what was found stays as it was, and a warning is logged,
    once until it works again.
    """

    def __init__(self, reranker: Reranker) -> None:
        self.reranker = reranker
        self.top: int = getattr(reranker, "top", TOP)
        self._failing = False

    def apply(self, query: str, found: Sequence[Recalled], before: Sequence[str]) -> list[Recalled]:
        """``found`` (best first) reranked. ``before[i]`` is what was said before ``found[i]`` ("": nothing)."""
        best = found[: self.top]
        if not best or not self._speaks(query, [one.memory.text for one in best]):
            return list(found)
        try:
            scores = self._scores(query, [one.memory.text for one in best], before)
        except RerankError as error:
            logger.log(
                logging.DEBUG if self._failing else logging.WARNING, "%s; recall goes unreranked", error
            )
            self._failing = True
            return list(found)
        self._failing = False
        single = sum(len(one.memory.sources) == 1 for one in best)
        if 2 * single > len(best):
            return rerank(found, scores, WEIGHT, SHARES)
        return rerank(found, scores, EXCHANGE_WEIGHT)

    def _scores(self, query: str, texts: list[str], before: Sequence[str]) -> NDArray[np.float32]:
        """A text's score alone, and with what was said before: answers lean on their questions."""
        leaning = [i for i, first in enumerate(before[: len(texts)]) if first]
        told = [f"{_end(before[i])}\n{texts[i]}" for i in leaning]
        scores = score(self.reranker, query, [*texts, *told])
        joined = scores[: len(texts)].copy()
        joined[leaning] = both(joined[leaning], scores[len(texts) :])
        return joined

    def _speaks(self, query: str, texts: list[str]) -> bool:
        languages = getattr(self.reranker, "languages", None)
        if languages is None:
            return True
        foreign = sum(detect(text) not in languages for text in texts)
        return detect(query) in languages and 2 * foreign <= len(texts)


def _end(text: str) -> str:
    if len(text) <= _BEFORE:
        return text
    tail = text[-_BEFORE:]
    return tail[tail.find(" ") + 1 :]
