"""``plot`` writes a PNG of an owner's memory and changes nothing; ``app`` refuses what would be unsafe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.cli.conftest import Run


@pytest.mark.parametrize("picture", ["retention", "timeline", "links"])
def test_pictures(run: Run, talk: Path, tmp_path: Path, picture: str) -> None:
    """Each of them, of a Chinese and an English owner, by a query too."""
    run("import", str(talk))
    before = run("show", "--owner", "Ann", "--now", "2024-06-01", "--json").output
    for owner, query in (("Ann", "cat"), ("小满", "猫")):
        path = tmp_path / f"{owner}.png"
        done = run("plot", picture, "--owner", owner, "--query", query, "-o", str(path), "--json")
        assert json.loads(done.output) == {"picture": picture, "path": str(path)}
        assert path.read_bytes().startswith(b"\x89PNG")
    assert run("show", "--owner", "Ann", "--now", "2024-06-01", "--json").output == before


def test_plot_refuses(run: Run, talk: Path, tmp_path: Path) -> None:
    """Unknown pictures, owners, languages, places."""
    run("import", str(talk))
    run("plot", "pie", "--owner", "Ann", code=2)
    assert "no memories here" in run("plot", "timeline", "--owner", "Bob", code=1).output
    assert "give en or zh" in run("plot", "timeline", "--owner", "Ann", "--language", "de", code=2).output
    gone = str(tmp_path / "none" / "p.png")
    assert "Cannot write" in run("plot", "timeline", "--owner", "Ann", "-o", gone, code=1).output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "--trusted-header"),
        (["--auth", "a.b:c", "--trusted-header", "X"], "not both"),
        (["--proxy", "10.0.0.1"], "give --trusted-header"),
        (["--trusted-header", "X", "--proxy", "somewhere"], "no IP address"),
        (["--auth", "no.such:thing"], "cannot be imported"),
        (["--auth", "json"], "no function"),
    ],
)
def test_app_refuses(run: Run, options: list[str], told: str) -> None:
    """Before a store is made or a port opened."""
    assert told in " ".join(run("app", "--no-open", *options, code=2).output.split())
