"""A private PostgreSQL on a unix socket, from the system's binaries; nothing of the system's own cluster is used."""

from __future__ import annotations

import contextlib
import getpass
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "fsync": "off",  # the machine is not switched off in mid-test; kills of the server lose nothing all the same
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
    "unix_socket_permissions": "0777",
    "lc_messages": "C",
}


def _programs() -> Path | None:
    """The folder of initdb and postgres, the newest there is."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True)
    found = shutil.which("initdb")
    places += [Path(found).resolve().parent] if found else []
    return next((place for place in places if (place / "initdb").exists()), None)


def _account() -> str | None:
    """The account to run it as: PostgreSQL refuses to be root."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    pytest.skip("PostgreSQL refuses to run as root, and there is no account 'postgres' or 'nobody'")


def _room() -> Path | None:
    """Where to put the cluster: in memory, where there is a gigabyte to spare; else the usual place."""
    memory = Path("/dev/shm")
    spare = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**30
    return memory if spare else None


class PostgresServer:
    """A cluster of its own in a temporary folder; can be stopped, killed and started again."""

    def __init__(self) -> None:
        self._account = _account()
        self._numbers = itertools.count()
        self.folder = Path(
            tempfile.mkdtemp(prefix="mb-pg-", dir=_room())
        )  # short: a socket's path holds 107 bytes
        if self._account is not None:
            shutil.chown(self.folder, self._account)
        self.folder.chmod(0o711)

    def start(self) -> None:
        """Make the cluster if it is not there, start it and wait until it answers; skips where it cannot be had."""
        programs = _programs()
        if programs is None:
            pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
        pytest.importorskip("psycopg", reason="needs the extra postgres")
        data = self.folder / "data"
        if not data.exists():
            self._run(
                programs / "initdb",
                *("-D", data, "-U", "memory", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"),
            )
            lines = [f"{name} = '{value}'" for name, value in _SETTINGS.items()]
            lines.append(f"unix_socket_directories = '{self.folder}'")
            with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
        self._run(programs / "pg_ctl", "-D", data, "-l", self.folder / "log", "-w", "-t", "60", "-s", "start")

    def stop(self, how: str = "immediate") -> None:
        """Stop it: "fast" ends sessions in good order, "immediate" is as if it crashed."""
        programs = _programs()
        if programs is not None and (self.folder / "data" / "postmaster.pid").exists():
            self._run(
                programs / "pg_ctl", "-D", self.folder / "data", "-m", how, "-w", "-t", "60", "-s", "stop"
            )

    def remove(self) -> None:
        """Stop it and delete its files."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, name: str) -> str:
        """The address of a database, as SQLAlchemy takes it."""
        return f"postgresql+psycopg://memory@/{name}?host={self.folder}"

    def make(self, name: str | None = None, template: str = "template0") -> str:
        """A new database, empty or a copy of ``template``; returns its address."""
        name = name or f"db{next(self._numbers)}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.address(name)

    def execute(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run one statement outside a transaction; returns its rows."""
        import psycopg

        where = {"host": str(self.folder), "user": "memory", "dbname": database}
        with psycopg.connect(**where, autocommit=True) as connection:  # type: ignore[arg-type]  # keywords as it takes them
            cursor = connection.execute(statement)  # type: ignore[call-overload]  # plain text, ours
            return list(cursor.fetchall()) if cursor.description else []

    def _run(self, *command: object) -> None:
        account = self._account or getpass.getuser()
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            user=self._account,
            group=None if self._account is None else pwd.getpwnam(account).pw_gid,
            extra_groups=None if self._account is None else [],
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{command[0]}: {done.stderr.decode(errors='replace')}"


def running() -> Iterator[PostgresServer]:
    """A server while the block runs; for fixtures."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()
