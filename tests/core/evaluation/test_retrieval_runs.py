"""``memorybank eval locomo|memorybank|longmemeval|compare``: whole runs over small conversations of our own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from talks import LOCOMO, QUESTIONS, write_json, write_lines

from memorybank.evaluation.datasets import read_locomo, read_longmemeval, read_memorybank
from memorybank.evaluation.metrics import MEASURES
from memorybank.interchange import Problem

Run = Callable[..., Result]
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


def result_of(done: Result) -> dict[str, Any]:
    """What stdout holds must be exactly one JSON object."""
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "latency_ms"}


def test_locomo_prints_one_object_with_every_measure(run: Run, locomo: Path) -> None:
    """overall and each category hold n and every measure; category 5 stands apart; no evidence, no question."""
    found = result_of(run("locomo", locomo, "--json"))
    assert found["overall"]["n"] == 5
    assert {name: row["n"] for name, row in found["categories"].items()} == {"1": 1, "2": 2, "4": 2, "5": 1}
    for row in (found["overall"], *found["categories"].values()):
        assert all(0 <= row[name] <= 1 for name in MEASURES)
    assert found["overall"]["recall@5"] == 1
    assert set(found["latency_ms"]) >= {"p50", "p95"}
    assert found["settings"]["embedder"] == "hash-256"
    assert 0 < found["context"]["tokens_mean"] <= 1500
    assert len(found["questions"]) == 6


def test_overall_is_the_mean_over_the_questions_of_categories_1_to_4(run: Run, locomo: Path) -> None:
    """Computed anew from the ranks in the result."""
    found = result_of(run("locomo", locomo, "--json"))
    counted = [one["ranks"][0] for one in found["questions"] if one["category"] != "5"]
    firsts = [sum(rank == 1 for rank in ranks) / len(ranks) for ranks in counted]
    assert found["overall"]["recall@1"] == pytest.approx(sum(firsts) / len(firsts))


def test_runs_repeat_to_the_digit(run: Run, locomo: Path) -> None:
    """Nothing but the times differs between two runs."""
    first, second = (result_of(run("locomo", locomo, "--json")) for _ in range(2))
    assert without_times(first) == without_times(second)


def test_text_names_the_categories(run: Run, locomo: Path) -> None:
    """The table says what the numbers of LoCoMo's categories mean, and shows no progress on stdout."""
    text = run("locomo", locomo).stdout
    assert "1 multi-hop" in text
    assert "nDCG" in text
    assert "latency" in text


def test_pooled_asks_every_question_of_one_bank(run: Run, locomo: Path, memorybank: Path) -> None:
    """Ids and sessions of different conversations do not collide: as many questions, all still found."""
    found = result_of(run("locomo", locomo, "--pooled", "--json"))
    assert found["overall"]["n"] == 5
    assert found["overall"]["recall@10"] == 1
    assert found["settings"]["pooled"] is True
    users = result_of(run("memorybank", memorybank, "--pooled", "--json"))
    assert users["overall"]["n"] == 4
    assert users["overall"]["recall@20"] == 1


def test_memorybank_finds_its_questions_beside_the_file_and_leaves_the_unanswerable_out(
    run: Run, memorybank: Path, tmp_path: Path
) -> None:
    """Names are compared without stray spaces; alternatives count as the best; Chinese users too."""
    found = result_of(run("memorybank", memorybank, "--json"))
    assert found["overall"]["n"] == 4
    assert set(found["categories"]) == {"fact", "said"}
    by_id = {one["qid"]: one["ranks"] for one in found["questions"]}
    assert len(by_id["a2"]) == 2
    assert by_id["b1"] == [[1]]
    moved = write_lines(tmp_path / "elsewhere.jsonl", QUESTIONS[:1])
    assert result_of(run("memorybank", memorybank, "--questions", moved, "--json"))["overall"]["n"] == 1


def test_longmemeval_gives_each_question_its_own_bank(run: Run, longmemeval: Path) -> None:
    """The marked turn is the evidence, or any turn of the session; abstention questions are left out."""
    found = result_of(run("longmemeval", longmemeval, "--json"))
    assert found["overall"]["n"] == 1
    assert found["questions"][0]["ranks"] == [[1]]
    by_session = list(read_longmemeval(longmemeval, lambda _: None, sessions=True))
    assert by_session[0].questions[0].evidence == ((frozenset({"s2#0", "s2#1", "s2#2", "s2#3"}),),)
    assert by_session[1].questions[0].evidence == ()
    assert (
        result_of(run("longmemeval", longmemeval, "--unit", "session", "-n", 1, "--json"))["overall"]["n"]
        == 1
    )


def test_stages_can_be_switched(run: Run, locomo: Path) -> None:
    """--stages keeps only these, --without all but these; both together or unknown names are refused."""
    only = result_of(run("locomo", locomo, "--stages", "lexical", "--json"))
    assert only["settings"]["stages"] == ["lexical"]
    assert (
        "date"
        not in result_of(run("locomo", locomo, "--without", "date, links", "--json"))["settings"]["stages"]
    )
    assert "not both" in run("locomo", locomo, "--stages", "dense", "--without", "date", code=2).stderr
    assert "unknown stages" in run("locomo", locomo, "--without", "magic", code=2).stderr


def test_words_only(run: Run, locomo: Path) -> None:
    """--embedder none measures recall by words."""
    found = result_of(run("locomo", locomo, "--embedder", "none", "--json"))
    assert found["settings"]["embedder"] is None
    assert found["overall"]["recall@20"] == 1


def test_reinforcement_changes_the_run_and_is_off_by_default(run: Run, locomo: Path) -> None:
    """Asked plainly, no question leaves a trace in the next; with --reinforce the settings say so."""
    assert result_of(run("locomo", locomo, "--json"))["settings"]["reinforce"] is False
    assert result_of(run("locomo", locomo, "--reinforce", "--json"))["settings"]["reinforce"] is True


def test_results_can_be_compared(run: Run, locomo: Path, tmp_path: Path) -> None:
    """Two runs, one of them worse, question by question, as text and as JSON; one seed, one interval."""
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    run("locomo", locomo, "-o", first)
    second.write_text(run("locomo", locomo, "--stages", "form", "--json").stdout)
    found = result_of(run("compare", first, second, "--json"))
    assert found["n"] == 5
    row = found["measures"]["mrr"]
    assert row["low"] <= row["difference"] <= row["high"]
    assert found == result_of(run("compare", first, second, "--json"))
    assert "95 % interval" in run("compare", first, second).stdout


@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2", "nonsense", "[]", "{}", '[{"conversation": 3}]', "\x00\x01", "null"]
)
def test_files_that_are_no_data_set_are_one_line_on_stderr(run: Run, tmp_path: Path, text: str) -> None:
    """Whatever the file holds: exit code 1, what is wrong, no traceback, nothing on stdout."""
    file = tmp_path / "broken.json"
    file.write_text(text)
    for name in ("locomo", "longmemeval"):
        done = run(name, file, "--json", code=1)
        assert done.stdout == ""
        assert done.stderr.startswith('{"error": ')
    questions = write_lines(tmp_path / "q.jsonl", QUESTIONS)
    assert run("memorybank", file, "--questions", questions, "--json", code=1).stderr.startswith('{"error": ')


def test_other_defects_are_said_too(run: Run, locomo: Path, memorybank: Path, tmp_path: Path) -> None:
    """A missing file, missing or broken questions, questions of nobody, a result that is none."""
    assert "Cannot read" in run("locomo", tmp_path / "gone.json", code=1).stderr
    alone = write_json(tmp_path / "alone.json", {"Ann": {"history": {}}})
    assert "--questions" in run("memorybank", alone, code=2).stderr
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{nonsense}\n")
    assert "line 1" in run("memorybank", memorybank, "--questions", broken, code=1).stderr
    nobody = write_lines(tmp_path / "nobody.jsonl", [{**QUESTIONS[0], "user": "Zoe"}])
    assert "no question with evidence" in run("memorybank", memorybank, "--questions", nobody, code=1).stderr
    assert "no result" in run("compare", locomo, locomo, code=1).stderr


def test_evidence_that_is_not_there_is_left_out_and_noted(locomo: Path) -> None:
    """Published files glue ids together and name turns that do not exist; the rest of the evidence counts."""
    problems: list[Problem] = []
    cases = read_locomo(locomo, problems.append)
    assert cases[1].questions[0].evidence == ((frozenset({"D1:1"}),),)
    assert [problem.where for problem in problems] == ["talk-2, question 0"]


def test_a_conversation_alone_is_a_data_set(tmp_path: Path) -> None:
    """One sample, not in a list."""
    cases = read_locomo(write_json(tmp_path / "one.json", LOCOMO[0]), lambda _: None)
    assert [case.owner for case in cases] == ["talk-1"]


def test_development_files_are_read_whole() -> None:
    """The numbers of conversations and of questions with evidence, where the development files are at hand."""
    if not (SHARED / "locomo_dev.json").exists():
        pytest.skip("the development data (../shared/data) is not here")
    cases = read_locomo(SHARED / "locomo_dev.json", lambda _: None)
    assert len(cases) == 5
    assert sum(bool(q.evidence) and q.category != "5" for case in cases for q in case.questions) == 760
    for language, answerable in (("en", 55), ("cn", 56)):
        file = SHARED / f"memorybank_{language}_dev.json"
        questions = SHARED / f"memorybank_{language}_dev_questions.jsonl"
        users = read_memorybank(file, questions, lambda _: None)
        assert len(users) == 8
        ids = {record.message.id for case in users for record in case.records}
        asked = [one for case in users for one in case.questions if one.evidence]
        assert len(asked) == answerable
        assert all(turn & ids for one in asked for way in one.evidence for turn in way)
