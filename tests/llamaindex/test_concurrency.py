"""Threads, tasks, two users, two sessions: no leak, order kept, nothing lost, the loop goes on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from numpy.typing import NDArray
from scripted_llm import ScriptedLLM

from llamaindex_memorybank import MemoryBankBlock, MemoryBankMemory, MemoryBankRetriever
from memorybank import MemoryBank, MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def memory_of(store: MemoryStore, owner: str, session: str) -> MemoryBankMemory:
    return MemoryBankMemory.from_defaults(store=store, user_id=owner, session_id=session)


def test_users_and_sessions_interleaved_in_threads(store: MemoryStore) -> None:
    """issue 16059: two users with two sessions each, all at once: each history exact, no word of another user."""

    def chat(owner: str, session: str) -> ScriptedLLM:
        llm = ScriptedLLM()
        engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory_of(store, owner, session))
        for n in range(6):
            engine.chat(f"My {session} fruit number {n} is {owner}fruit.")
        return llm

    talks = [(owner, session) for owner in ("gary", "anna") for session in ("one", "two")]
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda talk: chat(*talk), talks))
    for (owner, session), llm in zip(talks, models, strict=True):
        said = [m.content for m in memory_of(store, owner, session).get_all() if m.role.value == "user"]
        assert said == [f"My {session} fruit number {n} is {owner}fruit." for n in range(6)]
        other = "annafruit" if owner == "gary" else "garyfruit"
        assert other not in str(llm.seen)


async def test_users_and_sessions_interleaved_in_tasks(store: MemoryStore) -> None:
    """The same with tasks on one event loop."""

    async def chat(owner: str, session: str) -> ScriptedLLM:
        llm = ScriptedLLM()
        engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory_of(store, owner, session))
        for n in range(6):
            await engine.achat(f"My {session} fruit number {n} is {owner}fruit.")
        return llm

    talks = [(owner, session) for owner in ("gary", "anna") for session in ("one", "two")]
    models = await asyncio.gather(*(chat(*talk) for talk in talks))
    for (owner, session), llm in zip(talks, models, strict=True):
        said = [m.content for m in memory_of(store, owner, session).get_all() if m.role.value == "user"]
        assert said == [f"My {session} fruit number {n} is {owner}fruit." for n in range(6)]
        assert ("annafruit" if owner == "gary" else "garyfruit") not in str(llm.seen)


async def test_a_hundred_turns_are_all_there(store: MemoryStore) -> None:
    """100 asynchronous turns: every message, in order, and as many memories."""
    memory = memory_of(store, "gary", "s")
    for n in range(100):
        await memory.aput(user(f"Turn {n}"))
        await memory.aput(ChatMessage(role="assistant", content=f"Answer {n}"))
    expected = [text for n in range(100) for text in (f"Turn {n}", f"Answer {n}")]
    assert [message.content for message in memory.get_all()] == expected
    assert memory.bank.stats().total == 100


async def test_rapid_puts_keep_their_order(store: MemoryStore) -> None:
    """issue 19389: puts that were begun one after another are stored so, however their threads race."""
    memory = memory_of(store, "gary", "s")
    await asyncio.gather(*(memory.aput(user(str(n))) for n in range(60)))
    assert [message.content for message in memory.get_all()] == [str(n) for n in range(60)]


async def test_first_reads_at_once(store: MemoryStore) -> None:
    """pull 23184: the first reads of a turn may come together: one recall, one reinforcement, equal results."""
    note = store.bank("gary").remember("The cat is called Mochi.")
    memory = memory_of(store, "gary", "s")
    await memory.aput(user("What is the cat called?"))
    found = await asyncio.gather(*(memory.aget() for _ in range(8)))
    assert all(one == found[0] for one in found)
    assert "Mochi" in str(found[0][0].content)
    assert store.bank("gary").get(note.id)[0].strength == 2


class Slow(HashEmbedder):
    """Takes its time, on whatever thread it is called, and notes which."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.threads.add(threading.get_ident())
        time.sleep(0.15)
        return super().embed_query(text)


@pytest.fixture
def slow(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "slow", embedder=Slow(), clock=clock, chroma=False) as opened:
        yield opened


async def test_the_loop_goes_on(slow: MemoryStore) -> None:
    """issue 15293, trap 11: with a slow embedder the event loop keeps ticking, in every asynchronous method."""
    bank = slow.bank("gary")
    memory = memory_of(slow, "gary", "s")
    block = MemoryBankBlock(bank=bank)
    retriever = MemoryBankRetriever(bank)
    gaps: list[float] = []
    done = asyncio.Event()

    async def tick() -> None:
        while not done.is_set():
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - before)

    ticking = asyncio.create_task(tick())
    await memory.aput(user("a cat"))
    await memory.aget()
    await memory.aput_messages([ChatMessage(role="assistant", content="a dog")])
    await memory.aset([user("a bird")])
    await memory.areset()
    await memory.aget_all()
    await block.aput([user("a fish")], session_id="t")
    await block.aget([user("which fish?")], session_id="t")
    await retriever.aretrieve("a cat")
    done.set()
    await ticking
    embedder = bank.runtime.embedder
    assert isinstance(embedder, Slow)
    assert embedder.threads
    assert threading.get_ident() not in embedder.threads
    # 0.15 s a call on the loop would show as gaps; a loaded machine makes single long ones.
    assert sorted(gaps)[len(gaps) // 2] < 0.1


async def test_inside_a_running_loop_the_synchronous_methods_work(store: MemoryStore) -> None:
    """issue 19026: notebooks call synchronous methods with a loop running; nothing nests a loop."""
    memory = memory_of(store, "gary", "s")
    memory.put(user("a cat"))
    assert [message.content for message in memory.get()] == ["a cat"]
    memory.set([user("b")])
    memory.reset()
    assert memory.get_all() == []
    assert MemoryBankRetriever(store.bank("gary")).retrieve("a cat")


async def test_errors_are_not_swallowed_by_the_loop(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap 11: a RuntimeError of the embedder or the store reaches ``on_error`` from async code as well."""

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("driver fell over")

    errors: list[Exception] = []
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", on_error=errors.append)
    monkeypatch.setattr(MemoryBank, "add", broken)
    await memory.aput(user("a"))
    assert [str(error) for error in errors] == ["driver fell over"]
    assert [message.content for message in await memory.aget_all()] == ["a"]


async def test_a_long_session_is_read_quickly(store: MemoryStore) -> None:
    """issue 12264: with 200,000 tokens of history a read costs what it returns, counted once, not the session."""
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s", token_limit=3_000)
    words = "word " * 400
    memory.bank.add(
        [{"role": "user" if n % 2 == 0 else "tool", "content": f"{n} {words}"} for n in range(500)],
        session="s",
    )
    counted = 0
    tokenizer = memory.tokenizer_fn

    def counting(text: str) -> object:
        nonlocal counted
        counted += 1
        return tokenizer(text)

    memory.tokenizer_fn = counting  # type: ignore[assignment]  # counts, then does the same
    assert len(memory.get()) < 10
    first = counted
    memory.get()
    assert first < 100
    assert counted == first
