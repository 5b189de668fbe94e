"""The page on a port: uvicorn, NiceGUI, and the gate before them."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from fastapi import FastAPI
from nicegui import ui
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from memorybank.app.auth import check_bind, is_loopback
from memorybank.app.gate import Gate
from memorybank.app.house import House
from memorybank.app.page import build
from memorybank.app.visits import Visit, Visits
from memorybank.errors import InvalidInputError
from memorybank.plotting.canvas import fonts

logger: logging.Logger = logging.getLogger("memorybank.app")
_NOT_FOUND = "not found: the companion is at /\n没有这个页面：伙伴在 /\n"


def application(house: House, *, host: str, port: int) -> FastAPI:
    """The page as an ASGI application: for ``serve``, or a server of yours. Once in a process.

    ``host`` and ``port``: where it will listen. Raises InvalidInputError for an address beyond loopback without
    ``house.identify``.
    """
    check_bind(host, house.identify)
    visits = Visits(f"memorybank_{port}")
    served = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    async def root(request: Request) -> Response | None:
        if request.scope["path"].removeprefix(request.scope.get("root_path", "")) not in ("", "/"):
            return PlainTextResponse(_NOT_FOUND, 404)
        visit: Visit = request.scope["memorybank.visit"]
        client = ui.context.client
        visits.show(client.id, visit)
        client.on_delete(lambda: visits.close(client.id))
        await build(house, visit, request.headers.get("accept-language", ""))
        return None

    # NiceGUI asks the root for every path that nothing else answers.
    ui.run_with(served, root=root, title="SiliconFriend", tailwind=False, show_welcome_message=False)
    served.add_middleware(
        Gate,
        visits=visits,
        identify=house.identify,
        local=house.identify is None and is_loopback(host),
    )
    return served


def serve(house: House, *, host: str = "127.0.0.1", port: int = 8090, ready: Callable[[str], None]) -> None:
    """Serve the page until interrupted; ``ready`` is told its address once it listens. Raises as
    ``application``, and InvalidInputError for an address or port that cannot be had."""
    listening = _listen(host, port)
    server = _Server(
        uvicorn.Config(
            application(house, host=host, port=port),
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=3,
        )
    )
    server.ready = lambda: ready(f"http://{'localhost' if is_loopback(host) else host}:{port}/")
    house.threads.submit(_warm)
    try:
        server.run(sockets=[listening])
    finally:
        house.threads.shutdown(wait=False, cancel_futures=True)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host.strip("[]"), port), family=family)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidInputError(
            f"nothing can listen at {host}, port {port} ({reason}); give another --host or --port"
        ) from None


def _warm() -> None:
    """Load what the first picture needs, before it is asked for."""
    with suppress(ImportError):
        fonts()


class _Server(uvicorn.Server):
    ready: Callable[[], None]

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]  # as there
        await super().startup(sockets)  # type: ignore[arg-type]  # handed on
        if self.started:
            self.ready()
