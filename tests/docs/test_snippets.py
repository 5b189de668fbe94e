"""Every Python snippet of README and docs runs, in order, file by file; every command and option they name exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"\bmemorybank [a-z][^|;#\n]*")
_CONSOLE = re.compile(r"^```(?:console|bash|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _shown(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _blocks(page: Path) -> list[str]:
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if _blocks(p)], ids=_shown)
def test_every_snippet_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's snippets, pasted one after another, run as they stand."""
    text = page.read_text(encoding="utf-8")
    for adapter, framework in (
        ("langchain_memorybank", "langchain"),
        ("llamaindex_memorybank", "llama_index.core"),
    ):
        if adapter in text:
            pytest.importorskip(framework, reason=f"the page needs {framework}, which is an extra")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": f"page_{page.stem}"}
    for number, block in enumerate(_blocks(page), 1):
        code = compile(block, f"{page.name}, snippet {number}", "exec")
        exec(code, names)


@pytest.mark.parametrize("page", PAGES, ids=_shown)
def test_every_command_named_exists(page: Path) -> None:
    """A command that a page shows in a console block is one that the command line has."""
    import typer.main

    from memorybank.cli.app import app

    commands = [
        command
        for block in _CONSOLE.findall(page.read_text("utf-8"))
        for command in _COMMAND.findall(re.sub(r"\\\n\s*", " ", block))
    ]
    for command in commands:
        _check(typer.main.get_command(app), shlex.split(command)[1:], f"{_shown(page)}: {command}")


def _check(command: Any, words: list[str], where: str) -> None:
    """Follow the words down to the command that they name; each option must be one of its own."""
    while words and hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, f"{where}: there is no command {name!r}"
        command = command.commands[name]
    known = {"-h", "--help"}.union(*(option.opts + option.secondary_opts for option in command.params))
    unknown = [word for word in words if word.startswith("-") and word.partition("=")[0] not in known]
    assert not unknown, f"{where}: unknown {unknown}"
