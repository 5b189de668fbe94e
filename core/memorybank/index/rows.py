"""One bank's rows in one Chroma collection: put, take, find, list. Raises Chroma's own errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memorybank.index.layout import prefix
from memorybank.index.parts import Part, filled
from memorybank.index.protocol import Hits, Vectors

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

BATCH = 200
"""Rows per write: Chroma holds the GIL while it writes (5,000 rows: 8 s), and each write costs 8 fsyncs."""

PAGE = 5000
"""Rows per read: a whole collection at once fails above 32,766 ("too many SQL variables")."""


def put(place: Collection, parts: Sequence[Part]) -> None:
    """Add or replace. ``add`` would silently ignore known ids, ``update`` unknown ones.

    Rows of several banks share a write: what one costs hardly depends on its rows (measured: 200 rows of 200 banks in
    64 collections took 4.7 s of processor singly, 1.5 s in 62 writes; 1,000 rows in 64 writes 2.2 s).
    """
    for batch in filled(parts, BATCH):
        keys = [prefix(part.bank) + name for part in batch for name in part.ids]
        marks: list[Any] = [{"bank": part.bank} for part in batch for _ in part.ids]
        place.upsert(ids=keys, embeddings=np.concatenate([part.vectors for part in batch]), metadatas=marks)


def take(place: Collection, bank: str, names: Sequence[str]) -> None:
    """Remove these, known or not. No names, no call: Chroma refuses an empty list."""
    keys = [prefix(bank) + name for name in names]
    for at in range(0, len(keys), BATCH):
        place.delete(ids=keys[at : at + BATCH])


def nearest(place: Collection, bank: str, row: Vectors, n: int, *, alone: bool) -> Hits:
    """The nearest rows, best first. ``alone``: the collection holds no other bank, so it needs no filter."""
    where: Any = None if alone else {"bank": bank}
    found = place.query(query_embeddings=row[None, :], n_results=n, where=where, include=["distances"])
    distances = np.asarray((found["distances"] or [[]])[0], dtype=np.float32)
    length = len(prefix(bank))
    return Hits([key[length:] for key in found["ids"][0]], np.float32(1.0) - distances)


def names_in(place: Collection, bank: str) -> list[str]:
    """The ids of the bank's rows."""
    length = len(prefix(bank))
    found: list[str] = []
    while True:
        page = place.get(where={"bank": bank}, limit=PAGE, offset=len(found), include=[])["ids"]
        found.extend(key[length:] for key in page)
        if len(page) < PAGE:
            return found


def everything(place: Collection) -> dict[str, set[str]]:
    """The ids of every bank that has rows there."""
    owners: dict[str, str] = {}  # a bank by what stands before its ids, which may be a hash
    found: dict[str, set[str]] = {}
    seen = 0
    while True:
        page = place.get(limit=PAGE, offset=seen, include=[])["ids"]
        seen += len(page)
        for key in page:
            mark, _, name = key.partition(":")
            if mark not in owners:
                owners[mark] = mark if not mark.startswith("~") else _bank_of(place, key)
            found.setdefault(owners[mark], set()).add(name)
        if len(page) < PAGE:
            return found


def _bank_of(place: Collection, key: str) -> str:
    about: Any = place.get(ids=[key], include=["metadatas"])["metadatas"]
    return str(about[0]["bank"])


def vectors_of(place: Collection, bank: str, names: Sequence[str]) -> Iterator[tuple[list[str], Vectors]]:
    """The bank's rows of these ids, in batches; ids that are not there are left out."""
    length = len(prefix(bank))
    for at in range(0, len(names), BATCH):
        keys = [prefix(bank) + name for name in names[at : at + BATCH]]
        found = place.get(ids=keys, include=["embeddings"])
        if found["ids"]:
            matrix = np.asarray(found["embeddings"], dtype=np.float32)
            yield [key[length:] for key in found["ids"]], matrix
