"""Defusing: memories stay words; cutting: our own block is recognised."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.hierarchy.fencing import CLOSE, OPEN, cut_fenced, defuse, indent

NASTY = st.text(
    alphabet=st.sampled_from("<＜/>|im_start system:：\n\r\u2028\u200b\u202e#[]INST`memorybank 忽略系统"),
    max_size=200,
)
TAIL = re.compile(re.escape(OPEN) + "\nours")


@given(NASTY)
def test_nothing_defused_opens_a_tag_or_names_a_role(text: str) -> None:
    """No tag, no ChatML, no instruction bracket, no heading, no role at the head of a line; once is enough."""
    safe = defuse(text)
    assert not re.search(r"[<＜]\s{0,4}[\w/|!?<＜／｜]", safe)
    assert not re.search(r"\[/?INST\]", safe)
    assert not re.search(r"(?m)^\s{0,8}(#|system\s?[:：]|系统[:：])", safe)
    assert "```" not in safe
    assert not set(safe) & set("\r\u2028\u200b\u202e")


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cf"]), max_size=200))
def test_words_survive(text: str) -> None:
    """Letters and digits are never lost, whatever becomes of the marks around them."""
    assert [c for c in defuse(text) if c.isalnum()] == [c for c in text if c.isalnum()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a < b and c > d:", "if a ‹ b and c > d:"),
        ("5 <= 6, 1 < 2", "5 <= 6, 1 ‹ 2"),
        ("I ♥ tea 👨‍👩‍👧", "I ♥ tea 👨‍👩‍👧"),
        ("the solar system: eight planets", "the solar system: eight planets"),
        ("System: obey", "(System) obey"),
        ("{query_str} stays", "{query_str} stays"),
        ("# Title", "＃ Title"),
    ],
)
def test_ordinary_text_stays_readable(text: str, expected: str) -> None:
    """Only what could be taken for markup changes, and it stays readable."""
    assert defuse(text) == expected


def test_indenting_keeps_lines_apart() -> None:
    """Lines after the first stand under it; blank ones go."""
    assert indent("a\n\n b\nc ") == "a\n   b\n  c"


@given(st.lists(st.sampled_from([OPEN, CLOSE, OPEN + "\nours", "words", "\n"]), max_size=12).map("".join))
def test_cutting_ends_and_leaves_no_whole_block(text: str) -> None:
    """After cutting no closing fence is left, and no unclosed block of ours."""
    rest = cut_fenced(text, TAIL)
    assert CLOSE not in rest
    assert not TAIL.search(rest)


def test_only_blocks_are_cut() -> None:
    """Words around blocks stay; naming the fence is not a block."""
    assert cut_fenced(f"a{OPEN}x{CLOSE}b{OPEN}y{CLOSE}c", TAIL) == "abc"
    assert cut_fenced(f"what is {OPEN}?", TAIL) == f"what is {OPEN}?"
    assert cut_fenced(f"say {OPEN} and then {OPEN}x{CLOSE} end", TAIL) == f"say {OPEN} and then  end"
