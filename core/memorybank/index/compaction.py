"""Taking the bytes of removed vectors out of a Chroma folder.

Chroma marks deleted vectors and leaves their bytes: in the index files, which also outlive their collection, and
in free pages of its database (measured: 150 of 150 deleted vectors were found in both after a clean close).
Whoever calls this holds the folder's lock and has closed the client. The database is opened in a process of its
own: a second SQLite in the process of Chroma's would break its locks (measured: 79 of 100 adds lost).
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import uuid
from contextlib import closing
from pathlib import Path

from memorybank.errors import IndexUnavailableError
from memorybank.index import room
from memorybank.index.apart import run_apart
from memorybank.index.layout import DATABASE_NAME


def compact(folder: Path, timeout: float = 600.0) -> None:
    """Remove index files that belong to no collection, and empty the database's free pages.

    Takes time in proportion to Chroma's database, which holds ids and no vectors. ``timeout`` in seconds. Raises
    IndexUnavailableError.
    """
    try:
        done = run_apart(__name__, folder, timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IndexUnavailableError(
            f"the Chroma folder {folder} could not be compacted: {type(error).__name__}", "down"
        ) from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        why = lines[-1][:200] if lines else f"the process ended with {done.returncode}"
        if room.is_full(why, folder):
            raise room.full(folder, why)
        raise IndexUnavailableError(f"the Chroma folder {folder} could not be compacted ({why})", "damaged")


def main(folder: str) -> None:
    """What the other process does. Raises what SQLite and the file system do."""
    place = Path(folder)
    with closing(sqlite3.connect(place / DATABASE_NAME, timeout=60, isolation_level=None)) as connection:
        live = {str(id_) for (id_,) in connection.execute("SELECT id FROM segments")}
        for entry in place.iterdir():
            if entry.is_dir() and _is_segment(entry.name) and entry.name not in live:
                shutil.rmtree(entry)
        connection.execute("VACUUM")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _is_segment(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False
