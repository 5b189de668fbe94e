"""What a session shows: resets and rewrites over a transcript that only grows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorybank import MemoryBank, MemoryStore, Message
from memorybank.rewinding import mark, marked, read, read_end, reset, rewrite
from memorybank.testing import FrozenClock, HashEmbedder

TALK = [Message("user", "a"), Message("assistant", "b"), Message("user", "c"), Message("assistant", "d")]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=FrozenClock()) as store:
        yield store.bank("gary", timezone="UTC")


def words(messages: object) -> list[str]:
    return [message.text for message in messages]  # type: ignore[attr-defined]  # a sequence of messages


def test_a_reset_shows_nothing_and_destroys_nothing(bank: MemoryBank) -> None:
    """After a reset the session shows only what follows; transcript and memories are whole."""
    bank.add(TALK, session="s")
    reset(bank, "s")
    assert read(bank, "s") == []
    assert bank.stats().total == 2
    bank.add([Message("user", "e")], session="s")
    assert words(read(bank, "s")) == ["e"]
    assert words(m for m in bank.history("s") if marked(m) is None) == ["a", "b", "c", "d", "e"]


def test_a_reset_of_nothing_writes_nothing(bank: MemoryBank) -> None:
    """Engines reset before anything was said, and twice: no mark is written for it."""
    reset(bank, "s")
    assert bank.history("s") == []
    bank.add(TALK, session="s")
    reset(bank, "s")
    reset(bank, "s")
    assert len(bank.history("s")) == len(TALK) + 1


@pytest.mark.parametrize(
    ("wanted", "writes"),
    [
        ("abcd", 0),  # the same
        ("abcdef", 2),  # longer
        ("ab", 1),  # rewound
        ("abxd", 2),  # same length, one differs: the new one and the mark
        ("cdab", 1),  # another order
        ("", 1),
        ("xy", 3),
    ],
)
def test_a_rewrite_is_a_diff(bank: MemoryBank, wanted: str, writes: int) -> None:
    """The session shows exactly what was given, only what is new is written, and twice is once."""
    bank.add(TALK, session="s")
    roles = {"a": "user", "c": "user", "e": "user", "x": "user"}
    given = [Message(roles.get(letter, "assistant"), letter) for letter in wanted]
    for _ in range(2):
        assert words(rewrite(bank, "s", given)) == list(wanted)
        assert words(read(bank, "s")) == list(wanted)
        assert len(bank.history("s")) == len(TALK) + writes


def test_a_reset_session_set_to_what_it_was_stores_nothing_twice(bank: MemoryBank) -> None:
    """Reset and set again: the old messages are shown again, their memories are not doubled."""
    bank.add(TALK, session="s")
    reset(bank, "s")
    rewrite(bank, "s", TALK)
    assert words(read(bank, "s")) == ["a", "b", "c", "d"]
    assert bank.stats().total == 2


def test_equal_messages_are_two(bank: MemoryBank) -> None:
    """A message said twice is shown twice."""
    twice = [
        Message("user", "ok"),
        Message("assistant", "b"),
        Message("user", "ok"),
        Message("assistant", "b"),
    ]
    rewrite(bank, "s", twice)
    rewrite(bank, "s", twice)
    assert words(read(bank, "s")) == ["ok", "b", "ok", "b"]
    assert len(bank.history("s")) == 4


def test_the_end_of_a_long_session_is_read_without_its_beginning(bank: MemoryBank) -> None:
    """Reading stops when it is enough; the system messages at the head are known all the same."""
    bank.add([Message("system", "rules")], session="s")
    bank.add([Message("user", str(n)) for n in range(150)], session="s")
    end = read_end(bank, "s", lambda messages: len(messages) >= 10)
    assert not end.whole
    assert words(end.head) == ["rules"]
    assert 10 <= len(end.messages) < 150
    assert end.messages[-1].text == "149"


@pytest.mark.parametrize("before", [0, 3, 150])
@pytest.mark.parametrize("after", [0, 3, 150])
def test_the_end_is_the_end_of_the_whole(bank: MemoryBank, before: int, after: int) -> None:
    """However long ago a session was reset or rewritten, its end is read as the whole would be."""
    bank.add([Message("user", f"b{n}") for n in range(before)], session="s")
    bank.add([mark()], session="s")
    bank.add([Message("system", "rules"), *(Message("user", f"a{n}") for n in range(after))], session="s")
    end = read_end(bank, "s", lambda messages: len(messages) >= 100)
    whole = read(bank, "s")
    assert list(end.messages) == whole[-len(end.messages) :]
    if end.whole:
        assert list(end.messages) == whole
    else:
        assert words(end.head) == ["rules"]


def test_a_deleted_message_is_not_shown_again(tmp_path: Path) -> None:
    """A mark names ids, not texts: what was deleted stays away."""
    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=FrozenClock()) as store:
        bank = store.bank("gary", timezone="UTC")
        bank.add(TALK, session="s")
        rewrite(bank, "s", [TALK[2], TALK[3], TALK[0], TALK[1]])
        bank.delete([memory.id for memory in bank.memories() if "user: a" in memory.text])
        assert words(read(bank, "s")) == ["c", "d"]


def test_redaction_leaves_marks_and_diffs_alone(tmp_path: Path) -> None:
    """A redaction of digits does not make a set history look different, nor break a mark."""
    import re

    def redact(text: str) -> str:
        return re.sub(r"\d", "#", text)

    with MemoryStore.open(tmp_path, embedder=HashEmbedder(), clock=FrozenClock(), redact=redact) as store:
        bank = store.bank("gary", timezone="UTC")
        talk = [Message("user", "call 555 1234"), Message("assistant", "calling")]
        for _ in range(3):
            rewrite(bank, "s", talk)
        assert len(bank.history("s")) == 2
        rewrite(bank, "s", talk[:1])
        assert words(read(bank, "s")) == ["call ### ####"]
