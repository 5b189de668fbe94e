"""Every command: what it does, its JSON, its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def data(result: Any) -> Any:
    return json.loads(result.stdout)


def ids(run: Run, owner: str = "Ann") -> dict[str, str]:
    """Memory ids by the first words of the user."""
    shown = data(run("show", "timeline", "--owner", owner, "--json"))["timeline"]
    return {memory["text"].splitlines()[0].removeprefix("user: "): memory["id"] for memory in shown}


def test_import_counts_and_a_second_import_adds_nothing(run: Run, talk: Path) -> None:
    """New messages per owner; importing again reports them as known."""
    first = data(run("import", str(talk), "--timezone", "Asia/Shanghai", "--json"))
    assert (first["format"], first["added"], first["known"]) == ("memorybank", 8, 0)
    assert first["owners"] == {"Ann": 6, "小满": 2}
    assert first["zones"] == {"Ann": "Asia/Shanghai", "小满": "Asia/Shanghai"}
    again = data(run("import", str(talk), "--json"))
    assert (again["added"], again["known"], again["complete"]) == (0, 8, True)
    assert again["zones"]["Ann"] == "Asia/Shanghai"
    assert {row["owner"]: row["stats"]["messages"] for row in data(run("owners", "--json"))} == first[
        "owners"
    ]


def test_import_reports_what_it_left_out_and_exits_1(run: Run, tmp_path: Path) -> None:
    """A part that could not be imported is named, the rest is in, and scripts can tell from the code."""
    path = tmp_path / "bad.jsonl"
    lines = ['{"role": "user", "content": "kept"}', "{broken", '{"role": "alien", "content": "x"}']
    path.write_text("\n".join(lines))
    result = run("import", str(path), "--owner", "me", code=1)
    assert "1 message added" in result.stdout
    assert "skipped: line 2, column 2: not JSON" in result.stderr
    assert "skipped: line 3: unknown or missing role" in result.stderr
    assert "alien" not in result.output


def test_import_notes_lose_nothing_and_exit_0(run: Run, tmp_path: Path) -> None:
    """Empty days and stray spaces are told, not failed."""
    path = tmp_path / "file"
    path.write_text(json.dumps({" Bo ": {"history": {"2024-05-01": [], "2024-05-02": [{"query": "hi"}]}}}))
    result = run("import", str(path))
    assert result.stderr.count("note: ") == 2
    assert [row["owner"] for row in data(run("owners", "--json"))] == ["Bo"]


def test_sessions_of_messages_are_named_after_their_file(run: Run, tmp_path: Path) -> None:
    """Two logs of one owner do not mix; --session overrides."""
    for name in ("monday", "tuesday"):
        (tmp_path / f"{name}.jsonl").write_text('{"role": "user", "content": "hi"}\n' * 2)
        run("import", str(tmp_path / f"{name}.jsonl"), "--owner", "me")
    run("import", str(tmp_path / "monday.jsonl"), "--owner", "me", "--session", "own")
    assert data(run("show", "sessions", "--owner", "me", "--json"))["sessions"] == [
        "monday",
        "tuesday",
        "own",
    ]
    assert data(run("owners", "--json"))[0]["stats"]["messages"] == 6


def test_records_that_a_bank_refuses_are_reported_one_by_one(run: Run, tmp_path: Path) -> None:
    """An absurd owner or time costs that record, not the import."""
    values = [
        {"role": "user", "content": "a", "owner": "x" * 600},
        {"role": "user", "content": "b", "at": "0001-01-01T00:00:00"},
        {"role": "user", "content": "c", "id": "i" * 600},
        {"role": "user", "content": "d"},
    ]
    path = tmp_path / "file"
    path.write_text(json.dumps(values))
    found = data(run("import", str(path), "--owner", "me", "--json", code=1))
    assert found["owners"] == {"me": 1}
    assert found["counts"]["skipped"] == 3


def test_recall_finds_reinforces_and_explains_its_score(filled: Run) -> None:
    """The hit is first, its parts add up, it grows stronger; --no-reinforce only reads."""
    found = data(filled("recall", "What is my cat called?", "--owner", "Ann", "--json"))["recalled"]
    assert "Biscuit" in found[0]["memory"]["text"]
    assert sum(found[0]["parts"].values()) == pytest.approx(found[0]["score"], abs=1e-4)
    read = data(filled("recall", "cat", "--owner", "Ann", "--no-reinforce", "--json"))["recalled"]
    again = data(filled("recall", "cat", "--owner", "Ann", "--no-reinforce", "--json"))["recalled"]
    strength = [one["memory"]["strength"] for one in (read[0], again[0])]
    assert strength == [2, 2]


def test_recall_filters(filled: Run) -> None:
    """Level, time, session and k narrow the answer."""

    def texts(*options: str) -> list[str]:
        found = data(
            filled("recall", "I live moved cat", "--owner", "Ann", "--no-reinforce", "--json", *options)
        )
        return [one["memory"]["text"] for one in found["recalled"]]

    assert all("Glasgow" in text for text in texts("--since", "2024-05-02"))
    assert not any("Glasgow" in text for text in texts("--until", "2024-05-01T23:00"))
    assert all("Glasgow" in text for text in texts("--session", "2024-05-02"))
    assert texts("--level", "note") == []
    assert len(texts("-k", "1")) == 1


def test_recall_in_chinese_for_people(filled: Run) -> None:
    """Text output has the words, the strength and the date in the bank's zone."""
    result = filled("recall", "猫叫什么", "--owner", "小满")
    assert "我的猫叫豆包。" in result.stdout
    assert "2024-05-01 09:00  turn  S=1" in result.stdout


def test_nothing_recalled_is_said(filled: Run) -> None:
    """An empty answer is an answer."""
    assert "nothing recalled" in filled("recall", "cat", "--owner", "Ann", "--level", "digest").stdout


def test_remember_edit_versions_and_explain(run: Run) -> None:
    """A note makes store and owner; an edit keeps the earlier text; explain tells both, by id prefix."""
    note = data(run("remember", "Ann is allergic to peanuts.", "--owner", "Ann", "--json"))
    edited = data(run("edit", note["id"][:8], "Ann is allergic to walnuts.", "--owner", "Ann", "--json"))
    assert (edited["id"], edited["version"]) == (note["id"], 2)
    why = data(run("explain", note["id"], "--owner", "Ann", "--json"))
    assert why["versions"][0]["text"] == "Ann is allergic to peanuts."
    assert why["retention"] > 0.99
    shown = run("explain", note["id"][:6], "--owner", "Ann").stdout
    assert "walnuts" in shown
    assert "peanuts" in shown
    assert "S = 1" in shown


def test_forget_dry_run_equals_the_run_and_restore_brings_back(filled: Run) -> None:
    """What a dry run lists is what is archived; pinned stays; archived is out of recall until restored."""
    cat = ids(filled)["My cat is called Biscuit."]
    filled("pin", cat[:10], "--owner", "Ann")
    late = ("--owner", "Ann", "--policy", "companion", "--now", "2025-12-01", "--json")
    dry = data(filled("forget", "--dry-run", *late))
    assert len(dry["archived"]) == 2
    assert cat in dry["kept"]
    assert data(filled("forget", *late))["archived"] == dry["archived"]
    assert data(filled("forget", *late))["archived"] == []
    recall = ("recall", "Leeds Glasgow", "--owner", "Ann", "--no-reinforce", "--json")
    assert not {one["memory"]["id"] for one in data(filled(*recall))["recalled"]} & set(dry["archived"])
    assert {one["memory"]["id"] for one in data(filled(*recall, "--archived"))["recalled"]} >= set(
        dry["archived"]
    )
    filled("restore", *dry["archived"], "--owner", "Ann")
    assert {one["memory"]["id"] for one in data(filled(*recall))["recalled"]} >= set(dry["archived"])
    filled("unpin", cat, "--owner", "Ann")
    assert data(filled("forget", "--dry-run", *late))["archived"] == [cat]


def test_forget_for_people_says_that_the_default_archives_nothing(filled: Run) -> None:
    """No surprise either way."""
    shown = filled("forget", "--owner", "Ann", "--now", "2034-01-01").stdout
    assert "0 archived, 0 purged, 3 kept (policy assistant)" in shown
    assert "--policy companion" in shown
    assert "fades" not in filled("forget", "--owner", "Ann", "--policy", "paper", "--dry-run").stderr


def test_show_for_people(filled: Run) -> None:
    """Counts, the latest, the weakest; a portrait that is not made yet is said to be so."""
    shown = filled("show", "--owner", "Ann", "--now", "2024-06-01").stdout
    assert "6 messages in 2 sessions; memories: 3 turn" in shown
    assert "I moved to Glasgow." in shown
    assert "weakest 3" in shown
    assert "none yet: memorybank consolidate" in shown
    weakest = data(filled("show", "weakest", "--owner", "Ann", "-n", "2", "--json"))["weakest"]
    assert [one["retention"] for one in weakest] == sorted(one["retention"] for one in weakest)
    assert len(weakest) == 2


def test_delete_asks_and_says_how_much_went(filled: Run) -> None:
    """Without a yes nothing goes; a turn goes with its messages."""
    cat = ids(filled)["My cat is called Biscuit."]
    filled("delete", cat, "--owner", "Ann", input="n\n", code=1)
    assert cat in ids(filled).values()
    erased = data(filled("delete", cat, "--owner", "Ann", "--yes", "--json"))["erased"]
    assert (erased["memories"], erased["messages"]) == (1, 2)
    assert cat not in ids(filled).values()
    filled("explain", cat, "--owner", "Ann", code=1)


def test_erase_takes_one_owner_and_leaves_the_other(filled: Run) -> None:
    """Counts per kind; the other owner is untouched; a second time there is nobody to erase."""
    filled("erase", "--owner", "Ann", input="n\n", code=1)
    recall = ("recall", "猫", "--owner", "小满", "--no-reinforce", "--json", "--now", "2024-06-01")
    before = data(filled(*recall))
    erased = data(filled("erase", "--owner", "Ann", "--yes", "--json"))
    assert erased["erased"]["messages"] == 6
    assert [row["owner"] for row in data(filled("owners", "--json"))] == ["小满"]
    assert data(filled(*recall)) == before
    filled("erase", "--owner", "Ann", "--yes", code=1)


def test_doctor_and_reindex(filled: Run) -> None:
    """A sound store passes; reindex gives it vectors of another embedder, which it then keeps to."""
    assert data(filled("doctor", "--json"))["ok"] is True
    done = data(filled("reindex", "--embedder", "memorybank.testing:HashEmbedder", "--json"))
    assert done == {"embedder": "hash-256", "dimension": 256, "embedded": 4}
    assert "ok" in filled("doctor", "--embedder", "memorybank.testing:HashEmbedder").stdout
    found = data(
        filled("recall", "cat", "--owner", "Ann", "--embedder", "memorybank.testing:HashEmbedder", "--json")
    )["recalled"]
    assert found[0]["similarity"] > 0
    filled("reindex", "--embedder", "none", code=2)


def test_export_and_import_of_the_export(filled: Run, tmp_path: Path, store: Path) -> None:
    """Everything of an owner goes out and comes back into another store; twice adds nothing."""
    path = tmp_path / "ann.jsonl"
    filled("recall", "cat", "--owner", "Ann")
    assert data(filled("export", str(path), "--owner", "Ann", "--json"))["lines"] > 8
    other = str(tmp_path / "other")
    for _ in range(2):
        filled("import", str(path), "--store", other)
        kept = data(filled("show", "timeline", "--owner", "Ann", "--store", other, "--json"))
        assert kept["timeline"] == data(filled("show", "timeline", "--owner", "Ann", "--json"))["timeline"]
        assert kept["stats"]["messages"] == 6


def test_the_demo_as_json(run: Run, tmp_path: Path) -> None:
    """Every step of the ten days is a JSON value, days among them."""
    said = json.loads(run("demo", "--language", "zh", "--json", "--plots", str(tmp_path)).stdout)
    steps = {step["step"] for step in said["zh"]}
    assert {"faded", "explained"} & steps
    assert all(isinstance(step["what"], dict) for step in said["zh"])
