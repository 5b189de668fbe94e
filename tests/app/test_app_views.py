"""What the page shows, without a page: rows, words, dates, both languages."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import timedelta
from string import Formatter
from zoneinfo import ZoneInfo

import pytest

from memorybank.app import pictures, views
from memorybank.app.languages import TEXTS, preferred
from memorybank.app.texts import Texts
from memorybank.bank import MemoryBank
from memorybank.errors import InvalidInputError
from memorybank.forgetting import ForgettingPolicy
from memorybank.models import Level
from memorybank.retrieval.settings import STAGES
from memorybank.store import MemoryStore
from memorybank.testing import FrozenClock
from tests.core.talking import assistant, user

EN, ZH = TEXTS["en"], TEXTS["zh"]
UTC = ZoneInfo("UTC")


@pytest.fixture
def told(store: MemoryStore, clock: FrozenClock) -> MemoryBank:
    """Three days of talk, summed up; policy companion."""
    bank = store.bank("gary", timezone="UTC", policy=ForgettingPolicy.companion())
    for words in ("My cat is called Biscuit", "I moved to Leeds", "Biscuit caught a mouse in Leeds"):
        bank.add([user(words), assistant("I see")], session=f"{clock():%F}")
        clock.advance(timedelta(days=1))
    bank.consolidate()
    return bank


def _holes(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_both_languages_say_the_same() -> None:
    """Every text is there in both, with the same fields to fill in; every stage of a score and level has words."""
    for one in fields(Texts):
        english, chinese = getattr(EN, one.name), getattr(ZH, one.name)
        if isinstance(english, str):
            assert english.strip(), one.name
            assert chinese.strip(), one.name
            assert _holes(english) == _holes(chinese), one.name
        else:
            assert english.keys() == chinese.keys(), one.name
    for texts in (EN, ZH):
        assert {*STAGES, "rerank"} <= texts.parts.keys()
        assert {level.value for level in Level} == texts.levels.keys()
    assert all(re.search("[\u4e00-\u9fff]", text) for text in ZH.parts.values())


@pytest.mark.parametrize(
    ("accept", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("de,en;q=0.9,zh;q=0.8", "en"),
        ("zh-TW", "zh"),
        ("fr", "en"),
        ("", "en"),
        ("en;q=0.1,zh;q=0.5", "zh"),
        ("zh;q=x,en", "en"),
    ],
)
def test_the_browser_chooses(accept: str, language: str) -> None:
    """The first of the two languages by its weight; English where it asks for neither."""
    assert preferred(accept) == language


def test_why(told: MemoryBank, clock: FrozenClock) -> None:
    """What was recalled, with the parts of the score in words, most first; what is gone meanwhile is left out."""
    recalled = told.recall("What is my cat called?", levels=["turn"], reinforce=False)
    used = [recalled[0].memory.id]
    rows = views.why(recalled, used, EN, UTC, told)
    assert rows[0].words.startswith("You: My cat is called Biscuit\nCompanion: ")
    assert rows[0].used
    assert not rows[1].used
    shares = [int(found) for found in re.findall(r"(\d+) %", " ".join(rows[0].reasons))]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 101
    assert "意思相近" in " ".join(views.why(recalled, used, ZH, UTC, told)[0].reasons)
    told.delete(used)
    assert used[0] not in [row.id for row in views.why(recalled, used, EN, UTC, told)]


def test_days(told: MemoryBank) -> None:
    """Newest first; each with its summary, labelled as quoted, and what was said."""
    found = views.days(told, EN)
    assert [len(day.cards) for day in found] == [1, 1, 1]
    assert found[0].day > found[-1].day
    assert found[-1].summary is not None
    assert EN.by_quotes in found[-1].summary.head
    assert views.days(told, ZH)[-1].title == "2026年01月01日"


def test_speakers_are_named_in_the_language_of_the_page(told: MemoryBank) -> None:
    """And as the records name them again when a memory is corrected; other memories are left as they are."""
    turn, note = told.memories(levels=["turn"])[0], told.remember("user: is a word too")
    for texts in (EN, ZH):
        shown = views.card(turn, texts, UTC)
        assert shown.words.startswith(f"{texts.you}: My cat")
        assert views.as_kept(shown.words, shown, texts) == turn.text
        other = views.card(note, texts, UTC)
        assert views.as_kept(other.words, other, texts) == other.words == note.text


def test_overall(told: MemoryBank, store: MemoryStore) -> None:
    """The globals, labelled; None before they are written."""
    whole = views.overall(told, Level.EVENTS, ZH)
    assert whole is not None
    assert ZH.by_quotes in whole.head
    assert views.overall(store.bank("nobody"), Level.PORTRAIT, EN) is None


def test_fading(told: MemoryBank, clock: FrozenClock) -> None:
    """First to fade first, with the day of its archiving; pinned ones do not fade; what is archived is listed."""
    first = views.fading(told, EN, clock())
    assert [row.retention for row in first] == sorted(row.retention for row in first)
    assert "archived on" in first[0].fate
    assert "天后" in views.fading(told, ZH, clock())[0].fate
    told.pin([first[0].card.id])
    assert first[0].card.id not in [row.card.id for row in views.fading(told, EN, clock())]
    later = clock.advance(timedelta(days=300))
    assert views.fading(told, EN, later)[0].fate == EN.archives_now
    told.forget(now=later)
    assert len(views.archive(told, EN)) == 2
    assert all(card.archived for card in views.archive(told, EN))


def test_where_nothing_is_archived(told: MemoryBank, store: MemoryStore, clock: FrozenClock) -> None:
    """Said of each memory."""
    bank = store.bank("gary", policy=ForgettingPolicy.assistant())
    assert {row.fate for row in views.fading(bank, EN, clock())} == {EN.never}


def test_search(told: MemoryBank, clock: FrozenClock) -> None:
    """By words, by days (both inclusive), by both; looking credits nothing; a wrong date is said."""
    now = clock()
    before = [one.strength for one in told.memories()]
    assert "Biscuit" in views.search(told, EN, now, "cat")[0].text
    only = views.search(told, EN, now, "", "2026-01-02", "2026-01-02")
    assert [card.text for card in only] == ["user: I moved to Leeds\nassistant: I see"]
    assert all("Leeds" in one.text for one in views.search(told, EN, now, "Leeds", since="2026-01-02"))
    assert views.search(told, EN, now, " ") == []
    assert [one.strength for one in told.memories()] == before
    with pytest.raises(InvalidInputError, match="is no date"):
        views.search(told, EN, now, "", "yesterday")


def test_said_and_holdings(told: MemoryBank) -> None:
    """The conversation as the page shows it, and counts in a sentence."""
    assert [one.text for one in views.said(told, "2026-01-02")] == ["I moved to Leeds", "I see"]
    assert views.holdings(told, EN).startswith("6 messages in 3 talks;")


def test_links_in_words(told: MemoryBank, clock: FrozenClock) -> None:
    """Each memory of the map with the numbers of those it links to."""
    recalled = told.recall("What is my cat called?")
    drawn = pictures.mapped(told, [one.memory.id for one in recalled], clock())
    words = views.linked(drawn.memories, drawn.links, EN)
    assert set(words) == {one.id for one in drawn.memories}
    assert any(EN.link_kinds["derived"] in text for text in words.values())
    assert drawn.chosen == {one.memory.id for one in recalled}


def test_pictures(told: MemoryBank, store: MemoryStore, clock: FrozenClock) -> None:
    """Each is a PNG, of an empty bank too."""
    pytest.importorskip("matplotlib", reason="needs the extra: plot")
    empty = MemoryBank(told.runtime, "nobody", zone=UTC, language=None, curve=told.curve, policy=told.policy)
    for bank, texts in ((told, ZH), (empty, EN)):
        drawn = pictures.mapped(bank, [], clock())
        for made in (
            pictures.fading(views.fading(bank, texts, clock()), bank, texts, clock()),
            pictures.timeline(bank, texts, clock()),
            pictures.map_of(drawn, texts),
        ):
            assert made is not None
            assert made.startswith(b"\x89PNG")
