"""Creating the tables, and bringing older ones up to date: forward only, one transaction a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa
from sqlalchemy import Connection

from memorybank.errors import DamagedStoreError, SchemaError, StoreError
from memorybank.records import schema
from memorybank.records.database import Database

_TURN = "schema"  # what takes turns: the steps of all processes that open the store

Migration = Callable[[Connection], None]


def _rare_roles(connection: Connection) -> None:
    """What a system or a tool said is found without reading the session through."""
    connection.execute(
        sa.text(
            "CREATE INDEX IF NOT EXISTS messages_rare ON messages (session, role, position) "
            "WHERE role NOT IN ('user', 'assistant')"
        )
    )


# MIGRATIONS[n] brings a store of schema version n to n + 1.
MIGRATIONS: Mapping[int, Migration] = {1: _rare_roles}


def prepare(
    database: Database,
    *,
    target: int = schema.SCHEMA_VERSION,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> int:
    """Create or migrate the tables; returns the version found (``target`` for a new store).

    Raises SchemaError for a newer or unknown version, DamagedStoreError for another program's database.
    """
    found = _found(database)
    if found is None:
        if database.read_only:
            raise StoreError(
                f"{database.where} holds no MemoryBank store yet; open it without read_only=True"
            )
        with database.write() as connection:
            # Two processes may create at once: the second finds the tables made when its turn comes.
            database.take_turn(connection, _TURN)
            _refuse_foreign(connection, database)
            schema.metadata.create_all(connection)
            if read_meta(connection, "schema_version") is None:
                write_meta(connection, "schema_version", str(target))
        return target
    if found > target:
        raise SchemaError(
            f"{database.where} was written by a newer MemoryBank (schema {found}, this one knows {target}); "
            "upgrade memorybank-core"
        )
    if found < target and database.read_only:
        raise SchemaError(
            f"{database.where} has schema {found} and needs a migration; open it once for writing"
        )
    for version in range(found, target):
        _step(database, version, migrations)
    return found


def _step(database: Database, version: int, migrations: Mapping[int, Migration]) -> None:
    if version not in migrations:
        raise SchemaError(f"{database.where} has schema {version}, from which no migration is known")
    with database.write() as connection:
        database.take_turn(connection, _TURN)
        if read_meta(connection, "schema_version") == str(version):
            migrations[version](connection)
            write_meta(connection, "schema_version", str(version + 1))


def _refuse_foreign(connection: Connection, database: Database) -> None:
    """Raises DamagedStoreError if tables of these names are there without being ours."""
    there = set(sa.inspect(connection).get_table_names()) & set(schema.metadata.tables)
    if there and ("meta" not in there or read_meta(connection, "schema_version") is None):
        raise DamagedStoreError(
            f"{database.where} holds tables of other programs that have our names ({', '.join(sorted(there))}); "
            "give a database of its own, or a schema: …?options=-csearch_path%3Dmemorybank"
        )


def _found(database: Database) -> int | None:
    with database.read() as connection:
        tables = set(sa.inspect(connection).get_table_names())
        if not tables:
            return None
        if "meta" not in tables:
            if database.is_sqlite:
                raise DamagedStoreError(
                    f"{database.where} is another program's database; give another folder"
                )
            return None
        value = read_meta(connection, "schema_version")
    if value is None:
        return None
    if not value.isdigit():
        raise DamagedStoreError(f"{database.where}: the schema version is {value!r}, not a number")
    return int(value)


def read_meta(connection: Connection, name: str) -> str | None:
    """A value of the table ``meta``, or None."""
    table = schema.meta
    return connection.execute(sa.select(table.c.value).where(table.c.name == name)).scalar()


def write_meta(connection: Connection, name: str, value: str) -> None:
    """Set a value of the table ``meta``."""
    table = schema.meta
    done = connection.execute(sa.update(table).where(table.c.name == name).values(value=value))
    if done.rowcount == 0:
        connection.execute(sa.insert(table).values(name=name, value=value))
