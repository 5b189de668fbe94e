"""The process that is killed: it does one thing to a store, forever, and says on stdout what it was told is done.

Every line is JSON: ``{"ready": true}`` once it is at work, then per call ``{"begun": …}`` before it and
``{"done": …}`` when it has returned. What is said to be done must survive.
"""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memorybank.bank import MemoryBank
from memorybank.forgetting import ForgettingPolicy
from memorybank.opening import RECORDS_NAME
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder

DIMENSION = 64
START = datetime(2026, 1, 1, 9, tzinfo=UTC)
WORDS = [
    "cat",
    "garden",
    "Oslo",
    "piano",
    "bread",
    "sailing",
    "exam",
    "grandmother",
    "茶",
    "下雨",
    "散步",
    "音乐",
]


class Named(HashEmbedder):
    """A hashed embedder with a name of its own, for reindex to go to and fro between two."""

    def __init__(self, name: str) -> None:
        super().__init__(DIMENSION)
        self.name = name


def say(**line: Any) -> None:
    """One line for the parent, at once."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def texts(draw: random.Random, n: int) -> list[str]:
    """Sentences of a few known words and a number of their own."""
    return [" ".join(draw.choices(WORDS, k=4)) + f" n{draw.getrandbits(40):x}" for _ in range(n)]


def _add(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    for at in itertools.count():
        owner, session = f"owner{draw.randrange(3)}", f"s{draw.randrange(2)}"
        said = [
            {
                "role": role,
                "content": text,
                "id": f"{text.rsplit(' ', 1)[1]}",
                "at": START + timedelta(hours=at),
            }
            for text, role in zip(
                texts(draw, draw.choice([2, 2, 2, 40])), itertools.cycle(["user", "assistant"])
            )
        ]
        about = {"owner": owner, "session": session, "ids": [message["id"] for message in said]}
        say(begun=about)
        store.bank(owner, timezone="UTC").add(said, session=session)
        say(done=about)
        yield


def _flush(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    adding = _add(store, draw, folder)
    while True:
        for _ in range(8):
            next(adding)
        store.flush()
        yield


def _consolidate(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    adding = _add(store, draw, folder)
    for day in itertools.count(400):
        next(adding)
        for owner in store.owners():
            store.bank(owner).consolidate(now=START + timedelta(days=day))
        yield


def _forget(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    policy = ForgettingPolicy(archive_below=0.3, purge_archived_after=timedelta(days=3))
    adding = _add(store, draw, folder)
    for day in itertools.count(1):
        next(adding)
        for owner in store.owners():
            bank = store.bank(owner, policy=policy)
            about = _going(bank, bank.forget(now=START + timedelta(days=day), dry_run=True).purged)
            say(begun=about)
            bank.forget(now=START + timedelta(days=day))
            say(done=about)
        yield


def _going(bank: MemoryBank, gone: list[str]) -> dict[str, Any]:
    """What a deletion of these memories takes: they, and the messages that turns are made of."""
    sources = [source for memory in bank.get(gone) for source in memory.sources] if gone else []
    return {"owner": bank.owner, "gone": gone, "sources": sources}


def _delete(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    adding = _add(store, draw, folder)
    while True:
        next(adding)
        bank = store.bank(draw.choice(store.owners()))
        held = [memory.id for memory in bank.memories()]
        about = _going(bank, draw.sample(held, min(len(held), 5)))
        say(begun=about)
        bank.delete(about["gone"])
        say(done=about)
        yield


def _erase(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    for number in itertools.count():
        bank = store.bank(f"passing{draw.getrandbits(30)}")
        bank.add([{"role": "user", "content": text} for text in texts(draw, 20)], session="s")
        if number % 2:
            store.flush()
        say(begun={"erased": bank.owner})
        store.erase(bank.owner)
        say(done={"erased": bank.owner})
        yield


def _import(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    source = folder.parent / "export.jsonl"
    for _ in itertools.count():
        name = f"imported{draw.getrandbits(30)}"
        say(begun={"imported": name})
        store.import_bank(source, name)
        say(done={"imported": name})
        yield


def _reindex(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    adding = _add(store, draw, folder)
    for number in itertools.count():
        next(adding)
        store.reindex(Named(f"soak-{number % 2}"))
        yield


def _reinforce(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    while True:
        bank: MemoryBank = store.bank(draw.choice(store.owners()))
        for recalled in bank.recall(" ".join(draw.choices(WORDS, k=3)), k=3, reinforce=False):
            say(begun={"owner": bank.owner, "credited": recalled.memory.id})
            bank.reinforce([recalled])
            say(done={"owner": bank.owner, "credited": recalled.memory.id})
        yield


def _repair(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    while True:
        say(begun={"rebuilt": True})
        store.runtime.indexer.rebuild()
        say(done={"rebuilt": True})
        yield


def _migrate(store: MemoryStore, draw: random.Random, folder: Path) -> Iterator[None]:
    name = store.embedder.name if store.embedder is not None else ""
    store.close()
    while True:
        age(folder)
        say(begun={"migrated": True})
        MemoryStore.open(folder, embedder=Named(name), chroma=False).close()
        say(done={"migrated": True})
        yield


def age(folder: Path) -> None:
    """Make the records those of the first schema, as an older version left them."""
    with closing(sqlite3.connect(folder / RECORDS_NAME, timeout=60, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(
            "BEGIN IMMEDIATE; DROP INDEX IF EXISTS messages_rare;"
            "UPDATE meta SET value = '1' WHERE name = 'schema_version'; COMMIT"
        )


VERBS: dict[str, Callable[[MemoryStore, random.Random, Path], Iterator[None]]] = {
    "add": _add,
    "flush": _flush,
    "consolidate": _consolidate,
    "forget": _forget,
    "delete": _delete,
    "erase": _erase,
    "import": _import,
    "reindex": _reindex,
    "reinforce": _reinforce,
    "rebuild": _repair,
    "migrate": _migrate,
}


def main(verb: str, folder: str, embedder: str, seed: str) -> None:
    """Open the store and do the verb until killed."""
    with MemoryStore.open(folder, embedder=Named(embedder)) as store:
        work = VERBS[verb](store, random.Random(seed), Path(folder))  # noqa: S311 - repeatable, no secret
        if verb in ("erase", "flush", "forget", "delete"):
            store.flush()  # so that Chroma is open, and what comes is of the verb itself
        say(ready=True)
        for _ in work:
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
