"""Every Python snippet of README and docs runs, in order, file by file; every command they name exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"\bmemorybank ([a-z][a-z-]+)")
_CONSOLE = re.compile(r"^```(?:console|bash|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _blocks(page: Path) -> list[str]:
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if _blocks(p)], ids=lambda p: p.name)
def test_every_snippet_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page's snippets, pasted one after another, run as they stand (with a scripted model for the reader's)."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": f"page_{page.stem}", **_reader(page)}
    for number, block in enumerate(_blocks(page), 1):
        code = compile(block, f"{page.name}, snippet {number}", "exec")
        exec(code, names)


def _reader(page: Path) -> dict[str, Any]:
    """What the reader brings along: a chat model, scripted here, for pages that say `model` or `llm`."""
    text = page.read_text(encoding="utf-8")
    found: dict[str, Any] = {}
    if "langchain_memorybank" in text:
        pytest.importorskip("langchain", reason="needs the extra langchain")
        from langchain_core.language_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage

        def answers() -> Any:
            while True:
                yield AIMessage("Noted.")

        found["model"] = GenericFakeChatModel(messages=answers())
    if "llamaindex_memorybank" in text:
        pytest.importorskip("llama_index.core", reason="needs the extra llamaindex")
        from llama_index.core.llms import MockLLM

        found["llm"] = MockLLM()
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_command_named_exists(page: Path) -> None:
    """A command that a page shows in a console block is one that the command line has."""
    import typer.main

    from memorybank.cli.app import app

    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # a click group
    shown = {name for block in _CONSOLE.findall(page.read_text("utf-8")) for name in _COMMAND.findall(block)}
    assert shown <= known, f"{page.name} names unknown commands"
