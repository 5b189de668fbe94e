"""``plot`` writes a PNG of an owner's memory and changes nothing; ``app`` refuses what would be unsafe."""

from __future__ import annotations

import json
import socket
import sys
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


def test_app_without_its_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "nicegui", None)
    monkeypatch.delitem(sys.modules, "memorybank.app.serving", raising=False)
    assert "memorybank-core[app]" in run("app", "--no-open", code=1).output


def test_a_port_that_is_taken(run: Run) -> None:
    """Said in one line, with what to do."""
    pytest.importorskip("nicegui", reason="needs the extra: app")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = run("app", "--no-open", "--port", port, code=2).output
    assert "give another --host or --port" in " ".join(told.split())
