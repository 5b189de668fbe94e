"""How many collections an embedded Chroma can keep open at once in this process."""

from __future__ import annotations

import importlib

FILES_PER_COLLECTION = 5
"""Chroma keeps (allowed open files / 5) indices, and may lose what is unsaved in one that it evicts
(measured: at 256 files 107 of 120 collections missed their newest rows)."""


def most_collections() -> int | None:
    """From the limit on open files of this process (``ulimit -n``); None where there is none."""
    try:
        resource = importlib.import_module("resource")
    except ImportError:  # Windows has no such limit
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else max(1, int(soft) // FILES_PER_COLLECTION)


def fitting_shards(wanted: int, most: int | None) -> int:
    """The wanted number of shards, or fewer: half of what fits, so that large banks find room beside them."""
    return wanted if most is None else max(1, min(wanted, most // 2))
