"""Whether the disk has room for what Chroma is about to write, and telling a full disk from a damaged index.

On a full disk Chroma does not stop in good order: it cuts a file short that it was writing anew, and what it says
then ("failed to apply logs", "error deserializing pickle") names no disk (measured, 1.5). So it is asked first.
"""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from memorybank.errors import IndexUnavailableError

LEAST = 16 * 2**20
"""Bytes that must be free before Chroma opens or writes: a batch of 200 vectors of 384 numbers, and the files that
it writes anew, are some 2 MB; a collection that grows past its files needs more, which is seen when it fails."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def check_room(folder: Path) -> None:
    """Raises IndexUnavailableError, ``full``, if the folder's disk has less than ``LEAST`` bytes left."""
    free = _free(folder)
    if free < LEAST:
        raise full(folder, f"{free / 2**20:.1f} MiB are left, Chroma needs {LEAST // 2**20}")


def full(folder: Path, why: str) -> IndexUnavailableError:
    """The error to raise when the folder's disk is full."""
    return IndexUnavailableError(
        f"the disk of the Chroma folder {folder} is full ({why}); free space, nothing is lost: the records have "
        "every vector, and the index gets what it lacks afterwards",
        "full",
    )


def is_full(said: str, folder: Path | None = None) -> bool:
    """Whether a failure with these words came of a full disk: by the words, or by what is left in ``folder``."""
    words = said.lower()
    if "no space left" in words or "disk is full" in words or "disk quota" in words:
        return True
    return folder is not None and _free(folder) < LEAST


def unwritable(folder: Path, what: str, error: OSError) -> IndexUnavailableError:
    """The error to raise when the system refuses to write there; ``what`` failed."""
    if error.errno in _FULL:
        return full(folder, str(error.strerror))
    return IndexUnavailableError(f"{what}: {error.strerror}", "unwritable")


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:  # it is gone: whoever uses it is told so by what fails there
        return LEAST
