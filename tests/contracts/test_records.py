"""The records under every database: what is stored comes back, steps forward are whole, writes are all or nothing."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from memorybank.errors import DamagedStoreError, ReadOnlyError, SchemaError, StoreError
from memorybank.records import banks, schema, transcript
from memorybank.records.database import Database
from memorybank.records.faults import translate
from memorybank.records.migrations import prepare, read_meta, write_meta
from memorybank.records.types import escape, unescape


@settings(max_examples=300)
@given(st.text(st.characters() | st.sampled_from("\x00\x1a\ud800\udfff0123456789abcdef")))
def test_any_text_survives_the_escape(text: str) -> None:
    """Escaping is undone exactly, keeps different texts different, and leaves nothing a database refuses."""
    safe = escape(text)
    assert unescape(safe) == text
    safe.encode("utf-8")
    assert "\x00" not in safe


def test_a_failed_write_leaves_nothing(database: Database) -> None:
    """What a block wrote before it raised is undone."""
    prepare(database)

    def write() -> None:
        with database.write() as connection:
            banks.create(connection, "gary", "UTC", None, 0, 0)
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError):
        write()
    with database.read() as connection:
        assert banks.owners(connection) == []


def test_a_reader_sees_one_state(database: Database) -> None:
    """What others commit meanwhile is seen by the next reader, not by this one."""
    prepare(database)
    with database.read() as connection:
        assert banks.owners(connection) == []
        with database.write() as writer:
            banks.create(writer, "gary", "UTC", None, 0, 0)
        assert banks.owners(connection) == []
    with database.read() as connection:
        assert banks.owners(connection) == ["gary"]


def test_tables_are_made_once(database: Database) -> None:
    """Preparing twice changes nothing; the version is kept."""
    assert prepare(database) == schema.SCHEMA_VERSION
    assert prepare(database) == schema.SCHEMA_VERSION


def test_steps_forward_are_taken_in_order_and_whole(database: Database) -> None:
    """Each step in a transaction of its own: one that fails is undone, the ones before it stay."""
    prepare(database)
    start = schema.SCHEMA_VERSION

    def widen(connection: Connection) -> None:
        connection.execute(sa.text("ALTER TABLE banks ADD COLUMN mood VARCHAR(8)"))

    def fail(connection: Connection) -> None:
        write_meta(connection, "half", "done")
        raise RuntimeError("power failure")

    with pytest.raises(RuntimeError):
        prepare(database, target=start + 2, migrations={start: widen, start + 1: fail})
    with database.read() as connection:
        assert read_meta(connection, "schema_version") == str(start + 1)
        assert read_meta(connection, "half") is None
    assert prepare(database, target=start + 2, migrations={start + 1: lambda _: None}) == start + 1
    with pytest.raises(SchemaError, match="newer"):
        prepare(database, target=start)
    with pytest.raises(SchemaError, match="no migration"):
        prepare(database, target=start + 3, migrations={})


def test_a_store_of_the_first_schema_gets_the_index_of_rare_roles(database: Database) -> None:
    """Once, with every message where it was; then an absent role is not looked for row by row."""
    prepare(database)
    rows = [
        {
            "key": n,
            "session": 1,
            "position": n,
            "id": f"m{n}",
            "role": ("user", "assistant")[n % 2],
            "text": "x",
        }
        | {"name": None, "at": 0, "payload": None}
        for n in range(5000)
    ]
    with database.write() as connection:
        connection.execute(sa.insert(schema.messages), rows)
        connection.execute(sa.text("DROP INDEX messages_rare"))
        write_meta(connection, "schema_version", "1")
    assert prepare(database) == 1
    assert prepare(database) == schema.SCHEMA_VERSION
    with database.write() as connection:
        connection.execute(sa.text("ANALYZE"))
    explain = "EXPLAIN QUERY PLAN " if database.is_sqlite else "EXPLAIN "
    asked = transcript.of_rare_role().compile(dialect=database.engine.dialect)
    with database.read() as connection:
        assert len(transcript.last(connection, 1, None, "gary", "s")) == 5000
        assert transcript.last(connection, 1, None, "gary", "s", "system") == []
        assert [m.position for m in transcript.last(connection, 1, 2, "gary", "s", "user")] == [4996, 4998]
        values = {"p_session": 1, "p_role": "system", "p_n": 10} | {
            name: value for name, value in asked.params.items() if value is not None
        }
        given = tuple(values[name] for name in asked.positiontup or ()) if asked.positional else values
        plan = connection.exec_driver_sql(explain + str(asked), given).all()
    assert "messages_rare" in str(plan)


def test_keys_of_erased_banks_are_never_given_again(database: Database) -> None:
    """Caches and the index may still know an erased bank's key."""
    prepare(database)
    keys = []
    for _ in range(3):
        with database.write() as connection:
            keys.append(banks.create(connection, "gary", "UTC", None, 0, 0).key)
        with database.write() as connection:
            connection.execute(sa.delete(schema.banks))
    assert len(set(keys)) == 3


def test_a_refusal_never_quotes_a_value(database: Database) -> None:
    """Drivers and servers like to repeat what was given; our errors, which end in logs, must not."""
    prepare(database)
    row = {"bank": 1, "name": "xyzzyplugh", "length": 0, "began": 0}
    with pytest.raises(StoreError) as caught, database.write() as connection:
        connection.execute(sa.insert(schema.sessions), [row, row])
    assert "xyzzyplugh" not in str(caught.value)
    assert str(database.where) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("DeadlockDetected", StoreError, "Try again"),
        ("SerializationFailure", StoreError, "Try again"),
        ("LockNotAvailable", StoreError, "Try again"),
        ("TooManyConnections", StoreError, "max_connections"),
        ("DiskFull", StoreError, "disk is full"),
        ("OutOfMemory", StoreError, "out of room"),
        ("InsufficientPrivilege", StoreError, "lacks a right"),
        ("InvalidPassword", StoreError, "check user and password"),
        ("InvalidCatalogName", StoreError, "createdb"),
        ("UndefinedTable", DamagedStoreError, "another program's"),
        ("ReadOnlySqlTransaction", ReadOnlyError, "primary"),
        ("AdminShutdown", StoreError, "when it is back"),
        ("CannotConnectNow", StoreError, "when it is back"),
        ("ConnectionFailure", StoreError, "when it is back"),
        ("OperationalError", StoreError, "when it is back"),
        ("StringDataRightTruncation", StoreError, "here: words"),
    ],
)
def test_what_postgresql_refuses_is_told_with_what_to_do(
    name: str, kind: type[StoreError], said: str
) -> None:
    """Each class of its errors has words of ours; a connection lost in a commit: that the outcome is unknown."""
    errors = pytest.importorskip("psycopg.errors", reason="needs the extra postgres")
    given = getattr(errors, name)("words")
    found = translate(given, "here")
    assert type(found) is kind
    assert said in str(found)
    unknown = "whether this call was stored is not known" in str(translate(given, "here", committing=True))
    assert unknown == ("when it is back" in said)
