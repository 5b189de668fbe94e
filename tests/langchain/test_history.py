"""MemoryBankChatMessageHistory: alone and in RunnableWithMessageHistory."""

from __future__ import annotations

import asyncio
import logging
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from scripted_chat import ScriptedChatModel, calls

from langchain_memorybank import MemoryBankChatMessageHistory, MemoryBankRetriever
from memorybank import MemoryBank, MemoryStore, OwnerError
from memorybank.testing import HashEmbedder

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_core.runnables.history import RunnableWithMessageHistory


def chain(bank: MemoryBank, model: Any, window: int | None = None, key: bool = True) -> Any:
    """A chain as LangChain's own guide builds it, with a fresh history object for every run."""

    def of(session_id: str) -> MemoryBankChatMessageHistory:
        return MemoryBankChatMessageHistory(bank, session_id, window)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated by LangChain, still widely used
        if not key:
            return RunnableWithMessageHistory(model, of)
        prompt = ChatPromptTemplate.from_messages(
            [("system", "You are kind."), MessagesPlaceholder("history"), ("human", "{input}")]
        )
        return RunnableWithMessageHistory(
            prompt | model, of, input_messages_key="input", history_messages_key="history"
        )


def config(session: str) -> dict[str, Any]:
    return {"configurable": {"session_id": session}}


def said(bank: MemoryBank, session: str) -> list[str]:
    return [m.text for m in bank.history(session)]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
@pytest.mark.parametrize("key", [True, False], ids=["history key", "messages only"])
def test_every_way_to_run_stores_each_turn_once_and_in_order(way: str, key: bool, bank: MemoryBank) -> None:
    """langchain 32641 (async in RWMH), 27920 (invoke vs ainvoke), 6829 (order), 23716 (sync calls in async)."""
    model = ScriptedChatModel("One more.", "Two more.")
    runnable = chain(bank, model, key=key)

    def give(words: str) -> Any:
        return {"input": words} if key else [HumanMessage(words)]

    async def run(words: str) -> None:
        if way == "ainvoke":
            await runnable.ainvoke(give(words), config("s"))
        elif way == "astream":
            async for _ in runnable.astream(give(words), config("s")):
                pass
        elif way == "abatch":
            await runnable.abatch([give(words)], [config("s")])
        elif way == "invoke":
            runnable.invoke(give(words), config("s"))
        elif way == "stream":
            list(runnable.stream(give(words), config("s")))
        else:
            runnable.batch([give(words)], [config("s")])

    asyncio.run(run("First."))
    asyncio.run(run("Second."))
    history = MemoryBankChatMessageHistory(bank, "s").messages
    assert [(type(m), m.text) for m in history] == [
        (HumanMessage, "First."),
        (AIMessage, "One more."),
        (HumanMessage, "Second."),
        (AIMessage, "Two more."),
    ]
    assert [m.text for m in model.seen[1]][-3:] == ["First.", "One more.", "Second."]


def test_a_batch_of_sessions_does_not_mix(bank: MemoryBank) -> None:
    """langchain-postgres 121 (session ids): concurrent runs of several sessions each keep their own turns."""
    runnable = chain(bank, ScriptedChatModel(lambda messages: f"re: {messages[-1].text}"))
    names = ["monday", "甲/乙", "a.b@c", "x" * 600]
    runnable.batch([{"input": name} for name in names], [config(name) for name in names])
    for name in names:
        history = MemoryBankChatMessageHistory(bank, name).messages
        assert [m.text for m in history] == [name, f"re: {name}"]


def test_the_window_is_stable_within_a_run(bank: MemoryBank) -> None:
    """Trap 1: with a window, and recalls and forgetting meanwhile, no user turn is dropped on the way out."""
    runnable = chain(bank, ScriptedChatModel("Yes."), window=2, key=False)
    for i in range(4):
        runnable.invoke([HumanMessage(f"Message {i}")], config("s"))
        bank.recall("message")
        bank.forget()
    assert said(bank, "s") == [text for i in range(4) for text in (f"Message {i}", "Yes.")]


def test_history_and_retriever_in_one_chain(bank: MemoryBank) -> None:
    """History, retrieval and the model on one bank: what is recalled never enters the transcript."""
    bank.remember("Gary is allergic to peanuts.")
    retriever = MemoryBankRetriever(bank=bank)
    model = ScriptedChatModel("No peanuts.")
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Known: {known}"), MessagesPlaceholder("history"), ("human", "{input}")]
    )
    inner = (
        RunnableLambda(
            lambda x: {**x, "known": "\n".join(d.page_content for d in retriever.invoke(x["input"]))}
        )
        | prompt
        | model
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runnable = RunnableWithMessageHistory(
            inner,
            lambda session_id: MemoryBankChatMessageHistory(bank, session_id),
            input_messages_key="input",
            history_messages_key="history",
        )
    runnable.invoke({"input": "Am I allergic to peanuts?"}, config("s"))
    assert "Gary is allergic" in model.seen[0][0].text
    assert said(bank, "s") == ["Am I allergic to peanuts?", "No peanuts."]


def test_a_turn_that_could_not_be_stored_is_stored_with_the_next(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Trap 2: RunnableWithMessageHistory swallows the error; we log it without the words and try again, once."""
    runnable = chain(bank, ScriptedChatModel("Aye."))

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("memorybank.bank.MemoryBank.add", fail)
        runnable.invoke({"input": "First."}, config("s"))
    errors = [r for r in caplog.records if r.name == "memorybank.langchain" and r.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "First." not in errors[0].getMessage()
    assert said(bank, "s") == []
    runnable.invoke({"input": "Second."}, config("s"))
    assert said(bank, "s") == ["First.", "Aye.", "Second.", "Aye."]


def test_a_message_that_is_refused_costs_no_turn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A redaction that raises for the user's words: the reply and every later turn are stored, and it is logged."""

    def redact(text: str) -> str:
        if "poison" in text:
            raise ValueError(text)
        return text

    store = MemoryStore.open(tmp_path / "refusing", embedder=HashEmbedder(32), chroma=False, redact=redact)
    bank = store.bank("gary")
    runnable = chain(bank, ScriptedChatModel("Aye."))
    for words in ("First.", "Some poison.", "Third."):
        runnable.invoke({"input": words}, config("s"))
    assert said(bank, "s") == ["First.", "Aye.", "Aye.", "Third.", "Aye."]
    assert "1 of 2 messages are refused (ValueError)" in caplog.text
    assert "poison" not in caplog.text
    store.close()


def test_alone_the_error_is_raised_and_a_retry_stores_once(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Used without RWMH: the caller sees the error, and calling again with the same messages adds them once."""
    history = MemoryBankChatMessageHistory(bank, "s")
    turn = [HumanMessage("Hi"), AIMessage("Hello")]

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("memorybank.bank.MemoryBank.add", fail)
        for _ in range(2):
            with pytest.raises(OSError, match="disk full"):
                history.add_messages(turn)
    history.add_messages(turn)
    assert said(bank, "s") == ["Hi", "Hello"]


def test_messages_come_back_as_they_were(bank: MemoryBank) -> None:
    """Trap 4; langchain 34925 (tool_calls lost), 17529 (images): nothing of a message is lost, whatever is in it."""
    given: list[BaseMessage] = [
        SystemMessage("Be kind."),
        HumanMessage(
            [
                {"type": "text", "text": "See \ud800 and \x00 and 你好"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
            name="Gary",
            additional_kwargs={"raw": b"\x00\xff", 1: (2, {3}), "__memorybank__": "mine"},
        ),
        AIMessage(
            "",
            id="lc_run--1",
            tool_calls=[{"name": "look", "args": {"at": "猫"}, "id": "c1", "type": "tool_call"}],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            response_metadata={"when": datetime(2026, 3, 2, tzinfo=UTC), "who": UUID(int=7), "nan": 1.5},
        ),
        ToolMessage("a cat", tool_call_id="c1", artifact={"pixels": b"\x01"}, status="error"),
        AIMessage([{"type": "text", "text": "A cat."}, {"type": "reasoning", "reasoning": "whiskers"}]),
        ChatMessage("Exit, pursued by a bear.", role="narrator"),
    ]
    history = MemoryBankChatMessageHistory(bank, "s")
    history.add_messages(given)
    assert history.messages == given
    assert [type(m) for m in history.messages] == [type(m) for m in given]
    texts = [m.text for m in bank.memories()]
    assert texts == [
        "Gary: See \ud800 and \x00 and 你好\nassistant: A cat.",
        "narrator: Exit, pursued by a bear.",
    ]


def test_chunks_are_stored_as_one_message(bank: MemoryBank) -> None:
    """langchain 14511 (chunks stored): the chunks of a reply are joined, and no chunk type comes back."""
    history = MemoryBankChatMessageHistory(bank, "s")
    history.add_messages(
        [
            HumanMessage("Hi"),
            AIMessageChunk("Hel", id="r"),
            AIMessageChunk("lo", id="r"),
            AIMessageChunk("Bye", id="q"),
        ]
    )
    assert [type(m) for m in history.messages] == [HumanMessage, AIMessage, AIMessage]
    assert [m.text for m in history.messages] == ["Hi", "Hello", "Bye"]


def test_equal_messages_are_two_unless_they_have_one_id(bank: MemoryBank) -> None:
    """Trap 3; langchain-postgres 152 (message id as key), mem0 1674 (same text twice): ids tell, texts do not."""
    history = MemoryBankChatMessageHistory(bank, "s")
    history.add_messages([HumanMessage("Hi"), HumanMessage("Hi"), HumanMessage("Ho", id="1")])
    history.add_messages([HumanMessage("Ho", id="1"), HumanMessage("Hi")])
    assert said(bank, "s") == ["Hi", "Hi", "Ho", "Hi"]
    MemoryBankChatMessageHistory(bank, "other").add_message(HumanMessage("Ho", id="1"))
    assert said(bank, "other") == ["Ho"]


def test_messages_of_one_moment_keep_their_order(bank: MemoryBank) -> None:
    """langchain-redis pull 178 (equal timestamps), langchain 6829 (order): order is position, not time."""
    history = MemoryBankChatMessageHistory(bank, "s")
    for i in range(30):  # the clock stands still
        history.add_message(HumanMessage(str(i)))
    assert said(bank, "s") == [str(i) for i in range(30)]


def test_instructions_are_not_turns(bank: MemoryBank) -> None:
    """Trap 4: RemoveMessage tells a graph what to drop; nobody said it."""
    history = MemoryBankChatMessageHistory(bank, "s")
    history.add_messages([HumanMessage("Hi"), RemoveMessage(id="x")])
    assert [m.text for m in history.messages] == ["Hi"]


@pytest.mark.parametrize("size", range(1, 9))
def test_a_window_begins_with_a_user_and_splits_no_call(size: int, bank: MemoryBank) -> None:
    """langchain 33245 (leading ToolMessage), trap 14: parallel calls too; the newest exchange is never cut off."""
    history = MemoryBankChatMessageHistory(bank, "s", window=size)
    full = [
        HumanMessage("a"),
        AIMessage("b"),
        HumanMessage("c"),
        calls(("x", {}), ("y", {})),
        ToolMessage("1", tool_call_id="call-0-x"),
        ToolMessage("2", tool_call_id="call-1-y"),
        AIMessage("d"),
    ]
    for message in full:
        history.add_message(message)
    found = history.messages
    assert isinstance(found[0], HumanMessage)
    assert found == full[-len(found) :]
    assert len(found) == (7 if size >= 7 else 5)


def test_clear_takes_one_session_of_one_user(store: MemoryStore) -> None:
    """mem0 3928 and 3746 (delete_all wipes everyone): the same session id of another user is another session."""
    for user in ("ada", "bob"):
        for session in ("s", "t"):
            MemoryBankChatMessageHistory(store=store, user_id=user, session_id=session).add_user_message(
                f"{user} in {session}"
            )
    MemoryBankChatMessageHistory(store=store, user_id="ada", session_id="s").clear()
    left = {(user, s): said(store.bank(user), s) for user in ("ada", "bob") for s in ("s", "t")}
    assert left == {
        ("ada", "s"): [],
        ("ada", "t"): ["ada in t"],
        ("bob", "s"): ["bob in s"],
        ("bob", "t"): ["bob in t"],
    }
    assert not store.bank("ada").recall("ada in s", session="s")


async def test_all_six_members_work_async(bank: MemoryBank) -> None:
    """aget_messages, aadd_messages, aclear beside messages, add_messages, clear."""
    history = MemoryBankChatMessageHistory(bank, "s")
    await history.aadd_messages([HumanMessage("Hi"), AIMessage("Hello")])
    assert (
        [m.text for m in await history.aget_messages()]
        == ["Hi", "Hello"]
        == [m.text for m in history.messages]
    )
    assert "Hello" in str(history)
    await history.aclear()
    assert history.messages == []


def test_messages_of_another_making_are_read(bank: MemoryBank) -> None:
    """What came through core, an import or another adapter is a message of its role."""
    bank.add(
        [
            {"role": "user", "content": "Hi", "id": "1"},
            {"role": "assistant", "content": "Hello", "payload": '{"other": "adapter"}'},
            {"role": "system", "content": "Be kind."},
            {"role": "tool", "content": "42", "payload": "not json"},
        ],
        session="s",
    )
    found = MemoryBankChatMessageHistory(bank, "s").messages
    assert [(type(m), m.text) for m in found] == [
        (HumanMessage, "Hi"),
        (AIMessage, "Hello"),
        (SystemMessage, "Be kind."),
        (ToolMessage, "42"),
    ]


def test_a_missing_user_or_session_is_an_error(store: MemoryStore, bank: MemoryBank) -> None:
    """There is no default user and no default session."""
    with pytest.raises(OwnerError):
        MemoryBankChatMessageHistory(store=store, session_id="s")
    with pytest.raises(OwnerError):
        MemoryBankChatMessageHistory(store=store, user_id=" ", session_id="s")
    for wrong in (None, "", "  "):
        with pytest.raises(ValueError, match="session_id"):
            MemoryBankChatMessageHistory(bank, wrong)
    for window in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="window"):
            MemoryBankChatMessageHistory(bank, "s", window)  # type: ignore[arg-type]  # wrong on purpose


def test_a_blank_id_is_none_and_blocks_nothing(tmp_path: Path) -> None:
    """A message whose id is blank is stored under one of ours, and what follows is stored as well."""
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), chroma=False) as store:
        history = MemoryBankChatMessageHistory(store=store, user_id="u", session_id="s")
        for i in range(3):
            history.add_messages([HumanMessage(f"q{i}"), AIMessage(f"a{i}", id="  " if i == 0 else None)])
        assert [m.text for m in history.messages] == ["q0", "a0", "q1", "a1", "q2", "a2"]
