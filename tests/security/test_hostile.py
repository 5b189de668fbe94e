"""Owners, sessions, ids and texts of any kind go in and come out verbatim, and touch nobody else's."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorybank.bank import MemoryBank
from memorybank.errors import InvalidInputError, OwnerError
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.core.talking import texts

NAMES = st.one_of(
    st.text(min_size=1, max_size=40),
    st.sampled_from(
        ["../../etc/passwd", "a'; DROP TABLE memories; --", "%", "_", "*", "\x00", "\ud800", "\u202e", "CON", "a:b",
         "~" * 9, "{0}", "%s", "$(id)", "`id`", "\n",
         "胡" * 200, "é", "e\u0301", "ß", "SS", "İ", " x", "x ", "\x1a0000"]
    ),
)  # fmt: skip
TEXTS = st.one_of(NAMES, st.text(max_size=300), st.just("x" * 20_000), st.just("\x1a0041\x1a"))


@given(st.lists(st.tuples(NAMES, NAMES, NAMES, TEXTS), min_size=1, max_size=5))
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_anything_goes_in_and_comes_out(tmp_path: Path, said: list[tuple[str, str, str, str]]) -> None:
    """By owner, session and id: history verbatim; recall, export, delete and erase touch that owner alone."""
    place = tmp_path / "memory"
    with MemoryStore.open(place, embedder=HashEmbedder(64), chroma=False, synchronous="normal") as store:
        for owner in store.owners():
            store.erase(owner)
        expected: dict[str, dict[str, dict[str, str]]] = {}
        for owner, session, id_, text in said:
            try:
                store.bank(owner).add([{"role": "user", "content": text, "id": id_}], session=session)
            except (InvalidInputError, OwnerError):
                continue
            expected.setdefault(owner, {}).setdefault(session, {}).setdefault(id_, text)
        assert store.owners() == sorted(expected)
        for owner, sessions in expected.items():
            _check(store, owner, sessions, tmp_path)
        for owner in list(expected):
            store.erase(owner)
            assert owner not in store.owners()
            del expected[owner]
            for other, sessions in expected.items():
                assert {name: texts(store.bank(other).history(name)) for name in sessions} == _texts(sessions)
    assert {path.name.split("-")[0] for path in place.iterdir()} <= {"memorybank.db"}


def _texts(sessions: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    return {name: list(ids.values()) for name, ids in sessions.items()}


def _check(store: MemoryStore, owner: str, sessions: dict[str, dict[str, str]], tmp_path: Path) -> None:
    bank: MemoryBank = store.bank(owner)
    assert sorted(bank.sessions()) == sorted(sessions)
    assert {name: texts(bank.history(name)) for name in sessions} == _texts(sessions)
    for ids in sessions.values():
        for text in ids.values():
            assert all(one.memory.owner == owner for one in bank.recall(text[:500], reinforce=False))
    assert bank.export(tmp_path / "export.jsonl") >= len(sessions)
