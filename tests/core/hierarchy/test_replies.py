"""Replies of language models: cleaned, or refused with a reason that quotes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.errors import LLMError
from memorybank.hierarchy.replies import clean
from memorybank.testing import GARBAGE

GOOD = "2026-01-03: Gary moved to Rome.\n2026-01-03: He adopted a cat."


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"<think>Let me see. {{}}\n</think>\n{GOOD}",
        f"I should be brief.</think>{GOOD}",
        f"{GOOD}\n<think>Is that all? I",
        f"```\n{GOOD}\n```",
        f"```markdown\n{GOOD}",
        f"Sure! Here is the summary:\n\n{GOOD}",
        f"好的，以下是摘要：\n{GOOD}",
        f"Here is the text:\n```text\n{GOOD}\n```",
        f"{GOOD}\n\nLet me know if you need anything else!",
        f"{GOOD}<|im_end|>",
        f"{GOOD}\nAnd then on the next day he went to the",
        '{"events": ["2026-01-03: Gary moved to Rome.", "2026-01-03: He adopted a cat."]}',
    ],
)
def test_usable_text_is_freed_of_its_wrapping(reply: str) -> None:
    """Thoughts, fences, prefaces, offers, JSON and a cut-off end go; the summary stays word for word."""
    assert clean(reply) == GOOD


@pytest.mark.parametrize(
    "reply",
    [
        *GARBAGE,
        None,
        42,
        "NONE",
        "I'm sorry, but I cannot summarise this.",
        "抱歉，我无法完成这个请求。",
        "作为一个AI，我没有记忆。",
        "As an AI language model, I do not have access to that.",
        "。。。。！！！？？",
        "---\n***\n===",
        "the cat " * 200,
        "\n".join(["He went home."] * 12),
        "很好很好" * 100,
        "<think>all of it is thought</think>",
        '{"events": null}',
    ],
)
def test_unusable_replies_are_refused(reply: object) -> None:
    """Empty, refusing, garbled, looping and broken replies raise LLMError; its message quotes nothing."""
    with pytest.raises(LLMError) as caught:
        clean(reply)
    if isinstance(reply, str) and len(reply) > 20:
        assert reply[:20] not in str(caught.value)


def test_repeating_the_instructions_is_refused() -> None:
    """A small model that echoes its prompt has written no summary."""
    instructions = "Write down what happened that day, one event a line, each with names, places and numbers."
    with pytest.raises(LLMError, match="instructions"):
        clean(
            "Write down what happened that day, one event a line, each with names.", instructions=instructions
        )
    assert clean(GOOD, instructions=instructions) == GOOD


@pytest.mark.parametrize("reply", ["NONE", "None.", "无", "没有。", "<think>hm</think>N/A", "```\nNONE\n```"])
def test_nothing_to_say_is_an_answer_where_it_may_be(reply: str) -> None:
    """A day may tell nothing about the user: that is not a failure."""
    assert clean(reply, may_be_nothing=True) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Gary moved to Rome",
        "- moved to Rome\n- adopted a cat",
        "搬到了罗马",
        "likes: tea, hiking\nmood: sorry that he left Paris",
        "[2026-01-03] Gary moved to Rome.",
        "Sorry for being late, Gary told his boss that he had moved to Rome.",
    ],
)
def test_plain_summaries_stay_as_they_are(text: str) -> None:
    """Lists, single lines and dated lines are not taken for something else."""
    assert clean(text) == text


@given(st.text(max_size=400))
def test_any_reply_is_text_or_an_llm_error(reply: str) -> None:
    """Whatever comes back: words, or one kind of error."""
    try:
        text = clean(reply)
    except LLMError:
        return
    assert text.strip() == text != ""
