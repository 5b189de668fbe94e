"""What a release says of itself is one thing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import memorybank

ROOT = Path(__file__).parents[2]


def test_one_version() -> None:
    """The project, the package and the newest release in the changelog have the same version."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    released = re.findall(
        r"^## \[(\d[^]]*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert memorybank.__version__ == declared
    assert released[0] == re.sub(r"\.dev\d+$", "", declared)


def test_every_package_says_that_it_is_typed() -> None:
    """Type checkers look at a package's annotations only where ``py.typed`` lies in it."""
    for package in ("core/memorybank", "langchain_memorybank", "llamaindex_memorybank"):
        assert (ROOT / package / "py.typed").exists()
