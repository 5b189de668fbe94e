"""Consolidation of long histories and across the death of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memorybank.bank import MemoryBank
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.models import Level
from memorybank.testing import HashEmbedder, ScriptedLLM
from tests.core.hierarchy.saying import NOW, OpenBank, say

SETTINGS = HierarchySettings(read=600, block=100, events=150, overall_portrait=100)


def history(bank: MemoryBank, days: int) -> None:
    """One exchange a day, all before the present."""
    messages: list[dict[str, object]] = []
    for number in range(days):
        at = datetime(2026, 1, 20, 9, tzinfo=UTC) - timedelta(days=days - number)
        messages.append({"role": "user", "content": f"I like Town{number} and visited it.", "at": at})
        messages.append({"role": "assistant", "content": "I see.", "at": at})
    bank.add(messages, session="long")


def summary(prompt: str) -> str:
    """Deterministic, and another one for other data."""
    towns = sorted({word.strip(".,") for word in prompt.split() if word.startswith("Town")})
    return f"facts: the user visited {', '.join(towns[:3]) or 'nothing'} and {len(towns)} towns in all."


@pytest.mark.slow
def test_a_thousand_days_and_then_one_more(open_bank: OpenBank) -> None:
    """Every day and the global texts are written; a later day, or a late turn, costs a few calls, not hundreds."""
    model = ScriptedLLM(summary)
    bank = open_bank(model, tokenizer=lambda text: len(text.split()))
    history(bank, 1000)
    first = bank.consolidate(settings=SETTINGS)
    assert not first.failed
    assert len(bank.memories(levels=[Level.DAY_EVENTS])) == 1000
    assert 2002 < first.calls < 2500
    assert all(len(prompt.split()) < SETTINGS.read + 200 for prompt in model.prompts)
    assert bank.consolidate(settings=SETTINGS).calls == 0
    say(bank, 19, "I like Kyoto and visited it.", hour=20, session="new")
    assert bank.consolidate(settings=SETTINGS).calls <= 16
    at = datetime(2026, 1, 20, 9, tzinfo=UTC) - timedelta(days=500)
    bank.add([{"role": "user", "content": "I like Kobe."}], session="late", at=at)
    late = bank.consolidate(settings=SETTINGS)
    assert 0 < late.calls <= 16
    events = bank.events()
    assert events is not None
    assert events.began == datetime(2026, 1, 20, 9, tzinfo=UTC) - timedelta(days=1000)
    days = [memory for memory in bank.memories(levels=[Level.DAY_EVENTS]) if memory.version > 1]
    assert len(days) <= 2


def test_blocks_of_days_are_steps_not_memories(open_bank: OpenBank) -> None:
    """They are not recalled; from the global text one still gets down to every day; deletion reaches through them."""
    bank = open_bank(tokenizer=lambda text: len(text.split()))
    history(bank, 120)
    bank.consolidate(settings=SETTINGS)
    events = bank.events()
    assert events is not None
    found = bank.get(events.sources)
    assert {memory.level for memory in found} == {Level.EVENTS}
    while {memory.level for memory in found} != {Level.DAY_EVENTS}:
        found = [
            memory
            for one in found
            for memory in ([one] if one.level is Level.DAY_EVENTS else bank.get(one.sources))
        ]
    assert len(found) == 120
    recalled = bank.recall("Town7", levels=["events"], reinforce=False, k=50)
    assert {one.memory.id for one in recalled} <= {events.id}
    turn = bank.get(found[100].sources)[0]
    bank.delete([turn.id])
    assert bank.events() is None
    bank.consolidate(settings=SETTINGS)
    town = turn.text.split("Town")[1].split()[0]
    assert not [memory for memory in bank.memories() if f"Town{town} " in memory.text]
    assert bank.events() is not None


CHILD = """
    import sys, time
    from datetime import UTC, datetime
    from memorybank.store import MemoryStore
    from memorybank.testing import FrozenClock, HashEmbedder

    calls = 0

    def model(prompt):
        global calls
        calls += 1
        if calls > 7:
            print("here", flush=True)
            time.sleep(60)
        return f"facts: text {calls} of the model."

    store = MemoryStore.open(
        sys.argv[1], llm=model, embedder=HashEmbedder(64), chroma=False, synchronous="normal",
        clock=FrozenClock(datetime(2026, 2, 1, 9, tzinfo=UTC)),
    )
    store.bank("gary", timezone="UTC").consolidate()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is a POSIX thing")
def test_what_was_written_survives_kill_9(open_bank: OpenBank, tmp_path: Path) -> None:
    """The process dies while the model thinks: the days done are there, the next run writes only the rest."""
    bank = open_bank()
    for day in range(2, 12):
        say(bank, day, "I love tea.")
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(tmp_path / "store")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "here\n"
    child.kill()
    child.wait(20)
    child.stdout.close()
    done = bank.memories(levels=[Level.DAY_EVENTS, Level.DAY_PORTRAIT])
    assert len(done) == 7
    model = ScriptedLLM(lambda prompt: "facts: the rest.")
    rest = open_bank(model).consolidate()
    assert not rest.failed
    assert rest.calls == 20 - 7 + 2
    kept = {memory.id: memory.text for memory in bank.memories(levels=[Level.DAY_EVENTS, Level.DAY_PORTRAIT])}
    assert {memory.id: memory.text for memory in done}.items() <= kept.items()


def test_without_an_embedder_summaries_are_found_by_their_words(open_bank: OpenBank) -> None:
    """A failing or missing embedder costs vectors, never summaries."""
    bank = open_bank()
    say(bank, 3, "I moved to Rome for a job at Acme.")
    broken = HashEmbedder(64)
    broken.embed_documents = lambda texts: None  # type: ignore[assignment,method-assign,return-value]  # broken on purpose
    bank = open_bank(embedder=broken)
    bank.consolidate()
    found = bank.recall("Acme", reinforce=False, levels=["day_events"])
    assert len(found) == 1
    assert found[0].memory.ended < NOW
