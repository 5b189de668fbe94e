"""What commands say beside their results: what was done, what was assumed, why there is nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memorybank.text.counting import Count, counted

Run = Callable[..., Any]


def test_numbers_have_their_nouns() -> None:
    """One of a thing is singular, none and more are plural."""
    assert counted(1, "session") == "1 session"
    assert counted(0, "session") == "0 sessions"
    assert counted(1200, "memory", "memories") == "1,200 memories"
    template = "{n:memory|memories}, {n:,}, {n}"
    assert template.format(n=Count(1)) == "1 memory, 1, 1"
    assert template.format(n=Count(1200)) == "1,200 memories, 1,200, 1200"


def test_no_sentence_counts_one_thing_as_many(filled: Run) -> None:
    """What the commands say of one memory, one message and one day is in the singular."""
    said = [
        filled("chat", "--owner", "小满", "--language", "en", "--session", "now", input="猫\n/undo\n").stdout,
        filled("doctor").stdout,
        filled("reindex", "--embedder", "memorybank.testing:HashEmbedder").stdout,
        filled("forget", "--owner", "小满", "--policy", "companion").stdout,
        filled("erase", "--owner", "小满", "--yes").stdout,
    ]
    assert "taken back and forgotten: 1 message, 1 memory" in said[0]
    for text in said:
        assert not re.search(
            r"\b1 (messages|memories|vectors|banks|owners|days|lines|rows|links|postings)\b", text
        )


def test_recall_says_that_it_reinforces(filled: Run) -> None:
    """How many memories were credited, and how to look without; in JSON as a field."""
    assert "1 memory reinforced" in filled("recall", "猫", "--owner", "小满").stderr
    assert "reinforced" not in filled("recall", "猫", "--owner", "小满", "--no-reinforce").stderr
    for option, credited in (("--reinforce", True), ("--no-reinforce", False)):
        found = json.loads(filled("recall", "猫", "--owner", "小满", option, "--json").stdout)
        assert found["reinforced"] is credited


def test_import_says_which_zone_it_took(run: Run, talk: Path) -> None:
    """New owners without --timezone get the machine's: said once on stderr, named in JSON; others keep theirs."""
    first = run("import", str(talk), "--owner", "Ann")
    assert first.stderr.count("No --timezone was given") == 1
    again = json.loads(run("import", str(talk), "--json").stdout)
    assert again["zone_assumed"] == ["小满"]
    run("erase", "--owner", "Ann", "--yes")
    assert "timezone" not in run("import", str(talk), "--timezone", "Asia/Tokyo").stderr


def test_consolidate_says_why_there_is_nothing_to_do(filled: Run) -> None:
    """No day is over yet, or each one is written; and what writes the rest."""
    early = filled("consolidate", "--owner", "Ann", "--now", "2024-05-01T23:00").stdout
    assert "no message is from 2024-04-30 or before" in early
    assert "--until 2024-05-02" in early
    assert "made" in filled("consolidate", "--owner", "Ann", "--now", "2024-05-02T23:00").stdout
    half = filled("consolidate", "--owner", "Ann", "--now", "2024-05-02T23:00").stdout
    assert "every day up to 2024-05-01 is written already; a day is written once it is over" in half
    filled("consolidate", "--owner", "Ann", "--until", "2024-05-02")
    done = filled("consolidate", "--owner", "Ann", "--until", "2024-05-02").stdout
    assert done == "nothing to do: every day up to 2024-05-02 is written already\n"


def test_show_says_how_a_portrait_comes_about(filled: Run) -> None:
    """Where there is none, the command that writes one is named, in the whole view too."""
    for part in ((), ("portrait",), ("events",), ("portrait", "--day", "2024-05-01")):
        assert "none yet: memorybank consolidate" in filled("show", *part, "--owner", "Ann").stdout
    filled("consolidate", "--owner", "Ann")
    assert "none yet" not in filled("show", "--owner", "Ann").stdout


def test_a_missing_store_says_how_one_is_made(run: Run, store: Path) -> None:
    """The command in the hint is whole: a file of messages needs an owner."""
    assert "memorybank import FILE --owner NAME" in run("owners", code=1).stderr
    store.mkdir()
    assert "memorybank import FILE --owner NAME --store" in run("owners", code=1).stderr


def test_an_import_says_whose_messages_a_file_has(run: Run, tmp_path: Path) -> None:
    """An owner who is not in the file is told who is."""
    days = {"2024-05-01": [{"query": "My cat is called Mochi.", "response": "Nice."}]}
    file = tmp_path / "users.json"
    file.write_text(json.dumps({"Ann": {"name": "Ann", "history": days}}), encoding="utf-8")
    failed = run("import", str(file), "--owner", "gary", code=1)
    assert "no messages of 'gary'; it has those of Ann" in failed.stderr
    run("import", str(file), "--owner", "Ann")


def test_a_chat_without_a_model_says_when_nothing_was_recalled(run: Run) -> None:
    """Or a first session would look dead."""
    told = run("chat", "--owner", "Ann", "--session", "now", input="My cat is called Mochi.\n")
    assert "nothing recalled; what this session said is in its window" in told.stderr
