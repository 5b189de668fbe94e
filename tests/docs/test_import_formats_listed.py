"""What `memorybank import` takes is listed in README, docs and help alike, and each shape that is shown is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memorybank.interchange import EXPORT, NAMES, ImportOptions, ImportRecord, detect, read

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_TABLE = re.compile(r"^\| `--format` \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")


def _rows(page: Path) -> list[list[str]]:
    """The cells of the table of formats."""
    found = _TABLE.search(page.read_text("utf-8"))
    assert found, f"{page.name} has no table of formats"
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[1].splitlines()]


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "docs" / "migration.md"], ids=lambda page: page.name
)
def test_the_tables_name_what_is_read(page: Path) -> None:
    """Every format once, and no other."""
    named = [name for row in _rows(page) for name in _CODE.findall(row[0])]
    assert sorted(named) == sorted(NAMES)


def test_each_shape_in_the_docs_is_what_it_is_called(tmp_path: Path) -> None:
    """Written to a file it is found out, and read without a problem."""
    name, shown = "", set()
    for row in _rows(ROOT / "docs" / "migration.md"):
        name = _CODE.findall(row[0])[0] if row[0] else name
        shape = _CODE.findall(row[1])[0]
        if name == EXPORT:
            continue
        path = tmp_path / "given.json"
        path.write_text(shape, "utf-8")
        assert detect(path) == name, shape
        owner = {"memorybank": "Gary", "locomo": "s1", "longmemeval": "q1"}.get(name, "gary")
        items = list(read(path, options=ImportOptions(owner=owner, session="given")))
        assert items, shape
        assert all(isinstance(item, ImportRecord) for item in items), items
        assert items[0].message.text == "Hello"  # type: ignore[union-attr]  # the line above
        shown.add(name)
    assert shown == set(NAMES) - {EXPORT}


def test_the_help_names_them_all() -> None:
    """`--format`'s help is made from the same names."""
    import typer.main

    from memorybank.cli.app import app

    command = typer.main.get_command(app).commands["import"]  # type: ignore[attr-defined]  # a group
    option = next(one for one in command.params if one.name == "format")
    assert set(NAMES) <= set(re.findall(r"\w+", option.help))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_other_list_of_formats_is_shorter(page: Path) -> None:
    """A line of prose that names three formats or more names all."""
    for line in page.read_text("utf-8").splitlines():
        named = {
            name
            for name in set(NAMES) - {EXPORT, "messages", "memorybank"}
            if re.search(rf"\b{name}\b", line)
        }
        assert len(named) < 3 or set(NAMES) <= set(re.findall(r"\w+", line)), line
