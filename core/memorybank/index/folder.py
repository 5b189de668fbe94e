"""The folder of an embedded Chroma index: its lock, its layout file, whether it was closed cleanly.

memorybank.lock     held while the index is open memorybank.json     the layout (shards, namespace, format),
and the sizes of Chroma's files at the last clean close memorybank.open     there while the index is open:
left behind, the last process died with it chroma.sqlite3, …   Chroma's own
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorybank.errors import IndexUnavailableError
from memorybank.index import room
from memorybank.index.client import connect_folder
from memorybank.index.layout import DATABASE_NAME, DEFAULT_SHARDS, FORMAT, Layout
from memorybank.index.limits import fitting_shards, most_collections
from memorybank.index.lock import LOCK_NAME, FolderLock
from memorybank.index.probe import probe
from memorybank.index.slack import blank

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

logger: logging.Logger = logging.getLogger("memorybank.index")

LAYOUT_NAME = "memorybank.json"
MARKER_NAME = "memorybank.open"
OURS = frozenset({LOCK_NAME, LAYOUT_NAME, MARKER_NAME})


@dataclass(frozen=True, slots=True)
class _Written:
    layout: Layout
    files: dict[str, list[int]]
    """Size and time of change (ns) of each of Chroma's files at the last clean close, by relative path."""


class Folder:
    """A folder that this process holds the lock of. Made by `acquire`, given back by `release`."""

    def __init__(self, path: Path, lock: FolderLock) -> None:
        self.path = path
        self._lock = lock
        self._layout: Layout | None = None
        self.clean: bool = True
        """Whether the folder was new, or as its last owner left it in good order. Known after `connect`."""

    @classmethod
    def acquire(cls, path: Path) -> Folder:
        """Make the folder if needed (mode 0700) and lock it. Raises IndexUnavailableError."""
        path = path.absolute()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError:
            raise IndexUnavailableError(
                f"{path} is a file; the Chroma index needs a folder", "foreign"
            ) from None
        except OSError as error:
            raise room.unwritable(path, f"the Chroma folder {path} cannot be made", error) from error
        return cls(path, FolderLock(path))

    def layout(self, shards: int | None, namespace: str) -> Layout:
        """The folder's layout; the one that is asked for if the folder is new.

        Raises IndexUnavailableError: ``foreign`` if someone else's files are there or it has other shards or
        another namespace, ``newer`` if its format is, ``damaged`` if its layout file is unreadable.
        """
        written = self._read()
        if written is None:
            stray = sorted(entry.name for entry in self.path.iterdir() if entry.name not in OURS)
            if stray:
                raise IndexUnavailableError(
                    f"the folder {self.path} holds files that are not MemoryBank's ({stray[0]!r}, …); "
                    "give the Chroma index a folder of its own",
                    "foreign",
                )
            if shards is None:
                shards = fitting_shards(DEFAULT_SHARDS, most_collections())
            self._layout = Layout(shards, namespace)
            self._write({})
            return self._layout
        layout = written.layout
        if shards not in (None, layout.shards) or namespace != layout.namespace:
            raise IndexUnavailableError(
                f"the Chroma folder {self.path} has {layout.shards} shards in namespace "
                f"{layout.namespace!r}; asked for {shards} in {namespace!r}: "
                "open it as it is, or rebuild the index",
                "foreign",
            )
        self._layout = layout
        return layout

    def connect(self, probe_timeout: float = 60.0, *, trusted: bool = False) -> ClientAPI:
        """A client on the folder, probed first unless it was closed cleanly and is as it was left.

        ``trusted``: this process has just closed it and changed it itself.
        """
        room.check_room(self.path)
        written = self._read()
        marker = self.path / MARKER_NAME
        self.clean = written is None or not (marker.exists() or written.files != self._files())
        if (
            written is not None
            and DATABASE_NAME in written.files
            and not (self.path / DATABASE_NAME).exists()
        ):
            raise IndexUnavailableError(
                f"{DATABASE_NAME} is gone from the Chroma folder {self.path}; rebuild the index", "damaged"
            )
        if not self.clean and not trusted:
            logger.warning("the Chroma folder was not closed cleanly, or was changed since; probing it")
            probe(self.path, probe_timeout)
        if not self.clean:
            with contextlib.suppress(OSError):  # what cannot be written to is told below
                blank(self.path)
        self._store(marker, str(os.getpid()))
        client = connect_folder(self.path)
        self._close_to_others()
        return client

    def clear(self) -> None:
        """Start anew: remove what MemoryBank wrote, move anything foreign to a sibling folder."""
        foreign = False
        try:
            foreign = self._read() is None
        except IndexUnavailableError as error:
            foreign = error.reason == "newer"
        entries = [entry for entry in self.path.iterdir() if entry.name not in OURS]
        if foreign and entries:
            aside = self._aside()
            for entry in entries:
                shutil.move(entry, aside / entry.name)
            logger.warning("moved foreign files out of the Chroma folder, to %s", aside.name)
        for entry in [] if foreign else entries:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        for name in (LAYOUT_NAME, MARKER_NAME):
            (self.path / name).unlink(missing_ok=True)

    def release(self, *, clean: bool) -> None:
        """Give the lock back. ``clean``: Chroma was closed in good order; the next opening can trust it."""
        if clean:
            with contextlib.suppress(OSError, IndexUnavailableError):  # gone or full: probed next time
                blank(self.path)
                self._close_to_others()
                self._write(self._files())
                (self.path / MARKER_NAME).unlink(missing_ok=True)
        self._lock.release()

    # -- files ---------------------------------------------------------------------------------------------

    def _read(self) -> _Written | None:
        """What the layout file says; None if there is none."""
        try:
            found = json.loads((self.path / LAYOUT_NAME).read_text(encoding="utf-8"))
            if int(found["format"]) > FORMAT:
                raise IndexUnavailableError(
                    f"the Chroma folder {self.path} has layout {found['format']}, "
                    f"this MemoryBank knows {FORMAT}; upgrade it",
                    "newer",
                )
            layout = Layout(int(found["shards"]), str(found["namespace"]))
            return _Written(layout, {str(name): list(about) for name, about in found["files"].items()})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise IndexUnavailableError(
                f"{self.path / LAYOUT_NAME} is unreadable ({type(error).__name__}); rebuild the index",
                "damaged",
            ) from error

    def _write(self, files: dict[str, list[int]]) -> None:
        if self._layout is None:
            return
        about: dict[str, Any] = {
            "format": FORMAT,
            "shards": self._layout.shards,
            "namespace": self._layout.namespace,
            "files": files,
        }
        self._store(self.path / LAYOUT_NAME, json.dumps(about))

    def _store(self, target: Path, text: str) -> None:
        """Write whole or not at all, readable by the owner alone."""
        part = target.with_suffix(".part")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, target)
        except OSError as error:
            raise room.unwritable(
                self.path, f"cannot write into the Chroma folder {self.path}", error
            ) from error

    def _files(self) -> dict[str, list[int]]:
        """Chroma's files as they are now. SQLite's side files come and go by themselves and are left out."""
        found: dict[str, list[int]] = {}
        for path in sorted(self.path.rglob("*")):
            name = path.relative_to(self.path).as_posix()
            if (
                name not in OURS
                and not name.endswith(("-wal", "-shm", "-journal", ".part"))
                and path.is_file()
            ):
                about = path.stat()
                found[name] = [about.st_size, about.st_mtime_ns]
        return found

    def _close_to_others(self) -> None:
        """Modes 0700 and 0600. Done afterwards: the umask belongs to the whole process."""
        with contextlib.suppress(OSError):  # a file system without modes, or a folder that someone else owns
            self.path.chmod(0o700)
            for path in self.path.rglob("*"):
                path.chmod(0o700 if path.is_dir() else 0o600)

    def _aside(self) -> Path:
        number = 1
        while True:
            aside = self.path.with_name(f"{self.path.name}.foreign-{number}")
            try:
                aside.mkdir(mode=0o700)
            except FileExistsError:
                number += 1
                continue
            return aside
