"""Work that no chat turn waits for: one thread, one job a key at a time, drained or reported at close."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from memorybank.outline import outline

if TYPE_CHECKING:
    from memorybank.hierarchy.due import Done

logger: logging.Logger = logging.getLogger("memorybank.background")

Job = Callable[[], None]


class Background:
    """Runs jobs one after another on a thread of its own. A job given again before it ran replaces the first."""

    def __init__(self, name: str = "memorybank-background") -> None:
        self._name = name
        self.done: dict[str, Done] = {}
        """What was done for an owner, so that nothing is done again for nothing. Of this process only."""
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._changed = threading.Condition()
        self._busy = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, key: str, job: Job) -> None:
        """Run the job soon. Ignored after ``close``."""
        with self._changed:
            if self._closed:
                return
            self._jobs[key] = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """Jobs not finished yet."""
        with self._changed:
            return len(self._jobs) + self._busy

    def drain(self, timeout: float | None = None) -> int:
        """Wait until everything given so far is done, at most ``timeout`` seconds; returns what is left."""
        with self._changed:
            self._changed.wait_for(lambda: not self._jobs and not self._busy, timeout)
            return len(self._jobs) + self._busy

    def close(self, timeout: float | None = 30.0) -> int:
        """Drain, then stop; returns how many jobs were left undone (and logs it)."""
        left = self.drain(timeout)
        with self._changed:
            self._closed = True
            self._jobs.clear()
            self._changed.notify_all()
        if left:
            logger.warning(
                "%d background jobs were not done after %s s; they are done next time", left, timeout
            )
        return left

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._closed)
                if self._closed:
                    return
                _, job = self._jobs.popitem(last=False)
                self._busy = True
            try:
                job()
            except Exception as error:  # noqa: BLE001 - a job's failure must not end the thread of all others
                logger.warning("a background job failed: %s", outline(error))  # no traceback: it may quote
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
