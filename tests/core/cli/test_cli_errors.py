"""What is typed wrongly or found broken: one clear line, the right exit code, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorybank.cli.output import clean, plain, snippet, wrap

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "code", "needle"),
    [
        (("recall", "x"), 2, "--owner"),
        (("nonsense",), 2, "nonsense"),
        (("recall", "x", "--owner", " "), 2, "owner is blank"),
        (("recall", "x", "--owner", "Ann", "-k", "0"), 2, "at least 1"),
        (("recall", "x", "--owner", "Ann", "--level", "dream"), 2, "unknown level 'dream'"),
        (("recall", "x", "--owner", "Ann", "--since", "soon"), 2, "not ISO 8601"),
        (("recall", "x", "--owner", "Ann", "--min-score", "high"), 2, "neither a number"),
        (("recall", "x", "--owner", "Ann", "--policy", "none"), 2, "companion"),
        (("recall", "x", "--owner", "Ann", "--embedder", "what"), 2, "package.module:name"),
        (("recall", "x", "--owner", "Ann", "--embedder", "no.such:thing"), 2, "cannot be imported"),
        (("recall", "x", "--owner", "Bob"), 1, "'memorybank owners' lists the 2 who have"),
        (("explain", "ffff", "--owner", "Ann"), 1, "no memory 'ffff'"),
        (("explain", "", "--owner", "Ann"), 1, "no memory"),
        (("pin", "ffff", "--owner", "Ann"), 1, "no memory 'ffff'"),
        (("restore", "ffff", "--owner", "Ann"), 1, "no memory 'ffff'"),
        (("edit", "ffff", "x", "--owner", "Ann"), 1, "no memory 'ffff'"),
        (("remember", " ", "--owner", "Ann"), 2, "blank"),
        (("remember", "x", "--owner", "Ann", "--timezone", "Mars/Base"), 2, "IANA"),
        (("show", "moods", "--owner", "Ann"), 2, "moods"),
        (("show", "portrait", "--day", "someday", "--owner", "Ann"), 2, "not an ISO 8601 date"),
        (("forget", "--unit", "-3", "--owner", "Ann"), 2, "unit"),
        (("import", "no-such-file", "--timezone", "Mars/Base"), 2, "IANA"),
        (("chat", "--owner", "Ann", "--timezone", "Mars/Base"), 2, "IANA"),
        (("app", "--timezone", "Mars/Base"), 2, "IANA"),
        (("--nonsense",), 2, "nonsense"),
        (("recall",), 2, "hint: memorybank recall --help"),
        (("eval", "nonsense"), 2, "hint: memorybank eval --help"),
        (("eval", "locomo", "no-such-file"), 1, "docs/evaluation.md"),
        (("import", "no-such-file"), 1, "No such file"),
        (("import", "."), 1, "folder"),
        (("import", "no-such-file", "--format", "xml"), 2, "--format xml is unknown"),
        (("demo", "--language", "fr"), 2, "choose one of en, zh"),
        (("export", "/no/such/folder/file", "--owner", "Ann"), 1, "Cannot write"),
    ],
)
def test_errors_are_one_line(filled: Run, arguments: tuple[str, ...], code: int, needle: str) -> None:
    """Exit code 2 for what was typed, 1 for what was found; the line says what is allowed."""
    result = filled(*arguments, code=code)
    assert needle in " ".join(result.stderr.split())
    assert result.stdout == ""
    first, *rest = result.stderr.strip().splitlines()
    assert first.startswith("error: ")
    assert all(line.startswith("hint: ") for line in rest)
    assert len(rest) <= (code == 2)


@pytest.mark.parametrize(
    ("arguments", "code", "needle", "kind"),
    [
        (("recall", "x", "--json"), 2, "owner", "MissingParameter"),
        (("nonsense", "--json"), 2, "nonsense", "UsageError"),
        (("--nonsense", "--json"), 2, "nonsense", "NoSuchOption"),
        (("erase", "--owner", "Ann", "--json"), 2, "not confirmed; give --yes", "InvalidInputError"),
        (("import", "x", "--timezone", "Mars/Base", "--json"), 2, "IANA", "InvalidInputError"),
        (("eval", "compare", "--json"), 2, "first", "MissingParameter"),
        (("recall", "x", "--owner", "Ann", "-k", "0", "--json"), 2, "at least 1", "InvalidInputError"),
        (("recall", "x", "--owner", "Bob", "--json"), 1, "owners", "NotFoundError"),
        (("import", "no-such-file", "--json"), 1, "No such file", "ImportFormatError"),
    ],
)
def test_errors_are_json_where_json_was_asked_for(
    filled: Run, arguments: tuple[str, ...], code: int, needle: str, kind: str
) -> None:
    """One object on one line of stderr: what is wrong, its kind, the exit code. Nothing on stdout."""
    result = filled(*arguments, code=code)
    assert result.stdout == ""
    said = json.loads(result.stderr)
    assert result.stderr.count("\n") == 1
    assert needle in said["error"]
    assert (said["kind"], said["code"]) == (kind, code)


def test_json_asks_nothing(filled: Run) -> None:
    """Without --yes a program gets an error and nothing is destroyed, whatever stands on stdin; with it, it is."""
    (shown,) = json.loads(filled("recall", "猫", "--owner", "小满", "--json").stdout)["recalled"]
    for command in (("delete", shown["memory"]["id"]), ("erase",)):
        refused = filled(*command, "--owner", "小满", "--json", code=2, input="y\n")
        assert json.loads(refused.stderr)["error"] == "not confirmed; give --yes"
        assert refused.stdout == ""
    assert len(json.loads(filled("owners", "--json").stdout)) == 2
    filled("erase", "--owner", "小满", "--json", "--yes")
    assert len(json.loads(filled("owners", "--json").stdout)) == 1


def test_a_mistyped_zone_leaves_no_store(run: Run, store: Path, talk: Path) -> None:
    """It is looked at before a store is made."""
    for command in (("import", str(talk)), ("remember", "x", "--owner", "Ann")):
        run(*command, "--timezone", "Mars/Base", code=2)
        assert not store.exists()


def test_a_file_without_messages_leaves_no_store(run: Run, store: Path, tmp_path: Path) -> None:
    """Whose messages these are is not said: an error before anything is made, and nothing about "0 messages"."""
    nobodys = tmp_path / "nobodys.jsonl"
    nobodys.write_text('{"role": "user", "content": "Hello."}\n' * 2, "utf-8")
    for options in ((), ("--json",)):
        result = run("import", str(nobodys), *options, code=1)
        assert "give one with --owner" in result.stderr
        assert result.stdout == ""
        assert not store.exists()
    run("import", str(nobodys), "--owner", "Ann")
    assert store.exists()


@pytest.mark.parametrize("group", [(), ("eval",)])
def test_the_list_of_commands_fits_a_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, group: tuple[str, ...]
) -> None:
    """At 80 columns no description is cut off."""
    monkeypatch.setenv("COLUMNS", "80")
    listed = run(*group, "--help").stdout.partition("Commands:")[2]
    assert listed.strip()
    assert "..." not in listed


@pytest.mark.parametrize(
    "arguments",
    [
        ("recall", "x", "--owner", "Ann"),
        ("show", "--owner", "Ann"),
        ("owners",),
        ("doctor",),
        ("forget", "--owner", "Ann"),
        ("erase", "--owner", "Ann", "--yes"),
    ],
)
def test_reading_never_makes_a_store(run: Run, store: Path, arguments: tuple[str, ...]) -> None:
    """A mistyped path is an error, not an empty store; neither is a folder without one."""
    assert "no store" in run(*arguments, code=1).stderr
    assert not store.exists()
    store.mkdir()
    assert "no store" in run(*arguments, code=1).stderr
    assert list(store.iterdir()) == []


def test_a_file_in_place_of_the_store(run: Run, store: Path, talk: Path) -> None:
    """Said as such, and left alone."""
    store.write_text("mine")
    assert "is a file" in run("import", str(talk), code=1).stderr
    run("owners", code=1)
    assert store.read_text() == "mine"


def test_a_damaged_store_is_said_to_be_one(filled: Run, store: Path) -> None:
    """Garbage in place of the records: a line, no traceback."""
    for file in store.glob("memorybank.db*"):
        file.write_bytes(b"this is no database" * 1000)
    for command in (("owners",), ("recall", "x", "--owner", "Ann"), ("doctor",)):
        assert "damaged" in filled(*command, code=1).output


def test_control_codes_and_markup_in_memories_are_data(run: Run) -> None:
    """Escape sequences, bidi overrides and rich markup in a memory reach the screen as harmless text."""
    run(
        "remember",
        "safe \x1b[31mred\x1b]0;title\x07 \u202egnol [bold]loud[/bold] :smile: \ud800",
        "--owner",
        "Ann",
    )
    shown = run("show", "timeline", "--owner", "Ann").stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "[bold]loud[/bold] :smile:" in shown
    assert run("show", "timeline", "--owner", "Ann", "--json").stdout.count("\\ud800") == 1


@pytest.mark.parametrize("width", ["1", "12", "40", "200"])
def test_chinese_fits_any_terminal(filled: Run, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    """However narrow, every character is printed."""
    monkeypatch.setenv("COLUMNS", width)
    shown = filled("recall", "猫", "--owner", "小满").stdout
    assert "我的猫叫豆包。" in "".join(shown.split())


def test_wrapping_keeps_words_width_and_punctuation() -> None:
    """Chinese breaks anywhere but before its punctuation; words break only when wider than the line."""
    assert wrap("我的猫叫豆包。它很好", 12) == ["我的猫叫豆", "包。它很好"]
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("我", 1) == ["我"]
    assert wrap("", 10) == [""]


def test_helpers() -> None:
    """Snippets are one line; control codes never pass; plain makes JSON values."""
    assert snippet("user: a\nb\tc", 80) == "a b c"
    assert snippet("豆" * 50, 11) == "豆豆豆豆豆…"
    assert clean("a\rb\x1bc\nd") == "a\ufffdb\ufffdc\nd"
    assert plain({"a": (1, Path("x"))}) == {"a": [1, "x"]}


def process(*arguments: str, store: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from memorybank.cli import main; main()", *arguments]
    # MEMORYBANK_EMBEDDER=none: no test may wait for a model.
    settings = {"MEMORYBANK_EMBEDDER": "none", "MEMORYBANK_STORE": str(store), **environment}
    return subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, timeout=120, check=False
    )


def test_real_process_with_a_poor_terminal(store: Path, talk: Path) -> None:
    """An ASCII stdout gets escapes instead of a UnicodeEncodeError, and JSON stays JSON."""
    assert process("import", str(talk), store=store).returncode == 0
    poor = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    shown = process("recall", "猫", "--owner", "小满", store=store, **poor)
    assert shown.returncode == 0, shown.stderr
    assert b"\\u732b" in shown.stdout
    plain_json = process("owners", "--json", store=store, **poor)
    assert b'"\\u5c0f\\u6ee1"' in plain_json.stdout


def test_real_process_exit_codes_and_streams(store: Path) -> None:
    """Errors go to stderr, results to stdout; the shell sees the code."""
    failed = process("owners", store=store)
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert failed.stderr.startswith(b"error: there is no store at ")
    usage = process("recall", store=store)
    assert usage.returncode == 2
    assert process("--version", store=store).returncode == 0
    helped = process("--help", store=store)
    for command in (
        "demo",
        "import",
        "recall",
        "show",
        "forget",
        "export",
        "erase",
        "doctor",
        "reindex",
        "explain",
    ):
        assert command.encode() in helped.stdout


def test_a_closed_pipe_is_no_error(store: Path, talk: Path) -> None:
    """``memorybank … | head`` ends quietly."""
    process("import", str(talk), store=store)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from memorybank.cli import main; main()", "owners"]
    settings = {**os.environ, "MEMORYBANK_STORE": str(store)}
    done = subprocess.run(
        command, env=settings, stdout=writer, stderr=subprocess.PIPE, timeout=120, check=False
    )
    os.close(writer)
    assert b"Traceback" not in done.stderr


def test_unforeseen_errors_say_where_and_never_what(filled: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of ours is one line without its message, which could carry memory texts."""
    from memorybank.store import MemoryStore

    def broken(_self: MemoryStore) -> list[str]:
        raise ZeroDivisionError("My cat is called Biscuit")

    monkeypatch.setattr(MemoryStore, "owners", broken)
    shown = filled("owners", code=1).stderr
    assert "ZeroDivisionError in test_cli_errors.py" in shown
    assert "Biscuit" not in shown
