"""Lexical analysis: what a text is indexed and searched by."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from memorybank.text.terms import LONGEST_WORD, hash_terms, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She was running", ["run"]),
        ("Gary's dogs' bowl", ["gari", "dog", "bowl"]),
        ("I'm sure we don't", ["sure"]),
        ("I\u2019m sure we don\u2019t", ["sure"]),
        ("O'Brien", ["obrien"]),
        ("'quoted'", ["quot"]),
        ("well-being", ["well", "wellb"]),
        ("LangChain", ["langchain", "lang", "chain"]),
        ("5km", ["5km", "5", "km"]),
        ("5 km", ["5", "km"]),
        ("the 7th", ["7"]),
        ("1,000 and 1000", ["1000", "1000"]),
        ("$5.99", ["5.99"]),
        ("version 3.11.4", ["version", "3.11.4"]),
        ("2023-05-07 10:30", ["2023", "5", "7", "10", "30"]),
        ("Oct", terms("October")),
        ("Mel bought three books", ["mel", "buy", "3", "book"]),
        ("C++ or C#", ["c++", "c#"]),
        ("U.S.A.", ["usa"]),
        ("snake_case", ["snake", "case"]),
        ("a3f9c07e4d", ["a3f9c07e4d"]),
        ("@gary #holiday", ["gari", "holiday"]),
        ("end.Next", ["end", "next"]),
        ("\U0001f389 party", ["\U0001f389", "parti"]),
    ],
)
def test_english(text: str, expected: list[str]) -> None:
    """English: casefolded, stop-worded, stemmed; compounds also by their parts."""
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("茶", ["茶"]),
        ("喝茶", ["喝", "茶", "喝茶"]),
        ("docker 容器", ["docker", "容", "器", "容器"]),
        ("docker容器", ["docker", "容", "器", "容器"]),
        ("我们的茶是什么", ["茶", "的茶", "茶是"]),
        ("５月３日", ["5", "月", "3", "日"]),
        ("《流浪地球》", ["流", "浪", "地", "球", "流浪", "浪地", "地球"]),
        ("达·芬奇", terms("达芬奇")),
        ("ﾃｽﾄ", terms("テスト")),
        ("한국", ["한", "국", "한국"]),
    ],
)
def test_runs_without_spaces(text: str, expected: list[str]) -> None:
    """Chinese, Japanese and Korean: characters and bigrams, widths normalised, Latin words beside them."""
    assert terms(text) == expected


@pytest.mark.parametrize(
    "pair", [("café", "cafe"), ("cafe\u0301", "café"), ("naïve", "naive"), ("ﬁne", "fine"), ("Ａ１", "a1")]
)
def test_spellings_that_are_one_word(pair: tuple[str, str]) -> None:
    """Accents, ligatures and widths do not separate a word from itself."""
    assert set(terms(pair[0])) & set(terms(pair[1]))
    assert terms(pair[0])[0] == terms(pair[1])[0]


def test_mail_address_whole_and_in_parts() -> None:
    """An e-mail address is one term, and is also found by its names."""
    found = terms("write to Gary.Jones@example.com")
    assert "gary.jones@example.com" in found
    assert {"gari", "jone", "exampl"} <= set(found)


def test_web_address_in_parts() -> None:
    """Of a URL, the names count."""
    assert terms("https://www.example.com/pandas/guide") == ["exampl", "com", "panda", "guid"]


@pytest.mark.parametrize("text", ["who am I", "The", "don't", "我", "的", "to be or not to be", "你是谁"])
def test_only_function_words_still_give_terms(text: str) -> None:
    """A query of nothing but stop words searches by them."""
    assert terms(text)


@pytest.mark.parametrize("text", ["", " \n\t", "???", "——……", "\x00", "\ud800", "\u0301" * 0])
def test_nothing_to_index(text: str) -> None:
    """Punctuation, controls and broken characters are no terms."""
    assert terms(text) == []


def test_very_long_words_match_by_their_beginning() -> None:
    """A key of 500 characters is one bounded term."""
    assert terms("x" * 500) == ["x" * LONGEST_WORD] == terms("x" * 501)


def test_hashes_are_sorted_distinct_and_counted() -> None:
    """hash_terms: rising uint64 hashes with the counts of their terms."""
    hashes, counts = hash_terms(["tea", "run", "tea", "茶"])
    assert hashes.dtype == np.uint64
    assert counts.dtype == np.uint16
    assert (np.diff(hashes.astype(object)) > 0).all()
    tea = hash_terms(["tea"])[0][0]
    assert dict(zip(hashes.tolist(), counts.tolist(), strict=True))[int(tea)] == 2
    assert sorted(counts.tolist()) == [1, 1, 2]


def test_hashes_of_nothing() -> None:
    """No terms: two empty arrays of the right types."""
    hashes, counts = hash_terms([])
    assert (len(hashes), hashes.dtype, len(counts), counts.dtype) == (0, np.uint64, 0, np.uint16)


def test_counts_saturate() -> None:
    """A term repeated more often than 16 bits hold counts 65,535."""
    assert hash_terms(["a"] * 70_000)[1].tolist() == [65_535]


def test_hashes_do_not_depend_on_the_process() -> None:
    """Postings are stored: another process, with another PYTHONHASHSEED, must find them."""
    code = "from memorybank.text.terms import hash_terms; print(hash_terms(['tea', '茶'])[0].tolist())"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == str(hash_terms(["茶", "tea"])[0].tolist())


def test_threads_agree() -> None:
    """A Snowball stemmer is not thread-safe: eight threads over fresh words must agree with one."""
    words = [
        f"{stem}{ending}"
        for stem in ("walk", "jump", "garden", "nation")
        for ending in ("ing", "ed", "s", "ally")
    ]
    texts = [" ".join(w + "q" * n for w in words) for n in range(50)]
    results: list[list[list[str]]] = [[] for _ in range(8)]

    def work(slot: int) -> None:
        results[slot].extend(terms(text) for text in texts)

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == [terms(text) for text in texts] for result in results)
