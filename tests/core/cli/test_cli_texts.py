"""The command line in two languages: the demo and what a chat shows speak English or Chinese throughout."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from memorybank.cli.texts import CHINESE, ENGLISH
from memorybank.models import Level
from memorybank.retrieval.settings import STAGES

Run = Callable[..., Any]
HOLES = re.compile(r"\{(\w+)")
NAMES = {"companion", "archive_below"}
"""Latin words that a Chinese line may hold: names that are typed as they stand."""


def test_both_languages_say_the_same() -> None:
    """No text is empty, every sentence fills in the same fields in both languages."""
    for one in fields(ENGLISH.demo):
        english, chinese = getattr(ENGLISH.demo, one.name), getattr(CHINESE.demo, one.name)
        assert english.strip(), one.name
        assert chinese.strip(), one.name
        if one.name != "no_picture":
            assert set(HOLES.findall(english)) == set(HOLES.findall(chinese)), one.name


def test_whatever_a_memory_shows_has_a_chinese_name() -> None:
    """Every part of a score, every level, every mark, every unit."""
    assert {*STAGES, "rerank"} == CHINESE.parts.keys()
    assert {level.value for level in Level} == CHINESE.levels.keys()
    assert {"pinned", "stale", "archived"} == CHINESE.marks.keys()
    assert {"y", "d", "h", "min", "s"} == CHINESE.units.keys()
    for names in (CHINESE.parts, CHINESE.levels, CHINESE.marks, CHINESE.units):
        assert all(re.search("[\u4e00-\u9fff]", name) for name in names.values())
        assert len(set(names.values())) == len(names)


def test_the_chinese_demo_speaks_chinese(run: Run, tmp_path: Path) -> None:
    """Around the talk too: no English word is left but names that are typed."""
    said = run("demo", "--language", "zh", "--plots", str(tmp_path)).stdout
    lines = [line for line in said.splitlines() if str(tmp_path) not in line]
    named = [re.sub(r"\b[0-9a-f]{8}\b", "", line) for line in lines]  # ids
    words = {word for line in named for word in re.findall(r"[A-Za-z_]{3,}", line)}
    assert words <= NAMES
    assert all(name in said for name in ("前后文", "对话", "2026年", "永不淡去", "第 336 天"))


def test_the_english_demo_speaks_english(run: Run, tmp_path: Path) -> None:
    """No Chinese in it."""
    said = run("demo", "--language", "en", "--plots", str(tmp_path)).stdout
    assert not re.search("[\u4e00-\u9fff，。：]", said)
    assert all(name in said for name in ("lexical", "turn", "pinned: never fades", "day 336"))


def test_why_speaks_the_language_of_the_chat(filled: Run) -> None:
    """``/why`` and the line beside a reply: Chinese in a Chinese chat, elsewhere the names that JSON has."""
    said = filled("chat", "--owner", "小满", "--session", "now", input="我的猫叫什么？\n/why\n")
    assert re.search(r"\[回忆: 1 我的猫叫豆包。.*，(用词|前后文|语义|陈述) 0\.", said.stderr)
    assert "对话  S=" in said.stdout
    assert "用户：我的猫叫豆包。" in said.stdout
    assert "lexical" not in said.stdout
    told = filled("chat", "--owner", "Ann", "--session", "now", input="What is my cat called?\n/why\n")
    assert "lexical" in told.stdout
    assert "turn  S=" in told.stdout
    assert "用词" not in told.stdout + told.stderr
