"""MemoryBankMemory itself: what it returns, what it stores, what it refuses."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms import types
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.memory import BaseMemory
from llama_index.core.schema import QueryBundle

from llamaindex_memorybank import InsertMethod, MemoryBankMemory
from memorybank import InvalidInputError, MemoryBank, MemoryStore, OwnerError, StoreError
from memorybank.testing import FrozenClock, HashEmbedder

FACT = "My sister's cat is called Mochi."
QUESTION = "What is my sister's cat called?"


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def thought(text: str) -> list[Any]:
    """A thinking block, where the framework has them (not in 0.14.0)."""
    return [types.ThinkingBlock(content=text)] if hasattr(types, "ThinkingBlock") else []


@pytest.fixture
def memory(store: MemoryStore) -> MemoryBankMemory:
    return MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")


# -- making -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user_id", [None, "", "  ", 7])
def test_there_is_no_default_user(store: MemoryStore, user_id: Any) -> None:
    """The user is mandatory; a blank one, or one that is no string, is refused."""
    with pytest.raises(OwnerError):
        MemoryBankMemory.from_defaults(store=store, user_id=user_id)


def test_a_place_is_needed(store: MemoryStore, bank: MemoryBank) -> None:
    """One of store, bank and path; a user that is not the bank's is refused."""
    with pytest.raises(InvalidInputError, match="store=, bank= or path="):
        MemoryBankMemory.from_defaults(user_id="gary")
    with pytest.raises(OwnerError, match="bank is 'gary'"):
        MemoryBankMemory.from_defaults(bank=bank, user_id="ann")
    assert MemoryBankMemory.from_defaults(bank=bank).user_id == "gary"


@pytest.mark.parametrize("history", [None, []])
def test_no_history_never_wipes_one(store: MemoryStore, memory: MemoryBankMemory, history: Any) -> None:
    """pull 13325: ``from_defaults`` without a history goes on with the stored session."""
    memory.put(user(FACT))
    again = MemoryBankMemory.from_defaults(
        store=store, user_id="gary", session_id="s", chat_history=history, unknown_argument=1
    )
    assert again.get_all() == [user(FACT)]


def test_a_history_given_is_set(store: MemoryStore) -> None:
    """``chat_history=[…]`` makes the session show it; given again it changes nothing."""
    for _ in range(2):
        memory = MemoryBankMemory.from_defaults(
            store=store, user_id="gary", session_id="s", chat_history=[user("a"), assistant("b")]
        )
        assert memory.get_all() == [user("a"), assistant("b")]
    assert store.bank("gary").stats().messages == 2


def test_each_new_memory_without_a_session_is_a_session_of_its_own(store: MemoryStore) -> None:
    """``session_id=None`` begins a new session."""
    one, two = (MemoryBankMemory.from_defaults(store=store, user_id="gary") for _ in range(2))
    one.put(user("a"))
    assert two.get_all() == []


def test_it_is_a_memory_of_the_framework(memory: MemoryBankMemory) -> None:
    """A ``BaseMemory``, never falsy (trap 6), with the tokenizer that SimpleChatEngine looks for."""
    assert isinstance(memory, BaseMemory)
    assert bool(memory)
    assert not hasattr(memory, "__len__")
    assert len(memory.tokenizer_fn("two words")) == 2
    assert memory.class_name() == "MemoryBankMemory"


# -- reading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", [QUESTION, QueryBundle(QUESTION), user(QUESTION), {"role": "user", "content": QUESTION}]
)
def test_input_of_every_kind(memory: MemoryBankMemory, given: Any) -> None:
    """pull 23180: text, QueryBundle, ChatMessage and dict ask the same; what is asked is not stored by it."""
    memory.bank.remember(FACT)
    [message] = memory.get(input=given)
    assert FACT in str(message.content)
    assert message.role is MessageRole.SYSTEM
    assert memory.get_all() == []


def test_without_input_the_last_user_message_asks(memory: MemoryBankMemory) -> None:
    """Trap 1: the last message may be a tool's or the assistant's; the user's asks."""
    memory.bank.remember(FACT)
    memory.bank.remember("Bruno the dog barks at trains.")
    memory.put_messages([user(QUESTION), ChatMessage(role="tool", content="Bruno dog trains barks")])
    first, *history = memory.get()
    found = str(first.content)
    assert FACT in found
    assert [message.role.value for message in history] == ["user", "tool"]
    [turn] = memory.bank.memories(levels=["turn"])
    assert turn.text == f"user: {QUESTION}"


async def test_sync_and_async_agree(memory: MemoryBankMemory) -> None:
    """Every method has both forms, with the same outcome."""
    await memory.aput(user("a"))
    await memory.aput_messages([assistant("b"), user("c")])
    assert await memory.aget_all() == memory.get_all() == [user("a"), assistant("b"), user("c")]
    assert await memory.aget() == memory.get()
    assert await memory.aget(input="a b") == memory.get(input="a b")
    await memory.aset([user("x")])
    assert memory.get_all() == [user("x")]
    await memory.areset()
    assert memory.get_all() == []


def test_the_current_message_stands_once(memory: MemoryBankMemory) -> None:
    """Trap 3: before and after the user's message is stored, it is neither doubled nor recalled to itself."""
    before = memory.get(input=FACT)
    memory.put(user(FACT))
    after = memory.get(input=FACT)
    assert before == []
    assert after == [user(FACT)]
    memory.put(assistant("Noted."))
    assert memory.get() == [user(FACT), assistant("Noted.")]


def test_what_the_history_shows_is_not_recalled_as_well(memory: MemoryBankMemory, store: MemoryStore) -> None:
    """A memory whose messages stand in the returned history is not told a second time."""
    memory.put_messages([user(FACT), assistant("Noted."), user(QUESTION)])
    assert memory.get() == [user(FACT), assistant("Noted."), user(QUESTION)]
    other = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="other")
    assert FACT in str(other.get(input=QUESTION)[0].content)


def test_what_was_trimmed_away_is_recalled(store: MemoryStore) -> None:
    """What no longer fits into the history comes back as a memory when it is asked for."""
    memory = MemoryBankMemory.from_defaults(
        store=store, user_id="gary", session_id="s", token_limit=400, memory_token_limit=200
    )
    memory.put_messages([user(FACT), assistant("Noted.")])
    for n in range(30):
        memory.put_messages([user(f"Chatter about the weather, part {n}."), assistant("Indeed it is so.")])
    first, *history = memory.get(input=QUESTION)
    assert FACT in str(first.content)
    assert user(FACT) not in history
    assert history[0].role is MessageRole.USER


def test_copies_are_returned(memory: MemoryBankMemory) -> None:
    """Trap 7: whatever a caller does to what it got, the next read is as stored."""
    memory.put(user("as it was"))
    for message in memory.get() + memory.get_all():
        message.blocks[0].text = "rewritten"  # type: ignore[union-attr]  # a text block
        message.additional_kwargs["x"] = 1
    assert memory.get_all() == [user("as it was")]


def test_a_mutated_message_is_stored_as_it_was_put(memory: MemoryBankMemory) -> None:
    """pull 23055: the caller may change its object after ``put``."""
    message = user("as it was")
    memory.put(message)
    message.blocks = [TextBlock(text="rewritten")]
    assert memory.get_all() == [user("as it was")]


def test_nothing_to_say_is_no_message(memory: MemoryBankMemory) -> None:
    """Trap 8: a new user, or a blank question, gets no memory message."""
    assert memory.get() == []
    assert memory.get(input="Hello") == []
    memory.put(user("Hello"))
    assert memory.get() == [user("Hello")]


@pytest.mark.parametrize(
    ("method", "role"), [(None, "system"), (InsertMethod.SYSTEM, "system"), ("user", "user")]
)
def test_the_role_of_the_memory_message(store: MemoryStore, method: Any, role: str) -> None:
    """Trap 9: system for engines, unless a role is asked for; first, and not stored."""
    store.bank("gary").remember(FACT)
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s", insert_method=method)
    memory.put_messages([user("Hello"), assistant("Hello")])
    found = memory.get(input=QUESTION)
    assert [message.role.value for message in found] == [role, "user", "assistant"]
    assert memory.get_all() == [user("Hello"), assistant("Hello")]


def test_unknown_arguments_are_accepted(memory: MemoryBankMemory) -> None:
    """Trap 14: frameworks pass what they like; an empty put writes nothing."""
    memory.put_messages([])
    assert memory.get(input=None, something=1) == []
    assert memory.bank.sessions() == []


@pytest.mark.parametrize("count", [0, 10, 10**9])
def test_an_initial_count_over_the_limit_trims(memory: MemoryBankMemory, count: int) -> None:
    """issue 11637, trap 14: however many tokens are taken already, the user's message is returned, no error."""
    memory.bank.remember(FACT)
    memory.put_messages([user("Before"), assistant("Yes"), user(QUESTION)])
    found = memory.get(initial_token_count=count)
    assert found[-1] == user(QUESTION)
    assert (len(found) == 1) == (count == 10**9)


# -- writing ----------------------------------------------------------------------------------------------------


def test_dicts_are_messages(memory: MemoryBankMemory) -> None:
    """issue 7629: {"role", "content"} is accepted wherever a message is; other things are refused."""
    memory.put({"role": "user", "content": FACT})  # type: ignore[arg-type]  # what the report did
    assert memory.get_all() == [user(FACT)]
    with pytest.raises(InvalidInputError, match="not int"):
        memory.put(7)  # type: ignore[arg-type]  # what is refused


def test_messages_come_back_losslessly(memory: MemoryBankMemory) -> None:
    """Blocks, roles and arguments come back as put: images, thoughts, tool calls, names."""
    given = [
        ChatMessage(role="system", content="Rules."),
        ChatMessage(
            role="user", blocks=[TextBlock(text="Look"), ImageBlock(url="http://127.0.0.1:9/cat.png")]
        ),
        ChatMessage(
            role="user", blocks=[ImageBlock(image=b"\x89PNG\r\n\x1a\n0000", image_mimetype="image/png")]
        ),
        ChatMessage(role="assistant", blocks=[*thought("Hmm"), TextBlock(text="A cat.")]),
        ChatMessage(
            role="assistant", blocks=[], additional_kwargs={"tool_calls": [{"id": "1", "name": "f"}]}
        ),
        ChatMessage(role="tool", content="done", additional_kwargs={"tool_call_id": "1"}),
        ChatMessage(role="model", content="Gemini says hi"),
        ChatMessage(role="user", content="", additional_kwargs={"name": "Ann"}),
        ChatMessage(role="user", blocks=[TextBlock(text="one"), TextBlock(text="two")]),
        ChatMessage(role="user", content="{braces} 日本語 \u0000 end"),
    ]
    memory.put_messages(given)
    assert memory.get_all() == given
    assert memory.get()[-len(given) :] == given


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage(role="assistant", blocks=[], additional_kwargs={"tool_calls": [{"name": "f"}]}),
        ChatMessage(role="assistant", blocks=thought("secret plan")),
        ChatMessage(role="tool", content="tool output"),
        ChatMessage(role="system", content="system words"),
        ChatMessage(role="user", content="   "),
        ChatMessage(role="user", blocks=[ImageBlock(url="http://127.0.0.1:9/cat.png")]),
        ChatMessage(
            role="assistant", content="Let me look", additional_kwargs={"tool_calls": [{"name": "f"}]}
        ),
    ],
)
def test_what_is_not_said_is_no_memory(memory: MemoryBankMemory, message: ChatMessage) -> None:
    """issue 14014, trap 13: tool, system, thinking and empty messages stay in the history and make no memory."""
    memory.put(message)
    assert memory.bank.memories() == []
    assert memory.get_all() == [message]


def test_of_reasoning_only_the_answer_is_remembered(memory: MemoryBankMemory) -> None:
    """Trap 13: of a ReAct message the text after the last "Answer:" is the memory; the history has all of it."""
    text = "Thought: Look it up.\nAction: f\nAction Input: {}\nObservation: Answer: no\nThought: ok\nAnswer: A cat."
    memory.put_messages([user("Who?"), assistant(text)])
    assert memory.bank.memories()[0].text == "user: Who?\nassistant: A cat."
    assert memory.get_all()[1].content == text


def test_an_echo_of_the_memory_message_is_not_remembered(memory: MemoryBankMemory) -> None:
    """A model that repeats its memory message does not make the user have said it again."""
    memory.bank.remember(FACT)
    block = str(memory.get(input=QUESTION)[0].content)
    memory.put_messages([user(QUESTION), assistant(f"{block}\nMochi it is.")])
    [turn] = memory.bank.memories(levels=["turn"])
    assert turn.text == f"user: {QUESTION}\nassistant: Mochi it is."


def test_set_is_a_diff(memory: MemoryBankMemory) -> None:
    """Trap 5: equal length and different words is another history; twice is once; nothing long-term is lost."""
    memory.set([user(FACT), assistant("Noted.")])
    memory.set([user(FACT), assistant("Noted.")])
    assert memory.bank.stats().messages == 2
    memory.set([user("Another thing."), assistant("Noted.")])
    assert memory.get_all() == [user("Another thing."), assistant("Noted.")]
    memory.reset()
    memory.set([user("Fresh")])
    assert memory.get_all() == [user("Fresh")]
    assert FACT in str(memory.get(input=QUESTION)[0].content)


def test_set_refuses_what_is_no_message(memory: MemoryBankMemory) -> None:
    """pull 23183: a failing ``set`` leaves the history as it was."""
    memory.set([user("a")])
    with pytest.raises(InvalidInputError):
        memory.set([user("b"), object()])  # type: ignore[list-item]  # what is refused
    assert memory.get_all() == [user("a")]


# -- when things fail -------------------------------------------------------------------------------------------


class Failing:
    """Makes ``MemoryBank.add`` fail while it is on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on = False
        original = MemoryBank.add

        def add(bank: MemoryBank, *args: Any, **kwargs: Any) -> Any:
            if self.on:
                raise StoreError("the disk is full")
            return original(bank, *args, **kwargs)

        monkeypatch.setattr(MemoryBank, "add", add)


def test_a_failing_put_keeps_the_turn_and_the_message(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pull 22867, trap 12: the turn goes on, the history is whole, ``on_error`` hears of it, and what failed is
    written, in order and once, when it can be."""
    errors: list[Exception] = []
    memory = MemoryBankMemory.from_defaults(
        store=store, user_id="gary", session_id="s", on_error=errors.append
    )
    failing = Failing(monkeypatch)
    memory.put(user("a"))
    failing.on = True
    memory.put(assistant("b"))
    memory.put(user("c"))
    assert [str(error) for error in errors] == ["the disk is full"] * 2
    assert memory.get_all() == memory.get() == [user("a"), assistant("b"), user("c")]
    assert not memory.flush()
    failing.on = False
    memory.put(assistant("d"))
    assert memory.flush()
    again = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    assert [message.content for message in again.get_all()] == ["a", "b", "c", "d"]


def test_one_message_that_is_refused_holds_back_no_other(tmp_path: Path) -> None:
    """A redaction that fails on one message: the others are written, it is shown here, told of once, and tried again
    until the session shows something else."""
    errors: list[Exception] = []
    refusing = ["poison"]

    def redact(text: str) -> str:
        if any(word in text for word in refusing):
            raise RuntimeError("cannot be redacted")
        return text

    store = MemoryStore.open(tmp_path / "refusing", embedder=HashEmbedder(32), chroma=False, redact=redact)
    memory = MemoryBankMemory.from_defaults(
        store=store, user_id="gary", session_id="s", on_error=errors.append
    )
    for message in (user("one"), user("poison"), user("two"), assistant("three")):
        memory.put(message)
    assert not memory.flush()
    memory.put(user("four"))
    assert not memory.flush()
    assert len([error for error in errors if "1 of" in str(error)]) == 1
    assert not any("poison" in str(error) for error in errors)
    again = MemoryBankMemory.from_defaults(store=store, user_id="gary", session_id="s")
    assert [message.content for message in again.get_all()] == ["one", "two", "three", "four"]
    assert [message.content for message in memory.get_all()] == ["one", "two", "three", "four", "poison"]
    refusing.clear()
    assert memory.flush()
    assert [message.content for message in again.get_all()] == ["one", "two", "three", "four", "poison"]
    refusing.append("poison")
    memory.put(user("more poison"))
    memory.reset()
    assert memory.flush()
    assert memory.get_all() == []
    store.close()


def test_without_on_error_it_is_logged_without_words(
    memory: MemoryBankMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing of what was said stands in a log."""
    Failing(monkeypatch).on = True
    memory.put(user(FACT))
    assert "the disk is full" in caplog.text
    assert "Mochi" not in caplog.text


def test_a_failing_set_or_reset_keeps_the_old(
    memory: MemoryBankMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pull 23183: where the store refuses, ``set`` and ``reset`` raise and the history is as it was."""
    memory.set([user("a")])
    failing = Failing(monkeypatch)
    failing.on = True
    with pytest.raises(StoreError):
        memory.set([user("b")])
    with pytest.raises(StoreError):
        memory.reset()
    assert memory.get_all() == [user("a")]


def test_a_failing_recall_is_a_turn_without_memories(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where recall fails the history is returned, and ``on_error`` hears of it."""
    errors: list[Exception] = []
    memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", on_error=errors.append)
    memory.put(user("a"))

    def context(*args: Any, **kwargs: Any) -> Any:
        raise StoreError("the records cannot be read")

    monkeypatch.setattr(MemoryBank, "context", context)
    assert memory.get() == [user("a")]
    assert len(errors) == 1


# -- saving -----------------------------------------------------------------------------------------------------


def test_saved_it_is_json_without_secrets(store: MemoryStore, memory: MemoryBankMemory) -> None:
    """``to_dict`` holds whose and where, nothing else; copies and pickles are handles on the same session."""
    memory.put(user(FACT))
    data = json.loads(json.dumps(memory.to_dict()))
    assert "Mochi" not in json.dumps(data)
    assert set(data) == {
        "class_name", "user_id", "session_id", "place", "token_limit", "memory_token_limit", "insert_method",
        "k", "min_score", "credit", "consolidate",
    }  # fmt: skip
    for other in (
        MemoryBankMemory.from_dict(data),
        pickle.loads(pickle.dumps(memory)),
        copy.deepcopy(memory),
    ):
        assert other.get_all() == [user(FACT)]
        assert other.bank.owner == "gary"


def test_a_memory_over_a_bank_reconnects_too(bank: MemoryBank) -> None:
    """A bank without its store: the same bank is found again in the process."""
    memory = MemoryBankMemory.from_defaults(bank=bank, session_id="s")
    memory.put(user(FACT))
    assert MemoryBankMemory.from_dict(memory.to_dict()).bank is bank


def test_made_by_hand_it_says_what_is_missing() -> None:
    """The bare constructor knows no store."""
    with pytest.raises(InvalidInputError, match="from_defaults"):
        MemoryBankMemory(user_id="gary", session_id="s").get()


def test_credit_can_follow_the_answer(store: MemoryStore) -> None:
    """``credit="used"``: what the answer draws on is strengthened, the rest is not; ``"none"``: nothing is."""
    bank = store.bank("gary")
    cat, dog = bank.remember(FACT), bank.remember("My sister's dog is called Bruno.")
    for credit, expected in (("used", (2, 1)), ("none", (2, 1))):
        memory = MemoryBankMemory.from_defaults(store=store, user_id="gary", credit=credit)  # type: ignore[arg-type]
        memory.put(user("What are my sister's cat and dog called?"))
        assert memory.get()
        memory.put(assistant("The cat is called Mochi."))
        assert tuple(one.strength for one in bank.get([cat.id, dog.id])) == expected


def test_the_clock_is_the_stores(memory: MemoryBankMemory, clock: FrozenClock) -> None:
    """Messages are dated by the store's clock."""
    memory.put(user(FACT))
    assert memory.bank.history("s")[0].at == clock()
    assert isinstance(memory.bank.runtime.embedder, HashEmbedder)
