"""The scripts of the cookbook that use LangChain run, and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

COOKBOOK = Path(__file__).parents[2] / "cookbook"


def test_the_agent_of_the_cookbook_remembers(capsys: pytest.CaptureFixture[str]) -> None:
    """On day 8 the model is told what it heard on day 1, and the memory that was used is stronger for it."""
    runpy.run_path(str(COOKBOOK / "langchain_agent.py"), run_name="__main__")
    shown = capsys.readouterr().out
    last = shown.split("--- what the model is told")[-1]
    assert "2026-03-02 Mon" in last
    assert "Her name is Mochi" in last
    assert "S=2  Mon 02 Mar  user: I adopted a cat" in last
    assert "S=1  Wed 04 Mar" in last
