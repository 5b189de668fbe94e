"""The parts for tests: deterministic, bounded, and failing as they promise."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from memorybank.errors import InvalidInputError, LLMError
from memorybank.testing import START, Delay, FrozenClock, HashEmbedder, Hold, ScriptedLLM


def test_the_hash_embedder_is_the_same_in_every_process():
    """No salted hashes: another process, with another hash seed, gives the same bytes."""
    code = (
        "import sys; from memorybank.testing import HashEmbedder; "
        "sys.stdout.write(HashEmbedder(16).embed_query('walk the dog 遛狗').tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {HashEmbedder(16).embed_query("walk the dog 遛狗").tobytes().hex()}


def test_similar_texts_are_similar():
    """Shared words raise the cosine, in English and Chinese; unrelated texts are near 0."""
    embedder = HashEmbedder()

    def cosine(one: str, other: str) -> float:
        return float(embedder.embed_query(one) @ embedder.embed_query(other))

    assert cosine("I walked the dog", "walked the dog again") > 0.6
    assert cosine("我喜欢吃四川火锅", "昨天吃了四川火锅") > 0.4
    assert abs(cosine("I walked the dog", "quarterly invoice overdue")) < 0.3


def test_the_clock_moves_only_when_told():
    """It stands still, advances, jumps, speaks UTC, and refuses naive times."""
    clock = FrozenClock()
    assert clock() == clock() == START
    assert clock.advance(timedelta(days=2)) == clock() == START + timedelta(days=2)
    berlin = datetime(2026, 3, 1, 9, tzinfo=timezone(timedelta(hours=1)))
    assert clock.set(berlin) == datetime(2026, 3, 1, 8, tzinfo=UTC)
    assert clock().tzinfo is UTC
    with pytest.raises(InvalidInputError, match="time zone"):
        FrozenClock(datetime(2026, 1, 1))


def test_a_script_is_followed_and_recorded():
    """Answers, exceptions and functions in order; then LLMError; prompts are kept."""
    llm = ScriptedLLM(["yes", TimeoutError("slow"), str.upper])
    assert llm("one") == "yes"
    with pytest.raises(TimeoutError):
        llm("two")
    assert llm("three") == "THREE"
    with pytest.raises(LLMError, match="3 answers and this is call 4"):
        llm("four")
    assert llm.prompts == ["one", "two", "three", "four"]
    assert llm.calls == 4


def test_a_function_or_a_last_step_may_answer_for_ever():
    """For tests that do not count calls."""
    assert ScriptedLLM(str.upper)("x") == "X"
    llm = ScriptedLLM(["a", "b"], repeat_last=True)
    assert [llm("?") for _ in range(4)] == ["a", "b", "b", "b"]
    with pytest.raises(InvalidInputError, match="one string"):
        ScriptedLLM("a")


def test_a_held_call_blocks_until_it_is_released():
    """A test can act while the model is thinking."""
    hold = Hold("done")
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(ScriptedLLM([hold])("?")))
    thread.start()
    hold.wait_until_called()
    assert answers == []
    hold.release()
    thread.join(5)
    assert answers == ["done"]


def test_waiting_is_bounded():
    """A call that nobody releases ends in TimeoutError; a delay takes its time."""
    with pytest.raises(TimeoutError):
        ScriptedLLM([Hold(patience=0.01)])("?")
    with pytest.raises(TimeoutError):
        Hold(patience=0.01).wait_until_called()
    began = time.perf_counter()
    assert ScriptedLLM([Delay(0.05, "late")])("?") == "late"
    assert time.perf_counter() - began >= 0.05


def test_a_text_without_words_has_a_vector_of_its_own():
    """Punctuation is embedded, and not all alike."""
    embedder = HashEmbedder()
    assert not np.allclose(embedder.embed_query("!!!"), embedder.embed_query("???"))
