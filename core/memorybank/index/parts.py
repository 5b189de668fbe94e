"""Rows on their way into an index: of one bank, or of many in few writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows of one bank: ``vectors`` is (len(ids), dimension)."""

    bank: str
    ids: Sequence[str]
    vectors: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)

    def split(self, at: int) -> tuple[Part, Part]:
        """The first ``at`` rows and the others."""
        return Part(self.bank, self.ids[:at], self.vectors[:at]), Part(
            self.bank, self.ids[at:], self.vectors[at:]
        )


def writes(parts: Mapping[str, Part], groups: Iterable[Sequence[str]], most: int) -> Iterator[list[Part]]:
    """The parts, by bank, in writes of at most ``most`` rows; none holds banks of two groups."""
    for banks in groups:
        yield from filled([parts[bank] for bank in banks], most)


def filled(parts: Iterable[Part], most: int) -> Iterator[list[Part]]:
    """The parts in their order, in lists of ``most`` rows, but for the last one; no part is left empty."""
    held: list[Part] = []
    room = most
    for part in parts:
        rest = part
        while len(rest) >= room:
            head, rest = rest.split(room)
            yield [*held, head]
            held, room = [], most
        if len(rest):
            held.append(rest)
            room -= len(rest)
    if held:
        yield held
