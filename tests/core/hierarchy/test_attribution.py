"""Attribution: which recalled memories an answer draws on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memorybank.hierarchy.attribution import attribute, weights
from memorybank.text.terms import terms

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"

RECALLED = [
    "user: We went to Green Meadow Park and saw a squirrel\nassistant: How nice!",
    "user: I am learning to cook Sichuan dishes\nassistant: Delicious!",
    "user: The weather is bad today\nassistant: Stay inside then.",
]


def test_only_what_the_answer_uses_is_credited() -> None:
    """The memory whose rare words the answer repeats, and no other."""
    assert attribute(RECALLED, "You saw a squirrel in Green Meadow Park.") == [True, False, False]
    assert attribute(
        ["我在绿禾公园看到了松鼠", "我在学做川菜", "今天天气不好"], "你在绿禾公园看到一只松鼠。"
    ) == [True, False, False]


def test_an_answer_from_several_memories_credits_them_all() -> None:
    """What shares at least half as much as the best is credited too."""
    answer = "You saw a squirrel in Green Meadow Park, and you cook Sichuan dishes."
    assert attribute(RECALLED, answer) == [True, True, False]


@pytest.mark.parametrize(
    "answer", ["", "I am sorry, I do not remember that.", "抱歉，我不记得了。", "Of course!"]
)
def test_an_answer_that_uses_nothing_credits_nothing(answer: str) -> None:
    """Courtesies and refusals share only common words."""
    assert attribute(RECALLED, answer) == [False, False, False]
    assert attribute([], answer) == []


def test_the_questions_own_words_do_not_count() -> None:
    """A memory that merely repeats the question is no source of the answer."""
    recalled = ["user: Did I see anything in Green Meadow Park?", RECALLED[0]]
    query = "What did I see in Green Meadow Park?"
    assert attribute(recalled, "In Green Meadow Park you saw a squirrel.", query) == [False, True]


def test_weights_do_not_depend_on_order() -> None:
    """Each memory's weight is its own, wherever it stands among the recalled."""
    answer = "A squirrel in the park; Sichuan dishes."
    assert weights(RECALLED[::-1], answer) == weights(RECALLED, answer)[::-1]


@pytest.mark.parametrize("language", ["en", "cn"])
def test_it_separates_evidence_on_labelled_questions(language: str) -> None:
    """On MemoryBank's questions: precision and recall of what is credited, among the evidence and five others."""
    questions = DATA / f"memorybank_{language}_dev_questions.jsonl"
    if not questions.exists():
        pytest.skip("the development data is not here (shared/data)")
    users = {
        name.strip(): user["history"]
        for name, user in json.loads((DATA / f"memorybank_{language}_dev.json").read_text("utf-8")).items()
    }
    right = credited = evidence = 0
    for line in questions.read_text("utf-8").splitlines():
        entry = json.loads(line)
        wanted = set(entry.get("evidence") or ())
        if not wanted:
            continue
        texts = {
            f"{day}#{at}": f"user: {turn['query']}\nassistant: {turn['response']}"
            for day, turns in users[entry["user"].strip()].items()
            for at, turn in enumerate(turns)
        }
        asked = set(terms(entry["question"]))
        ranked = sorted(texts, key=lambda id_: (-len(asked & set(terms(texts[id_]))), id_))
        shown = [*wanted, *[id_ for id_ in ranked if id_ not in wanted][: 6 - len(wanted)]]
        drawn = attribute([texts[id_] for id_ in shown], entry["answer"], entry["question"])
        right += sum(hit and id_ in wanted for id_, hit in zip(shown, drawn, strict=True))
        credited += sum(drawn)
        evidence += len(wanted)
    assert right / credited >= 0.8
    assert right / evidence >= 0.75
