"""What every request passes: the right host, a known owner, a cookie for the visit, headers that keep it at home."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from memorybank.app.auth import Identify, Knock, right_host
from memorybank.app.visits import Visits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_SOCKET = "/_nicegui_ws/"  # where a page connects; it says which one it is

# Nothing is fetched from elsewhere, and no other page may frame this one. The page's own framework needs inline
# and compiled code; memory texts are shown as text and never reach it as markup.
_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; "
        b"base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class Gate:
    """ASGI middleware. ``local``: the page is on a loopback address and has no hook."""

    def __init__(self, app: App, *, visits: Visits, identify: Identify | None, local: bool) -> None:
        self._app = app
        self._visits = visits
        self._identify = identify
        self._local = local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        if not right_host(headers, self._local):
            await _refuse(scope, send, 403, "not for this address")
            return
        owner = None
        if self._identify is not None:
            # On a thread: a hook may look into a database, and nobody else waits for it.
            owner = await asyncio.to_thread(
                self._identify, Knock(headers, (scope.get("client") or ("", 0))[0])
            )
            if not owner:
                await _refuse(scope, send, 401, "sign in first")
                return
        token = _cookie(headers.get("cookie", ""), self._visits.cookie)
        visit, fresh = self._visits.enter(token, owner)
        scope["memorybank.visit"] = visit
        page = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("client_id", [""])[0]
        nameless = not page and scope.get("path", "").startswith(_SOCKET)
        if nameless or not self._visits.may_join(page, visit):
            await _refuse(scope, send, 403, "not your page")
            return
        secure = scope.get("scheme") in ("https", "wss") or headers.get("x-forwarded-proto") == "https"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = list(_HEADERS)
                if fresh is not None:
                    extra.append((b"set-cookie", self._set_cookie(fresh, secure)))
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        await self._app(scope, receive, sending)

    def _set_cookie(self, token: str, secure: bool) -> bytes:
        flags = "; Secure" if secure else ""
        return f"{self._visits.cookie}={token}; Path=/; HttpOnly; SameSite=Strict{flags}".encode()


def _cookie(header: str, name: str) -> str | None:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


async def _refuse(scope: Scope, send: Send, status: int, text: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    plain = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": plain})
    await send({"type": "http.response.body", "body": text.encode()})
