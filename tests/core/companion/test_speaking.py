"""Other things as chat models, and replies without what the model thought."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.companion.speaking import as_llm, of_function, without_thoughts
from memorybank.errors import LLMError

TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Who am I?"},
]


def test_a_function_reads_the_talk_as_a_script() -> None:
    """System text first, then who said what, then the model's turn; bare: one prompt as it is."""
    read: list[str] = []

    def told(prompt: str) -> str:
        read.append(prompt)
        return "Ann."

    assert list(of_function(told)(TALK)) == ["Ann."]
    assert read == ["Be kind.\n\nuser: Hi\n\nassistant: Hello\n\nuser: Who am I?\n\nassistant:"]
    assert as_llm(of_function(told, bare=True))("Summarise.") == "Ann."
    assert read[1] == "Summarise."


def test_a_function_may_give_pieces() -> None:
    """An iterator is streamed; anything else than text is refused by kind."""

    def pieces(prompt: str) -> Iterator[str]:
        yield from ("a", "b")

    assert list(of_function(pieces)(TALK)) == ["a", "b"]
    with pytest.raises(LLMError, match="returned int"):
        list(of_function(len)(TALK))
    with pytest.raises(LLMError, match="piece of int"):
        list(of_function(lambda prompt: [1])(TALK))


@given(
    st.sampled_from(
        [
            "",
            "<think>\nI wonder. <thin\n</think>\n\n",
            " \n<think></think>",
            "<think>a</think><think>b</think>",
        ]
    ),
    st.sampled_from(["Hello.", "<thing> is a tag", "1 < 2", "你好。", "", "a <think>b</think>"]),
    st.lists(st.integers(1, 5), max_size=40),
)
def test_thoughts_are_left_out_however_the_text_is_cut(thought: str, reply: str, cuts: list[int]) -> None:
    """A block of thought at the beginning goes, whatever the pieces; the reply stays as it is."""
    text, pieces = thought + reply, []
    for size in cuts:
        pieces.append(text[:size])
        text = text[size:]
    assert "".join(without_thoughts([*pieces, text])) == reply


def test_a_thought_that_never_ends_is_no_reply() -> None:
    """A reply cut off while thinking has no text."""
    assert list(without_thoughts(["<think>", "on and on"])) == []
