"""What is kept in memory equals what the records hold, whatever happens, in whichever store it happens."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memorybank.bank import MemoryBank
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy
from memorybank.models import Status
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder
from tests.core.talking import assistant, held, loaded, scored, user

WORDS = ["cat", "dog", "bird", "Oslo", "Rome", "鸟", "茶", "tea", "yesterday", "on 5 January"]
POLICY = ForgettingPolicy(
    rank_weight=0.1,
    archive_below=0.2,
    purge_archived_after=timedelta(days=4),
    curve=ForgettingCurve(unit=timedelta(days=1)),
)
sides = st.integers(0, 1)
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
picks = st.integers(0, 10_000)


class TwoStores(RuleBasedStateMachine):
    """Two stores on one folder do things by turns; each must know what the other did."""

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.clock = FrozenClock()
        self.stores = [
            MemoryStore.open(
                self.folder / "memory",
                embedder=HashEmbedder(16),
                clock=self.clock,
                chroma=False,
                synchronous="normal",
                policy=POLICY,
            )
            for _ in range(2)
        ]
        self.banks: list[MemoryBank] = [s.bank("gary", timezone="Europe/Berlin") for s in self.stores]
        self.banks[0].add([user("the cat of the beginning")], session="a")

    def pick(self, bank: MemoryBank, number: int, **filters: Any) -> str | None:
        listed = bank.memories(**filters)
        return listed[number % len(listed)].id if listed else None

    @rule(side=sides, text=sentences, session=st.sampled_from("ab"), hours=st.integers(0, 30))
    def ask(self, side: int, text: str, session: str, hours: int) -> None:
        self.clock.advance(timedelta(hours=hours))
        self.banks[side].add([user(text)], session=session)

    @rule(side=sides, text=sentences, session=st.sampled_from("ab"))
    def reply(self, side: int, text: str, session: str) -> None:
        self.banks[side].add([assistant(text)], session=session)

    @rule(side=sides, texts=st.lists(sentences, min_size=1, max_size=5), session=st.sampled_from("ab"))
    def talk(self, side: int, texts: list[str], session: str) -> None:
        self.banks[side].add(
            [(user, assistant)[i % 2](text) for i, text in enumerate(texts)], session=session
        )

    @rule(side=sides, text=sentences, session=st.sampled_from("ab"), name=st.sampled_from(["Ann", "Bob"]))
    def say(self, side: int, text: str, session: str, name: str) -> None:
        self.banks[side].add([user(text, name=name)], session=session)

    @rule(side=sides, text=sentences)
    def note(self, side: int, text: str) -> None:
        self.banks[side].remember(text)

    @rule(side=sides, query=sentences, k=st.integers(1, 5), asking=st.sampled_from([None, "a", "b"]))
    def recall(self, side: int, query: str, k: int, asking: str | None) -> None:
        self.banks[side].recall(query, k=k, asking=asking, include_archived=True)

    @rule(side=sides, text=sentences, number=picks)
    def edit(self, side: int, text: str, number: int) -> None:
        if id_ := self.pick(self.banks[side], number):
            self.banks[side].edit(id_, text)

    @rule(side=sides, number=picks)
    def delete(self, side: int, number: int) -> None:
        if id_ := self.pick(self.banks[side], number):
            self.banks[side].delete(id_)

    @rule(side=sides, days=st.integers(1, 3))
    def forget(self, side: int, days: int) -> None:
        self.clock.advance(timedelta(days=days))
        self.banks[side].forget()

    @rule(side=sides, number=picks)
    def restore_and_pin(self, side: int, number: int) -> None:
        archived = [m.id for m in self.banks[side].memories() if m.status is Status.ARCHIVED]
        if archived:
            self.banks[side].restore(archived[number % len(archived)])
            self.banks[side].pin(archived[number % len(archived)])

    @rule(side=sides)
    def consolidate(self, side: int) -> None:
        self.banks[side].consolidate()

    @rule(side=sides)
    def clear(self, side: int) -> None:
        self.banks[side].clear("b")

    @invariant()
    def arrays_equal_a_fresh_load(self) -> None:
        for store, bank in zip(self.stores, self.banks, strict=True):
            assert held(store, bank) == loaded(store, bank)

    @invariant()
    def both_recall_the_same(self) -> None:
        one, other = (
            scored(b.recall("cat tea Oslo 鸟 on 5 January", k=9, reinforce=False, asking="a"))
            for b in self.banks
        )
        assert one == other

    def teardown(self) -> None:
        for store in self.stores:
            assert store.doctor().ok
            store.close()
        shutil.rmtree(self.folder)


TwoStores.TestCase.settings = settings(
    max_examples=8,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestTwoStores = TwoStores.TestCase
