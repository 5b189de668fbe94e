"""Forgetting, measured: the simulated lives, the rules, and whole runs over small conversations of our own."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import Result
from talks import LOCOMO, write_json

from memorybank.evaluation.bounds import checks
from memorybank.evaluation.cases import Case
from memorybank.evaluation.datasets import read_any
from memorybank.evaluation.fading import FULL, Faded, at_the_end, reordered, through_a_year
from memorybank.evaluation.lives import YEAR, asks, cues
from memorybank.evaluation.memo import MemoEmbedder
from memorybank.evaluation.rules import OFF, UNITS, Rule, grid, presets
from memorybank.evaluation.snapshots import Snapshots, filled
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy
from memorybank.testing import HashEmbedder

Run = Callable[..., Result]


def silent(*_: object) -> None:
    """Nobody watches."""


@pytest.fixture
def cases(locomo: Path) -> list[Case]:
    return read_any(locomo, None, silent)[1]


@pytest.fixture
def snapshots(cases: list[Case]) -> object:
    with filled(cases, MemoEmbedder(HashEmbedder()), silent, silent) as made:
        yield made


def test_questions_come_up_by_zipf_and_never_before_their_evidence(cases: list[Case]) -> None:
    """One seed, one life; the frequent question comes up most; what is asked has been said."""
    plan = asks(cases[0], seed=1, count=300)
    assert plan == asks(cases[0], seed=1, count=300)
    assert plan != asks(cases[0], seed=2, count=300)
    times = Counter(one.question.qid for one in plan)
    assert set(times) == {"talk-1-0", "talk-1-1", "talk-1-2"}  # no adversarial, no unanswerable one
    assert times.most_common()[0][1] > 1.5 * times.most_common()[-1][1]
    assert plan[-1].at - plan[0].at < YEAR
    june = [one.at for one in plan if one.question.qid == "talk-1-2"]
    assert min(june).month >= 6  # its evidence was said in June
    first = next(one for one in plan if one.question.qid == "talk-1-0")
    assert not first.again
    assert sum(not one.again for one in plan) == 3


def test_every_later_session_calls_what_was_before_to_mind(cases: list[Case]) -> None:
    """Two sessions: the second one's first turn is a cue, at that session's start."""
    found = cues(cases[0])
    assert [[cue.text for cue in session] for session in found] == [
        ["Yesterday I planted seven apple trees."]
    ]
    assert found[0][0].at.month == 6


@pytest.mark.parametrize("form", ["exponential", "power"])
def test_soft_rules_are_worked_out_as_recall_ranks(
    snapshots: Snapshots, cases: list[Case], form: str
) -> None:
    """One recall serves every soft rule: the order is the one that a bank with that policy gives."""
    curve = ForgettingCurve(timedelta(days=3), form)  # type: ignore[arg-type]  # parametrised by name
    policy = ForgettingPolicy(rank_weight=1.0, curve=curve)
    with snapshots.copy() as store:
        for case in cases:
            full, real = store.bank(case.owner, policy=FULL), store.bank(case.owner, policy=policy)
            real.recall("Kestrel", 1, now=case.ended)  # something was used, so that strengths differ
            for question in case.questions:
                now = case.asked_at(question)
                wide = full.recall(question.text, 100, now=now, reinforce=False)
                expected = real.recall(question.text, 100, now=now, reinforce=False)
                found = reordered(wide, Rule("soft", "soft", policy), now)
                assert [one.memory.id for one in found] == [one.memory.id for one in expected]


def test_archiving_by_age_forgets_and_off_does_not(snapshots: Snapshots, cases: list[Case]) -> None:
    """With an hour as unit everything is archived a day after the talk; without a rule nothing is."""
    hourly = Rule(
        "exponential", "hard", ForgettingPolicy(archive_below=0.1, curve=ForgettingCurve(UNITS["hour"]))
    )
    off, hard = at_the_end(snapshots, cases, [OFF, hourly], reinforced=False, progress=silent)
    assert (off.archived, hard.archived) == (0, 1)
    assert off.measures["recall@10"] == 1
    assert hard.measures["recall@10"] == 0


def test_a_copy_leaves_the_snapshot_alone(snapshots: Snapshots, cases: list[Case]) -> None:
    """What one rule archives is there for the next."""
    hourly = Rule("x", "hard", ForgettingPolicy(archive_below=0.1, curve=ForgettingCurve(UNITS["hour"])))
    rows = at_the_end(snapshots, cases, [hourly, OFF, hourly], reinforced=True, progress=silent)
    assert rows[0] == rows[2]
    assert rows[1].measures["recall@10"] == 1


def test_the_lots_that_paper_draws_are_the_same_in_every_run(cases: list[Case]) -> None:
    """Survival is drawn from ids, so a store filled anew has the same ids."""
    ids = []
    for _ in range(2):
        with filled(cases, None, silent, silent) as made, made.copy() as store:
            ids.append([one.id for case in cases for one in store.bank(case.owner).memories()])
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 7


def test_crediting_decides_what_was_used(snapshots: Snapshots, cases: list[Case]) -> None:
    """Crediting nothing leaves everything unused; the evidence alone is less than all that was recalled."""
    rows = through_a_year(
        snapshots, cases, [OFF], ("none", "all", "used", "evidence"), seed=0, count=12, progress=silent
    )
    unused = {row.reinforced: row.unused for row in rows}
    assert unused["none"] == 1
    assert unused["all"] is not None
    assert unused["evidence"] is not None
    assert unused["all"] < unused["evidence"] < 1
    assert all(row.again is not None and row.again["n"] < row.measures["n"] for row in rows)


def test_the_grid_has_every_form_with_every_unit_twice() -> None:
    """Soft rules archive nothing, hard ones rank without R."""
    found = grid()
    assert len(found) == 4 * 6 * 2
    assert all(rule.archives == (rule.effect == "hard") for rule in found)
    assert {rule.name for rule in presets(0)} == {
        "off",
        "assistant",
        "companion",
        "paper",
        "siliconfriend_2023",
    }


def test_bounds_say_what_fails() -> None:
    """A companion that archives nothing and costs ten points fails both bounds; against off itself."""

    def year(rule: Rule, recall: float, archived: float) -> Faded:
        measures = {"recall@10": recall}
        return Faded(rule, "all", measures, 0.0, measures, 0.5, archived)

    by_name = {rule.name: rule for rule in presets(0)}
    rows = [year(OFF, 0.8, 0.0), year(by_name["companion"], 0.7, 0.0), year(by_name["assistant"], 0.799, 0.0)]
    found = {check.name.split(" (")[0]: check.holds for check in checks([], rows)}
    assert found == {
        "assistant costs recall@10": True,
        "companion archives of the never used": False,
        "companion costs recall@10 when asked again": False,
    }


def test_the_command_repeats_to_the_digit(run: Run, tmp_path: Path) -> None:
    """One JSON object; the same seed gives the same table, lots and lives included."""
    file = write_json(tmp_path / "locomo.json", LOCOMO[:1])
    arguments = ("forgetting", file, "--units", "day", "--asks", 3, "--seed", 5, "--json")
    found = json.loads(run(*arguments).stdout)
    assert found == json.loads(run(*arguments).stdout)
    assert len(found["end"]) == 2 * (5 + 4 * 2)
    assert len(found["year"]) == 4 * 4 + 2 * 2
    assert {row["rule"] for row in found["year"]} >= {"off", "assistant", "companion", "paper"}
    assert found["checks"]


def test_text_and_plot(run: Run, locomo: Path, tmp_path: Path) -> None:
    """The table names the rules, the verdicts follow, the plot is a PNG."""
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    picture = tmp_path / "forgetting.png"
    text = run("forgetting", locomo, "--units", "none", "--asks", 2, "--sample", 3, "--plot", picture).stdout
    assert "siliconfriend_2023" in text
    assert "companion archives" in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_unknown_units_are_refused(run: Run, locomo: Path) -> None:
    """The message lists the units there are."""
    assert "fortnight" in run("forgetting", locomo, "--units", "fortnight", code=2).stderr
