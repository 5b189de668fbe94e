"""The page under test: the real command in a process of its own, and Chromium, where it is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memorybank.bank import MemoryBank
from memorybank.store import MemoryStore

ROOT = Path(__file__).parents[2]
CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
# Nothing but the page is to be talked to; a sandbox of its own is not to be had in a container.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass(frozen=True)
class Server:
    """A page that is being served."""

    address: str
    store: Path

    def look(self, owner: str, what: Callable[[MemoryBank], Any]) -> Any:
        """What the store holds of an owner, read beside the page."""
        with MemoryStore.open(self.store, embedder=None, chroma=False, read_only=True) as store:
            return what(store.bank(owner))

    def owners(self) -> list[str]:
        with MemoryStore.open(self.store, embedder=None, chroma=False, read_only=True) as store:
            return store.owners()


def serve(folder: Path, *options: str) -> Iterator[Server]:
    """``memorybank app`` on a free port, until the test is over."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", "from memorybank.cli import main; main()", "app", "--store", str(folder)]
    command += ["--embedder", "none", "--no-open", "--port", str(port), "--timezone", "UTC"]
    log = folder.parent / f"{folder.name}.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, *options],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 60
        while not _answers(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield Server(f"http://localhost:{port}/", folder)
    finally:
        process.terminate()
        process.wait(20)
    assert "Traceback" not in log.read_text(), log.read_text()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window. Of one module: while it is driven no other event loop runs in this process."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here; Debian: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the group dev: playwright")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


Visit = Callable[..., Any]


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    """Opens a page in a browser of its own (cookies, language, size); nothing may come from elsewhere or fail."""
    contexts, wrong = [], []

    def open_page(address: str, language: str = "en-US", width: int = 1200, **more: Any) -> Any:
        context = browser.new_context(locale=language, viewport={"width": width, "height": 800}, **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("request", lambda request: _elsewhere(request.url, address, wrong))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def _elsewhere(url: str, address: str, wrong: list[str]) -> None:
    own = address.partition("://")[2]
    if not url.startswith(("data:", "blob:")) and not url.partition("://")[2].startswith(own):
        wrong.append(url)
