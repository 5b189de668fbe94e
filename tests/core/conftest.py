"""Small file systems, which can be filled."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a file system of so many MB, gone after the test."""
    places: list[Path] = []

    def make(megabytes: int) -> Path:
        place = tmp_path / f"disk{len(places)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("a small file system cannot be mounted here (needs root)")
        places.append(place)
        return place

    yield make
    for place in places:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def small_disk(mount: Callable[[int], Path]) -> Path:
    """A file system of 3 MB."""
    return mount(3)
