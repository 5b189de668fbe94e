"""FunctionAgent, ReActAgent and AgentWorkflow over MemoryBankMemory."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, JsonSerializer
from scripted_llm import ScriptedLLM, call

from llamaindex_memorybank import InsertMethod, MemoryBankMemory
from memorybank import MemoryBank, MemoryStore
from memorybank.testing import FrozenClock

FACT = "My sister's cat is called Mochi."
QUESTION = "What is my sister's cat called?"


def weather(city: str) -> str:
    """The weather of a city."""
    return f"Rain in {city}."


def react(thought: str, answer: str) -> str:
    return f"Thought: {thought}\nAnswer: {answer}"


def act(city: str) -> str:
    return f'Thought: I need a tool.\nAction: weather\nAction Input: {{"city": "{city}"}}'


def make_agent(kind: str, llm: ScriptedLLM, **kwargs: Any) -> Any:
    if kind == "function":
        return FunctionAgent(tools=[weather], llm=llm, **kwargs)
    if kind == "react":
        return ReActAgent(tools=[weather], llm=llm, **kwargs)
    agent = FunctionAgent(name="one", description="One.", tools=[weather], llm=llm, **kwargs)
    return AgentWorkflow(agents=[agent], root_agent="one")


def tool_steps(kind: str) -> list[Any]:
    if kind == "react":
        return [act("Kyoto"), act("Nara"), react("I know now.", "Wet everywhere.")]
    return [call("weather", city="Kyoto"), call("weather", city="Nara"), "Wet everywhere."]


def spoken(kind: str, text: str) -> str:
    return react("I can answer without tools.", text) if kind == "react" else text


class Counted:
    """Counts the recalls of a bank."""

    def __init__(self, bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
        self.contexts = 0
        original = type(bank).context

        def counting(bank_: MemoryBank, *args: Any, **kwargs: Any) -> Any:
            self.contexts += 1
            return original(bank_, *args, **kwargs)

        monkeypatch.setattr(type(bank), "context", counting)


KINDS = ["function", "react", "workflow"]


@pytest.mark.parametrize("prompt", [None, "Be kind."])
@pytest.mark.parametrize("kind", KINDS)
async def test_told_on_day_1_asked_on_day_8(
    kind: str, prompt: str | None, store: MemoryStore, clock: FrozenClock
) -> None:
    """In another session a week later the model's input holds the memory once, with a system prompt or without."""
    llm = ScriptedLLM([spoken(kind, "Lovely."), spoken(kind, "Mochi.")])
    agent = make_agent(kind, llm, system_prompt=prompt)
    first = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="a")
    await agent.run(user_msg=FACT, memory=first)
    clock.advance(timedelta(days=7))
    later = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="b")
    answer = await agent.run(user_msg=QUESTION, memory=later)
    assert str(answer) == "Mochi."
    assert llm.last.count(FACT) == 1
    assert [message.content for message in first.get_all()] == [FACT, spoken(kind, "Lovely.")]
    assert [message.content for message in later.get_all()] == [QUESTION, spoken(kind, "Mochi.")]


@pytest.mark.parametrize("kind", KINDS)
async def test_one_recall_and_one_reinforcement_a_turn(
    kind: str, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap 2: an agent with two tool calls reads the memory four times; it recalls and credits once."""
    bank = store.bank("gary")
    note = bank.remember(FACT)
    counted = Counted(bank, monkeypatch)
    llm = ScriptedLLM([*tool_steps(kind), *tool_steps(kind)])
    agent = make_agent(kind, llm)
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary")
    ctx = Context(agent)
    for turn in (1, 2):
        await agent.run(user_msg=QUESTION, memory=memory, ctx=ctx)
        assert counted.contexts == turn
        assert bank.get(note.id)[0].strength == 1 + turn
        assert len(llm.seen) == 3 * turn
    for sent in llm.seen:
        assert "\n".join(str(message.content) for message in sent).count(FACT) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_tool_traffic_is_history_and_no_memory(kind: str, store: MemoryStore) -> None:
    """Trap 13: calls, results and thoughts are kept exactly in the history; memories hold what was said."""
    agent = make_agent(kind, ScriptedLLM(tool_steps(kind)))
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    await agent.run(user_msg="Is it raining?", memory=memory)
    [turn] = store.bank("gary").memories()
    assert turn.text == "user: Is it raining?\nassistant: Wet everywhere."
    history = memory.get_all()
    if kind == "react":
        assert "Observation: Rain in Nara." in (history[1].content or "")
    else:
        assert [m.role.value for m in history] == ["user", *["assistant", "tool"] * 2, "assistant"]
        assert history[1].additional_kwargs["tool_calls"][0]["name"] == "weather"
        assert history[1].content is None
        assert history[2].content == "Rain in Kyoto."
        assert history[2].additional_kwargs["tool_call_id"] == "call-weather"


async def test_a_hand_off_recalls_once(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """AgentWorkflow puts the tool traffic at each hand-off and reads again: still one recall, one reinforcement."""
    bank = store.bank("gary")
    note = bank.remember(FACT)
    counted = Counted(bank, monkeypatch)
    llm = ScriptedLLM([call("handoff", to_agent="two", reason="cats"), "It is Mochi."])
    one = FunctionAgent(name="one", description="One.", tools=[weather], llm=llm, can_handoff_to=["two"])
    two = FunctionAgent(name="two", description="Two.", tools=[weather], llm=llm)
    workflow = AgentWorkflow(agents=[one, two], root_agent="one", initial_state={"mood": "calm"})
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    answer = await workflow.run(user_msg=QUESTION, memory=memory)
    assert str(answer) == "It is Mochi."
    assert counted.contexts == 1
    assert bank.get(note.id)[0].strength == 2
    assert [message.role.value for message in memory.get_all()] == ["user", "assistant", "tool", "assistant"]
    assert llm.last.count(FACT) == 1


async def test_initial_state_is_written_into_copies(store: MemoryStore) -> None:
    """Trap 7: the state is written into the last message that ``get`` returned; the history keeps the user's
    words."""
    llm = ScriptedLLM(["Hello."])
    agent = FunctionAgent(name="one", tools=[weather], llm=llm, initial_state={"mood": "calm"})
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    await agent.run(user_msg="Hi there", memory=memory)
    assert "mood" in llm.last
    assert memory.get_all()[0].content == "Hi there"
    assert "mood" not in store.bank("gary").memories()[0].text


async def test_a_chat_history_and_no_message(store: MemoryStore) -> None:
    """An agent may be run on a history alone: it is set, and its last user message is asked with."""
    store.bank("gary").remember(FACT)
    llm = ScriptedLLM(["Mochi."])
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    history = [ChatMessage(role="user", content=QUESTION)]
    await FunctionAgent(tools=[weather], llm=llm).run(chat_history=history, memory=memory)
    assert llm.last.count(FACT) == 1
    assert [message.content for message in memory.get_all()] == [QUESTION, "Mochi."]


@pytest.mark.parametrize("method", [InsertMethod.SYSTEM, InsertMethod.USER])
async def test_the_role_can_be_chosen(method: InsertMethod, store: MemoryStore) -> None:
    """Trap 9: one memory message, first, in the role that was asked for, never in the history."""
    store.bank("gary").remember(FACT)
    llm = ScriptedLLM(["Mochi."])
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", insert_method=method)
    await FunctionAgent(tools=[weather], llm=llm).run(user_msg=QUESTION, memory=memory)
    [sent] = llm.seen
    assert sent[0].role.value == method.value
    assert FACT in str(sent[0].content)
    assert sum("memorybank" in str(message.content) for message in sent) == 1
    assert len(memory.get_all()) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_a_saved_context_reconnects(kind: str, store: MemoryStore, clock: FrozenClock) -> None:
    """issue 19228, trap 17: saved as JSON and restored, it is the same user's memory over the same store; recall
    works; ``memory=`` is not needed."""
    llm = ScriptedLLM([spoken(kind, "Lovely."), spoken(kind, "Mochi.")])
    agent = make_agent(kind, llm)
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="a")
    ctx = Context(agent)
    await agent.run(user_msg=FACT, memory=memory, ctx=ctx)
    store.bank("gary").remember("The dog is called Bruno.")
    saved = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
    clock.advance(timedelta(days=7))
    restored = Context.from_dict(agent, saved, serializer=JsonSerializer())
    await agent.run(user_msg="And the dog Bruno?", ctx=restored)
    assert "The dog is called Bruno." in llm.last
    again = await restored.store.get("memory")
    assert isinstance(again, MemoryBankMemory)
    assert again.bank.owner == "gary"
    assert len(again.get_all()) == 4
    assert again.get_all() == memory.get_all()


RESTORE = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[2])
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import Context, JsonSerializer
from llamaindex_memorybank import connect
from memorybank import MemoryStore
from memorybank.testing import HashEmbedder
from scripted_llm import ScriptedLLM

def weather(city: str) -> str:
    "The weather of a city."
    return "Rain."

async def main() -> None:
    llm = ScriptedLLM(["Mochi."])
    agent = FunctionAgent(tools=[weather], llm=llm)
    with MemoryStore.open(sys.argv[1], embedder=HashEmbedder(), chroma=False) as store:
        connect(store)
        ctx = Context.from_dict(agent, json.load(sys.stdin), serializer=JsonSerializer())
        await agent.run(user_msg="What is the cat of my sister called?", ctx=ctx)
        memory = await ctx.store.get("memory")
        print(json.dumps([m.content for m in llm.seen[0]] + [len(memory.get_all())]))

asyncio.run(main())
"""


async def test_a_saved_context_reconnects_in_a_new_process(store: MemoryStore) -> None:
    """issue 19228: the same in a new process, which tells with ``connect`` which store it uses."""
    agent = make_agent("function", ScriptedLLM(["Lovely."]))
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="a")
    ctx = Context(agent)
    await agent.run(user_msg="Hello.", memory=memory, ctx=ctx)
    store.bank("gary").remember(FACT)
    saved = json.dumps(ctx.to_dict(serializer=JsonSerializer()))
    folder = json.loads(json.dumps(memory.to_dict()))["place"]
    done = subprocess.run(
        [sys.executable, "-c", RESTORE, folder, str(Path(__file__).parent)],
        input=saved,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    *sent, length = json.loads(done.stdout.splitlines()[-1])
    assert FACT in sent[0]
    assert sent[1:] == ["Hello.", "Lovely.", "What is the cat of my sister called?"]
    assert length == 4
