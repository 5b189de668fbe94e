"""Pin, archive, restore, purge, edit, explain."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memorybank.bank import MemoryBank
from memorybank.errors import InvalidInputError, NotFoundError
from memorybank.forgetting import ForgettingCurve, ForgettingPolicy
from memorybank.models import Level, Maker, Status
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock
from tests.core.talking import assistant, held, ids, loaded, texts, user

FADING = ForgettingPolicy(
    archive_below=0.1, purge_archived_after=timedelta(days=30), curve=ForgettingCurve(unit=timedelta(days=1))
)


@pytest.fixture
def fading(store: MemoryStore) -> MemoryBank:
    """A bank whose memories are archived below R = .1 (unit a day) and purged a month later."""
    bank = store.bank("gary", timezone="UTC", policy=FADING)
    bank.add([user("Mochi is a cat"), user("Rex is a dog")], session="s")
    return bank


def test_forget_archives_what_has_faded_and_twice_is_once(
    store: MemoryStore, fading: MemoryBank, clock: FrozenClock
) -> None:
    """A dry run says what the run does; the second run at the same now does nothing."""
    clock.advance(timedelta(days=1))
    fading.recall("Mochi", k=1)
    clock.advance(timedelta(days=2.5))
    cat, dog = ids(fading.memories())
    planned = fading.forget(dry_run=True)
    assert (planned.archived, planned.purged, planned.kept) == ([dog], [], [cat])
    assert [m.status for m in fading.memories()] == [Status.ACTIVE, Status.ACTIVE]
    assert fading.forget() == planned
    assert fading.forget().archived == []
    assert [m.status for m in fading.memories()] == [Status.ACTIVE, Status.ARCHIVED]
    assert held(store, fading) == loaded(store, fading)


def test_archived_memories_are_recalled_only_when_asked_for(
    store: MemoryStore, fading: MemoryBank, clock: FrozenClock
) -> None:
    """Out of recall and of the list unless asked; restored they are back, and do not fade at once."""
    clock.advance(timedelta(days=10))
    fading.forget()
    assert fading.recall("Mochi Rex") == []
    assert fading.memories(include_archived=False) == []
    assert len(fading.recall("Mochi Rex", include_archived=True, reinforce=False)) == 2
    dog = next(m for m in fading.memories() if "dog" in m.text)
    fading.restore(dog.id)
    assert texts(fading.recall("Mochi Rex", reinforce=False)) == [dog.text]
    assert fading.get(dog.id)[0].archived_at is None
    assert dog.id in fading.forget().kept
    assert held(store, fading) == loaded(store, fading)


def test_purge_destroys_after_its_time(store: MemoryStore, fading: MemoryBank, clock: FrozenClock) -> None:
    """What was archived long enough goes for good, its message with it."""
    clock.advance(timedelta(days=10))
    fading.forget()
    clock.advance(timedelta(days=29))
    assert fading.forget().purged == []
    clock.advance(timedelta(days=1))
    planned = fading.forget(dry_run=True)
    assert len(planned.purged) == 2
    assert fading.forget() == planned
    assert fading.memories() == []
    assert fading.history("s") == []
    assert fading.recall("Mochi", include_archived=True) == []


def test_pinned_memories_stay(fading: MemoryBank, clock: FrozenClock) -> None:
    """Pinned: neither archived nor purged; unpinned it fades again."""
    cat, dog = ids(fading.memories())
    fading.pin([cat])
    clock.advance(timedelta(days=100))
    assert fading.forget().archived == [dog]
    clock.advance(timedelta(days=100))
    assert fading.forget().purged == [dog]
    fading.unpin(cat)
    assert fading.forget().archived == [cat]


def test_a_note_is_protected_by_default(fading: MemoryBank, clock: FrozenClock) -> None:
    """What the user said to remember does not fade."""
    note = fading.remember("My blood type is 0")
    clock.advance(timedelta(days=1000))
    assert note.id in fading.forget().kept
    assert note.level is Level.NOTE


def test_an_old_memory_is_found_by_an_exact_question(bank: MemoryBank, clock: FrozenClock) -> None:
    """Forgetting in recall is a prior, never a veto."""
    bank.add([user("The wifi password of the cabin is plankton"), assistant("ok")], session="s")
    for day in range(200):
        clock.advance(timedelta(days=3))
        bank.add([user(f"Today I cooked dish {day}"), assistant("Tasty")], session=f"d{day}")
    assert "plankton" in bank.recall("wifi password of the cabin", k=1)[0].memory.text


def test_edit_keeps_the_transcript_and_the_version(store: MemoryStore, bank: MemoryBank) -> None:
    """The memory changes, the words said do not; the old text is an earlier version."""
    bank.add([user("I live in Paris"), assistant("ok")], session="s")
    (memory,) = bank.memories()
    bank.recall("Paris")
    edited = bank.edit(memory.id, "user: I live in Rome")
    assert (edited.text, edited.version, edited.maker, edited.strength) == (
        "user: I live in Rome",
        2,
        Maker.USER,
        2,
    )
    bank.edit(memory.id, "user: I live in Oslo")
    assert [(v.version, v.text) for v in bank.versions(memory.id)] == [
        (1, "user: I live in Paris\nassistant: ok"),
        (2, "user: I live in Rome"),
    ]
    assert texts(bank.history("s")) == ["I live in Paris", "ok"]
    assert texts(bank.recall("Oslo", k=1, reinforce=False)) == ["user: I live in Oslo"]
    assert bank.recall("Oslo", k=1, reinforce=False)[0].lexical > 0
    assert bank.recall("Paris", k=1, reinforce=False)[0].lexical == 0
    assert held(store, bank) == loaded(store, bank)


@pytest.mark.parametrize("ids_given", ["no-such", ["no-such"], ["no-such", "\ud800", "x" * 1000, "\x00"]])
def test_unknown_ids_are_not_found(bank: MemoryBank, ids_given: object) -> None:
    """Each door that needs a memory says which one is missing; delete passes unknown ones over."""
    bank.add([user("Mochi")], session="s")
    for door in (bank.get, bank.pin, bank.unpin, bank.restore):
        with pytest.raises(NotFoundError, match="no-such"):
            door(ids_given)  # type: ignore[operator]  # each takes ids
    assert bank.delete(ids_given).total == 0  # type: ignore[arg-type]  # a list or one id
    assert len(bank.memories()) == 1


def test_one_missing_id_changes_nothing(bank: MemoryBank) -> None:
    """Pinning a known and an unknown memory pins neither."""
    bank.add([user("Mochi")], session="s")
    with pytest.raises(NotFoundError):
        bank.pin([bank.memories()[0].id, "no-such"])
    assert not bank.memories()[0].pinned


@pytest.mark.parametrize("ids_given", [None, 5, [5], [None], b"x"])
def test_ids_are_strings(bank: MemoryBank, ids_given: object) -> None:
    """Anything else is refused before anything happens."""
    for door in (bank.get, bank.pin, bank.restore, bank.delete):
        with pytest.raises(InvalidInputError, match="id"):
            door(ids_given)  # type: ignore[operator]  # wrong on purpose


@pytest.mark.parametrize("text", ["", "  ", None, 5, b"x"])
def test_notes_and_edits_need_words(bank: MemoryBank, text: object) -> None:
    """Blank or no text at all is refused."""
    bank.add([user("Mochi")], session="s")
    with pytest.raises(InvalidInputError, match="text"):
        bank.remember(text)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidInputError, match="text"):
        bank.edit(bank.memories()[0].id, text)  # type: ignore[arg-type]  # wrong on purpose
    assert bank.stats().total == 1


@pytest.mark.parametrize("text", ["\x00", "\ud800", "\u200b", "?!", "🐈"])
def test_notes_without_letters_are_kept(bank: MemoryBank, text: str) -> None:
    """A note is verbatim, even of characters that nothing can be made of."""
    note = bank.remember(text)
    assert bank.get(note.id)[0].text == text


def test_explain_tells_what_forget_does(fading: MemoryBank, clock: FrozenClock) -> None:
    """t, unit, S, R, rule and outcome, before and after; parts for a Recalled."""
    clock.advance(timedelta(days=2))
    (recalled,) = fading.recall("Mochi", k=1, reinforce=False)
    told = fading.explain(recalled)
    assert (told.elapsed, told.unit, told.strength) == (timedelta(days=2), timedelta(days=1), 1)
    assert told.retention == pytest.approx(0.1353, abs=1e-4)
    assert (told.outcome, told.form) == ("keep", "exponential")
    assert "0.1" in told.rule
    assert dict(told.parts) == dict(recalled.parts)
    assert told.archives_at is not None
    just_after = told.archives_at + timedelta(seconds=1)
    assert fading.explain(recalled.memory.id, now=just_after).outcome == "archive"
    assert recalled.memory.id in fading.forget(now=just_after).archived
    assert fading.explain(recalled.memory, now=just_after).outcome == "archived"


@pytest.mark.parametrize("what", [None, 5, ["x"], b"x"])
def test_explain_takes_a_memory(bank: MemoryBank, what: object) -> None:
    """Anything else is refused, an unknown id is not found."""
    with pytest.raises(InvalidInputError, match="explain takes"):
        bank.explain(what)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(NotFoundError):
        bank.explain("no-such")


def test_a_new_memory_inherits_nothing_of_a_deleted_one(store: MemoryStore, bank: MemoryBank) -> None:
    """Ids and strengths belong to memories, not to places."""
    bank.add([user("Mochi is a cat")], session="s")
    for _ in range(5):
        bank.recall("Mochi")
    gone = bank.memories()[0].id
    bank.delete(gone)
    bank.add([user("Mochi is a cat")], session="s")
    assert bank.memories()[0].strength == 1
    assert bank.memories()[0].id != gone
    assert held(store, bank) == loaded(store, bank)
