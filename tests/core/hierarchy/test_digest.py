"""Digests: what slides out of a session's window is kept in one rolling text; nothing leaves the store."""

from __future__ import annotations

from dataclasses import replace

from memorybank.hierarchy.settings import HierarchySettings
from memorybank.hierarchy.window import WindowSettings
from memorybank.models import Level
from memorybank.testing import ScriptedLLM
from tests.core.hierarchy.saying import OpenBank, say

SETTINGS = HierarchySettings(window=WindowSettings(size=6, mark_every=6))


def chat(bank: object, first: int, last: int) -> None:
    for number in range(first, last + 1):
        say(bank, 31, f"I bought item{number} in Shop{number}.", hour=8)  # type: ignore[arg-type]  # a bank


def test_a_digest_is_written_when_a_marked_message_slid_out(open_bank: OpenBank) -> None:
    """Short sessions have none; then it covers what slid out; the transcript stays whole."""
    bank = open_bank()
    chat(bank, 1, 3)
    bank.consolidate(settings=SETTINGS)
    assert bank.window("s").digest is None
    chat(bank, 4, 8)
    bank.consolidate(settings=SETTINGS)
    digest = bank.window("s").digest
    assert digest is not None
    assert "Shop1" in digest.text
    assert len(bank.history("s")) == 16
    assert digest.session == "s"
    assert bank.get(digest.sources)
    assert bank.consolidate(settings=SETTINGS).updated == []


def test_the_model_reads_the_old_digest_with_the_new_messages(open_bank: OpenBank) -> None:
    """Rolling: the second digest is written from the first, which is kept as a version."""
    model = ScriptedLLM(lambda prompt: f"Digest {prompt.count('item')}." if "<summary>" in prompt else "NONE")
    bank = open_bank(model)
    chat(bank, 1, 5)
    bank.consolidate(settings=SETTINGS)
    first = bank.window("s").digest
    assert first is not None
    chat(bank, 6, 12)
    bank.consolidate(settings=SETTINGS)
    second = bank.window("s").digest
    assert second is not None
    assert second.id == first.id
    asked = [prompt for prompt in model.prompts if "<summary>" in prompt]
    assert first.text in asked[-1] or any(first.text in prompt for prompt in asked[1:])
    assert first.text in [version.text for version in bank.versions(first.id)]


def test_a_deleted_turn_leaves_the_digest_at_once(open_bank: OpenBank) -> None:
    """The digest that quoted it is emptied, then written anew from what is left."""
    bank = open_bank()
    chat(bank, 1, 8)
    bank.consolidate(settings=SETTINGS)
    turn = next(memory for memory in bank.memories(levels=["turn"]) if "Shop1." in memory.text)
    bank.delete([turn.id])
    assert bank.window("s").digest is None
    bank.consolidate(settings=SETTINGS)
    digest = bank.window("s").digest
    assert digest is not None
    assert "Shop1." not in digest.text
    assert "Shop2" in digest.text


def test_sessions_of_long_ago_get_no_digest(open_bank: OpenBank) -> None:
    """An old session is not continued: its digest would cost a call and help nobody."""
    model = ScriptedLLM(lambda prompt: "NONE")
    bank = open_bank(model)
    for number in range(10):
        say(bank, 2, f"I bought item{number}.")
    bank.consolidate(settings=SETTINGS)
    assert not [prompt for prompt in model.prompts if "<summary>" in prompt]
    assert bank.memories(levels=[Level.DIGEST]) == []


def test_a_failing_model_leaves_the_old_digest(open_bank: OpenBank) -> None:
    """The failure is reported; the next run writes what was due."""
    bank = open_bank()
    chat(bank, 1, 5)
    bank.consolidate(settings=SETTINGS)
    before = bank.window("s").digest
    chat(bank, 6, 9)
    broken = open_bank(lambda prompt: "")
    assert any("digest" in failure.subject for failure in broken.consolidate(settings=SETTINGS).failed)
    assert broken.window("s").digest == before
    mended = open_bank()
    mended.consolidate(settings=replace(SETTINGS, digest=300))
    after = mended.window("s").digest
    assert after is not None
    assert after != before
