"""Every chat engine, in all its ways of chatting, over MemoryBankMemory."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from scripted_llm import ScriptedLLM

from llamaindex_memorybank import MemoryBankMemory
from memorybank import MemoryStore
from memorybank.testing import FrozenClock

FACT = "My sister's cat is called Mochi."
QUESTION = "What is my sister's cat called?"


class Documents(BaseRetriever):
    """A knowledge base of one document, for the engines that want one."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="Opening hours: nine to five."), score=1.0)]


def simple(llm: ScriptedLLM, memory: MemoryBankMemory) -> BaseChatEngine:
    return SimpleChatEngine.from_defaults(llm=llm, memory=memory, system_prompt="Be kind.")


def context(llm: ScriptedLLM, memory: MemoryBankMemory) -> BaseChatEngine:
    return ContextChatEngine.from_defaults(retriever=Documents(), llm=llm, memory=memory)


def condense_plus(llm: ScriptedLLM, memory: MemoryBankMemory) -> BaseChatEngine:
    return CondensePlusContextChatEngine.from_defaults(
        retriever=Documents(), llm=llm, memory=memory, skip_condense=True
    )


def condense_question(llm: ScriptedLLM, memory: MemoryBankMemory) -> BaseChatEngine:
    synthesizer = get_response_synthesizer(llm=llm, streaming=False)
    query_engine = RetrieverQueryEngine(retriever=Documents(), response_synthesizer=synthesizer)
    return CondenseQuestionChatEngine.from_defaults(query_engine=query_engine, llm=llm, memory=memory)


Make = Callable[[ScriptedLLM, MemoryBankMemory], BaseChatEngine]
ENGINES = [simple, context, condense_plus, condense_question]
WAYS = ["chat", "achat", "stream_chat", "astream_chat"]


async def say(engine: BaseChatEngine, way: str, text: str, history: Any = None) -> str:
    """One turn, in one of the four ways, to its end."""
    kwargs = {} if history is None else {"chat_history": history}
    if way == "chat":
        return str(engine.chat(text, **kwargs))
    if way == "achat":
        return str(await engine.achat(text, **kwargs))
    if way == "stream_chat":
        return "".join(engine.stream_chat(text, **kwargs).response_gen)
    streamed = await engine.astream_chat(text, **kwargs)
    return "".join([token async for token in streamed.async_response_gen()])


def said(memory: MemoryBankMemory) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in memory.get_all()]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", ENGINES)
async def test_told_on_day_1_asked_on_day_8(
    make: Make, way: str, store: MemoryStore, clock: FrozenClock
) -> None:
    """In another session a week later the model's input holds the memory once, and each history is exact."""
    llm = ScriptedLLM()
    first = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="monday")
    await say(make(llm, first), way, FACT)
    clock.advance(timedelta(days=7))
    later = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="next monday")
    engine = make(llm, later)
    await say(engine, way, QUESTION)
    inputs = ["\n".join(str(message.content) for message in call) for call in llm.seen]
    holding = [text for text in inputs[1:] if FACT in text]
    assert holding
    assert all(text.count(FACT) == 1 for text in holding)
    assert said(first) == [("user", FACT), ("assistant", "noted")]
    assert said(later) == [("user", QUESTION), ("assistant", "noted")]
    assert engine.chat_history == later.get_all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", ENGINES)
async def test_one_reinforcement_a_turn(make: Make, way: str, store: MemoryStore) -> None:
    """A memory handed over for a turn is strengthened by one, in every engine."""
    bank = store.bank("gary")
    note = bank.remember(FACT)
    engine = make(ScriptedLLM(), MemoryBankMemory.from_defaults(store=store, user_id="gary"))
    for turn in (1, 2, 3):
        await say(engine, way, f"{QUESTION} Tell me, time {turn}.")
        assert bank.get(note.id)[0].strength == 1 + turn


@pytest.mark.parametrize("make", ENGINES)
def test_reset_forgets_the_talk_and_keeps_the_memory(make: Make, store: MemoryStore) -> None:
    """``engine.reset()`` empties the history; what was said is recalled afterwards (trap 4)."""
    llm = ScriptedLLM()
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    engine = make(llm, memory)
    engine.chat(FACT)
    engine.reset()
    assert engine.chat_history == []
    engine.chat(QUESTION)
    assert any(FACT in str(message.content) for call in llm.seen[1:] for message in call)
    assert said(memory) == [("user", QUESTION), ("assistant", "noted")]


@pytest.mark.parametrize("make", ENGINES)
def test_a_repl_keeps_the_memory(make: Make, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """``chat_repl`` resets first: the long-term memory survives it."""
    llm = ScriptedLLM()
    make(llm, MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")).chat(FACT)
    lines = iter([QUESTION, "exit"])
    monkeypatch.setattr(builtins, "input", lambda prompt: next(lines))
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    make(llm, memory).chat_repl()
    assert any(FACT in str(message.content) for call in llm.seen[1:] for message in call)
    assert said(memory) == [("user", QUESTION), ("assistant", "noted")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [simple, context, condense_plus])
async def test_a_history_given_with_each_turn_is_kept_once(make: Make, way: str, store: MemoryStore) -> None:
    """``chat(message, chat_history=[…])`` each turn: a diff, nothing is stored twice, no memory is lost."""
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    engine = make(ScriptedLLM(), memory)
    history: list[ChatMessage] = []
    for n in range(3):
        await say(engine, way, f"Fact number {n}.", history=list(history))
        history += [
            ChatMessage(role="user", content=f"Fact number {n}."),
            ChatMessage(role="assistant", content="noted"),
        ]
        assert memory.get_all() == history
    assert store.bank("gary").stats().messages == 6


def test_condense_question_with_a_history_stores_both_sides(store: MemoryStore) -> None:
    """With ``chat_history=`` CondenseQuestion never reads the memory; both messages are stored all the same."""
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    engine = condense_question(ScriptedLLM(["standalone?", "an answer"]), memory)
    engine.chat(QUESTION, chat_history=[ChatMessage(role="user", content="Hello")])
    assert said(memory) == [("user", QUESTION), ("assistant", "an answer")]


def test_nothing_to_say_no_message_and_no_condensing(store: MemoryStore) -> None:
    """For a new user there is no memory message, so CondensePlusContext does not condense turn one (trap 8)."""
    llm = ScriptedLLM()
    memory = MemoryBankMemory.from_defaults(store=store, user_id="new")
    engine = CondensePlusContextChatEngine.from_defaults(retriever=Documents(), llm=llm, memory=memory)
    engine.chat("Hello there")
    assert len(llm.seen) == 1


@pytest.mark.parametrize("make", [context, condense_plus])
def test_fields_in_memories_are_not_filled_in(make: Make, store: MemoryStore) -> None:
    """issue 19487, trap 10: "{query_str}" in a recalled text reaches the model as words; stored it is byte-equal."""
    text = "My template says {query_str} and {context_str}, and the set is {1, 2} {{x}}."
    llm = ScriptedLLM()
    make(llm, MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="a")).chat(text)
    later = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="b")
    make(llm, later).chat("What does my template say?")
    [recalled] = [m.content for m in llm.seen[-1] if m.content and "memorybank" in m.content]
    assert "{ query_str } and { context_str }, and the set is {1, 2}" in recalled
    first = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="a")
    assert first.get_all()[0].content == text


def test_an_interrupted_stream_keeps_the_users_words(store: MemoryStore) -> None:
    """pull 20918: a stream that dies, or is never read, leaves what the user said; the next turn goes on."""
    llm = ScriptedLLM([RuntimeError("connection lost")])
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    engine = simple(llm, memory)
    with pytest.raises(RuntimeError):
        engine.stream_chat(FACT)
    assert said(memory) == [("user", FACT)]
    engine.chat(QUESTION)
    assert said(memory) == [("user", FACT), ("user", QUESTION), ("assistant", "noted")]
    assert store.bank("gary").recall("cat Mochi", reinforce=False)


def test_an_engine_uses_the_memory_it_is_given(store: MemoryStore) -> None:
    """Trap 6: engines replace a falsy memory; an empty one is not falsy."""
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary")
    assert "__len__" not in dir(type(memory))
    assert "__bool__" not in dir(type(memory))
    engine = simple(ScriptedLLM(), memory)
    engine.chat("Hello")
    assert len(memory.get_all()) == 2
