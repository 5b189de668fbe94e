"""Background work: one job a key at a time, failures contained, drained at close."""

from __future__ import annotations

import logging
import threading

import pytest

from memorybank.background import Background
from memorybank.growing import Growing


def test_jobs_run_in_order_and_a_newer_one_replaces_the_waiting() -> None:
    """While one runs, what is given twice under a key is done once, the latest of it."""
    done: list[str] = []
    release, started = threading.Event(), threading.Event()

    def first() -> None:
        started.set()
        release.wait(30)
        done.append("first")

    work = Background()
    work.submit("a", first)
    assert started.wait(30)
    for text in ("b1", "b2", "b3"):
        work.submit("b", lambda text=text: done.append(text))  # type: ignore[misc]  # the default binds text
    work.submit("c", lambda: done.append("c"))
    assert work.waiting == 3
    release.set()
    assert work.drain(30) == 0
    assert done == ["first", "b3", "c"]
    assert work.close() == 0


def test_a_failing_job_ends_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged; the next one runs."""
    done: list[int] = []
    work = Background()
    work.submit("bad", lambda: 1 // 0)  # type: ignore[arg-type, return-value]  # raises
    work.submit("good", lambda: done.append(1))
    assert work.close(30) == 0
    assert done == [1]
    assert "ZeroDivisionError" in caplog.text


def test_closing_does_not_wait_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    """After its patience it says how much is left undone; what comes later is ignored; twice is once."""
    release, started = threading.Event(), threading.Event()
    work = Background()

    def block() -> None:
        started.set()
        release.wait(30)

    work.submit("a", block)
    assert started.wait(30)
    work.submit("b", lambda: None)
    with caplog.at_level(logging.WARNING):
        assert work.close(0.05) == 2
    assert "2 background jobs" in caplog.text
    release.set()
    work.submit("c", lambda: None)
    assert work.close(10) == 0


def test_growing_arrays_keep_their_views() -> None:
    """A view handed out keeps its length and values while more is appended."""
    import numpy as np

    grown = Growing(np.int32, 2)
    views = []
    for i in range(100):
        grown.extend([[i, -i]] * (i % 3))
        views.append((grown.view(), grown.view().copy()))
    for view, then in views:
        assert np.array_equal(view, then)
    assert len(grown) == sum(i % 3 for i in range(100))
    grown.append([7, 8])
    assert grown.view()[-1].tolist() == [7, 8]
    assert grown.nbytes >= 8 * len(grown)
