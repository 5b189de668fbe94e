"""The scripts of the cookbook that use LlamaIndex run, and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

COOKBOOK = Path(__file__).parents[2] / "cookbook"


def test_the_chat_of_the_cookbook_remembers(capsys: pytest.CaptureFixture[str]) -> None:
    """On day 8 the agent is reminded of what an engine heard on day 1; the memory used is stronger for it."""
    runpy.run_path(str(COOKBOOK / "llamaindex_chat.py"), run_name="__main__")
    shown = capsys.readouterr().out
    asked = shown.split("for 'What is the name of my cat?'")[-1]
    assert "(2026-03-02 Mon, conversation)" in asked
    assert "Her name is Mochi" in asked
    assert "The agent says: Mochi." in asked
    assert "Mon 09 Mar  user: Thank you!" in asked
