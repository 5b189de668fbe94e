"""Threads, processes and kills: nothing is lost, nothing is counted twice, nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from memorybank.bank import MemoryBank
from memorybank.store import MemoryStore
from tests.conftest import OpenStore
from tests.core.talking import assistant, held, loaded, texts, user


def in_threads(work: Callable[[int], None], n: int) -> None:
    """Run ``work(i)`` in n threads at once; the first error is raised here."""
    errors: list[BaseException] = []
    start = threading.Barrier(n)

    def run(i: int) -> None:
        try:
            start.wait(timeout=30)
            work(i)
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def test_eight_threads_add_and_recall(store: MemoryStore, bank: MemoryBank) -> None:
    """Every message once and in its thread's order; the strengths add up to the recalls exactly."""
    recalled: Counter[str] = Counter()
    lock = threading.Lock()

    def work(i: int) -> None:
        for j in range(25):
            bank.add([user(f"thread{i} says word{j}"), assistant("noted")], session=f"s{i % 2}")
            found = bank.recall(f"thread{i} word{j}", k=12)
            assert any(f"thread{i} says word{j}\n" in r.memory.text for r in found)  # its own write
            with lock:
                recalled.update(r.memory.id for r in found)

    in_threads(work, 8)
    said = [m.text for s in ("s0", "s1") for m in bank.history(s) if m.role == "user"]
    assert len(said) == len(set(said)) == 200
    for i in range(8):
        assert [t for t in said if t.startswith(f"thread{i} ")] == [
            f"thread{i} says word{j}" for j in range(25)
        ]
    for session in ("s0", "s1"):
        assert [m.position for m in bank.history(session)] == list(range(200))
    assert {m.id: m.strength - 1 for m in bank.memories() if m.strength > 1} == dict(recalled)
    assert held(store, bank) == loaded(store, bank)
    assert store.doctor().ok


def test_the_same_ids_from_many_threads_are_stored_once(bank: MemoryBank) -> None:
    """Retries that cross each other: each id once, each exchange once."""

    def work(_: int) -> None:
        for j in range(15):
            bank.add([user(f"question {j}", id=f"q{j}"), assistant(f"answer {j}", id=f"a{j}")], session="s")

    in_threads(work, 6)
    assert sorted(texts(bank.history("s"))) == sorted(
        [*(f"question {j}" for j in range(15)), *(f"answer {j}" for j in range(15))]
    )
    assert bank.stats().total == 15


def test_two_replies_at_once_complete_one_exchange(store: MemoryStore, bank: MemoryBank) -> None:
    """Replies that race each other are both in the exchange, none is lost, none stands alone."""
    for i in range(10):
        bank.add([user(f"question {i}")], session="s")
        in_threads(lambda j, i=i: bank.add([assistant(f"answer {i} of {j}")], session="s"), 3)  # type: ignore[misc]  # the default binds i
        last = bank.memories()[-1]
        lines = last.text.split("\n")
        assert lines[0] == f"user: question {i}"
        assert sorted(lines[1:]) == [f"assistant: answer {i} of {j}" for j in range(3)]
        assert len(last.sources) == 4
    assert bank.stats().total == 10
    assert held(store, bank) == loaded(store, bank)


def test_owners_do_not_wait_for_each_others_embedding(open_store: OpenStore) -> None:
    """While one owner's slow embedder call runs, another adds and recalls."""
    from memorybank.testing import HashEmbedder

    blocked, release = threading.Event(), threading.Event()

    class Slow(HashEmbedder):
        def embed_documents(self, given: list[str]):  # type: ignore[no-untyped-def]  # as the base class
            if any("slow" in text for text in given):
                blocked.set()
                assert release.wait(30)
            return super().embed_documents(given)

    store = open_store(embedder=Slow(64))
    thread = threading.Thread(target=lambda: store.bank("slow").add([user("slow words")]))
    thread.start()
    assert blocked.wait(30)
    store.bank("quick").add([user("quick words")])
    assert len(store.bank("quick").recall("quick")) == 1
    release.set()
    thread.join(timeout=30)
    assert store.bank("slow").stats().total == 1


def test_erase_while_others_write(open_store: OpenStore) -> None:
    """Adds, recalls and erasures of one owner at once: no error, and what is left is consistent."""
    store = open_store()
    bank = store.bank("gary")

    def work(i: int) -> None:
        for j in range(20):
            if i == 0 and j % 5 == 4:
                store.erase("gary")
            elif i == 1:
                bank.recall("word", k=5)
            else:
                bank.add([user(f"word {i} {j}"), assistant("ok")], session="s")

    in_threads(work, 4)
    assert store.doctor().ok
    assert len(bank.history("s")) == 2 * bank.stats().memories.get("turn", 0)
    if bank.stats().total:
        assert held(store, bank) == loaded(store, bank)


WRITER = textwrap.dedent("""
    import sys
    from memorybank.store import MemoryStore
    from memorybank.testing import HashEmbedder
    folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    store = MemoryStore.open(folder, embedder=HashEmbedder(64), chroma=False)
    bank = store.bank("gary")
    print("open", flush=True)
    sys.stdin.readline()
    for i in range(count):
        bank.add([{"role": "user", "content": f"{name} says {i}"}, {"role": "assistant", "content": "ok"}],
                 session="shared")
        bank.recall("anchor", k=1, levels=["note"])
        print(i, flush=True)
    store.close()
""")


def start(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def test_three_processes_share_a_folder(open_store: OpenStore, folder: Path) -> None:
    """Each one's messages in order, positions without gap, and every reinforcement counted."""
    store = open_store()
    bank = store.bank("gary")
    anchor = bank.remember("the anchor of all")
    processes = [start(folder, f"p{i}", 30) for i in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for _ in range(20):
        bank.add([user("here says something"), assistant("ok")], session="shared")
        bank.recall("says", k=2, reinforce=False)
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    messages = bank.history("shared")
    assert [m.position for m in messages] == list(range(2 * (3 * 30 + 20)))
    said = [m.text for m in messages if m.role == "user"]
    for i in range(3):
        assert [t for t in said if t.startswith(f"p{i} ")] == [f"p{i} says {j}" for j in range(30)]
    assert bank.get(anchor.id)[0].strength == 91
    assert held(store, bank) == loaded(store, bank)
    assert store.doctor().ok


@pytest.mark.parametrize("synchronous", ["full", "normal"])
def test_what_was_acknowledged_survives_kill_9(open_store: OpenStore, folder: Path, synchronous: str) -> None:
    """Killed at any moment: every acknowledged add is there, whole, recallable; at most one more."""
    process = start(folder, "victim", 10_000)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    acknowledged = -1
    while acknowledged < (40 if synchronous == "full" else 25):
        acknowledged = int(process.stdout.readline())
    process.kill()
    acknowledged = max([acknowledged, *(int(line) for line in process.stdout.read().split())])
    process.wait()
    store = open_store(synchronous=synchronous)
    bank = store.bank("gary")
    said = [m.text for m in bank.history("shared") if m.role == "user"]
    assert said[: acknowledged + 1] == [f"victim says {i}" for i in range(acknowledged + 1)]
    assert len(said) in (acknowledged + 1, acknowledged + 2)
    assert len(bank.memories(levels=["turn"])) == len(said)
    assert f"victim says {acknowledged}" in texts(bank.recall(f"victim says {acknowledged}", k=1))[0]
    assert store.doctor().ok


def test_a_store_that_is_not_closed_does_not_hang_the_process(folder: Path) -> None:
    """Forgetting to close loses nothing and the interpreter ends."""
    code = textwrap.dedent(f"""
        from memorybank.store import MemoryStore
        from memorybank.testing import HashEmbedder
        store = MemoryStore.open({str(folder)!r}, embedder=HashEmbedder(64))
        store.bank("gary").add([{{"role": "user", "content": f"fact {{i}}"}} for i in range(300)])
        store.bank("gary").consolidate_soon()
    """)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
