"""A gate that many pass through at once and that can be shut, after which nobody is inside."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from memorybank.errors import IndexUnavailableError


class Gate:
    """Lets calls through until it is shut; shutting waits for those inside. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._shut = False

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Inside while the block runs. Raises IndexUnavailableError, ``closed``, if the gate is shut."""
        with self._changed:
            if self._shut:
                raise IndexUnavailableError("the Chroma index is closed", "closed")
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def shut(self) -> bool:
        """Shut the gate and wait until nobody is inside. False if it was shut before."""
        with self._changed:
            if self._shut:
                return False
            self._shut = True
            self._changed.wait_for(lambda: self._inside == 0)
            return True

    def reopen(self) -> None:
        """Let calls through again."""
        with self._changed:
            self._shut = False
