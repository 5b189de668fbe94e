"""ChromaIndex keeps the contract, embedded and on a server, and agrees with the exact scan."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from memorybank.errors import IndexUnavailableError, InvalidInputError
from memorybank.index import ChromaIndex, ExactIndex, Server, VectorIndex
from memorybank.testing import HashEmbedder
from tests.contracts.chroma_server import ChromaServer
from tests.contracts.index_contract import IndexContract, names, unit_rows

_COUNTER = itertools.count()


class TestEmbedded(IndexContract):
    """In a folder. Two shards, so that banks do share collections."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[VectorIndex]:
        opened = ChromaIndex.open(tmp_path / "chroma", shards=2)
        yield opened
        opened.close()


class TestServer(IndexContract):
    """On a server, in a namespace of its own."""

    @pytest.fixture
    def index(self, chroma_server: ChromaServer) -> Iterator[VectorIndex]:
        opened = ChromaIndex.open(chroma_server.url, shards=2, namespace=f"contract-{next(_COUNTER)}")
        yield opened
        opened.close()


# fmt: off
SUBJECTS = ["Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo", "Ida", "小明", "小红", "老王"]
VERBS = ["visited", "painted", "cooked", "forgot", "found", "lost", "bought", "repaired", "买了", "忘了", "看见"]
OBJECTS = [
    "the old lighthouse", "a red bicycle", "grandmother's recipe", "the jazz concert", "a stray cat",
    "the broken radio", "her piano lesson", "the mountain trail", "一本旧书", "那家茶馆", "新的工作", "生日蛋糕",
]
TIMES = ["yesterday", "on Monday", "last summer", "before breakfast", "in the rain", "上周三", "昨天", "去年"]
# fmt: on


def sentences(count: int, seed: int) -> list[str]:
    """Sentences that share words as a chat does: clustered, with near duplicates."""
    draw = np.random.default_rng(seed)
    parts = (SUBJECTS, VERBS, OBJECTS, TIMES)
    picks = [draw.integers(0, len(part), size=count) for part in parts]
    return [
        " ".join(part[pick[row]] for part, pick in zip(parts, picks, strict=True)) + f" {draw.integers(40)}"
        for row in range(count)
    ]


@pytest.mark.parametrize("own", [False, True], ids=["in a shard", "in a collection of its own"])
def test_recall_against_the_exact_scan(tmp_path: Path, own: bool) -> None:
    """Of the true ten nearest at least 95 % are found, by similarity (near duplicates tie), on text vectors."""
    embedder = HashEmbedder(128)
    index, exact = ChromaIndex.open(tmp_path, shards=1), ExactIndex()
    if own:
        index.promote("bank")
    index.upsert("noise", names(1500), embedder.embed_documents(sentences(1500, seed=1)))
    rows = embedder.embed_documents(sentences(3000, seed=2))
    for each in (index, exact):
        each.upsert("bank", names(3000), rows)
        each.delete("bank", names(600, start=900))
    found = 0
    for query in embedder.embed_documents(sentences(100, seed=3)):
        hits, truth = index.search("bank", query, 10), exact.search("bank", query, 10)
        found += int(np.sum(hits.similarities >= truth.similarities[-1] - 1e-5))
        assert np.all(np.diff(hits.similarities) <= 1e-6)
    assert found / 1000 >= 0.95
    index.close()


def test_reopening_finds_everything(tmp_path: Path) -> None:
    """Rows, deletions, promoted banks, shards and dimension are there again after closing."""
    rows = unit_rows(500)
    with_everything = ChromaIndex.open(tmp_path, shards=5)
    with_everything.upsert("small", names(20), rows[:20])
    with_everything.upsert("large", names(500), rows)
    with_everything.promote("large")
    with_everything.delete("large", ["m4"])
    with_everything.close()
    again = ChromaIndex.open(tmp_path)
    assert again.promoted() == {"large"}
    assert again.ids("small") == set(names(20))
    assert again.ids("large") == set(names(500)) - {"m4"}
    assert again.search("large", rows[499], 1).ids == ["m499"]
    with pytest.raises(InvalidInputError, match="48"):
        again.upsert("third", ["x"], unit_rows(1, dimension=9))
    again.close()


def test_folder_and_files_are_private(tmp_path: Path) -> None:
    """Whatever the umask: folders 0700, files 0600 after closing."""
    folder = tmp_path / "chroma"
    index = ChromaIndex.open(folder)
    index.upsert("bank", names(250), unit_rows(250))
    index.close()
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path.name


def test_closing_gives_everything_back(tmp_path: Path) -> None:
    """Opening and closing many times leaves no open files behind, and a closed index says so."""
    if not Path("/proc/self/fd").exists():
        pytest.skip("open files can be counted on Linux only")
    index = ChromaIndex.open(tmp_path)
    index.upsert("bank", names(3), unit_rows(3))
    index.close()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        index = ChromaIndex.open(tmp_path)
        assert index.count("bank") == 3
        index.close()
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    with pytest.raises(IndexUnavailableError) as caught:
        index.search("bank", unit_rows(1)[0], 1)
    assert caught.value.reason == "closed"


def test_closing_waits_for_those_inside(tmp_path: Path) -> None:
    """Closing while threads search: each search either answers rightly or says that the index is closed."""
    index = ChromaIndex.open(tmp_path)
    rows = unit_rows(400)
    index.upsert("bank", names(400), rows)
    wrong: list[object] = []
    started = threading.Barrier(5)

    def look() -> None:
        started.wait()
        while True:
            try:
                if index.search("bank", rows[7], 1).ids != ["m7"]:
                    wrong.append("another answer")
            except IndexUnavailableError as error:
                if error.reason != "closed":
                    wrong.append(error)
                return

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    started.wait()
    index.close()
    for thread in threads:
        thread.join()
    assert not wrong
    ChromaIndex.open(tmp_path).close()  # and the folder is free again


def test_wipe_starts_anew_and_leaves_no_files(tmp_path: Path) -> None:
    """After wipe nothing is there, another dimension fits, and the old vectors' files are gone."""
    index = ChromaIndex.open(tmp_path, shards=3)
    index.upsert("bank", names(300), unit_rows(300))
    index.promote("bank")
    old = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    index.wipe()
    assert old
    assert not old & {path.name for path in tmp_path.iterdir()}
    assert index.count("bank") == 0
    assert index.promoted() == set()
    index.upsert("bank", ["x"], unit_rows(1, dimension=7))
    index.close()
    assert ChromaIndex.open(tmp_path).ids("bank") == {"x"}


def test_no_text_and_no_other_field_reaches_chroma(tmp_path: Path) -> None:
    """Stored are ids, vectors and the bank: no documents, no other metadata."""
    import chromadb

    index = ChromaIndex.open(tmp_path, shards=1)
    index.upsert("bank", ["m0"], unit_rows(1))
    index.close()
    client = chromadb.PersistentClient(str(tmp_path))
    (collection,) = client.list_collections()
    stored = collection.get(include=["documents", "metadatas"])
    assert stored["ids"] == ["bank:m0"]
    assert stored["metadatas"] == [{"bank": "bank"}]
    assert stored["documents"] == [None]
    assert collection.configuration_json["hnsw"]["space"] == "cosine"
    client.close()


class TestServerOnly:
    """What only a server can do to us."""

    def test_down(self) -> None:
        """Nobody listens: unavailable, with the address and no traceback of httpx to the user."""
        with pytest.raises(IndexUnavailableError, match=r"127\.0\.0\.1:9") as caught:
            ChromaIndex.open("http://127.0.0.1:9")
        assert caught.value.reason == "down"

    def test_silent_server(self) -> None:
        """A server that accepts and never answers costs the time limit, not for ever."""
        import socket

        with socket.socket() as mute:
            mute.bind(("127.0.0.1", 0))
            mute.listen()
            url = f"http://127.0.0.1:{mute.getsockname()[1]}"
            with pytest.raises(IndexUnavailableError):
                ChromaIndex.open(Server(url, timeout=0.3))

    def test_a_proxy_that_refuses_the_login(self) -> None:
        """401: it says so and what to give, and does not repeat the token."""

        class Refusing(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(401)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing."""

        with HTTPServer(("127.0.0.1", 0), Refusing) as proxy:
            threading.Thread(target=proxy.handle_request).start()
            url = f"http://127.0.0.1:{proxy.server_port}"
            with pytest.raises(IndexUnavailableError, match=r"refuses the login \(401\).*token") as caught:
                ChromaIndex.open(Server(url, token="hush-token"))
        assert "hush" not in str(caught.value)

    @pytest.mark.parametrize("url", ["ftp://host:1", "http://", "http://user:secret@host:1"])
    def test_bad_urls(self, url: str) -> None:
        """Not an address, or one with a password in it, is refused without repeating it."""
        with pytest.raises(InvalidInputError) as caught:
            Server(url)
        assert "secret" not in str(caught.value)

    def test_secrets_are_not_shown(self) -> None:
        """The token and the headers are in no repr."""
        shown = repr(Server("https://host", token="hush-token", headers={"X-Key": "hush-header"}))
        assert "hush" not in shown

    def test_restart_in_mid_run(self, own_server: ChromaServer) -> None:
        """Cut off: each call says so; back again: the same index goes on, with everything there."""
        index = ChromaIndex.open(own_server.url)
        rows = unit_rows(50)
        index.upsert("bank", names(50), rows)
        own_server.stop()
        with pytest.raises(IndexUnavailableError) as caught:
            index.search("bank", rows[3], 1)
        assert caught.value.reason == "down"
        with pytest.raises(IndexUnavailableError):
            index.upsert("bank", ["late"], rows[:1])
        own_server.start()
        assert index.search("bank", rows[3], 1).ids == ["m3"]
        index.upsert("bank", ["late"], rows[:1])
        assert index.count("bank") == 51
        index.close()

    def test_collections_made_anew_by_another(self, chroma_server: ChromaServer) -> None:
        """Another process wipes and refills: this one follows, although its collections are gone."""
        first = ChromaIndex.open(chroma_server.url, namespace="anew")
        second = ChromaIndex.open(chroma_server.url, namespace="anew")
        rows = unit_rows(10)
        first.upsert("bank", names(10), rows)
        assert second.count("bank") == 10
        second.wipe()
        assert first.search("bank", rows[0], 3).ids == []
        first.upsert("bank", ["x"], rows[:1])
        second.upsert("bank", ["y"], rows[1:2])
        assert first.ids("bank") == second.ids("bank") == {"x", "y"}

    def test_promoted_by_another(self, chroma_server: ChromaServer) -> None:
        """Another process moves a bank: this one finds, writes and deletes in the new place."""
        first = ChromaIndex.open(chroma_server.url, namespace="moved")
        second = ChromaIndex.open(chroma_server.url, namespace="moved")
        rows = unit_rows(300)
        first.upsert("bank", names(300), rows)
        assert second.search("bank", rows[0], 1).ids == ["m0"]
        first.promote("bank")
        assert second.search("bank", rows[9], 1).ids == ["m9"]
        second.upsert("bank", ["new"], -rows[:1])
        second.delete("bank", ["m9"])
        assert first.search("bank", -rows[0], 1).ids == ["new"]
        assert first.ids("bank") == (set(names(300)) - {"m9"}) | {"new"}

    def test_namespaces_keep_apart(self, chroma_server: ChromaServer) -> None:
        """Two stores on one server: wiping one leaves the other."""
        left = ChromaIndex.open(chroma_server.url, namespace="left")
        right = ChromaIndex.open(chroma_server.url, namespace="right")
        left.upsert("bank", ["a"], unit_rows(1))
        right.upsert("bank", ["b"], unit_rows(1, dimension=5))
        left.wipe()
        assert left.ids("bank") == set()
        assert right.ids("bank") == {"b"}

    def test_a_collection_of_that_name_with_another_space(self, chroma_server: ChromaServer) -> None:
        """get_or_create ignores a differing space; the index does not."""
        import chromadb

        client = chromadb.HttpClient("127.0.0.1", chroma_server.port)
        client.create_collection(
            "odd.shard-0000", embedding_function=None, configuration={"hnsw": {"space": "l2"}}
        )
        client.close()
        with pytest.raises(IndexUnavailableError) as caught:
            ChromaIndex.open(chroma_server.url, shards=1, namespace="odd").upsert("bank", ["a"], unit_rows(1))
        assert caught.value.reason == "foreign"

    def test_other_number_of_shards(self, chroma_server: ChromaServer) -> None:
        """The number of shards is fixed at creation; another one would look in the wrong place."""
        first = ChromaIndex.open(chroma_server.url, shards=4, namespace="shards")
        first.upsert("bank", ["a"], unit_rows(1))
        with pytest.raises(IndexUnavailableError, match="shards") as caught:
            ChromaIndex.open(chroma_server.url, shards=8, namespace="shards")
        assert caught.value.reason == "foreign"
