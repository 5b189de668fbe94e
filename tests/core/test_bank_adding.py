"""Adding: verbatim, in order, idempotent by id, whole or not at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import InvalidInputError
from memorybank.models import Message
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock, HashEmbedder
from tests.conftest import OpenStore
from tests.core.talking import assistant, texts, user

STRANGE = [
    "",
    " \t\n ",
    "with a NUL \x00 in it",
    "a lone surrogate \ud800 and another \udfff",
    "our own escape \x1a0041 and \x1a alone",
    "\r\n line ends \r\n\n",
    "中文、emoji 🐈‍⬛ and e\u0301",
    "'; DROP TABLE messages; --",
    "x" * 1_000_000,
]


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: repr(text[:20]))
def test_text_is_read_back_verbatim(open_store: OpenStore, text: str) -> None:
    """What was said is read back exactly, by this process and after reopening."""
    first = open_store()
    first.bank("gary").add([user(text), assistant("before " + text + " after")], session="s")
    first.close()
    found = open_store().bank("gary").history("s")
    assert texts(found) == [text, "before " + text + " after"]


def test_everything_about_a_message_is_kept(bank: MemoryBank) -> None:
    """Role, name, id, payload, time and place come back as given."""
    said = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
    given = Message("user", "Hello", said, id="m-1", name="Ann \ud83d", payload='{"x": "\x00"}')
    (stored,) = bank.add([given], session="a/b \ud800")
    assert bank.history("a/b \ud800") == [stored]
    assert (stored.role, stored.text, stored.at, stored.id) == ("user", "Hello", said, "m-1")
    assert (stored.name, stored.payload) == ("Ann \ud83d", '{"x": "\x00"}')
    assert (stored.owner, stored.session, stored.position) == ("gary", "a/b \ud800", 0)


def test_order_is_the_order_of_adding_whatever_the_times(bank: MemoryBank, clock: FrozenClock) -> None:
    """Positions rise by one per session; times may go backwards."""
    for i in range(20):
        bank.add([user(f"message {i}")], session="s", at=clock.advance(timedelta(hours=-1)))
    found = bank.history("s")
    assert texts(found) == [f"message {i}" for i in range(20)]
    assert [m.position for m in found] == list(range(20))
    assert texts(bank.history("s", last=3)) == ["message 17", "message 18", "message 19"]


def test_sessions_are_counted_apart(bank: MemoryBank) -> None:
    """Each session has positions from 0, and sessions are listed in the order of their making."""
    for name in ("b", "a", "c"):
        bank.add([user("hi"), assistant("hello")], session=name)
    assert bank.sessions() == ["b", "a", "c"]
    assert [[m.position for m in bank.history(name)] for name in bank.sessions()] == [[0, 1]] * 3


def test_the_same_id_is_stored_once(bank: MemoryBank) -> None:
    """Idempotent by (owner, session, id): the first stays, and is what the second add returns."""
    first = bank.add([user("I live in Oslo", id="1")], session="s")
    again = bank.add([user("something else", id="1")], session="s")
    assert again == first
    assert texts(bank.history("s")) == ["I live in Oslo"]
    assert bank.stats().total == 1


def test_the_same_id_twice_in_one_call_is_stored_once(bank: MemoryBank) -> None:
    """Within one batch the first counts as well; one message is returned for each that was given."""
    returned = bank.add([user("one", id="1"), user("two", id="1"), user("three", id="3")], session="s")
    assert texts(returned) == ["one", "one", "three"]
    assert texts(bank.history("s")) == ["one", "three"]


def test_an_id_belongs_to_its_session(bank: MemoryBank) -> None:
    """The same id in another session is another message."""
    bank.add([user("one", id="1")], session="a")
    bank.add([user("two", id="1")], session="b")
    assert (texts(bank.history("a")), texts(bank.history("b"))) == (["one"], ["two"])


def test_a_half_known_batch_adds_the_rest(bank: MemoryBank) -> None:
    """After a retry of a batch of which a part arrived, everything is there once, and in order."""
    bank.add([user("one", id="1"), assistant("two", id="2")], session="s")
    bank.add([user("one", id="1"), assistant("two", id="2"), user("three", id="3")], session="s")
    assert texts(bank.history("s")) == ["one", "two", "three"]
    assert bank.stats().total == 2


def test_without_an_id_equal_messages_are_two(bank: MemoryBank) -> None:
    """Saying the same twice is saying it twice."""
    bank.add([user("yes")], session="s")
    bank.add([user("yes"), user("yes")], session="s")
    assert texts(bank.history("s")) == ["yes"] * 3
    assert bank.stats().total == 3


def test_nothing_given_stores_nothing(store: MemoryStore) -> None:
    """An empty list makes neither bank nor session."""
    assert store.bank("gary").add([], session="s") == []
    assert store.owners() == []


def test_a_bad_message_stores_nothing_of_its_batch(bank: MemoryBank) -> None:
    """The error names the position; the good messages before it are not stored either."""
    with pytest.raises(InvalidInputError, match=r"messages\[2\]"):
        bank.add([user("one"), assistant("two"), {"role": "pirate", "content": "three"}], session="s")
    assert bank.history("s") == []


@pytest.mark.slow
def test_ten_thousand_messages_in_one_call(bank: MemoryBank) -> None:
    """A batch of 10,000 is stored in order, each exchange one memory, all of them recallable."""
    batch = []
    for i in range(5_000):
        batch += [user(f"Question number {i} about topic{i}"), assistant(f"Answer {i}")]
    stored = bank.add(batch, session="s")
    assert [m.position for m in stored] == list(range(10_000))
    assert texts(bank.history("s")) == [m["content"] for m in batch]
    assert bank.stats().memories == {"turn": 5_000}
    assert "topic4321" in bank.recall("topic4321", k=1)[0].memory.text


def test_an_add_is_one_transaction(store: MemoryStore, bank: MemoryBank) -> None:
    """Whatever its size, an add commits its writes once; so does the first, which makes bank and session."""
    seen: list[str] = []
    with store.runtime.database.read() as connection:  # lent again to the next that asks
        connection.connection.driver_connection.set_trace_callback(seen.append)  # type: ignore[union-attr]  # it is open
    seen.clear()
    bank.add([user("one"), assistant("two"), user("three")], session="s")
    assert seen.count("BEGIN IMMEDIATE") == 1
    assert seen.count("COMMIT") == 1
    seen.clear()
    bank.add([user(f"message {i}") for i in range(700)], session="t")
    assert seen.count("BEGIN IMMEDIATE") == 1
    assert seen.count("COMMIT") == 1


def test_adding_calls_the_embedder_once_per_text_and_no_llm(open_store: OpenStore) -> None:
    """An add embeds its texts in batches and asks no language model."""
    calls: list[list[str]] = []

    class Counting(HashEmbedder):
        def embed_documents(self, texts: list[str]):  # type: ignore[no-untyped-def]  # as the base class
            calls.append(list(texts))
            return super().embed_documents(texts)

    def llm(prompt: str) -> str:
        raise AssertionError("add must not ask a language model")

    bank = open_store(embedder=Counting(64), llm=llm).bank("gary")
    bank.add([user("the same"), user("the same"), user("another")], session="s")
    assert calls == [["user: the same", "user: another"]]


def test_redact_comes_before_everything(open_store: OpenStore, folder) -> None:  # type: ignore[no-untyped-def]  # Path
    """What the hook removes is in no file, is not embedded and cannot be recalled."""
    seen: list[str] = []

    class Listening(HashEmbedder):
        def embed_documents(self, texts: list[str]):  # type: ignore[no-untyped-def]  # as the base class
            seen.extend(texts)
            return super().embed_documents(texts)

    store = open_store(embedder=Listening(64), redact=lambda text: text.replace("4929-1234", "[card]"))
    bank = store.bank("gary")
    bank.add([user("My card is 4929-1234", payload="raw 4929-1234")], session="s")
    note = bank.remember("card 4929-1234 is blue")
    bank.edit(note.id, "card 4929-1234 is red")
    store.close()
    assert seen
    assert not any("4929" in text for text in seen)
    assert b"4929-1234" not in b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())
    assert texts(open_store().bank("gary").history("s")) == ["My card is [card]"]


@pytest.mark.parametrize("reply", [None, 7, b"bytes"])
def test_a_redact_hook_that_gives_no_string_is_refused(open_store: OpenStore, reply: object) -> None:
    """A broken hook is a clear error, and nothing is stored."""
    bank = open_store(redact=lambda text: reply).bank("gary")
    with pytest.raises(InvalidInputError, match="redact"):
        bank.add([user("secret")], session="s")
    with pytest.raises(InvalidInputError, match="redact"):
        bank.remember("secret")
    assert bank.history("s") == []
