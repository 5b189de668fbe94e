"""Distractors: talk that a bank grows by, from other conversations, with words altered where it must be repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import numpy as np
from numpy.typing import NDArray

from memorybank.evaluation.cases import Case, aware, prefixed
from memorybank.evaluation.memo import MemoEmbedder
from memorybank.interchange import ImportRecord
from memorybank.turns import draft_turns

ALTERED_SHARE = 0.4
"""Share of the words (of four letters or more; of Chinese characters) that a copy replaces by others."""
SHIFT_DAYS = 90
"""A copy's sessions lie up to so many days before or after the original's."""
_SAMPLE = 48
_WORD = re.compile(r"[A-Za-z]{4,}|[\u4e00-\u9fff]")


class Copies(MemoEmbedder):
    """Embeds, but gives altered copies a vector near their original's: a hundred thousand texts would take hours.

    How near is measured: ``near`` is the mean cosine of originals and really embedded copies.
    """

    def __init__(self, inner: MemoEmbedder, seed: int) -> None:
        super().__init__(inner)
        self._originals: dict[str, str] = {}
        self._random = np.random.default_rng(seed)
        self.near: float | None = None

    def copied(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Take note of (original, altered) texts, before the altered ones are stored."""
        fresh = [(one, other) for one, other in pairs if one != other]
        if self.near is None and fresh:
            sample = fresh[:_SAMPLE]
            one, other = (
                super(Copies, self).embed_documents(list(side)) for side in zip(*sample, strict=True)
            )
            lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
            self.near = float(((one * other).sum(axis=1) / lengths).mean())
        self._originals = {other: one for one, other in fresh}

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """Vectors of texts to store, shape (len(texts), dimension)."""
        plain = super().embed_documents([self._originals.get(text, text) for text in texts])
        copies = [place for place, text in enumerate(texts) if text in self._originals]
        if not copies or self.near is None:
            return plain
        found: NDArray[np.float32] = plain / np.linalg.norm(plain, axis=1, keepdims=True)
        noise = self._random.standard_normal((len(copies), self.dimension)).astype(np.float32)
        noise -= (noise * found[copies]).sum(axis=1, keepdims=True) * found[copies]
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        found[copies] = self.near * found[copies] + np.sqrt(max(0.0, 1 - self.near**2)) * noise
        return found


def sessions(
    others: Sequence[Case], owner: str, seed: int
) -> Iterator[tuple[list[ImportRecord], list[tuple[str, str]]]]:
    """Sessions of ``owner`` without end, each with its (original, altered) texts of memories.

    First every session of the other conversations as it is (no pairs); then, again and again, copies with words
    altered and days shifted.
    """
    random = Random(seed)  # noqa: S311 - a simulation, nothing secret
    originals = [records for case in others for records in prefixed(case, owner).sessions().values()]
    for records in originals:
        yield records, []
    words = [word for records in originals for one in records for word in _WORD.findall(one.message.text)]
    copy = 0
    while words:
        copy += 1
        for records in originals:
            shift = timedelta(days=random.randint(-SHIFT_DAYS, SHIFT_DAYS))
            altered = [_altered(one, copy, shift, words, random) for one in records]
            yield altered, list(zip(memory_texts(records), memory_texts(altered), strict=True))


def _altered(
    record: ImportRecord, copy: int, shift: timedelta, words: Sequence[str], random: Random
) -> ImportRecord:
    def other(found: re.Match[str]) -> str:
        return random.choice(words) if random.random() < ALTERED_SHARE else found[0]

    message = record.message
    at = None if message.at is None else aware(message.at) + shift
    text = _WORD.sub(other, message.text)
    return ImportRecord(
        record.owner,
        f"{record.session}~{copy}",
        replace(message, text=text, at=at, id=f"{message.id}~{copy}"),
    )


def memory_texts(records: Sequence[ImportRecord]) -> list[str]:
    """The texts of the memories that a session's messages become."""
    messages = [
        replace(one.message, position=place, at=None if one.message.at is None else aware(one.message.at))
        for place, one in enumerate(records)
    ]
    return [draft.text for draft in draft_turns(messages, None)]
