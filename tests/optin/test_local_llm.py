"""A real local language model behind the real server: opt-in, as it takes minutes and a model file.

    MEMORYBANK_TEST_LLM=model.gguf pytest tests/optin

``MEMORYBANK_TEST_LLM_PYTHON`` names a Python that has ``xllamacpp`` (default: this one);
``MEMORYBANK_TEST_LLM_DAYS`` how many days of one user are consolidated in each language (default 2).
``MEMORYBANK_TEST_LLM_SHA256``, where given, must be the file's hash. What small models write is often wrong: the
tests ask that nothing is lost and that everything is told, not that it is true.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memorybank.bank import MemoryBank
from memorybank.companion.remote import RemoteModel
from memorybank.companion.talk import Companion, Piece, Reply
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.store import MemoryStore

MODEL = os.environ.get("MEMORYBANK_TEST_LLM", "")
PYTHON = os.environ.get("MEMORYBANK_TEST_LLM_PYTHON", sys.executable)
DAYS = int(os.environ.get("MEMORYBANK_TEST_LLM_DAYS", "2"))
SHA256 = os.environ.get("MEMORYBANK_TEST_LLM_SHA256", "")
DATA = Path(__file__).parents[2].parent / "shared" / "data"
START = 120.0  # seconds that the server may take to load the model
REPLY = 300.0  # seconds per reply

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not MODEL, reason="MEMORYBANK_TEST_LLM names no GGUF file: a real model is opt-in"),
]


@pytest.fixture(scope="module")
def model() -> Iterator[RemoteModel]:
    """The model behind a server of its own process, which ends with the tests."""
    path = Path(MODEL)
    if not path.is_file():
        pytest.fail(f"MEMORYBANK_TEST_LLM={MODEL} is no file")
    if SHA256:
        with path.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == SHA256
    command = [PYTHON, str(Path(__file__).with_name("llm_server.py")), str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        guard = threading.Timer(START, server.kill)
        guard.start()
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        guard.cancel()
        if not url:
            pytest.fail(f"the server did not start: has {PYTHON} xllamacpp, and is {MODEL} a model?")
        yield RemoteModel(url, "local", timeout=REPLY, most=250)
        assert server.stdin is not None
        server.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
        server.kill()


@pytest.fixture
def bank(model: RemoteModel, tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryStore.open(tmp_path / "memory", embedder=None, chroma=False, llm=model.ask) as store:
        yield store.bank("somebody", timezone="UTC")


def told(bank: MemoryBank, language: str) -> tuple[str, datetime]:
    """Put the first days of the user who says least into the bank; gives all that was said, and its end."""
    path = DATA / f"memorybank_{language}_dev.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the project")
    users: list[dict[str, Any]] = list(json.loads(path.read_text("utf-8")).values())
    shortest = min(users, key=lambda user: sum(map(len, user["history"].values())))
    days = [(day, talk) for day, talk in shortest["history"].items() if talk][:DAYS]
    for day, talk in days:
        at = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
        pairs = [(("user", turn["query"]), ("assistant", turn["response"])) for turn in talk]
        said = [{"role": role, "content": text} for pair in pairs for role, text in pair if text.strip()]
        bank.add(said, session=day, at=at, now=at)
    return json.dumps(days, ensure_ascii=False), at + timedelta(days=1)


def test_a_reply_streams(model: RemoteModel) -> None:
    """It comes in pieces, not at once."""
    pieces = list(model([{"role": "user", "content": "Count from one to five."}]))
    assert len(pieces) > 2
    assert "".join(pieces).strip()


@pytest.mark.parametrize("language", ["en", "cn"])
def test_days_are_consolidated(bank: MemoryBank, language: str) -> None:
    """Every day is written or told as failed; what is stored is text; nothing that was said is lost.

    ``pytest -rP`` shows calls, tokens, failures, and what was written.
    """
    _, now = told(bank, language)
    before = [bank.history(session) for session in bank.sessions()]
    done = bank.consolidate(now=now, settings=HierarchySettings(timeout=REPLY))
    print(f"{done.calls} calls, {done.prompt_tokens} tokens to the model, {done.reply_tokens} from it")
    for failure in done.failed:
        print(f"failed: {failure.subject}: {failure.reason}")
    for memory in done.made:
        print(f"{memory.level.value} {memory.began.date()}: {memory.text}")
    assert done.calls >= 2 * DAYS - 2 * (len(done.failed) > 0)
    assert done.prompt_tokens > done.calls * 50
    assert len(done.made) + len(done.failed) >= DAYS
    assert all(memory.text.strip() and memory.maker.value == "llm" for memory in done.made)
    assert [bank.history(session) for session in bank.sessions()] == before
    again = bank.consolidate(now=now, settings=HierarchySettings(timeout=REPLY))
    assert again.updated == [] or done.failed, "what was written is not written again"
    assert {memory.id for memory in again.made}.isdisjoint(memory.id for memory in done.made)


def test_a_companion_answers(bank: MemoryBank, model: RemoteModel) -> None:
    """A turn of chat with what was remembered before the model."""
    bank.remember("The user's cat is called Biscuit.")
    talk = Companion(bank, "now", model, lambda: datetime.now(UTC))
    events = list(talk.hear("What is my cat called?"))
    assert any(isinstance(event, Piece) for event in events)
    assert isinstance(events[-1], Reply)
    assert [message.role for message in bank.history("now")] == ["user", "assistant"]
