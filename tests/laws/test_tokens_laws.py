"""Laws of counting and cutting, on any text at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memorybank.tokens import default_counter, estimate, truncate

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)
PROSE = st.lists(
    st.sampled_from(
        [
            "word",
            "longer-word",
            ". ",
            " ",
            "\n",
            "你好",
            "。",
            "e\u0301",
            "\U0001f469\u200d\U0001f467",
            "\ud800",
            "\x00",
        ]
    ),
    max_size=80,
).map("".join)
COUNTERS = st.sampled_from(
    [estimate, default_counter(), len, lambda text: len(text.encode("utf-8", "surrogatepass"))]
)


@given(ANY_TEXT | PROSE, st.integers(0, 120), COUNTERS)
def test_truncate_never_exceeds(text: str, limit: int, counter) -> None:  # type: ignore[no-untyped-def]  # a counter
    """What is kept is a beginning of the text and within the budget; a text within it is untouched."""
    kept = truncate(text, limit, counter)
    assert text.startswith(kept)
    assert counter(kept) <= limit
    if limit and counter(text) <= limit:
        assert kept == text


@given(ANY_TEXT | PROSE)
def test_counts_are_never_negative_and_repeat(text: str) -> None:
    """Any text, broken characters included, is counted without raising, and always alike."""
    for counter in (estimate, default_counter()):
        assert counter(text) == counter(text) >= 0
    assert bool(text.strip()) <= (default_counter()(text) > 0)


@given(ANY_TEXT, ANY_TEXT)
def test_the_estimate_of_two_texts_is_about_their_sum(left: str, right: str) -> None:
    """Pieces counted apart never promise more room than they take together, but for one run of blanks."""
    assert estimate(left) <= estimate(left + right) <= estimate(left) + estimate(right) + 1
