"""The lock on a Chroma folder: one process at a time; the system lets go of it when the process dies."""

from __future__ import annotations

import contextlib
from pathlib import Path

from filelock import FileLock, Timeout

from memorybank.errors import IndexUnavailableError
from memorybank.index.room import unwritable

LOCK_NAME = "memorybank.lock"


class FolderLock:
    """Held from construction to `release`. Two processes on one Chroma folder lose vectors, hence this.

    The file stays when the lock is released: removing it would let two processes hold two files of one name.
    """

    def __init__(self, folder: Path) -> None:
        """Raises IndexUnavailableError: ``locked`` if it is held, ``unwritable`` if it cannot be made."""
        # any thread may close the index, so the lock is not the thread's; not a singleton, so that a second
        # opening in the same process is refused like one in another
        self._lock = FileLock(folder / LOCK_NAME, timeout=0, thread_local=False, mode=0o600)
        try:
            self._lock.acquire()
        except Timeout:
            raise IndexUnavailableError(
                f"the Chroma folder {folder} is in use, here or in another process; "
                "close the other store, or share one through a Chroma server",
                "locked",
            ) from None
        except OSError as error:
            raise unwritable(folder, f"the Chroma folder {folder} cannot be locked", error) from error

    def release(self) -> None:
        """Let go. Twice is once."""
        with contextlib.suppress(OSError):  # the folder may be gone
            self._lock.release(force=True)
