"""Marks set by hand: a message that must not slip away has the digest written when it slides out."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorybank.errors import NotFoundError
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.hierarchy.window import WindowSettings
from memorybank.models import Memory
from memorybank.records import banks, marks
from tests.conftest import OpenStore
from tests.core.hierarchy.saying import OpenBank, say

# The regular marks are the messages 0, 100, 200 …: after the first digest, what follows is marked by hand only.
SETTINGS = HierarchySettings(window=WindowSettings(size=6, mark_every=100))


def chat(bank: object, first: int, last: int) -> None:
    for number in range(first, last + 1):
        say(bank, 31, f"I bought item{number} in Shop{number}.", hour=8)  # type: ignore[arg-type]  # a bank


def digest_of(bank: object) -> Memory | None:
    bank.consolidate(settings=SETTINGS)  # type: ignore[attr-defined]  # a bank
    found = bank.window("s").digest  # type: ignore[attr-defined]  # a bank
    assert found is None or isinstance(found, Memory)
    return found


def test_a_forced_mark_writes_the_digest_when_it_slides_out(open_bank: OpenBank) -> None:
    """Not before, and once; without it the regular marks would have waited for message 100."""
    bank = open_bank()
    chat(bank, 1, 5)
    first = digest_of(bank)
    assert first is not None
    marked = bank.mark("s")
    assert (marked.session, marked.position) == ("s", 9)
    chat(bank, 6, 7)
    assert digest_of(bank) == first, "the marked message is still in the window"
    chat(bank, 8, 9)
    second = digest_of(bank)
    assert second is not None
    assert second.version == first.version + 1
    assert "Shop5" in second.text or "Shop6" in second.text
    assert digest_of(bank) == second
    chat(bank, 10, 20)
    assert digest_of(bank) == second, "nothing else was marked"


def test_a_message_is_marked_by_its_id_and_twice_is_once(open_bank: OpenBank) -> None:
    """``message_id`` names it; the mark is stored once."""
    bank = open_bank()
    chat(bank, 1, 3)
    id_ = bank.history("s")[2].id
    assert id_ is not None
    assert bank.mark("s", id_) == bank.mark("s", id_)
    with bank.runtime.database.read() as connection:
        held = banks.find(connection, bank.owner)
        assert held is not None
        session = banks.find_session(connection, held.key, "s")
        assert session is not None
        assert marks.of_session(connection, session.key) == {2}


def test_what_is_not_there_cannot_be_marked(open_bank: OpenBank) -> None:
    """An unknown session or message is told by name; nothing is stored."""
    bank = open_bank()
    with pytest.raises(NotFoundError, match="no session 's'"):
        bank.mark("s")
    chat(bank, 1, 1)
    with pytest.raises(NotFoundError, match="no message 'x'"):
        bank.mark("s", "x")
    with pytest.raises(NotFoundError, match="no session 'other'"):
        bank.mark("other")


def test_marks_outlive_the_process_and_go_with_their_session(open_store: OpenStore, folder: Path) -> None:
    """They are in the records; clearing the session and erasing the owner leave none behind."""
    said = [{"role": "user", "content": "Keep this."}]
    with open_store(folder) as store:
        bank = store.bank("gary", timezone="UTC")
        for session in ("one", "two"):
            bank.add(said, session=session)
            bank.mark(session)
    store = open_store(folder)
    bank = store.bank("gary")

    def held() -> int:
        with store.runtime.database.read() as connection:
            return sum(len(marks.of_session(connection, key)) for key in range(1, 5))

    assert held() == 2
    bank.clear("one")
    assert held() == 1
    store.erase("gary")
    assert held() == 0


def test_an_export_takes_the_marks_along(open_store: OpenStore, tmp_path: Path) -> None:
    """By the messages' ids, so that they hold where the positions are others; a second import adds none."""
    said = [{"role": "user", "content": text, "id": text} for text in ("a", "b", "c")]
    with open_store(tmp_path / "one") as store:
        bank = store.bank("gary", timezone="UTC")
        bank.add(said, session="s")
        bank.mark("s", "b")
        bank.mark("s", "c")
        bank.delete([m.id for m in bank.memories() if "c" in m.text.split()])
        bank.export(tmp_path / "gary.jsonl")
    store = open_store(tmp_path / "two")
    store.bank("gary", timezone="UTC").add([{"role": "user", "content": "earlier"}], session="s")
    for _ in range(2):
        store.import_bank(tmp_path / "gary.jsonl")
        with store.runtime.database.read() as connection:
            assert marks.of_bank(connection, 1) == [("s", "b")]
            assert marks.of_session(connection, 1) == {2}
