"""Several processes on one PostgreSQL and one Chroma server: first openings, walls between owners, servers that go
and come back, and everything counted exactly."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from benchmarks.processes import Load, Place, run
from memorybank.bank import MemoryBank
from memorybank.errors import DamagedStoreError, EmbedderMismatchError, IndexUnavailableError, StoreError
from memorybank.records import outbox
from memorybank.records.database import open_url
from memorybank.store import MemoryStore
from memorybank.testing import HashEmbedder
from tests.contracts.chroma_server import ChromaServer, free_port
from tests.contracts.postgres_server import PostgresServer
from tests.core.talking import assistant, texts, user

Opening = Callable[..., MemoryStore]
MANY = 520  # memories, above which a recall does put its question to the index


@pytest.fixture
def opening() -> Iterator[Opening]:
    """Opens stores with a hashed embedder and closes them at the end."""
    opened: list[MemoryStore] = []

    def open_one(database: str | None, **options: Any) -> MemoryStore:
        given: dict[str, Any] = {"embedder": HashEmbedder(32), "chroma": False, **options}
        store = MemoryStore.open(database=database, **given)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


def test_first_openings_at_once_make_one_store(postgres: PostgresServer, opening: Opening) -> None:
    """Six openings of an empty database at the same moment: all work, on the same tables."""
    address = postgres.make()
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: opening(address), range(6)))
    for i, store in enumerate(stores):
        store.bank(f"owner {i}").add([user("hello")])
    assert len(stores[0].owners()) == 6


def test_of_first_openings_with_different_embedders_one_wins(
    postgres: PostgresServer, opening: Opening
) -> None:
    """The others are told which embedder the store has; none writes vectors of another length."""
    address = postgres.make()

    def open_with(dimension: int) -> int | EmbedderMismatchError:
        try:
            opening(address, embedder=HashEmbedder(dimension)).bank("gary").add([user(f"by {dimension}")])
        except EmbedderMismatchError as error:
            return error
        return dimension

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(open_with, (16, 24, 32, 40)))
    winners = [one for one in found if isinstance(one, int)]
    assert len(winners) == 1
    assert all(f"({winners[0]} dimensions)" in str(one) for one in found if not isinstance(one, int))
    store = opening(address, embedder=HashEmbedder(winners[0]))
    assert texts(store.bank("gary").recall("by")) == [f"user: by {winners[0]}"]


def test_tables_of_another_program_are_left_alone(postgres: PostgresServer, opening: Opening) -> None:
    """A database that has a table with one of our names is refused unchanged; a schema of its own is taken."""
    address = postgres.make("another")
    postgres.execute("CREATE TABLE sessions (id int)", "another")
    with pytest.raises(DamagedStoreError, match=r"sessions.*search_path"):
        opening(address)
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE schemaname='public'", "another") == [(1,)]
    postgres.execute("CREATE SCHEMA memorybank", "another")
    store = opening(address + "&options=-csearch_path%3Dmemorybank")
    store.bank("gary").add([user("hello")])
    assert postgres.execute("SELECT count(*) FROM memorybank.messages", "another") == [(1,)]


@pytest.mark.parametrize("name", ["\x00" * 511 + "x", "\U0001f600" * 512, "记" * 512, "\ud800" * 512])
def test_the_longest_names_fit(postgres: PostgresServer, opening: Opening, name: str) -> None:
    """512 characters of any kind, escaped or four bytes long each, as owner, session and id."""
    store = opening(postgres.make())
    bank = store.bank(name)
    bank.add([user("hello", id=name), assistant("yes", id=name[:-1] + "y")], session=name)
    assert [(m.id, m.session) for m in bank.history(name)] == [(name, name), (name[:-1] + "y", name)]
    assert store.owners() == [name]


def test_owners_never_wait_for_each_other(postgres: PostgresServer, opening: Opening) -> None:
    """While every row of one owner is locked, another adds, recalls, forgets, consolidates and deletes."""
    address = postgres.make()
    store = opening(address + "&options=-clock_timeout%3D2000")  # waiting longer than 2 s for a lock fails
    for owner in ("held", "free"):
        store.bank(owner).add([user("My cat is Mochi"), assistant("ok")], session="s")
        store.bank(owner).recall("cat", asking="s")
    blocker = open_url(address, read_only=False)
    with blocker.write() as connection:
        for table in ("banks", "sessions", "messages", "memories", "links", "vectors", "postings", "credits"):
            where = "owner='held'" if table == "banks" else _of_first_bank(table)
            found = connection.execute(sa.text(f"SELECT 1 FROM {table} WHERE {where} FOR UPDATE")).all()
            assert found or table == "links"
        free = store.bank("free")
        free.add([user("My dog is Rex"), assistant("ok")], session="s")
        free.add([user("New here")], session="another")
        assert texts(free.recall("dog", k=1, asking="s")) == ["user: My dog is Rex\nassistant: ok"]
        free.forget()
        free.consolidate()
        free.delete(free.memories()[0].id)
        free.clear("another")
        store.bank("newcomer").add([user("hello")])
        store.erase("free")
        with pytest.raises(StoreError, match="crossed"):
            store.bank("held").add([user("I wait")])
    blocker.close()
    store.bank("held").add([user("I waited")])


def _of_first_bank(table: str) -> str:
    column = {"links": "a", "credits": "memory"}.get(table, "key")
    low, high = (1 << 32), (2 << 32)
    return "bank=1" if table == "sessions" else f"{column} BETWEEN {low} AND {high}"


def test_a_reader_that_began_before_sees_none_of_what_follows(
    postgres: PostgresServer, opening: Opening
) -> None:
    """A recall reads one state, and may write nothing."""
    store = opening(postgres.make())
    bank = store.bank("gary")
    bank.add([user("one")])
    with store.runtime.database.read() as connection:
        assert outbox.count(connection, 1) == 1
        bank.add([user("two")])
        assert outbox.count(connection, 1) == 1
        with pytest.raises(sa.exc.DBAPIError, match="read-only"):
            connection.execute(sa.text("DELETE FROM memories"))


def test_a_server_that_is_restarted(own_postgres: PostgresServer, opening: Opening) -> None:
    """Killed under four writers: their calls fail as StoreError that says so, what was acknowledged is there, once
    and in order, and the same store goes on when the server is back."""
    store = opening(own_postgres.make())
    acknowledged: dict[int, list[str]] = {i: [] for i in range(4)}
    failures: list[str] = []
    enough = threading.Event()

    def write(writer: int) -> None:
        bank, number = store.bank("gary"), 0
        while not enough.is_set():
            text = f"w{writer} n{number}"
            try:
                bank.add([user(text, id=text), assistant("ok", id=f"{text} a")], session=f"s{writer % 2}")
                acknowledged[writer].append(text)
                number += 1
            except StoreError as error:  # the same words again, with the same id, once the server is back
                failures.append(str(error))
                time.sleep(0.05)

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, writer) for writer in range(4)]
        try:
            for _ in range(2):
                _until(lambda: all(acknowledged.values()))
                own_postgres.stop()
                met = len(failures)
                _until(lambda met=met: len(failures) >= met + 4)  # type: ignore[misc]  # the default binds it
                enough_now = sum(map(len, acknowledged.values())) + 8
                own_postgres.start()
                _until(lambda wanted=enough_now: sum(map(len, acknowledged.values())) >= wanted)  # type: ignore[misc]  # the default binds it
        finally:
            enough.set()
        for writer in writers:
            writer.result()
    assert all("Try again when it is back" in words for words in failures)
    bank = store.bank("gary")
    said = [m.text for s in ("s0", "s1") for m in bank.history(s) if m.role == "user"]
    for writer in range(4):
        assert [one for one in said if one.startswith(f"w{writer} ")][: len(acknowledged[writer])] == (
            acknowledged[writer]
        )
    assert len(said) == len(set(said))
    for session in ("s0", "s1"):
        assert [m.position for m in bank.history(session)] == list(range(len(bank.history(session))))
    assert store.doctor().ok


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def test_an_address_that_does_not_answer(opening: Opening) -> None:
    """No server, no such database: a StoreError that names the place without its password."""
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        opening(f"postgresql+psycopg://me:hush@127.0.0.1:{free_port()}/x")
    assert "hush" not in str(caught.value)


def test_no_such_database(postgres: PostgresServer, opening: Opening) -> None:
    """The words say to make it."""
    with pytest.raises(StoreError, match="createdb"):
        opening(postgres.address("nowhere"))


def test_a_role_that_may_only_read(postgres: PostgresServer, opening: Opening) -> None:
    """Reading goes on, writing says why not."""
    address = postgres.make("readable")
    opening(address).bank("gary").add([user("My cat is Mochi")])
    postgres.execute("CREATE ROLE reader LOGIN")
    postgres.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader", "readable")
    store = opening(address.replace("memory@", "reader@"))
    assert len(store.bank("gary").recall("cat", reinforce=False)) == 1
    with pytest.raises(StoreError, match="lacks a right"):
        store.bank("gary").add([user("more")])


def test_chroma_comes_and_goes(
    postgres: PostgresServer, own_chroma: ChromaServer, opening: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    """Down at the opening, there, cut off in mid-run, back with nothing in it: turns are exact throughout, with one
    warning a store each time it goes, and a flush leaves the index complete."""
    address = postgres.make()
    store = opening(address, chroma=own_chroma.url, search="chroma")
    bank = store.bank("gary")

    def turns(start: int, bank: MemoryBank = bank) -> None:
        for i in range(start, start + 10):
            bank.add([user(f"fact number{i}"), assistant("noted")], session="s")
            assert f"number{i}\n" in texts(bank.recall(f"fact number{i}", k=1))[0]
            assert "number3\n" in texts(bank.recall("fact number3", k=1))[0]

    def warnings() -> int:
        return len([record for record in caplog.records if "not available" in record.message])

    caplog.set_level(logging.WARNING, "memorybank")
    talk = [one for i in range(MANY) for one in (user(f"fact number{i}"), assistant("noted"))]
    bank.add(talk, session="before")
    turns(MANY)
    for _ in range(2):
        with pytest.raises(IndexUnavailableError):
            store.flush()
    assert warnings() == 1
    own_chroma.start()
    assert store.flush() == MANY + 10
    assert "available again" in caplog.text
    assert bank.stats().unindexed == 0
    assert store.doctor().ok
    other = opening(address, chroma=own_chroma.url, search="chroma")
    other.runtime.indexer.index()
    turns(MANY + 10, other.bank("gary"))
    assert warnings() == 1

    own_chroma.stop()
    turns(MANY + 20, other.bank("gary"))
    turns(MANY + 30)
    assert warnings() == 2
    shutil.rmtree(own_chroma.folder)
    own_chroma.folder.mkdir()
    own_chroma.start()
    assert other.flush() == MANY + 40  # the server was empty: all of it was written again
    assert other.doctor().ok
    turns(MANY + 40, other.bank("gary"))
    assert store.doctor().ok
    assert warnings() <= 3  # one more if the first store's thread met it too


def test_two_stores_on_one_chroma_server(
    postgres: PostgresServer, chroma_server: ChromaServer, opening: Opening
) -> None:
    """Each has its own collections: rebuilding one leaves the other's index whole, even with another embedder."""
    one = opening(postgres.make(), chroma=chroma_server.url)
    other = opening(postgres.make(), chroma=chroma_server.url, embedder=HashEmbedder(48))
    for store in (one, other):
        store.bank("gary").add([user("My cat is Mochi")])
        assert store.flush() == 1
    assert one.runtime.indexer.rebuild() == 1
    assert one.doctor().ok
    assert other.doctor().ok


@pytest.mark.parametrize("records", ["postgresql", "folder"])
def test_what_was_deleted_elsewhere_never_returns_to_the_index(
    request: pytest.FixtureRequest,
    chroma_server: ChromaServer,
    opening: Opening,
    tmp_path: Path,
    records: str,
) -> None:
    """Two stores' indexers at once, while memories are added, edited and deleted: the index ends equal to the
    records, id by id."""
    address = request.getfixturevalue("postgres").make() if records == "postgresql" else None
    where = None if address else tmp_path / "memory"
    stores = [opening(address, path=where, chroma=chroma_server.url) for _ in range(2)]

    def work(i: int) -> None:
        bank = stores[i].bank("gary")
        for j in range(12):
            bank.add([user(f"{i} says {j}"), user(f"{i} says more {j}")], session=f"s{i}")
            mine = [m for m in bank.memories() if m.text.startswith(f"user: {i} says")]
            if j % 3 == 1:
                bank.delete(mine[0].id)
            elif j % 3 == 2:
                bank.edit(mine[0].id, f"user: {i} says otherwise {j}")
            stores[1 - i].flush()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    stores[0].flush()
    assert stores[1].doctor().ok
    assert stores[0].bank("gary").stats().unindexed == 0


def test_tenant_and_database_of_chroma_may_be_named(
    postgres: PostgresServer, chroma_server: ChromaServer, opening: Opening
) -> None:
    """The collections are made there and nowhere else; one that is not there is a clear warning, not a failure."""
    import chromadb
    from chromadb.config import Settings

    from memorybank.index import Server

    admin = chromadb.AdminClient(
        Settings(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host="127.0.0.1",
            chroma_server_http_port=chroma_server.port,
        )
    )
    admin.create_tenant("acme")
    admin.create_database("memories", tenant="acme")
    where = Server(chroma_server.url, tenant="acme", database="memories", shards=4)
    store = opening(postgres.make(), chroma=where)
    store.bank("gary").add([user("My cat is Mochi")])
    assert store.flush() == 1
    client = chromadb.HttpClient("127.0.0.1", chroma_server.port, tenant="acme", database="memories")
    assert len(client.list_collections()) == 1
    missing = opening(postgres.make(), chroma=Server(chroma_server.url, tenant="acme", database="none"))
    missing.bank("gary").add([user("My cat is Mochi")])
    assert len(missing.bank("gary").recall("cat")) == 1
    with pytest.raises(IndexUnavailableError):
        missing.flush()


@pytest.mark.slow
def test_processes_on_one_database(postgres: PostgresServer, chroma_server: ChromaServer) -> None:
    """Every message once and in its writer's order, every increment counted, the index complete after the flush."""
    place = Place("shared", database=postgres.make(), chroma=chroma_server.url)
    assert run(place, Load(processes=2, threads=3, adds=8)).wrong == ()


@pytest.mark.slow
def test_processes_on_one_folder(tmp_path: Path) -> None:
    """The same in one folder: nobody meets a locked database."""
    assert run(Place("folder", folder=tmp_path / "memory"), Load(processes=2, threads=3, adds=8)).wrong == ()
