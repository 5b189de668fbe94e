"""Short ways to say things in tests of banks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memorybank.bank import MemoryBank
from memorybank.models import Memory, Message, Recalled
from memorybank.resident import Resident, Snapshot
from memorybank.store import MemoryStore


def user(text: str, **more: Any) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": text, **more}


def assistant(text: str, **more: Any) -> dict[str, Any]:
    """A reply."""
    return {"role": "assistant", "content": text, **more}


def texts(found: Iterable[Message | Memory | Recalled]) -> list[str]:
    """Their texts, in order."""
    return [one.memory.text if isinstance(one, Recalled) else one.text for one in found]


def ids(found: Iterable[Memory | Recalled]) -> list[str]:
    """Their memory ids, in order."""
    return [one.memory.id if isinstance(one, Recalled) else one.id for one in found]


def scored(found: Sequence[Recalled]) -> list[tuple[str, float, int]]:
    """What a recall says, to compare two of them: id, score, strength."""
    return [(one.memory.id, round(one.score, 4), one.memory.strength) for one in found]


def bytes_of(folder: Path) -> bytes:
    """Every byte of every file in a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def held(store: MemoryStore, bank: MemoryBank) -> dict[int, dict[str, Any]]:
    """The arrays that a store keeps of a bank in memory, by memory key: each living row's values, by name."""
    return by_key(_snapshot(store, bank, fresh=False))


def loaded(store: MemoryStore, bank: MemoryBank) -> dict[int, dict[str, Any]]:
    """The same, loaded anew from the records."""
    return by_key(_snapshot(store, bank, fresh=True))


def _snapshot(store: MemoryStore, bank: MemoryBank, *, fresh: bool) -> Snapshot:
    from memorybank.clock import zone_of
    from memorybank.records import banks

    runtime = store.runtime
    zone = zone_of(bank.timezone)
    with runtime.database.read() as connection:
        row = banks.find(connection, bank.owner)
        assert row is not None
        resident = (
            Resident(zone, runtime.dimension) if fresh else runtime.residents.of(row, zone, runtime.dimension)
        )
        return resident.snapshot(connection, row, vectors=True)


def by_key(snapshot: Snapshot) -> dict[int, dict[str, Any]]:
    """A snapshot's living rows by memory key; neighbours and links as keys, codes as what they stand for."""
    corpus = snapshot.corpus
    keys = snapshot.keys.tolist()
    sessions = {code: key for key, code in snapshot.sessions.items()}
    rows = {}
    for row in np.flatnonzero(corpus.alive).tolist():
        mentions = corpus.mention_row == row
        links = [
            (keys[b], round(float(w), 4))
            for a, b, w in zip(corpus.link_from, corpus.link_to, corpus.link_weight, strict=True)
            if a == row
        ]
        speaker = int(corpus.speaker[row])
        rows[keys[row]] = {
            "archived": bool(corpus.archived[row]),
            "level": int(corpus.level[row]),
            "session": sessions.get(int(corpus.session[row])),
            "speaker": None if speaker < 0 else corpus.speakers[speaker],
            "began": float(corpus.began[row]),
            "ended": float(corpus.ended[row]),
            "day": int(corpus.day[row]),
            "previous": _key(keys, corpus.previous[row]),
            "following": _key(keys, corpus.following[row]),
            "strength": int(corpus.strength[row]),
            "last_recalled": None
            if np.isnan(corpus.last_recalled[row])
            else float(corpus.last_recalled[row]),
            "length": int(corpus.length[row]),
            "mentions": sorted(
                zip(corpus.mention_first[mentions], corpus.mention_last[mentions], strict=True)
            ),
            "links": sorted(links),
            "vector": None if corpus.vectors is None else corpus.vectors[row].tobytes(),
        }
    return rows


def _key(keys: list[int], row: Any) -> int | None:
    return None if row < 0 else keys[row]
