"""What the package index shows of README points to nothing that is not there."""

from __future__ import annotations

import importlib.util
import re
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> str:
    """README as the build hands it on; hatchling itself is only there while something is built."""
    interface = types.ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]  # all that is used of it
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.long_description((ROOT / "README.md").read_text("utf-8")))


def test_no_link_or_picture_of_a_file(shown: str) -> None:
    """All links that are left are addresses."""
    targets = re.findall(r"\]\(([^)]*)\)", shown)
    assert targets
    assert all(target.startswith("https://") for target in targets), targets
    assert "![" not in shown


def test_the_files_are_named_instead_and_exist(shown: str) -> None:
    """Each file that README links to is named by its path, and is part of the project."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text("utf-8"))
    named = [link for link in links if not link.endswith(".png")]
    assert "docs/concepts.md" in named
    assert all(f"`{link}`" in shown for link in named)
    assert all((ROOT / link).exists() for link in links)


def test_the_examples_are_the_same(shown: str) -> None:
    """Code is handed on as it stands."""
    blocks = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
    assert blocks.findall(shown) == blocks.findall((ROOT / "README.md").read_text("utf-8"))
