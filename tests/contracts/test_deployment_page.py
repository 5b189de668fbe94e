"""docs/deployment.md and compose.yaml: what they show runs, on real servers, and what they claim holds."""

from __future__ import annotations

import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorybank.errors import IndexUnavailableError
from memorybank.index import ChromaIndex, Server
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.contracts.chroma_server import ChromaServer
from tests.contracts.postgres_server import PostgresServer
from tests.core.talking import assistant, user

ROOT = Path(__file__).parents[2]
TOKEN = "xyzzyplugh"  # a word that is nowhere else


def test_the_pages_snippets_run(
    postgres: PostgresServer, chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pasted one after another, with the servers' addresses in the environment."""
    monkeypatch.setenv("MEMORYBANK_DATABASE", postgres.make())
    monkeypatch.setenv("MEMORYBANK_CHROMA", chroma_server.url)
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"deployment.md, snippet {number}", "exec"), names)


def test_compose_opens_nothing_to_the_world() -> None:
    """Images are pinned, ports are on loopback, data is on volumes, health is checked, no password is in the file."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert set(services) == {"postgres", "chroma"}
    for service in services.values():
        assert re.search(r":\d+\.\d+(\.\d+)?$", service["image"])
        assert service["ports"]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert service["volumes"]
        assert service["healthcheck"]["test"]
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")


class _Doorman(BaseHTTPRequestHandler):
    """A reverse proxy that lets nobody in without the token."""

    protocol_version = "HTTP/1.1"
    target = ""
    hangs = threading.Event()

    def _pass(self) -> None:
        if self.hangs.is_set() and self.path.endswith("/query"):
            time.sleep(3)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != "Bearer hush":
            self._answer(401, b"{}")
            return
        kept = {k: v for k, v in self.headers.items() if k.lower() in ("content-type", "accept")}
        request = urllib.request.Request(
            self.target + self.path, data=body or None, headers=kept, method=self.command
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                self._answer(reply.status, reply.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, error.read())

    do_GET = do_POST = do_PUT = do_DELETE = _pass  # noqa: N815 - the names that the base class looks for

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def proxy(chroma_server: ChromaServer) -> Iterator[str]:
    """The address of a proxy before the Chroma server."""
    handler = type("Doorman", (_Doorman,), {"target": chroma_server.url})
    _Doorman.hangs.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_token_is_sent_to_the_proxy(postgres: PostgresServer, proxy: str) -> None:
    """With the token the index works through the proxy; without it turns go on, and the words say what is refused."""
    with MemoryStore.open(
        database=postgres.make(), chroma=Server(proxy, token="hush", shards=2), embedder=HashEmbedder(32)
    ) as store:
        store.bank("gary").add([user("My cat is Mochi")])
        assert store.flush() == 1
        assert store.doctor().ok
    with MemoryStore.open(database=postgres.make(), chroma=proxy, embedder=HashEmbedder(32)) as store:
        store.bank("gary").add([user("My cat is Mochi")])
        assert len(store.bank("gary").recall("cat")) == 1
        with pytest.raises(IndexUnavailableError, match="401"):
            store.flush()


def test_a_search_that_hangs_is_not_waited_for(proxy: str) -> None:
    """A server that takes a question and does not answer costs a turn ``search_timeout``, not ``timeout``."""
    index = ChromaIndex.open(Server(proxy, token="hush", shards=1, namespace="hang", search_timeout=0.2))
    index.upsert("bank", ["a"], np.ones((1, 8), dtype=np.float32) / np.sqrt(8, dtype=np.float32))
    question = np.ones(8, dtype=np.float32) / np.sqrt(8, dtype=np.float32)
    assert index.search("bank", question, 1).ids == ["a"]
    _Doorman.hangs.set()
    start = time.monotonic()
    with pytest.raises(IndexUnavailableError, match="Timeout"):
        index.search("bank", question, 1)
    assert time.monotonic() - start < 2.5
    index.close()


def test_what_vacuum_leaves_of_an_erased_owner(own_postgres: PostgresServer) -> None:
    """After VACUUM FULL and three switches of the log, the erased words are in no file of the server."""
    name = "x"
    with MemoryStore.open(database=own_postgres.make(name), chroma=False, embedder=HashEmbedder(32)) as store:
        for i in range(20):
            for owner, word in ((f"gone-{TOKEN}", TOKEN), ("stays", "quux")):
                bank = store.bank(owner)
                bank.add([user(f"{word} {i} " + "filling " * 200), assistant(f"{word}?")], session=word)
                bank.recall(word)
        assert _holders(own_postgres, name)
        store.erase(f"gone-{TOKEN}")
        own_postgres.execute("VACUUM FULL", name)
        for _ in range(3):
            own_postgres.execute("SELECT pg_switch_wal()", name)
            own_postgres.execute("CHECKPOINT", name)
        assert _holders(own_postgres, name) == []
        assert store.bank("stays").stats().messages == 40


def _holders(server: PostgresServer, database: str) -> list[str]:
    server.execute("CHECKPOINT", database)
    files = [path for path in (server.folder / "data").rglob("*") if path.is_file()]
    return sorted({path.parent.name for path in files if TOKEN.encode() in path.read_bytes()})
