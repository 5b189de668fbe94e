"""No text, owner, session, password or token ever shows up in a log line or in an error of ours."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memorybank.errors import MemoryBankError
from memorybank.index.client import Server
from memorybank.outline import outline
from memorybank.store import MemoryStore
from memorybank.testing import GARBAGE, FrozenClock, HashEmbedder, ScriptedLLM
from tests.conftest import OpenStore
from tests.core.talking import assistant, user

TOKEN = "xyzzyplugh"


class Talkative(HashEmbedder):
    """Fails now and then, and quotes what it was given, as services do."""

    failing = False

    def embed_documents(self, texts: list[str]) -> Any:
        if self.failing:
            raise ValueError(f"cannot embed {texts!r}")
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        if self.failing:
            raise ValueError(f"cannot embed {text!r}")
        return super().embed_query(text)


def _quoting(prompt: str) -> str:
    raise RuntimeError(f"the service refused: {prompt}")


def _mistakes(store: MemoryStore, tmp_path: Path) -> list[Callable[[], Any]]:
    """Calls that are refused or fail, each with the token in what it was given."""
    bank = store.bank("gary")
    token: Any = TOKEN
    broken = tmp_path / "broken.jsonl"
    broken.write_text(f'{{"role": "user", "content": "{TOKEN}"', encoding="utf-8")
    return [
        lambda: bank.add([{"role": "user", "content": {"secret": token}}]),
        lambda: bank.add([{"role": "user", "content": token, "at": "never"}]),
        lambda: bank.add([{"role": "user", "content": token, "payload": object()}]),
        lambda: bank.add([{"role": "user", token: "x"}]),
        lambda: bank.recall(token, k=0),
        lambda: bank.recall(token, min_score=float("nan")),
        lambda: bank.context(token, max_tokens=0),
        lambda: store.import_bank(broken),
    ]


@pytest.mark.parametrize("model", ["good", "garbage", "raising"])
def test_a_busy_and_failing_session(
    open_store: OpenStore, clock: FrozenClock, caplog: pytest.LogCaptureFixture, tmp_path: Path, model: str
) -> None:
    """All loggers at DEBUG, tracebacks included: every verb, an embedder and a model that quote, refused calls."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="memorybank")
    answers: Any = {"good": ScriptedLLM([f"{TOKEN} day."] * 50), "garbage": ScriptedLLM([*GARBAGE] * 9)}
    embedder = Talkative(64)
    store = open_store(llm=answers.get(model, _quoting), embedder=embedder, chroma=False)
    bank = store.bank(f"owner-{TOKEN}", timezone="UTC")
    for failing in (False, True, False):
        embedder.failing = failing
        bank.add(
            [user(f"My secret is {TOKEN}", id=f"{TOKEN}{failing}"), assistant(TOKEN)], session=f"s-{TOKEN}"
        )
        bank.remember(f"note {TOKEN}")
        bank.context(TOKEN, session=f"s-{TOKEN}")
        bank.consolidate(now=clock().replace(day=9))
        bank.consolidate_soon(now=clock().replace(day=20))
        store.runtime.background.drain(30)
        bank.forget()
        store.flush()
        store.doctor()
    said: list[str] = []
    for mistake in _mistakes(store, tmp_path):
        with contextlib.suppress(MemoryBankError):
            try:
                mistake()
            except MemoryBankError as error:
                said.append(str(error))
                raise
    assert len(said) >= 6
    store.erase(bank.owner)
    store.close()
    lines = [caplog.handler.format(record) for record in caplog.records if "memorybank" in record.name]
    assert len(lines) > 20
    assert [line for line in lines if TOKEN in line] == []
    assert [line for line in said if TOKEN in line] == []
    assert TOKEN not in "".join(
        str(record.__dict__) for record in caplog.records if record.name == "memorybank.watch"
    )


def test_a_database_error_hides_what_was_to_be_stored(open_store: OpenStore, folder: Path) -> None:
    """Not even the chained error of the driver's repeats the parameters: frameworks log whole tracebacks."""
    store = open_store()
    bank = store.bank("gary")
    bank.add([user("x")], session="s")
    with store.runtime.database.write() as connection:
        connection.exec_driver_sql("DROP TABLE postings")
    with pytest.raises(MemoryBankError) as caught:
        bank.add([user(f"My secret is {TOKEN}")], session="s")
    assert TOKEN not in "".join(traceback.format_exception(caught.value))


def test_passwords_and_tokens(caplog: pytest.LogCaptureFixture) -> None:
    """Of PostgreSQL's address and of the Chroma server's proxy: neither in errors nor in what is printed."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="memorybank")
    with pytest.raises(MemoryBankError) as caught:
        MemoryStore.open(
            database=f"postgresql+psycopg://u:{TOKEN}@127.0.0.1:9/none", embedder=None, chroma=False
        )
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
    assert TOKEN not in repr(Server("http://127.0.0.1:9", token=TOKEN, headers={"X": TOKEN}))
    assert TOKEN not in caplog.text


def test_an_outline_names_kinds_and_places() -> None:
    """Of every error in the chain, without a word of theirs."""
    try:
        try:
            raise ValueError(TOKEN)
        except ValueError as error:
            raise RuntimeError(TOKEN) from error
    except RuntimeError as error:
        told = outline(error)
    assert told.startswith("RuntimeError (test_secrets_security.py:")
    assert " from ValueError (test_secrets_security.py:" in told
    assert TOKEN not in told
