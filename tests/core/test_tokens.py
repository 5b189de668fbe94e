"""Counting tokens and cutting to a number of them, offline."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from memorybank import tokens
from memorybank.errors import InvalidInputError
from memorybank.tokens import default_counter, estimate, named_counter, truncate

EXACT = bool(tokens.rank_files("o200k_base"))
needs_ranks = pytest.mark.skipif(not EXACT, reason="no rank file of o200k_base on this machine")

CHINESE = [
    "我很喜欢绘画、弹钢琴和品茶，你觉得有什么好的书可以推荐给我吗？",
    "今天去公园散步，看到一只松鼠在啃松果，真可爱！",
    "蓝鲸每年迁徙上万公里，途经南极与赤道。",
    "她的猫叫雪球，喜欢趴在窗台上晒太阳。",
    "锅里放醋、糖、酱油和姜蒜，小火熬二十分钟。",
    "爺爺說，繁體字的書信要好好保存。",
    "昨晚跑了5公里，膝盖有点疼，明天休息。",
    "龘靐齉爩",
]
ENGLISH = [
    "Hey! Good to see you, how have you been?",
    "I went hiking on Saturday and twisted my ankle near the waterfall.",
    "The trumpet lesson was moved to 5:30 pm, so dinner will be late.",
]


@needs_ranks
@pytest.mark.parametrize("text", CHINESE)
def test_the_estimate_does_not_undercount_chinese(text: str) -> None:
    """A budget kept by the estimate is kept by the model, common and rare characters alike."""
    assert estimate(text) >= named_counter("o200k_base")(text)


@needs_ranks
def test_the_estimate_is_near() -> None:
    """In sum: English within 20 %, Chinese at most 70 % above."""
    count = named_counter("o200k_base")
    assert 0.9 <= sum(map(estimate, ENGLISH)) / sum(map(count, ENGLISH)) <= 1.2
    assert 1.0 <= sum(map(estimate, CHINESE)) / sum(map(count, CHINESE)) <= 1.7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("tea", 1),
        ("internationalisation", 2),
        ("1234567", 3),
        ("你好", 3),
        ("龘", 2),
        ("tea, 你好", 5),
        ("一" * 10, 11),
        (" " * 640, 10),
    ],
)
def test_the_estimate_by_script(text: str, expected: int) -> None:
    """A token: ten letters, three digits, a sign. Chinese characters: 1.1 if common, else 2, rounded up in sum."""
    assert estimate(text) == expected


@needs_ranks
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("o200k_base", "hello world", 2),
        ("o200k_base", "tiktoken is great!", 6),
        ("cl100k_base", "tiktoken is great!", 6),
        ("o200k_base", "<|endoftext|>", 7),
        ("cl100k_base", "<|endoftext|>", 7),
    ],
)
def test_published_counts(name: str, text: str, expected: int) -> None:
    """Counts are the published encodings'; what looks like a special token is plain text and never raises."""
    assert named_counter(name)(text) == expected


@needs_ranks
def test_the_default_is_o200k() -> None:
    """Where its ranks are on disk, the default counter is o200k_base."""
    text = "It's 2023: 我们去看了画展。\n\n  def f(x): return x"
    assert default_counter()(text) == named_counter("o200k_base")(text)


def test_unknown_names_are_refused() -> None:
    """An unknown encoding: an error that names the allowed ones."""
    with pytest.raises(InvalidInputError, match="o200k_base"):
        named_counter("gpt-17")
    assert named_counter("estimate") is estimate


def test_without_files_the_estimate_counts() -> None:
    """No rank files: the best counter is the estimate."""
    assert tokens.best_counter(lambda _: []) is estimate


def test_false_rank_files_are_not_used(tmp_path: Path) -> None:
    """A truncated download, a forged or an unreadable file is passed over, not trusted."""
    forged = tmp_path / "forged"
    forged.write_bytes(b"IQ== 0\n")
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(b"IQ== 0\n")[:-6])
    noise = tmp_path / "noise.gz"
    noise.write_bytes(b"not gzip")
    files = [tmp_path / "absent", tmp_path, forged, broken, noise]
    assert tokens.first_counter("o200k_base", files) is None
    assert tokens.best_counter(lambda _: files) is estimate


def test_a_filled_cache_of_tiktoken_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders that tiktoken itself would use are looked into, under the names that it gives its files."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
        folder = tmp_path / variable
        folder.mkdir()
        file = folder / "fb374d419588a4632f3f557e76b4b70aebbca790"
        file.write_bytes(b"")
        monkeypatch.setenv(variable, str(folder))
        assert file in tokens.rank_files("o200k_base")


def test_no_socket_is_ever_opened(tmp_path: Path) -> None:
    """Counting, with and without rank files, works where opening a socket or resolving a name raises."""
    code = """
import socket
def refuse(*a, **k): raise SystemExit("a socket was opened")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from memorybank import tokens
assert tokens.default_counter()("hello 你好 <|endoftext|>") > 0
assert tokens.best_counter(lambda _: [])("hello") == 1
try:
    tokens.named_counter("cl100k_base")("hello")
except tokens.InvalidInputError:
    pass
print("counted")
"""
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path), "TIKTOKEN_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (told.stdout.strip(), told.returncode) == ("counted", 0), told.stderr


def test_importing_does_not_load_tiktoken() -> None:
    """tiktoken is imported at the first count."""
    code = "import sys, memorybank.tokens as t; t.default_counter(); print('tiktoken' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True
    )
    assert told.stdout.strip() == "False", told.stderr


def words(text: str) -> int:
    """A counter that is easy to follow: a token per word."""
    return len(text.split())


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("one two three", 3, "one two three"),
        ("one two three", 2, "one two"),
        ("one two three", 0, ""),
        ("", 5, ""),
        ("The first is here now. Second one is too", 6, "The first is here now."),
        ("Short. " + "word " * 50, 20, "Short. " + "word " * 18 + "word"),
        ("one two \n", 2, "one two \n"),
    ],
)
def test_truncate_ends_well(text: str, limit: int, expected: str) -> None:
    """At a sentence's end if that costs less than a third, else at a word's; a text that fits stays as it is."""
    assert truncate(text, limit, words) == expected


def test_truncate_chinese_at_a_sentence() -> None:
    """Chinese sentences end without blanks."""
    text = "今天天气很好。我们去公园。然后回家吃饭睡觉"
    assert truncate(text, 15, estimate) == "今天天气很好。我们去公园。"


@pytest.mark.parametrize(
    "whole",
    ["e\u0301", "\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "❤\ufe0f"],
)
def test_truncate_parts_no_character(whole: str) -> None:
    """An accent stays with its letter, an emoji with its parts: cutting by code points is not enough."""
    text = "中" + whole * 6
    for limit in range(1, len(text) + 1):
        kept = truncate(text, limit, len)
        assert (len(kept) - 1) % len(whole) == 0
        assert text.startswith(kept)


def test_truncate_refuses_a_negative_budget() -> None:
    """A negative budget is a mistake of the caller."""
    with pytest.raises(InvalidInputError, match="-1"):
        truncate("a", -1, len)


@pytest.mark.parametrize("seed", ["word and more. ", "字", "x", " "])
def test_truncate_works_in_proportion_to_what_is_kept(seed: str) -> None:
    """Of a text of 1 MB only a small multiple of what is kept is ever counted."""
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return len(text)

    kept = truncate(seed * (1_000_000 // len(seed)), 1_000, count)
    assert len(kept) <= 1_000
    assert counted <= 40_000


@needs_ranks
@pytest.mark.parametrize("seed", ["a", " ", "\n", "的", "!", "aB"])
def test_long_runs_are_counted(seed: str) -> None:
    """Half a million of the same character: counted in pieces, within the test's time limit, without a crash."""
    assert 0 < named_counter("o200k_base")(seed * 500_000) <= 1_000_000
