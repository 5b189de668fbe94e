"""MemoryBankMiddleware in ``create_agent``: what a user gets, on a frozen clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from scripted_chat import ScriptedChatModel, calls, system_of

from langchain_memorybank import MemoryBankMiddleware
from memorybank import MemoryStore, OwnerError
from memorybank.testing import FrozenClock, HashEmbedder

Run = Callable[..., None]


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def said(words: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(words)]}


def by_invoke(agent: Any, words: str, config: Any, context: Any) -> None:
    agent.invoke(said(words), config, context=context)


def by_stream(agent: Any, words: str, config: Any, context: Any) -> None:
    list(agent.stream(said(words), config, context=context, stream_mode="messages"))


def by_ainvoke(agent: Any, words: str, config: Any, context: Any) -> None:
    asyncio.run(agent.ainvoke(said(words), config, context=context))


def by_astream(agent: Any, words: str, config: Any, context: Any) -> None:
    async def go() -> None:
        async for _ in agent.astream(said(words), config, context=context, stream_mode="messages"):
            pass

    asyncio.run(go())


RUNS = pytest.mark.parametrize("run", [by_invoke, by_stream, by_ainvoke, by_astream])


def texts(store: MemoryStore, session: str, user: str = "gary") -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in store.bank(user).history(session)]


@RUNS
@pytest.mark.parametrize("saver", [None, InMemorySaver])
def test_a_fact_of_day_1_reaches_the_model_on_day_8(
    run: Run, saver: Any, store: MemoryStore, clock: FrozenClock
) -> None:
    """What was told in one thread is in the prompt of another, dated, once, in one leading system message."""
    model = ScriptedChatModel("Congratulations on the cat!", "Fine.", "She is called Mochi.")
    agent = create_agent(
        model,
        system_prompt="You are kind.",
        middleware=[MemoryBankMiddleware(store, consolidate=False)],
        checkpointer=saver() if saver else None,
    )
    context = {"user_id": "gary"}
    run(agent, "I got a cat. Her name is Mochi.", thread("day 1"), context)
    clock.advance(timedelta(days=2))
    run(agent, "The weather is awful today.", thread("day 3"), context)
    clock.advance(timedelta(days=5))
    run(agent, "What is the name of my cat?", thread("day 8"), context)

    system = system_of(model.seen[-1])
    assert system.startswith("You are kind.")
    assert system.count("Her name is Mochi") == 1
    assert "2026-03-02 Mon" in system
    assert "What is the name of my cat?" not in system, "the question was recalled to itself"
    assert texts(store, "day 1") == [
        ("user", "I got a cat. Her name is Mochi."),
        ("assistant", "Congratulations on the cat!"),
    ]
    assert texts(store, "day 8") == [
        ("user", "What is the name of my cat?"),
        ("assistant", "She is called Mochi."),
    ]


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def remembered(store: MemoryStore, user: str = "gary") -> list[str]:
    return [m.text for m in store.bank(user).memories()]


# -- the prompt ------------------------------------------------------------------------------------------------


def test_the_human_form_stands_before_the_question_and_leaves_the_system_prompt_alone(
    store: MemoryStore,
) -> None:
    """``inject="human"``: one message of its own, marked as the framework's, never captured as the user's."""
    store.bank("gary").add([{"role": "user", "content": "My cat is called Mochi."}], session="old")
    model = ScriptedChatModel("Mochi.")
    agent = create_agent(
        model,
        system_prompt="You are kind.",
        middleware=[MemoryBankMiddleware(store, user_id="gary", inject="human")],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(said("What is my cat called?"), thread("new"))
    agent.invoke(said("And what else is it called, the cat?"), thread("new"))
    first, second = model.seen
    assert [type(m) for m in first] == [SystemMessage, HumanMessage, HumanMessage]
    assert first[0].content == "You are kind."
    assert "Mochi" in first[1].text
    assert first[1].additional_kwargs["lc_source"] == "memorybank"
    assert first[2].text == "What is my cat called?"
    assert [m.text for m in second if "<memorybank>" in m.text] == [second[-2].text]
    assert texts(store, "new") == [
        ("user", "What is my cat called?"),
        ("assistant", "Mochi."),
        ("user", "And what else is it called, the cat?"),
        ("assistant", "Mochi."),
    ]


def test_the_static_prefix_of_the_system_message_stays_byte_identical(store: MemoryStore) -> None:
    """Block lists and ``cache_control`` survive; the memories come after them, in a block without a mark, so a prompt
    cache still matches (deepagents pull 2070, issue 3639)."""
    store.bank("gary").remember("Gary is allergic to peanuts.")
    blocks = [
        {"type": "text", "text": "You are a cook.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "You cook."},
    ]
    model = ScriptedChatModel("Soup.")
    agent = create_agent(
        model, system_prompt=SystemMessage(content=blocks), middleware=[MemoryBankMiddleware(store)]
    )
    agent.invoke(said("What may I eat, allergic to peanuts as I am?"), context={"user_id": "gary"})
    content = model.seen[0][0].content
    assert content[:2] == blocks
    assert len(content) == 3
    assert "cache_control" not in content[2]
    assert "peanuts" in content[2]["text"]


def test_a_system_message_among_the_messages_becomes_part_of_the_one_that_leads(store: MemoryStore) -> None:
    """langchain 33856 (system prompt dropped): the user's own system messages are kept, and there is one only."""
    store.bank("gary").remember("Gary is allergic to peanuts.")
    model = ScriptedChatModel("Soup.")
    agent = create_agent(model, system_prompt="You are a cook.", middleware=[MemoryBankMiddleware(store)])
    agent.invoke(
        {"messages": [SystemMessage("Answer briefly."), HumanMessage("Allergic to what, peanuts?")]},
        context={"user_id": "gary"},
    )
    system = system_of(model.seen[0])
    assert system.startswith("You are a cook.\n\nAnswer briefly.")
    assert system.count("<memorybank>") == 1


def test_an_empty_bank_changes_nothing_in_the_request(store: MemoryStore) -> None:
    """With nothing to recall the model sees what it would have seen without the middleware."""
    model = ScriptedChatModel("Hello.")
    create_agent(model, middleware=[MemoryBankMiddleware(store)]).invoke(
        said("Hi"), context={"user_id": "gary"}
    )
    assert [m.text for m in model.seen[0]] == ["Hi"]


# -- tools, one recall per turn --------------------------------------------------------------------------------


@RUNS
def test_an_agent_loop_recalls_once_and_credits_once(run: Run, store: MemoryStore) -> None:
    """Trap 15: however often the loop asks the model, a memory gains one strength per user turn, and only if used."""
    bank = store.bank("gary")
    bank.add([{"role": "user", "content": "My sister Anna lives in Lisbon."}], session="old")
    bank.add([{"role": "user", "content": "My brother Tom collects stamps."}], session="older")
    model = ScriptedChatModel(
        calls(("weather", {"city": "Lisbon"}), say="Let me look."),
        calls(("weather", {"city": "Porto"}), ("weather", {"city": "Faro"})),
        "Your sister Anna lives in Lisbon, where it is sunny.",
    )
    agent = create_agent(
        model, [weather], middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver()
    )
    run(agent, "How is the weather where my sister lives?", thread("t"), {"user_id": "gary"})

    blocks = {system_of(messages) for messages in model.seen}
    assert len(model.seen) == 3
    assert len(blocks) == 1, "the block changed within a turn"
    strength = {m.text: m.strength for m in bank.memories()}
    assert strength["user: My sister Anna lives in Lisbon."] == 2
    assert strength["user: My brother Tom collects stamps."] == 1
    assert [role for role, _ in texts(store, "t")] == [
        "user", "assistant", "tool", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip


def test_tool_calls_and_results_are_stored_whole(store: MemoryStore) -> None:
    """langchain 34925 (tool_calls lost): empty content, calls, parallel results and artifacts survive."""
    model = ScriptedChatModel(calls(("weather", {"city": "Rome"}), ("weather", {"city": "Bari"})), "Sunny.")
    agent = create_agent(
        model, [weather], middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver()
    )
    result = agent.invoke(said("Weather?"), thread("t"), context={"user_id": "gary"})
    from langchain_memorybank import MemoryBankChatMessageHistory

    assert MemoryBankChatMessageHistory(store.bank("gary"), "t").messages == result["messages"]


def test_the_answer_does_not_store_what_the_model_echoes_from_memory(store: MemoryStore) -> None:
    """deer-flow 3711 (recalled block saved as conversation): an echoed block is not remembered again."""
    store.bank("gary").remember("Gary is allergic to peanuts.")
    model = ScriptedChatModel(lambda messages: system_of(messages) + "\nNo peanuts for you.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store)])
    agent.invoke(
        said("Am I allergic to peanuts?"), {"configurable": {"thread_id": "t"}}, context={"user_id": "gary"}
    )
    turn = next(text for text in remembered(store) if text.startswith("user:"))
    assert "No peanuts for you." in turn
    assert "Gary is allergic" not in turn


# -- what must not get lost, or in ------------------------------------------------------------------------------


@RUNS
def test_the_users_turn_survives_a_model_that_raises(run: Run, store: MemoryStore) -> None:
    """Trap 6: after a model error no after-hook runs; what the user said is stored all the same, once."""
    model = ScriptedChatModel(RuntimeError("model down"), "Sorry for the wait.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="model down"):
        run(agent, "I moved to Porto.", thread("t"), {"user_id": "gary"})
    assert texts(store, "t") == [("user", "I moved to Porto.")]
    run(agent, "Did you get that?", thread("t"), {"user_id": "gary"})
    assert texts(store, "t") == [
        ("user", "I moved to Porto."),
        ("user", "Did you get that?"),
        ("assistant", "Sorry for the wait."),
    ]


def test_the_users_turn_survives_a_stream_closed_early(store: MemoryStore) -> None:
    """Trap 6: a client that hangs up in the middle of the answer loses no words of the user's."""
    model = ScriptedChatModel("A long answer of many words.", "Yes.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver())
    stream = agent.stream(
        said("I moved to Porto."), thread("t"), context={"user_id": "gary"}, stream_mode="messages"
    )
    next(stream)
    stream.close()
    assert ("user", "I moved to Porto.") in texts(store, "t")
    agent.invoke(said("Still there?"), thread("t"), context={"user_id": "gary"})
    assert [text for role, text in texts(store, "t") if role == "user"] == [
        "I moved to Porto.",
        "Still there?",
    ]


async def test_the_users_turn_survives_an_async_stream_closed_early(store: MemoryStore) -> None:
    """The same with ``astream``."""
    model = ScriptedChatModel("A long answer of many words.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver())
    stream = agent.astream(
        said("I moved to Porto."), thread("t"), context={"user_id": "gary"}, stream_mode="messages"
    )
    await anext(stream)
    await stream.aclose()
    assert ("user", "I moved to Porto.") in texts(store, "t")


def test_summarisation_inside_a_run_is_not_the_users_word(store: MemoryStore) -> None:
    """Trap 5: SummarizationMiddleware replaces messages by a HumanMessage of its own; nothing of the user's is lost,
    nothing of its is stored, nothing is stored twice."""
    from langchain.agents.middleware import SummarizationMiddleware

    model = ScriptedChatModel(
        "One.", "Two.", calls(("weather", {"city": "Rome"}), say="Wait."), "Three.", "Four."
    )
    summariser = ScriptedChatModel("A SUMMARY of it all")
    agent = create_agent(
        model,
        [weather],
        middleware=[
            SummarizationMiddleware(model=summariser, trigger=("messages", 4), keep=("messages", 2)),
            MemoryBankMiddleware(store),
        ],
        checkpointer=InMemorySaver(),
    )
    for words in ("First.", "Second.", "Third, with weather.", "Fourth."):
        agent.invoke(said(words), thread("t"), context={"user_id": "gary"})
    assert summariser.seen, "summarisation did not fire"
    assert texts(store, "t") == [
        ("user", "First."),
        ("assistant", "One."),
        ("user", "Second."),
        ("assistant", "Two."),
        ("user", "Third, with weather."),
        ("assistant", "Wait."),
        ("tool", "sunny in Rome"),
        ("assistant", "Three."),
        ("user", "Fourth."),
        ("assistant", "Four."),
    ]
    assert not [text for text in remembered(store) if "SUMMARY" in text]


@pytest.mark.parametrize("resume", [True, False])
def test_an_interrupt_stores_the_turn_once(resume: bool, store: MemoryStore) -> None:
    """Traps 6 and 10: an interrupted run has stored the user's turn; resumed, nothing is stored twice; abandoned,
    the next turn goes on."""
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langgraph.types import Command

    store.bank("gary").add(
        [{"role": "user", "content": "I live in Reykjavik, between Hallgrimskirkja and Kaffibarinn."}],
        session="old",
    )
    model = ScriptedChatModel(
        calls(("weather", {"city": "Reykjavik"}), say="Let me see."),
        "Sunny in Reykjavik, from Hallgrimskirkja to Kaffibarinn.",
    )
    agent = create_agent(
        model,
        [weather],
        middleware=[
            MemoryBankMiddleware(store),
            HumanInTheLoopMiddleware(interrupt_on={"weather": True}),
        ],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(said("How is the weather where I live?"), thread("t"), context={"user_id": "gary"})
    assert texts(store, "t")[0] == ("user", "How is the weather where I live?")
    if resume:
        agent.invoke(
            Command(resume={"decisions": [{"type": "approve"}]}), thread("t"), context={"user_id": "gary"}
        )
        assert texts(store, "t") == [
            ("user", "How is the weather where I live?"),
            ("assistant", "Let me see."),
            ("tool", "sunny in Reykjavik"),
            ("assistant", "Sunny in Reykjavik, from Hallgrimskirkja to Kaffibarinn."),
        ]
        last = system_of(model.seen[-1])
        assert "I live in Reykjavik, between Hallgrimskirkja and Kaffibarinn." in last, (
            "the resumed run has no memory"
        )
        assert "where I live?" not in last, "the question was recalled to itself"
        strength = {m.text: m.strength for m in store.bank("gary").memories()}
        assert strength["user: I live in Reykjavik, between Hallgrimskirkja and Kaffibarinn."] == 2
    else:
        agent.invoke(said("Never mind. Hello!"), thread("t"), context={"user_id": "gary"})
        users = [text for role, text in texts(store, "t") if role == "user"]
        assert users == ["How is the weather where I live?", "Never mind. Hello!"]


def test_a_retried_node_stores_once(store: MemoryStore) -> None:
    """Trap 10: hooks that run again store nothing again, with and without a thread."""
    middleware = MemoryBankMiddleware(store, user_id="gary")
    for config in ({"configurable": {"thread_id": "t"}}, {}):
        from langchain_core.runnables.config import set_config_context
        from langgraph.runtime import Runtime

        state: Any = {"messages": [HumanMessage("I moved to Porto.", id="h1")]}
        with set_config_context(config) as scope:
            updates = [scope.run(middleware.before_agent, state, Runtime()) for _ in range(2)]
        assert updates[0] == updates[1]
    assert [len(store.bank("gary").history(s)) for s in store.bank("gary").sessions()] == [1, 1]


def test_messages_that_a_client_passes_again_are_not_stored_again(store: MemoryStore) -> None:
    """langchain 14458 (input saved again): a client without a checkpointer passes the whole talk each time, its
    words under new ids; only the new turn is stored."""
    model = ScriptedChatModel("One.", "Two.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store, user_id="gary")])
    agent.invoke({"messages": [("user", "First.")]})
    agent.invoke({"messages": [("user", "First."), ("assistant", "One."), ("user", "Second.")]})
    assert sorted(remembered(store)) == ["user: First.\nassistant: One.", "user: Second.\nassistant: Two."]


def test_equal_words_twice_are_two_messages(store: MemoryStore) -> None:
    """mem0 1674 (same text twice): what a user says again is said again, not merged away."""
    agent = create_agent(
        ScriptedChatModel("Hello."), middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver()
    )
    for _ in range(2):
        agent.invoke(said("Hi"), thread("t"), context={"user_id": "gary"})
    assert [text for _, text in texts(store, "t")] == ["Hi", "Hello.", "Hi", "Hello."]


def test_a_deleted_turn_does_not_come_back_with_the_thread(store: MemoryStore) -> None:
    """mem0 3695 (deleted still found): the checkpoint still has the words; memory does not take them in again."""
    model = ScriptedChatModel("Noted.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver())
    agent.invoke(said("My code is 4711."), thread("t"), context={"user_id": "gary"})
    bank = store.bank("gary")
    bank.delete([m.id for m in bank.memories()])
    agent.invoke(said("What is my code?"), thread("t"), context={"user_id": "gary"})
    assert not [text for text in remembered(store) if "4711" in text]
    assert "4711" not in system_of(model.seen[-1])


def test_memory_texts_of_other_threads_are_not_checkpointed_or_streamed(store: MemoryStore) -> None:
    """What is recalled goes to the model alone: not into checkpoints, which outlive an erase, nor the client's
    stream of updates and values."""
    store.bank("gary").remember("Gary is allergic to peanuts.")
    saver = InMemorySaver()
    agent = create_agent(
        ScriptedChatModel("Right."), middleware=[MemoryBankMiddleware(store)], checkpointer=saver
    )
    streamed = list(
        agent.stream(
            said("Allergic to what?"),
            thread("t"),
            context={"user_id": "gary"},
            stream_mode=["values", "updates", "messages", "debug"],
        )
    )
    assert "peanuts" not in repr(streamed)
    assert "peanuts" not in repr(saver.storage) + repr(saver.blobs) + repr(saver.writes)


def test_state_keys_come_through_a_strict_serialiser(store: MemoryStore) -> None:
    """Trap 15: what is checkpointed is plain data."""
    import json

    middleware = MemoryBankMiddleware(store, user_id="gary")
    from langgraph.runtime import Runtime

    state: Any = {"messages": [HumanMessage("Hi", id="h1")]}
    update = middleware.before_agent(state, Runtime())
    assert update is not None
    assert json.loads(json.dumps(update["memorybank_cursor"])) == update["memorybank_cursor"]


# -- whose memory ----------------------------------------------------------------------------------------------


@dataclass
class Context:
    user_id: str


@pytest.mark.parametrize(
    ("options", "config", "context", "schema"),
    [
        ({"user_id": "gary"}, {"user_id": "eve"}, {"user_id": "eve"}, None),
        ({}, {"user_id": "eve"}, {"user_id": "gary"}, None),
        ({}, {"user_id": "eve"}, Context("gary"), Context),
        ({}, {"user_id": "gary"}, None, None),
        ({}, {"langgraph_user_id": "gary"}, None, None),
    ],
    ids=["constructor", "context mapping", "context object", "configurable", "langgraph_user_id"],
)
def test_the_user_is_found_in_order(
    options: Any, config: Any, context: Any, schema: Any, store: MemoryStore
) -> None:
    """Trap 9: constructor, then context, then configurable."""
    agent = create_agent(
        ScriptedChatModel("Hi."), middleware=[MemoryBankMiddleware(store, **options)], context_schema=schema
    )
    agent.invoke(said("Hello"), {"configurable": {"thread_id": "t", **config}}, context=context)
    assert store.owners() == ["gary"]


def test_the_authenticated_user_of_the_server_comes_before_the_config(store: MemoryStore) -> None:
    """Trap 9: ``runtime.server_info.user.identity`` cannot be overruled by what a client writes into its config."""
    from types import SimpleNamespace

    from langchain_memorybank.identity import user_of

    runtime = SimpleNamespace(
        context=None, server_info=SimpleNamespace(user=SimpleNamespace(identity="gary"))
    )
    assert user_of(runtime, {"configurable": {"user_id": "eve"}}) == "gary"


@pytest.mark.parametrize("context", [None, {}, {"user_id": ""}, {"user_id": "  "}, {"user_id": True}])
def test_no_user_is_an_error_even_where_errors_are_only_warned_of(context: Any, store: MemoryStore) -> None:
    """langmem 111 and 126, crewAI 5057 (shared default scope): fails closed, before the model is called."""
    model = ScriptedChatModel("Hi.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store, on_error="warn")])
    with pytest.raises(OwnerError, match="no user id"):
        agent.invoke(said("Hello"), context=context)
    with pytest.raises(OwnerError, match="no user id"):
        asyncio.run(agent.ainvoke(said("Hello"), context=context))
    assert not model.seen
    assert store.owners() == []


async def test_two_users_at_once_on_one_agent(store: MemoryStore) -> None:
    """Nothing of a run is kept in the middleware object: concurrent runs of two users never mix."""
    secrets = {"ada": "My secret word is Arrakis.", "bob": "My secret word is Bismarck."}
    for user, words in secrets.items():
        store.bank(user).add([{"role": "user", "content": words}], session="old")
    model = ScriptedChatModel(lambda messages: system_of(messages)[-200:] or "nothing")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver())

    async def ask(user: str, n: int) -> None:
        await agent.ainvoke(
            said(f"{user}{n}: what is my secret word?"), thread(f"{user}-{n}"), context={"user_id": user}
        )

    await asyncio.gather(*(ask(user, n) for n in range(4) for user in secrets))
    for messages in model.seen:
        user = messages[-1].text[:3]
        other = "Bismarck" if user == "ada" else "Arrakis"
        assert other not in system_of(messages)
        assert secrets[user] in system_of(messages)
    for user in secrets:
        users = [
            m.text[:3] for m in map_sessions(store, user) if m.role == "user" and "secret word?" in m.text
        ]
        assert users == [user] * 4


def map_sessions(store: MemoryStore, user: str) -> list[Any]:
    bank = store.bank(user)
    return [m for session in bank.sessions() for m in bank.history(session)]


# -- failing -----------------------------------------------------------------------------------------------------


class DownError(RuntimeError):
    pass


def broken(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise DownError("disk full")

    monkeypatch.setattr("memorybank.bank.MemoryBank.add", fail)
    monkeypatch.setattr("memorybank.bank.MemoryBank.context", fail)


def test_a_failing_store_does_not_take_the_agent_down(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Fails open with a warning that holds no words of the conversation; what was not stored is stored by the next
    hook that can."""
    agent = create_agent(
        ScriptedChatModel("Hello.", "Again."),
        middleware=[MemoryBankMiddleware(store)],
        checkpointer=InMemorySaver(),
    )
    with monkeypatch.context() as patched:
        broken(store, patched)
        result = agent.invoke(said("I moved to Porto."), thread("t"), context={"user_id": "gary"})
    assert result["messages"][-1].text == "Hello."
    assert "DownError" in caplog.text
    assert "Porto" not in caplog.text
    agent.invoke(said("Next."), thread("t"), context={"user_id": "gary"})
    assert texts(store, "t") == [
        ("user", "I moved to Porto."),
        ("assistant", "Hello."),
        ("user", "Next."),
        ("assistant", "Again."),
    ]


def test_a_message_that_is_refused_costs_neither_turn_nor_reply(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A redaction that raises for one message: the agent answers, all others are stored in order, it is told."""

    def redact(text: str) -> str:
        if "poison" in text:
            raise ValueError(text)
        return text

    store = MemoryStore.open(tmp_path / "refusing", embedder=HashEmbedder(32), chroma=False, redact=redact)
    told: list[Exception] = []
    for on_error in ("warn", told.append):
        user = "gary" if on_error == "warn" else "ada"
        agent = create_agent(
            ScriptedChatModel("One.", "some poison", "Three.", "Four."),
            middleware=[MemoryBankMiddleware(store, on_error=on_error)],
            checkpointer=InMemorySaver(),
        )
        for words in ("first", "second", "third with poison", "fourth"):
            result = agent.invoke(said(words), thread("t"), context={"user_id": user})
        assert result["messages"][-1].text == "Four."
        kept = [message.text for message in store.bank(user).history("t")]
        assert kept == ["first", "One.", "second", "Three.", "fourth", "Four."]
    assert told
    assert "memory: storing 2 of 3 messages failed (InvalidInputError)" in caplog.text
    assert "poison" not in caplog.text
    store.close()


def test_on_error_raise_and_function(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """``on_error="raise"`` hands the error on; a function is told of it."""
    broken(store, monkeypatch)
    strict = create_agent(
        ScriptedChatModel("Hi."), middleware=[MemoryBankMiddleware(store, user_id="g", on_error="raise")]
    )
    with pytest.raises(DownError):
        strict.invoke(said("Hello"))
    told: list[Exception] = []
    lax = create_agent(
        ScriptedChatModel("Hi."), middleware=[MemoryBankMiddleware(store, user_id="g", on_error=told.append)]
    )
    lax.invoke(said("Hello"))
    assert {type(error) for error in told} == {DownError}


# -- switches ----------------------------------------------------------------------------------------------------


def test_capture_and_recall_can_each_be_off(store: MemoryStore) -> None:
    """``capture=False`` reads only; ``recall=False`` writes only."""
    store.bank("gary").remember("Gary is allergic to peanuts.")
    reader, writer = ScriptedChatModel("Yes."), ScriptedChatModel("Yes.")
    question = "Am I allergic to peanuts?"
    create_agent(reader, middleware=[MemoryBankMiddleware(store, user_id="gary", capture=False)]).invoke(
        said(question), thread("r")
    )
    create_agent(writer, middleware=[MemoryBankMiddleware(store, user_id="gary", recall=False)]).invoke(
        said(question), thread("w")
    )
    assert "allergic" in system_of(reader.seen[0])
    assert system_of(writer.seen[0]) == ""
    assert texts(store, "r") == []
    assert texts(store, "w") == [("user", question), ("assistant", "Yes.")]


def test_images_with_memory(store: MemoryStore) -> None:
    """langchain 17529 (images + memory): a multimodal turn is stored whole and embedded by its words alone."""
    model = ScriptedChatModel("A cat.")
    agent = create_agent(model, middleware=[MemoryBankMiddleware(store)], checkpointer=InMemorySaver())
    content: Any = [
        {"type": "text", "text": "What is on this picture?"},
        {"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png"},
    ]
    result = agent.invoke({"messages": [HumanMessage(content)]}, thread("t"), context={"user_id": "gary"})
    from langchain_memorybank import MemoryBankChatMessageHistory

    assert MemoryBankChatMessageHistory(store.bank("gary"), "t").messages == result["messages"]
    assert remembered(store) == ["user: What is on this picture?\nassistant: A cat."]


def test_wrong_settings_are_refused(store: MemoryStore) -> None:
    """A clear error at construction, not at the first turn."""
    for options in (
        {},
        {"store": store, "bank": store.bank("g")},
        {"bank": "g"},
        {"store": store, "user_id": " "},
    ):
        with pytest.raises(ValueError, match=r"store|user id|bank"):
            MemoryBankMiddleware(**options)
    with pytest.raises(ValueError, match="inject"):
        MemoryBankMiddleware(store, inject="tool")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="on_error"):
        MemoryBankMiddleware(store, on_error="ignore")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="level"):
        MemoryBankMiddleware(store, levels=["dream"])


def test_erase_export_forget_consolidate_from_the_middleware(store: MemoryStore, tmp_path: Any) -> None:
    """mem0 3928 and 3746 (delete_all wipes everyone): each of these is one user's, and erase says what went."""
    middleware = MemoryBankMiddleware(store)
    agent = create_agent(ScriptedChatModel("Hi."), middleware=[middleware])
    for user in ("ada", "bob"):
        agent.invoke(said(f"I am {user}."), context={"user_id": user})
    assert middleware.bank_for("ada").export(tmp_path / "ada.jsonl") > 0
    assert middleware.bank_for("ada").forget(dry_run=True).archived == []
    assert middleware.erase("ada").messages == 2
    assert store.owners() == ["bob"]
    with pytest.raises(OwnerError):
        middleware.bank_for()


def test_ai_message_ids_and_types_are_plain(store: MemoryStore) -> None:
    """langchain 14511 (chunks stored): a streamed reply is stored as one AIMessage."""
    agent = create_agent(
        ScriptedChatModel("Many words here."),
        middleware=[MemoryBankMiddleware(store)],
        checkpointer=InMemorySaver(),
    )
    by_stream(agent, "Hi", thread("t"), {"user_id": "gary"})
    from langchain_memorybank import MemoryBankChatMessageHistory

    stored = MemoryBankChatMessageHistory(store.bank("gary"), "t").messages
    assert [type(m) for m in stored] == [HumanMessage, AIMessage]
    assert stored[1].text == "Many words here."
    assert not [m for m in stored if isinstance(m, ToolMessage)]
