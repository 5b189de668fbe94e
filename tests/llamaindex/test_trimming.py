"""Fitting a history into a budget."""

from __future__ import annotations

import random

import pytest
from llama_index.core.base.llms.types import ChatMessage, DocumentBlock, ImageBlock, TextBlock

from llamaindex_memorybank._trimming import count_tokens, trim

ROLES = {"u": "user", "a": "assistant", "t": "tool", "s": "system", "c": "assistant"}


def talk(letters: str) -> list[ChatMessage]:
    return [
        ChatMessage(
            role=ROLES[letter],
            content=f"{letter}{n}",
            additional_kwargs={"tool_calls": [{"id": str(n)}]} if letter == "c" else {},
        )
        for n, letter in enumerate(letters)
    ]


def kept(letters: str, budget: int) -> str:
    found = trim(talk(letters), [1] * len(letters), budget)
    return "".join(letters[i] for i in found)


@pytest.mark.parametrize(
    ("letters", "budget", "expected"),
    [
        ("uaua", 4, "uaua"),
        ("uaua", 3, "ua"),  # issue 20256: begins with a user message
        ("auau", 4, "auau"),  # what fits is exact
        ("auau", 3, "uau"),
        ("suaua", 3, "sua"),  # issue 23144: the system message stays
        ("sua", 1, "sua"),
        ("uaucta", 4, "ucta"),  # issue 13715: a call and its result stay together
        ("uaucta", 3, "ua"),  # the last turn loses its tool traffic, not its question or answer
        ("ucttctta", 5, "uctta"),  # parallel results belong to their call
        ("uct", 1, "uct"),  # the step in progress is never dropped
        ("ua", 0, "ua"),
        ("u", -5, "u"),
        ("aaa", 2, "aa"),  # nobody asked
        ("aaa", 0, "a"),
        ("", 5, ""),
        ("s", 0, "s"),
    ],
)
def test_what_is_kept(letters: str, budget: int, expected: str) -> None:
    """Whole turns from the newest on, system messages at the head, tool pairs whole, the user's words always."""
    assert kept(letters, budget) == expected


def test_every_cut_obeys_the_rules() -> None:
    """For any history and budget: in order, results with their calls, a user first, the last user message there."""
    rng = random.Random(7)
    for _ in range(500):
        letters = "".join(
            rng.choice(["ua", "ucta", "uctta", "uctcta", "u"]) for _ in range(rng.randint(1, 6))
        )
        chats = talk(letters)
        tokens = [rng.randint(1, 9) for _ in letters]
        budget = rng.randint(-3, sum(tokens))
        found = trim(chats, tokens, budget)
        assert found == sorted(set(found))
        assert letters[found[0]] == "u"
        assert letters.rindex("u") in found
        for i in found:
            if letters[i] == "t":
                assert i - 1 in found
        later = [i for i in found if i > letters.rindex("u")]
        assert (
            len(found) == len(letters)
            or sum(tokens[i] for i in found) <= budget
            or (found[0] == letters.rindex("u") and (not later or letters[later[0]] in "ca"))
        )


def test_tool_calls_count() -> None:
    """issue 21950: calls count, in whichever way they are told; media count without being opened (trap 18)."""
    split = str.split
    in_kwargs = ChatMessage(
        role="assistant", blocks=[], additional_kwargs={"tool_calls": [{"name": "search", "args": "a b c"}]}
    )
    assert count_tokens(in_kwargs, split) > 3
    assert count_tokens(ChatMessage(role="user", content="two words"), split) == 2
    media = ChatMessage(
        role="user",
        blocks=[
            TextBlock(text="look"),
            ImageBlock(url="http://127.0.0.1:9/a.png"),
            DocumentBlock(url="http://127.0.0.1:9/a.pdf"),
        ],
    )
    assert count_tokens(media, split) == 1 + 256 + 2048


def test_tool_call_blocks_count() -> None:
    """issue 21950: blocks of type "tool_call", where the framework has them."""
    types = pytest.importorskip("llama_index.core.base.llms.types")
    if not hasattr(types, "ToolCallBlock"):
        pytest.skip("this llama-index-core has no ToolCallBlock")
    block = types.ToolCallBlock(tool_name="search", tool_kwargs={"query": "one two three"})
    assert count_tokens(ChatMessage(role="assistant", blocks=[block]), str.split) >= 3
