"""What the lines of an export carry: plain values, between the records and the format."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memorybank.models import Memory, Message, Version

FORMAT = "memorybank-export"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Header:
    """Whose memory it is. ``embedder`` and ``dimension`` are those of the vectors, if any."""

    owner: str
    timezone: str
    language: str | None = None
    embedder: str | None = None
    dimension: int | None = None
    exported: datetime | None = None
    version: int = VERSION


@dataclass(frozen=True, slots=True, eq=False)
class MemoryLine:
    """A memory, its position in its session (None: no turn) and its unit vector (float32), if known."""

    memory: Memory
    position: int | None = None
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class LinkLine:
    """A weighted link from memory ``a`` to memory ``b``."""

    a: str
    b: str
    kind: str
    weight: float
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MarkLine:
    """A message (by id) of a session that was marked by hand."""

    session: str
    message: str


Line = Message | MemoryLine | LinkLine | Version | MarkLine
