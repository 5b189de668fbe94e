"""The way into Chroma: connecting, closing, and turning its errors into ours."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memorybank.errors import IndexUnavailableError, InvalidInputError
from memorybank.index import room

if TYPE_CHECKING:
    import httpx
    from chromadb.api import ClientAPI

logger: logging.Logger = logging.getLogger("memorybank.index")

SHORT_MESSAGE = 300
"""Characters of Chroma's own words that a message of ours quotes."""

_CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Server:
    """Where a Chroma server is. ``timeout`` in seconds bounds each request (Chroma's own client waits
    forever).

    Chroma 1.x has no authentication and no TLS of its own: ``token`` (sent as a bearer token), ``headers``
    and an https URL are for the proxy that stands before it. ``namespace`` begins the names of the collections;
    left out, a store takes one of its own, so that several may use one server. ``shards``: over how many
    collections owners are spread (64; fixed once the first is made). ``search_timeout``: the same bound of a search,
    which a turn waits for; beyond it the turn compares all vectors itself.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tenant: str | None = None
    database: str | None = None
    timeout: float = 30.0
    search_timeout: float = 5.0
    namespace: str | None = None
    shards: int | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInputError("the Chroma URL is not http://host:port or https://host:port")
        if parts.username or parts.password:
            raise InvalidInputError("the Chroma URL holds a password; give it by token= or headers= instead")

    @property
    def base(self) -> str:
        """The URL with its port: 8000 for http (Chroma's own default), 443 for https."""
        parts = urlsplit(self.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = parts.port or (443 if parts.scheme == "https" else 8000)
        return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}"

    def limits(self) -> httpx.Timeout:
        """Time limits of a request: a server that does not even accept a connection is not waited for long."""
        import httpx

        return httpx.Timeout(self.timeout, connect=min(self.timeout, _CONNECT_SECONDS))

    def hurry(self, request: httpx.Request) -> None:
        """Give a search its own, shorter time."""
        if request.url.path.endswith("/query"):
            for part, seconds in request.extensions["timeout"].items():
                request.extensions["timeout"][part] = min(seconds or self.timeout, self.search_timeout)

    def all_headers(self) -> dict[str, str]:
        """The headers of every request."""
        bearer = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {**bearer, **self.headers}


def connect_folder(folder: Path) -> ClientAPI:
    """A client on an embedded folder. The caller holds the folder's lock. Raises IndexUnavailableError."""
    with guarded("opening the Chroma folder", "damaged", folder):
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False, allow_reset=False)
        client = chromadb.PersistentClient(path=str(folder), settings=settings)
        _abandon_in_forks(client)
        return client


def connect_server(server: Server) -> ClientAPI:
    """A client of a server that answers. Raises IndexUnavailableError if it is down, silent or refuses."""
    with guarded(f"connecting to the Chroma server at {server.base}"):
        import chromadb
        import httpx
        from chromadb.config import DEFAULT_DATABASE, DEFAULT_TENANT, Settings

        # asked first with a time limit, because the client's constructor has none
        beat = httpx.get(
            f"{server.base}/api/v2/heartbeat", headers=server.all_headers(), timeout=server.limits()
        )
        if beat.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise IndexUnavailableError(
                f"the proxy before the Chroma server at {server.base} refuses the login ({beat.status_code}); "
                "give what it expects: Server(…, token=…) or headers=",
                "down",
            )
        beat.raise_for_status()
        parts = urlsplit(server.base)
        client = chromadb.HttpClient(
            host=server.base if parts.path else str(parts.hostname),
            port=parts.port or 8000,
            ssl=parts.scheme == "https",
            headers=server.all_headers(),
            settings=Settings(anonymized_telemetry=False),
            tenant=server.tenant or DEFAULT_TENANT,
            database=server.database or DEFAULT_DATABASE,
        )
        session = _http_session(client)
        if session is not None:
            session.timeout = server.limits()
            session.event_hooks["request"].append(server.hurry)
        return client


def _abandon_in_forks(client: ClientAPI) -> None:
    """See to it that a child of this process never takes the client down.

    Chroma's Rust part waits for threads that a forked child has not: without this a child that exits in the
    ordinary way (as the workers of pre-forking servers do) hangs, even if it never touched the client.
    """
    server = weakref.ref(held) if (held := getattr(client, "_server", None)) is not None else None

    def keep() -> None:
        bindings = getattr(server() if server is not None else None, "bindings", None)
        if bindings is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(bindings))  # one reference that nobody gives back

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=keep)


def disconnect(client: ClientAPI) -> None:
    """Close a client with its threads, files and connections; what goes wrong is logged, not raised."""
    session = _http_session(client)
    try:
        client.close()  # type: ignore[attr-defined]  # every client has it, their common interface has not
        if session is not None:
            session.close()
    except Exception as error:  # noqa: BLE001 - closing must not hide why we close, and nobody can act on it
        logger.warning("closing Chroma failed: %s", type(error).__name__)


@contextlib.contextmanager
def guarded(what: str, reason: str = "down", folder: Path | None = None) -> Iterator[None]:
    """Whatever Chroma raises inside becomes an IndexUnavailableError that says ``what`` was being done.

    ``folder``: where an embedded index lies; a failure on its full disk is said to be one.

    Chroma raises its own errors, RuntimeError, ValueError, AttributeError (a closed client), those of httpx,
    and panics of its Rust part, which are not even Exceptions.
    """
    try:
        yield
    except (IndexUnavailableError, InvalidInputError):
        raise
    except ImportError as error:
        raise IndexUnavailableError(f"chromadb cannot be imported ({error}); reinstall it", "down") from error
    except PermissionError as error:
        raise IndexUnavailableError(f"{what}: no permission ({error.filename})", "unwritable") from error
    except Exception as error:  # every error of another library ends here, named in the message
        raise _failed(f"{what} failed: {_words(error)}", reason, folder) from error
    except BaseException as error:  # a panic is no Exception; others are raised again
        if type(error).__name__ != "PanicException":  # pyo3 has no importable name for it
            raise
        raise _failed(f"{what} failed inside Chroma: {_words(error)}", "damaged", folder) from error


def _failed(said: str, reason: str, folder: Path | None) -> IndexUnavailableError:
    if not room.is_full(said, folder):
        return IndexUnavailableError(said, reason)
    return (
        IndexUnavailableError(f"{said}; the server's disk is full", "full")
        if folder is None
        else (room.full(folder, said))
    )


def _words(error: BaseException) -> str:
    said = " ".join(str(error).split())[:SHORT_MESSAGE]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def may_pass(error: Exception) -> bool:
    """Whether asking a server again may help: a connection that broke, or a collection that was made anew."""
    import httpx
    from chromadb.errors import NotFoundError

    return isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError | NotFoundError)


def _http_session(client: ClientAPI) -> Any | None:
    # the client offers no way to set a time limit or to close its connections
    return getattr(getattr(client, "_server", None), "_session", None)
