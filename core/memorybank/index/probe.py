"""Whether a Chroma folder can be trusted, found out in a process of its own.

A folder that was killed while Chroma saved its index may raise, hang, or end the process that reads it with a
segmentation fault (measured: a truncated header does). So after an unclean end another process tries it
first.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memorybank.errors import IndexUnavailableError
from memorybank.index import room
from memorybank.index.apart import run_apart

NEWEST = 400
"""Rows per collection whose vectors are read back: the index is saved every 200, so the newest are at risk.
"""

_GOOD = "memorybank-probe: good"


def probe(folder: Path, timeout: float) -> None:
    """Try every collection of the folder, whose lock the caller holds. ``timeout`` in seconds.

    Raises IndexUnavailableError, ``damaged``, if that process crashed, hung or met an error; ``full`` if for want of
    room on the disk.
    """
    try:
        done = run_apart(__name__, folder, timeout)
    except subprocess.TimeoutExpired:
        raise IndexUnavailableError(
            f"the Chroma folder {folder} did not answer within {timeout:g} s; rebuild the index", "damaged"
        ) from None
    except OSError as error:
        raise IndexUnavailableError(
            f"the Chroma folder could not be probed: {error.strerror}", "down"
        ) from error
    if done.returncode != 0 or _GOOD not in done.stdout:
        lines = done.stderr.strip().splitlines()
        why = lines[-1][:200] if done.returncode > 0 and lines else f"the reader ended with {done.returncode}"
        if room.is_full(why, folder):
            raise room.full(folder, why)
        raise IndexUnavailableError(
            f"the Chroma folder {folder} is damaged ({why}); rebuild the index", "damaged"
        )


def main(folder: str) -> None:
    """What the other process does: read, search and read back in every collection. Raises whatever Chroma
    does.
    """
    import numpy as np

    from memorybank.index.client import connect_folder, disconnect

    client = connect_folder(Path(folder))
    offset = 0
    while page := client.list_collections(limit=100, offset=offset):
        offset += len(page)
        for listed in page:
            collection = client.get_collection(listed.name, embedding_function=None)
            rows = collection.count()
            if not rows:
                continue
            newest = collection.get(limit=NEWEST, offset=max(0, rows - NEWEST), include=["embeddings"])
            vectors = np.asarray(newest["embeddings"], dtype=np.float32)
            if len(vectors) != len(newest["ids"]) or not np.isfinite(vectors).all():
                raise ValueError(f"{listed.name}: vectors are missing")
            found = collection.query(
                query_embeddings=vectors[-1:], n_results=min(rows, 10), include=["distances"]
            )
            if not found["ids"][0]:
                raise ValueError(f"{listed.name}: a search finds nothing")
    disconnect(client)
    sys.stdout.write(_GOOD)
    sys.stdout.flush()
