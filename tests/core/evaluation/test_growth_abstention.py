"""Growth and abstention: distractors, floors, and whole runs over small conversations of our own."""

import json
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from memorybank.evaluation.abstaining import floors, plan
from memorybank.evaluation.cases import Case, aware
from memorybank.evaluation.datasets import read_any
from memorybank.evaluation.distractors import SHIFT_DAYS, Copies, sessions
from memorybank.evaluation.memo import MemoEmbedder
from memorybank.testing import HashEmbedder

Run = Callable[..., Result]


def silent(*_: object) -> None:
    """Nobody watches."""


@pytest.fixture
def cases(locomo: Path) -> list[Case]:
    return read_any(locomo, None, silent, apart=True)[1]


def test_distractors_are_the_others_as_they_are_then_copies_with_other_words(cases: list[Case]) -> None:
    """Originals come first and unchanged; copies keep speakers and ids apart, alter words, shift days a little."""
    found = list(islice(sessions(cases[:1], "grown", 0), 6))
    originals, copies = found[:2], found[2:4]
    assert [[one.message.text for one in records] for records, _ in originals] == [
        [one.message.text for one in records] for records in cases[0].sessions().values()
    ]
    assert all(pairs == [] for _, pairs in originals)
    ids = [one.message.id for records, _ in found for one in records]
    assert len(set(ids)) == len(ids)
    for (records, _), (altered, pairs) in zip(originals, copies, strict=True):
        assert [one.message.name for one in altered] == [one.message.name for one in records]
        shifts = {
            (aware(b.message.at) - aware(a.message.at)).days
            for a, b in zip(records, altered, strict=True)
            if a.message.at and b.message.at
        }
        assert len(shifts) == 1
        assert abs(shifts.pop()) <= SHIFT_DAYS
        assert [altered_text for _, altered_text in pairs] == [
            f"{one.message.name}: {one.message.text}" for one in altered
        ]
    said = [one.message.text for records, _ in originals for one in records]
    assert said != [one.message.text for records, _ in copies for one in records]
    assert [str(one) for one in found] == [str(one) for one in islice(sessions(cases[:1], "grown", 0), 6)]


def test_a_copy_lies_as_near_its_original_as_real_copies_do(cases: list[Case]) -> None:
    """The measured cosine is the drawn one; originals keep their own vectors."""
    embedder = Copies(MemoEmbedder(HashEmbedder()), seed=0)
    _, pairs = list(islice(sessions(cases[:1], "grown", 0), 3))[2]
    embedder.copied(pairs)
    assert embedder.near is not None
    originals = embedder.embed_documents([one for one, _ in pairs])
    copies = embedder.embed_documents([other for _, other in pairs])
    np.testing.assert_allclose(
        originals, HashEmbedder().embed_documents([one for one, _ in pairs]), atol=1e-6
    )
    changed = [place for place, (one, other) in enumerate(pairs) if one != other]
    np.testing.assert_allclose((originals * copies).sum(axis=1)[changed], embedder.near, atol=1e-4)


def test_growth_reaches_every_size_and_says_what_was_altered(run: Run, locomo: Path) -> None:
    """Sizes are met exactly here (turn level); what had to be repeated is counted; one seed, one table."""
    arguments = ("growth", locomo, "--sizes", "5,30", "--search", "exact", "--json")
    found, again = (json.loads(run(*arguments).stdout) for _ in range(2))
    assert [one["memories"] for one in found["sizes"]] == [5, 30]
    assert [one["altered"] for one in found["sizes"]] == [0, 23]
    assert [one["measures"] for one in found["sizes"]] == [one["measures"] for one in again["sizes"]]
    assert found["sizes"][0]["measures"]["n"] == 3
    assert found["settings"]["asked_of"] == ["talk-1"]
    assert "30" in run(*arguments[:-1]).stdout


def test_growth_wants_two_conversations_and_sizes(
    run: Run, longmemeval: Path, locomo: Path, tmp_path: Path
) -> None:
    """One conversation has no distractors; sizes are numbers; the search is one there is."""
    alone = tmp_path / "alone.json"
    alone.write_text(json.dumps(json.loads(locomo.read_text())[:1]))
    assert "two conversations" in run("growth", alone, code=2).stderr
    assert "--sizes" in run("growth", locomo, "--sizes", "many", code=2).stderr
    assert "--search" in run("growth", locomo, "--search", "psychic", code=2).stderr


def test_questions_are_put_to_their_own_bank_and_to_a_wrong_one(cases: list[Case]) -> None:
    """As many wrong ones as there are; category 5 is the wrong person; what has no evidence was never said."""
    found = plan(cases, seed=0)
    kinds = [(one.kind, one.owner) for one in found]
    assert kinds.count(("answerable", "talk-1")) == 3
    assert kinds.count(("wrong bank", "talk-1")) == 2
    assert kinds.count(("wrong bank", "talk-2")) == 2
    assert kinds.count(("wrong person", "talk-1")) == 1
    assert kinds.count(("never said", "talk-1")) == 1
    texts = {one.text for one in found if one.kind == "wrong bank" and one.owner == "talk-1"}
    assert texts == {"Where does Mia keep bees?", "When does the train to Porto leave?"}
    renamed = {one.text for one in found if one.kind == "wrong bank, own names" and one.owner == "talk-1"}
    assert renamed == {"Where does Ines keep bees?"}
    assert found == plan(cases, seed=0)


def test_a_higher_floor_lets_less_through(cases: list[Case]) -> None:
    """From no floor at all (everything) to an impossible one (nothing), never rising."""
    curve = floors(
        cases,
        MemoEmbedder(HashEmbedder()),
        seed=0,
        scales=(0.0, 1.0, 3.0, 50.0),
        report=silent,
        progress=silent,
    )
    assert set(curve[0].answered.values()) == {1.0}
    assert set(curve[-1].answered.values()) == {0.0}
    for lower, higher in pairwise(curve):
        assert all(higher.answered[kind] <= share for kind, share in lower.answered.items())


def test_abstention_reports_auto_against_its_bound(run: Run, memorybank: Path, tmp_path: Path) -> None:
    """One JSON object with the curve, the calibrated point and whether it keeps its promise; text and plot too."""
    found: dict[str, Any] = json.loads(run("abstention", memorybank, "--json").stdout)
    assert found["auto"]["scale"] == 1
    assert found["auto"]["holds"] == (found["auto"]["kept"] >= 0.95)
    assert found["asked"] == {"answerable": 4, "wrong bank": 2, "never said": 1}
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    picture = tmp_path / "curve.png"
    assert "auto keeps" in run("abstention", memorybank, "--embedder", "none", "--plot", picture).stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
