"""Nobody ever sees another owner's memory, in any mode, whatever the owners are called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybank.bank import MemoryBank
from memorybank.errors import NotFoundError
from memorybank.models import Level
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder
from tests.core.talking import assistant, user

HOSTILE = [
    "../x",
    "..",
    "/etc/passwd",
    "a_b",
    "a/b",
    "a%b",
    "%",
    "_",
    "*",
    "u1",
    "u10",
    "U1",
    "u1 ",
    " u1",
    "u1\n",
    "u1\x00",
    "u1\x1a0000",
    "\ud800",
    "张" * 500,
    "张" * 499 + "三",
    "caf\u00e9",
    "cafe\u0301",
    "\u0430dmin",
    "admin",
    "ａdmin",
    "x'; DROP TABLE banks; --",
    '{"$ne": ""}',
    "None",
    "default",
    "gary@example.com",
    "🐈‍⬛",
]


class World:
    """One store with a bank for every hostile name, each with the same words and sessions of the same names."""

    def __init__(self, folder: Path, search: str) -> None:
        self.store = MemoryStore.open(
            folder,
            embedder=HashEmbedder(32),
            clock=FrozenClock(),
            search=search,  # type: ignore[arg-type]  # one of the three
            chroma=None if search == "chroma" else False,
            synchronous="normal",
        )
        self.owned: dict[str, set[str]] = {}
        self.messages: dict[str, set[str]] = {}
        for number, owner in enumerate(HOSTILE):
            bank = self.store.bank(owner, timezone="UTC")
            bank.add([user("My cat is called Mochi", id="1"), assistant("Nice", id="2")], session="s")
            bank.add([user(f"My number is {number}")], session=owner)
            bank.remember("I like tea 茶")
            if number % 4 == 0:
                bank.consolidate(until="2026-02-01", now="2026-02-01")
            self.owned[owner] = {m.id for m in bank.memories()}
            self.messages[owner] = {m.text for s in bank.sessions() for m in bank.history(s)}
        if search == "chroma":
            self.store.flush()


@pytest.fixture(scope="module", params=["exact", "chroma", "words"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(
        tmp_path_factory.mktemp("world") / "memory", "exact" if request.param == "words" else request.param
    )
    if request.param == "words":
        made.store.runtime.embedding.embedder = None
    yield made
    made.store.close()


owners = st.sampled_from(HOSTILE)


def ids_seen(bank: MemoryBank, query: str, levels: list[str] | None, asking: str | None, k: int) -> set[str]:
    seen = set()
    for include in (False, True):
        found = bank.recall(
            query, k=k, levels=levels, asking=asking, include_archived=include, reinforce=False
        )
        assert all(r.memory.owner == bank.owner for r in found)
        seen |= {r.memory.id for r in found}
    context = bank.context(query, session=asking, window=3, reinforce=False)
    return seen | {r.memory.id for r in context.recalled} | {m.id for m in bank.memories()}


@settings(max_examples=60, deadline=None)
@given(
    owner=owners,
    query=st.sampled_from(["cat Mochi", "number", "茶", "tea yesterday", "nothing like it"]),
    levels=st.none() | st.lists(st.sampled_from([level.value for level in Level]), min_size=1, max_size=3),
    asking=st.none() | owners,
    k=st.integers(1, 100),
)
def test_no_mode_returns_anothers_memory(
    world: World, owner: str, query: str, levels: list[str] | None, asking: str | None, k: int
) -> None:
    """Recall (dense, lexical, through the index), context and lists give the owner's own ids alone."""
    bank = world.store.bank(owner)
    assert ids_seen(bank, query, levels, asking, k) <= world.owned[owner]


@settings(max_examples=40, deadline=None)
@given(owner=owners, other=owners)
def test_anothers_ids_are_unknown(world: World, owner: str, other: str) -> None:
    """With another owner's ids nothing can be read or changed."""
    if owner == other:
        return
    bank = world.store.bank(owner)
    id_ = min(world.owned[other])
    for door in (bank.get, bank.pin, bank.restore, bank.explain, bank.versions):
        with pytest.raises(NotFoundError):
            door(id_)
    with pytest.raises(NotFoundError):
        bank.edit(id_, "mine now")
    assert bank.delete(id_).total == 0
    stranger = world.store.bank(other).recall("cat", k=1, reinforce=False)
    assert bank.reinforce(stranger) == []
    assert {m.id for m in world.store.bank(other).memories()} == world.owned[other]


def test_every_name_is_an_owner_of_its_own(world: World) -> None:
    """As many banks as names; each reads its own messages; the folder holds no path made of a name."""
    assert sorted(world.store.owners()) == sorted(HOSTILE)
    for number, owner in enumerate(HOSTILE):
        assert world.messages[owner] == {"My cat is called Mochi", "Nice", f"My number is {number}"}
    for one, ids in world.owned.items():
        assert not any(ids & others for name, others in world.owned.items() if name != one)


def test_erasing_each_leaves_the_others(tmp_path: Path) -> None:
    """Erased one by one: after each, that owner has nothing and the rest have all."""
    world = World(tmp_path / "memory", "chroma")
    left = dict(world.owned)
    for owner in HOSTILE:
        erased = world.store.erase(owner)
        assert erased.memories == len(left.pop(owner))
        assert world.store.bank(owner).recall("cat") == []
        assert sorted(world.store.owners()) == sorted(left)
    assert world.store.doctor().ok
    world.store.close()
