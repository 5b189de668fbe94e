"""Laws of the lexical analysis, on any text at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.text.terms import LONGEST_WORD, hash_terms, terms

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
MIXED = st.lists(
    st.sampled_from(
        [
            "I'm",
            "don\u2019t",
            "容器",
            "docker",
            " ",
            "5km",
            "\x00",
            "\ud800",
            "e\u0301",
            "@",
            ".",
            "-",
            "a.b@c.de",
            "我",
            "\u0301",
        ]
    ),
    max_size=40,
).map("".join)
WORDS = st.lists(
    st.sampled_from(["coffee", "garden", "trumpet", "seven", "烤茶", "蓝鲸", "2031"]), min_size=1, max_size=8
)


@given(ANY_TEXT | MIXED)
def test_any_text_is_analysed(text: str) -> None:
    """Never raises; terms are non-empty, bounded, encodable, and the answer is always the same."""
    found = terms(text)
    assert all(0 < len(term) <= 3 * LONGEST_WORD for term in found)
    "".join(found).encode("utf-8")
    assert terms(text) == found


@given(WORDS)
def test_a_text_is_found_by_its_words(words: list[str]) -> None:
    """Every content word's terms, asked alone, are among the text's."""
    found = set(terms(" ".join(words)))
    assert all(set(terms(word)) <= found for word in words)


@given(WORDS, WORDS)
def test_joining_texts_joins_their_terms(left: list[str], right: list[str]) -> None:
    """Texts apart by a line break do not influence each other's terms."""
    one, two = " ".join(left), " ".join(right)
    assert terms(one + "\n" + two) == terms(one) + terms(two)


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=20), max_size=50))
def test_hashing_counts_every_word(words: list[str]) -> None:
    """The counts sum to the words given, hashes rise strictly, and order does not matter."""
    hashes, counts = hash_terms(words)
    assert int(counts.astype(np.int64).sum()) == len(words)
    assert (hashes[1:] > hashes[:-1]).all()
    again, same = hash_terms(reversed(words))
    assert np.array_equal(hashes, again)
    assert np.array_equal(counts, same)


@pytest.mark.parametrize(
    ("seed", "terms_each"),
    [
        ("plain words here ", 4),
        ("我爱喝茶", 9),
        ("a-", 1),
        ("a'", 1),
        ("x@y.", 2),
        ("1,", 1),
        ("C+", 1),
        ("a\u0327\u0301", 1),
        ("\ufdfa", 4),
    ],
)
def test_work_grows_with_length(seed: str, terms_each: int) -> None:
    """On 1 MB a text has a bounded number of terms per repetition, and ends within the test's time limit: a
    quadratic step would need hours."""
    repeats = 1_000_000 // len(seed.encode())
    assert len(terms(seed * repeats)) <= terms_each * repeats + 1
