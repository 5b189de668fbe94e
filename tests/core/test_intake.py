"""The border: what callers may give, and how they are told otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import InvalidInputError
from memorybank.models import Message
from tests.core.talking import texts, user


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (None, "list of dicts"),
        (5, "list of dicts"),
        ("hello", "list of dicts"),
        (b"hello", "list of dicts"),
        ([5], r"messages\[0\] must be a dict"),
        ([None], r"messages\[0\]"),
        (["hello"], r"messages\[0\]"),
        ([{}], "no 'role'"),
        ([{"role": "user"}], "no 'content'"),
        ([{"content": "x"}], "no 'role'"),
        ([{"role": "", "content": "x"}], "role ''"),
        ([{"role": " ", "content": "x"}], "role"),
        ([{"role": None, "content": "x"}], "role None"),
        ([{"role": 5, "content": "x"}], "role 5"),
        ([{"role": "pirate", "content": "x"}], "'pirate' is not known"),
        ([user(5)], "content must be"),  # type: ignore[arg-type]  # wrong on purpose
        ([user(b"bytes")], "content must be"),  # type: ignore[arg-type]  # wrong on purpose
        ([user({"text": "x"})], "content must be"),  # type: ignore[arg-type]  # wrong on purpose
        ([user("x", id="")], "id is blank"),
        ([user("x", id=" ")], "id is blank"),
        ([user("x", id=5)], "id must be"),
        ([user("x", id="i" * 513)], "513 characters"),
        ([user("x", name=5)], "name must be"),
        ([user("x", payload={"a": 1})], "payload must be"),
        ([Message("user", 5)], "text must be"),  # type: ignore[arg-type]  # wrong on purpose
        ([Message("user", None)], "text must be"),  # type: ignore[arg-type]  # wrong on purpose
        ([Message("nobody", "x")], "role"),
    ],
)
def test_wrong_messages_are_named(bank: MemoryBank, messages: Any, said: str) -> None:
    """Position, what was given, what is allowed; nothing is stored and no text is repeated."""
    with pytest.raises(InvalidInputError, match=said):
        bank.add(messages, session="s")
    assert bank.sessions() == []


def test_no_error_repeats_what_was_said(bank: MemoryBank) -> None:
    """Errors end in logs: they never carry a message's words."""
    with pytest.raises(InvalidInputError) as caught:
        bank.add([user("my secret is beetroot"), user("beetroot", at="never")], session="s")
    assert "beetroot" not in str(caught.value)


@pytest.mark.parametrize("session", ["", " ", "\n", None, 5, b"s", ["s"], "s" * 513])
def test_sessions_are_non_blank_strings(bank: MemoryBank, session: Any) -> None:
    """In every call that takes one."""
    for door in (lambda: bank.add([user("x")], session=session), lambda: bank.history(session),
                 lambda: bank.clear(session), lambda: bank.window(session)):  # fmt: skip
        with pytest.raises(InvalidInputError, match="session"):
            door()


@pytest.mark.parametrize("last", [0, -1, 1.5, "3", True])
def test_last_is_a_whole_number(bank: MemoryBank, last: Any) -> None:
    """At least 1; None is all."""
    with pytest.raises(InvalidInputError, match="last"):
        bank.history("s", last=last)


@pytest.mark.parametrize(
    ("given", "said"),
    [({"max_tokens": 0}, "max_tokens=0"), ({"max_tokens": "many"}, "max_tokens"), ({"window": 0}, "window=0"),
     ({"k": 0}, "k=0"), ({"session": ""}, "blank")],
)  # fmt: skip
def test_wrong_arguments_of_context_are_named(bank: MemoryBank, given: dict[str, Any], said: str) -> None:
    """As in recall."""
    with pytest.raises(InvalidInputError, match=said):
        bank.context("x", **given)


def test_roles_of_other_worlds_are_understood(bank: MemoryBank) -> None:
    """Frameworks' names for the four roles, in any case; content in parts or missing; one message alone."""
    given = [
        {"role": "Human", "content": [{"type": "text", "text": "What is this?"}, {"type": "image"}, "Look!"]},
        {"role": "AI", "content": None},
        {"role": "developer", "content": "be kind"},
        {"role": "function", "text": "42"},
    ]
    stored = bank.add(given, session="s")
    assert [m.role for m in stored] == ["user", "assistant", "system", "tool"]
    assert texts(stored) == ["What is this?\nLook!", "", "be kind", "42"]
    bank.add({"role": "user", "content": "alone"}, session="s")  # type: ignore[arg-type]  # lenient on purpose
    bank.add((user(f"from a generator {i}") for i in range(2)), session="s")  # type: ignore[arg-type]  # as above
    assert len(bank.history("s")) == 7
