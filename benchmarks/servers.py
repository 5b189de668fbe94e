"""Real servers on this machine: PostgreSQL in a private cluster on a unix socket, Chroma on loopback.

For benchmarks and tests. Nothing of the system's own PostgreSQL cluster is used.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class MissingServerError(RuntimeError):
    """A server's program is not installed, or does not start."""


_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
    "unix_socket_permissions": "0777",
    "lc_messages": "C",
}
# The machine is not switched off in mid-test; a kill of the server loses nothing all the same.
_FAST: Mapping[str, str] = {"fsync": "off", "full_page_writes": "off"}


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
    import pwd  # not on Windows

    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise MissingServerError(
        "PostgreSQL refuses to run as root, and there is no account 'postgres' or 'nobody'"
    )


def _group(account: str) -> int:
    import pwd

    return pwd.getpwnam(account).pw_gid


def _room() -> Path | None:
    """Where to put the cluster: in memory, where there is a gigabyte to spare; else the usual place."""
    memory = Path("/dev/shm")  # noqa: S108 - mkdtemp makes a private folder in it
    spare = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**30
    return memory if spare else None


class PostgresServer:
    """A cluster of its own in a temporary folder; can be stopped, killed and started again."""

    def __init__(self, *, durable: bool = False) -> None:
        """``durable``: on the disk and synchronous, as in earnest; otherwise as fast as can be."""
        self._durable = durable
        self._account = _account()
        self._numbers = itertools.count()
        # The name is short: a socket's path holds 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="mb-pg-", dir=None if durable else _room()))
        if self._account is not None:
            shutil.chown(self.folder, self._account, _group(self._account))
        self.folder.chmod(0o711)

    def start(self) -> None:
        """Make the cluster if it is not there, start it and wait until it answers.

        Raises MissingServerError where it cannot be had.
        """
        programs = _programs()
        if programs is None:
            raise MissingServerError(
                "PostgreSQL's server is not installed (Debian: apt-get install postgresql)"
            )
        data = self.folder / "data"
        if not data.exists():
            self._run(
                programs / "initdb",
                *("-D", data, "-U", "memory", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"),
            )
            settings = _SETTINGS if self._durable else {**_SETTINGS, **_FAST}
            lines = [f"{name} = '{value}'" for name, value in settings.items()]
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
            cursor = connection.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def _run(self, *command: object) -> None:
        done = subprocess.run(  # noqa: S603 - programs of PostgreSQL, with our own arguments
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            user=self._account,
            group=None if self._account is None else self.folder.stat().st_gid,
            extra_groups=None if self._account is None else [],
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{command[0]}: {done.stderr.decode(errors='replace')}"


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/api/v2/heartbeat", timeout=2) as reply:  # noqa: S310 - loopback
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


class ChromaServer:
    """``chroma run`` from the wheel; can be stopped and started again on the same port and folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers. Raises MissingServerError if it cannot be started."""
        beside = Path(sys.executable).with_name("chroma")
        program = str(beside) if beside.exists() else shutil.which("chroma")
        if program is None:
            raise MissingServerError("the chroma command of the chromadb wheel is not installed")
        self._process = subprocess.Popen(  # noqa: S603 - the wheel's own program
            [program, "run", "--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
        for _ in range(1800):
            if _answers(self.url):
                return
            if self._process.poll() is not None:
                raise MissingServerError(f"chroma run ended with {self._process.returncode}")
            time.sleep(0.1)
        self.stop()
        raise MissingServerError("chroma run did not answer within 180 s")

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
