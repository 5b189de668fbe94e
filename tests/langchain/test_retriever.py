"""MemoryBankRetriever: alone, in a chain, as a tool."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_core.tracers import BaseTracer
from langchain_core.tracers.schemas import Run

from langchain_memorybank import MemoryBankRetriever
from memorybank import InvalidInputError, MemoryBank, MemoryStore, OwnerError
from memorybank.testing import FrozenClock

FACTS = (
    "My cat is called Mochi.",
    "My dog is called Rex.",
    "My horse is called Bella.",
    "My mouse is called Pip.",
)


@pytest.fixture
def full(bank: MemoryBank) -> MemoryBank:
    for i, fact in enumerate(FACTS):
        bank.add([{"role": "user", "content": fact}], session=f"s{i}")
    return bank


def test_documents_carry_what_is_known_of_a_memory(full: MemoryBank, clock: FrozenClock) -> None:
    """Document.id, level, date, score, similarity, retention, strength, session_id, sources; all JSON."""
    clock.advance(timedelta(days=3))
    found = MemoryBankRetriever(bank=full).invoke("What is the cat called?")[0]
    memory = full.get(found.id or "")[0]
    assert found.page_content == memory.text == "user: My cat is called Mochi."
    known = found.metadata
    assert known["level"] == "turn"
    assert known["date"] == "2026-03-02"
    assert known["session_id"] == "s0"
    assert known["sources"] == list(memory.sources)
    assert known["strength"] == 1
    assert 0 < known["retention"] < 1
    assert {"score", "similarity"} <= known.keys()
    assert json.loads(json.dumps(known)) == known


async def test_arguments_mean_the_same_sync_and_async(full: MemoryBank) -> None:
    """Trap 11; langchain 25528 (kwargs), 27920 (invoke vs ainvoke): every option per call, unknown ones refused."""
    retriever = MemoryBankRetriever(bank=full, k=2, reinforce=False)
    for options in (
        {},
        {"k": 1},
        {"k": 3},
        {"levels": ["note"]},
        {"score_threshold": 1e9},
        {"reinforce": False},
    ):
        sync = retriever.invoke("What is called what?", **options)
        assert sync == await retriever.ainvoke("What is called what?", **options)
        assert len(sync) == (0 if {"levels", "score_threshold"} & options.keys() else options.get("k", 2))
    with pytest.raises(InvalidInputError, match="top_k"):
        retriever.invoke("cat", top_k=1)
    with pytest.raises(InvalidInputError, match="top_k"):
        await retriever.ainvoke("cat", top_k=1)


def test_reinforcement_is_once_per_user_turn_in_a_thread(full: MemoryBank) -> None:
    """Trap 15: a chain that asks several times for one user turn credits once; ``reinforce=False`` only reads."""
    retriever = MemoryBankRetriever(bank=full, k=1)
    config = {"configurable": {"thread_id": "t"}}
    full.add([{"role": "user", "content": "What is the cat called?"}], session="t")
    for _ in range(3):
        found = retriever.invoke("What is the cat called?", config)
    assert found[0].page_content == "user: My cat is called Mochi.", "the question was recalled to itself"
    retriever.invoke("What is the cat called?", config, reinforce=False)
    assert full.get(found[0].id or "")[0].strength == 2


@pytest.mark.parametrize("mode", ["invoke", "ainvoke", "batch"])
async def test_in_a_chain_the_user_comes_from_the_config(mode: str, store: MemoryStore) -> None:
    """One retriever serves all users; each call sees its own user's memories, and without a user nothing."""
    for user, pet in (("ada", "Arrakis"), ("bob", "Bismarck")):
        store.bank(user).add([{"role": "user", "content": f"My pet is called {pet}."}])
    retriever = MemoryBankRetriever(store=store)
    chain = {"found": retriever, "question": RunnablePassthrough()} | RunnableLambda(
        lambda x: "".join(d.page_content for d in x["found"])
    )
    for user, pet in (("ada", "Arrakis"), ("bob", "Bismarck")):
        config = {"configurable": {"user_id": user}}
        if mode == "invoke":
            text = chain.invoke("What is my pet called?", config)
        elif mode == "ainvoke":
            text = await chain.ainvoke("What is my pet called?", config)
        else:
            text = chain.batch(["What is my pet called?"], [config])[0]
        assert text == f"user: My pet is called {pet}."
    with pytest.raises(OwnerError):
        chain.invoke("What is my pet called?")


def test_as_a_retriever_tool(full: MemoryBank) -> None:
    """``create_retriever_tool`` works, with documents as artifact."""
    tool = create_retriever_tool(
        MemoryBankRetriever(bank=full, k=1),
        "memory",
        "Search memory.",
        response_format="content_and_artifact",
    )
    message = tool.invoke({"type": "tool_call", "id": "1", "name": "memory", "args": {"query": "the cat"}})
    assert message.content == "user: My cat is called Mochi."
    assert isinstance(message.artifact[0], Document)


def test_traces_name_the_retriever_and_the_embedder(full: MemoryBank) -> None:
    """``_get_ls_params``: what a trace is labelled with."""

    class Tracer(BaseTracer):
        runs: list[Run] = []  # noqa: RUF012 - one object per test

        def _persist_run(self, run: Run) -> None:
            self.runs.append(run)

    tracer = Tracer()
    MemoryBankRetriever(bank=full).invoke("cat", {"callbacks": [tracer]})
    metadata = (tracer.runs[0].extra or {})["metadata"]
    assert metadata["ls_retriever_name"] == "memorybank"
    assert metadata["ls_embedding_model"] == "hash-64"


def test_levels_and_times_narrow(full: MemoryBank, clock: FrozenClock) -> None:
    """Levels are first-class Documents; ``since`` and ``until`` are about what a memory is about."""
    clock.advance(timedelta(days=5))
    full.remember("Gary's cat is a Siamese.")
    notes = MemoryBankRetriever(bank=full, levels=["note"]).invoke("cat")
    assert [d.metadata["level"] for d in notes] == ["note"]
    late = MemoryBankRetriever(bank=full, since="2026-03-05").invoke("cat")
    assert [d.metadata["date"] for d in late] == ["2026-03-07"]


def test_wrong_settings_are_refused(store: MemoryStore, bank: MemoryBank) -> None:
    """At construction."""
    with pytest.raises(ValueError, match="store="):
        MemoryBankRetriever()
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        MemoryBankRetriever(bank=bank, k=0)
    with pytest.raises(ValueError, match="owner"):
        MemoryBankRetriever(bank=bank, user_id="eve")
