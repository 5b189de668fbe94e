"""Which of the two languages a text is in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.text.language import detect

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How was the concert?", "en"),
        ("音乐会怎么样？", "zh"),
        ("茶", "zh"),
        ("我用 Python 写了个 demo", "zh"),
        ("docker 容器", "zh"),
        ("帮我 review 一下这个 pull request，thanks", "zh"),
        ("She taught me how to write 茶 with a brush", "en"),
        ("My friend 李明 moved to Xi'an last year and sends his regards to you all", "en"),
        ("ＨＥＬＬＯ　ＷＯＲＬＤ", "en"),
        ("Où est la gare ?", "en"),
        ("2023年", "zh"),
    ],
)
def test_detect(text: str, expected: str) -> None:
    """Chinese with English names is Chinese; English that quotes a Chinese word is English."""
    assert detect(text) == expected


@pytest.mark.parametrize("text", ["", "   ", "123 + 4", "\U0001f389", "\x00\ud800", "?!"])
def test_without_letters_the_default_decides(text: str) -> None:
    """A text without either script has no language of its own."""
    assert detect(text) == "en"
    assert detect(text, default="zh") == "zh"


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_has_a_language(text: str) -> None:
    """Never raises, and adding Chinese never makes a Chinese text English."""
    first = detect(text)
    assert first in ("en", "zh")
    if first == "zh":
        assert detect("茶" + text) == "zh"


def test_real_messages() -> None:
    """Every message of two chat collections is read in its own language."""
    if not DATA.is_dir():
        pytest.skip("the development data (shared/data) is not beside the repository")
    for name, expected in (("memorybank_en_dev.json", "en"), ("memorybank_cn_dev.json", "zh")):
        users = json.loads((DATA / name).read_text(encoding="utf-8"))
        texts = [
            turn[part]
            for user in users.values()
            for day in user["history"].values()
            for turn in day
            for part in ("query", "response")
        ]
        wrong = [text for text in texts if text.strip() and detect(text, default=expected) != expected]
        assert len(texts) > 500
        assert not wrong
