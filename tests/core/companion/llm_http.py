"""An OpenAI-compatible server on loopback that answers as a test says: real HTTP, no model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Script:
    """What the server sends: status, headers and raw body; and what it was sent."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    hold: threading.Event | None = None  # waits for it before it answers
    requests: list[dict[str, Any]] = field(default_factory=list)


def event(text: str | None, finish: str | None = None) -> bytes:
    """One server-sent event with a piece of a reply."""
    delta = {} if text is None else {"content": text}
    value = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def stream(*pieces: str) -> bytes:
    """A whole streamed reply."""
    return b"".join(event(piece) for piece in pieces) + event(None, "stop") + b"data: [DONE]\n\n"


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serve a script; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            script.requests.append(
                {
                    "path": self.path,
                    "key": self.headers.get("Authorization"),
                    **json.loads(self.rfile.read(length)),
                }
            )
            if script.hold is not None:
                script.hold.wait(10)
            self.send_response(script.status)
            for name, value in script.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(script.body)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        if script.hold is not None:
            script.hold.set()
        server.shutdown()
        server.server_close()
