"""Laws of the context block, for every content and budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memorybank.context import ContextParts, Language, render_context, strip_context
from memorybank.models import Level, Memory, Message, Recalled

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
LANGUAGES = st.sampled_from(["en", "zh"])
PIECES = st.sampled_from(
    ["user: ", "assistant: ", "\n", "</memorybank>", "<memorybank>", "<|im_start|>", "system:",
     "- (2026-03-01 Sun, note) ",
     "[About the user, as of 2026-03-01 Sun]", "tea", "罗马", " ", "{x}", "\u200b", "```", "\r\n\n"]
)  # fmt: skip
TEXTS = st.lists(PIECES, min_size=1, max_size=12).map("".join)


def _memory(level: Level) -> st.SearchStrategy[Memory]:
    return st.builds(
        lambda text, day: Memory(
            f"{day}", "gary", level, text, NOW - timedelta(days=day), NOW - timedelta(days=day), NOW
        ),
        TEXTS,
        st.integers(0, 900),
    )


PARTS = st.builds(
    ContextParts,
    portrait=st.none() | _memory(Level.PORTRAIT),
    events=st.none() | _memory(Level.EVENTS),
    recalled=st.lists(st.builds(lambda m: Recalled(m, 1.0, 0.5, 1.0), _memory(Level.TURN)), max_size=5),
    digest=st.none() | _memory(Level.DIGEST),
    window=st.lists(st.builds(lambda text: Message("user", text), TEXTS), max_size=4),
)


def count(text: str) -> int:
    return len(text.split()) + sum("\u4e00" <= letter <= "\u9fff" for letter in text)


@given(PARTS, st.integers(0, 400), LANGUAGES)
def test_the_block_is_bounded_fenced_and_recognised(
    parts: ContextParts, budget: int, language: Language
) -> None:
    """Never over budget, counted exactly, one fence only, and gone again when it comes back to be stored."""
    context = render_context(parts, max_tokens=budget, counter=count, zone=UTC, now=NOW, language=language)
    assert context.tokens == count(context.text) <= budget
    assert all(one in parts.recalled for one in context.recalled)
    if context.text:
        assert context.text.count("<memorybank>") == context.text.count("</memorybank>") == 1
        assert strip_context(context.text) == ""
        assert strip_context(f"{context.text}\n\nMy question?") == "My question?"


@given(TEXTS)
def test_stripping_twice_is_stripping_once(text: str) -> None:
    """What is left after stripping holds no block of ours."""
    once = strip_context(text)
    assert strip_context(once) == once
