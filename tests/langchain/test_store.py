"""MemoryBankStore against LangGraph's own store semantics, and what it adds."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.runtime import get_runtime
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from scripted_chat import ScriptedChatModel, calls

from langchain_memorybank import MemoryBankMiddleware, MemoryBankStore
from memorybank import InvalidInputError, MemoryBank, MemoryStore, OwnerError
from memorybank.testing import FrozenClock


@pytest.fixture
def items(bank: MemoryBank) -> MemoryBankStore:
    return MemoryBankStore(bank=bank)


def shape(found: Any) -> Any:
    if isinstance(found, list):
        return [shape(one) for one in found]
    return (found.namespace, found.key, found.value) if isinstance(found, Item) else found


@pytest.mark.parametrize("seed", range(5))
def test_it_answers_like_the_store_of_langgraph(seed: int, items: MemoryBankStore) -> None:
    """Any batch of gets, puts, deletes and searches gives what InMemoryStore gives, in the same order."""
    reference = InMemoryStore()
    chance = random.Random(seed)
    spaces = [("a",), ("a", "b"), ("a", "b", "c"), ("b", "a"), ("ab",)]
    for _ in range(12):
        ops: list[Any] = []
        for _ in range(chance.randint(1, 6)):
            space, key, n = chance.choice(spaces), chance.choice("xyz"), chance.randint(0, 3)
            make: list[Callable[[], Any]] = [
                lambda space=space, key=key: GetOp(space, key),
                lambda space=space, key=key, n=n: PutOp(space, key, {"n": n, "deep": {"n": n}}),
                lambda space=space, key=key, n=n: PutOp(space, key, {"n": n, "list": [1, n]}),
                lambda space=space, key=key: PutOp(space, key, None),
                lambda space=space, n=n: SearchOp(space[:n], limit=100),
                lambda space=space, n=n: SearchOp(
                    space[:1],
                    filter=chance.choice([{"n": n}, {"n": {"$gte": n}}, {"deep": {"n": n}}]),
                    limit=50,
                ),
            ]
            ops.append(chance.choice(make)())
        expected, found = shape(reference.batch(ops)), shape(items.batch(ops))
        for op, one, other in zip(ops, expected, found, strict=True):
            if isinstance(op, SearchOp):  # the order of ties is each store's own
                one, other = sorted(one, key=repr), sorted(other, key=repr)
            assert other == one, op


def test_a_batch_reads_before_it_writes_and_the_last_write_holds(items: MemoryBankStore) -> None:
    """Results stand in the order of the operations; reads see the state before the batch."""
    items.put(("t",), "k", {"v": 1})
    results = items.batch(
        [
            PutOp(("t",), "k", {"v": 2}),
            GetOp(("t",), "k"),
            PutOp(("t",), "k", {"v": 3}),
            SearchOp(("t",)),
            ListNamespacesOp(),
            GetOp(("t",), "none"),
        ]
    )
    assert [shape(r) for r in results] == [
        None,
        (("t",), "k", {"v": 1}),
        None,
        [(("t",), "k", {"v": 1})],
        [("t",)],
        None,
    ]
    held = items.get(("t",), "k")
    assert held is not None
    assert held.value == {"v": 3}


def test_timestamps_are_of_the_stores_clock(items: MemoryBankStore, clock: FrozenClock) -> None:
    """created_at stays, updated_at moves; both aware."""
    items.put(("t",), "k", {"v": 1})
    clock.advance(timedelta(days=2))
    items.put(("t",), "k", {"v": 2})
    held = items.get(("t",), "k")
    assert held is not None
    assert held.created_at == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert held.updated_at == datetime(2026, 3, 4, 9, tzinfo=UTC)


def test_prefixes_match_per_label(items: MemoryBankStore) -> None:
    """Trap 13; langgraphjs 2721 (prefix crosses tenants), langchain-redis 74 (custom prefix): "user1" is no prefix of
    "user10"."""
    for user in ("user1", "user10", "user1/x"):
        items.put(("memories", user), "k", {"of": user})
    assert shape(items.search(("memories", "user1"))) == [(("memories", "user1"), "k", {"of": "user1"})]
    assert items.list_namespaces(prefix=("memories", "user1")) == [("memories", "user1")]
    assert items.search(("memor",)) == []


def test_any_id_is_a_label(items: MemoryBankStore) -> None:
    """Trap 13; langgraph 7427 (int label): e-mails, numbers, Chinese, slashes, percent signs, 400 characters."""
    ids: list[Any] = ["alice@example.com", 1, "甲", "a/b~#", "100%2E.", "x" * 400]
    for one in ids:
        items.put(("users", one), "key.with/dots", {"of": str(one)})
    for one in ids:
        held = items.get(("users", one), "key.with/dots")
        assert held is not None
        assert held.value == {"of": str(one)}
        assert held.namespace == ("users", str(one))
        assert len(items.search(("users", one))) == 1
    assert len(items.list_namespaces(suffix=("*",), limit=50)) == len(ids)
    for wrong in ((), ("",), (None,), ("langgraph",), (True,)):
        with pytest.raises(InvalidNamespaceError):
            items.put(wrong, "k", {"v": 1})  # type: ignore[arg-type]  # wrong on purpose


def test_search_by_meaning_filters_and_pages(items: MemoryBankStore) -> None:
    """Best first with scores; filters apply; what cannot be ranked comes last without a score."""
    for i, pet in enumerate(("a cat called Mochi", "a dog called Rex", "a horse called Bella")):
        items.put(("pets",), str(i), {"text": pet, "legs": 4, "n": i})
    items.put(("pets",), "hidden", {"text": "a cat nobody may find", "n": 9}, index=False)
    items.put(("pets",), "field", {"text": "cat cat cat", "about": "birds", "n": 10}, index=["about"])
    found = items.search(("pets",), query="the cat called Mochi", limit=2)
    assert found[0].key == "0"
    assert found[0].score is not None
    every = items.search(("pets",), query="cat", limit=50)
    assert {item.key for item in every} == {"0", "1", "2", "hidden", "field"}
    assert [item.score for item in every if item.key == "hidden"] == [None]
    assert [item.key for item in items.search(("pets",), query="cat", filter={"n": {"$lt": 1}})] == ["0"]
    pages = [items.search(("pets",), query="cat", limit=2, offset=n) for n in (0, 2, 4)]
    assert [item.key for page in pages for item in page] == [item.key for item in every]
    with pytest.raises(InvalidInputError, match=r"\$like"):
        items.search(("pets",), filter={"n": {"$like": 1}})


def test_namespaces_are_listed_by_prefix_suffix_wildcard_and_depth(items: MemoryBankStore) -> None:
    """As LangGraph documents it; a namespace without items is not listed."""
    for space in (("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "c", "f"), ("z",)):
        items.put(space, "k", {"v": 1})
    assert items.list_namespaces(prefix=("a", "b"), max_depth=3) == [("a", "b", "c"), ("a", "b", "d")]
    assert items.list_namespaces(suffix=("f",)) == [("a", "c", "f")]
    assert items.list_namespaces(prefix=("a", "*", "d")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert items.list_namespaces(limit=1, offset=1) == [("a", "b", "d", "e")]
    items.delete(("z",), "k")
    assert ("z",) not in items.list_namespaces()
    op = ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("a", "c")),))
    assert items.batch([op]) == [[("a", "c", "f")]]


def test_values_come_back_as_they_were(items: MemoryBankStore) -> None:
    """Bytes, times and nesting too; changing what was given or gotten changes nothing stored."""
    value: dict[str, Any] = {
        "b": b"\x00",
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "deep": [{"x": None}],
        "t": "\ud800",
    }
    items.put(("t",), "k", value)
    value["b"] = b"changed"
    held = items.get(("t",), "k")
    assert held is not None
    assert held.value["b"] == b"\x00"
    assert held.value["deep"] == [{"x": None}]
    held.value.clear()
    again = items.get(("t",), "k")
    assert again is not None
    assert again.value["t"] == "\ud800"


def test_superseded_and_deleted_items_are_not_recalled(items: MemoryBankStore, bank: MemoryBank) -> None:
    """mem0 3695 (deleted still found): one memory per item, gone with it; an erased owner leaves nothing."""
    items.put(("t",), "k", {"text": "Gary likes green."})
    items.put(("t",), "k", {"text": "Gary likes blue."})
    assert [m.text for m in bank.memories()] == ["Gary likes blue."]
    items.delete(("t",), "k")
    items.delete(("t",), "k")
    assert bank.memories() == []
    assert items.get(("t",), "k") is None
    items.put(("t",), "k", {"text": "Gary likes red."})
    assert items.erase().memories == 1
    assert items.search(()) == []


async def test_async_members_and_users_of_a_run(store: MemoryStore) -> None:
    """In an agent the items are those of the run's user, whatever the namespace; outside a run there is no user."""

    @tool
    def save(text: str) -> str:
        """Save it."""
        found = get_runtime().store
        assert found is not None
        found.put(("shared", "space"), "k", {"text": text})
        return "saved"

    items = MemoryBankStore(store)
    for user, words in (("ada", "Arrakis"), ("bob", "Bismarck")):
        agent: Any = create_agent(
            ScriptedChatModel(calls(("save", {"text": f"The password is {words}."})), "Done."),
            [save],
            store=items,
        )
        await agent.ainvoke({"messages": [("user", "Save.")]}, context={"user_id": user})
    for user, words in (("ada", "Arrakis"), ("bob", "Bismarck")):
        own = MemoryBankStore(store, user_id=user)
        held = await own.aget(("shared", "space"), "k")
        assert held is not None
        assert words in held.value["text"]
        assert len(await own.asearch((), query="password")) == 1
        assert await own.alist_namespaces() == [("shared", "space")]
    with pytest.raises(OwnerError):
        items.get(("shared", "space"), "k")


def test_items_are_memories_for_the_middleware(store: MemoryStore) -> None:
    """One bank: what a graph puts into its store, the middleware recalls."""
    MemoryBankStore(store, user_id="gary").put(("prefs",), "food", {"text": "Gary is allergic to peanuts."})
    model = ScriptedChatModel("No.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store)])
    agent.invoke({"messages": [("user", "Allergic to peanuts?")]}, context={"user_id": "gary"})
    assert "Gary is allergic" in model.seen[0][0].text


def test_ttl_is_refused(items: MemoryBankStore) -> None:
    """How memories fade is the bank's policy; a TTL that would be ignored is an error."""
    with pytest.raises(NotImplementedError):
        items.put(("t",), "k", {"v": 1}, ttl=5)
