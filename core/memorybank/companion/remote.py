"""A chat model behind an OpenAI-compatible server, over plain HTTP: the standard library, streaming.

Errors say what went wrong and how the server answered, never what was sent: prompts hold memories, headers a key.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from memorybank.errors import InvalidInputError, LLMError

LONGEST_REPLY = 1_000_000
"""Characters after which a reply is taken to be endless (our choice)."""

_LONGEST_LINE = 4_000_000  # bytes of one line from the server
_PATH = "/chat/completions"


@dataclass(frozen=True)
class RemoteModel:
    """``url``: the server, as ``http://host:port``, ``…/v1`` or ``…/chat/completions``; ``model``: its name there.

    ``key`` is sent as a bearer token; it is never shown. ``timeout``: seconds without a sign of the server.
    ``most``: tokens of a reply (None: the server's choice). Raises InvalidInputError.
    """

    url: str
    model: str = "default"
    key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    most: int | None = None

    def __post_init__(self) -> None:
        endpoint(self.url)
        if not self.model.strip():
            raise InvalidInputError("the model's name is blank; give the name that the server knows")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and self.key.strip()):
            raise InvalidInputError("the API key holds characters that no key has; look at how it was set")

    def __call__(self, messages: Sequence[Mapping[str, str]]) -> Iterator[str]:
        """The reply to ``{"role", "content"}`` messages, piece by piece. Raises LLMError."""
        length = 0
        for piece in self._pieces(messages):
            length += len(piece)
            if length > LONGEST_REPLY:
                raise LLMError(f"the reply is longer than {LONGEST_REPLY:,} characters; it was broken off")
            yield piece

    def ask(self, prompt: str) -> str:
        """The whole reply to one prompt: the ``llm`` of a store. Raises LLMError."""
        return "".join(self([{"role": "user", "content": prompt}]))

    def _pieces(self, messages: Sequence[Mapping[str, str]]) -> Iterator[str]:
        try:
            with self._opener().open(self._request(messages), timeout=self.timeout) as response:
                if "json" in (response.headers.get("Content-Type") or ""):
                    yield _whole(response.read(_LONGEST_LINE))
                else:
                    yield from _streamed(response)
        except urllib.error.HTTPError as error:
            with error:
                raise LLMError(f"the model's server answered {error.code} {error.reason}") from None
        except TimeoutError:
            raise LLMError(f"the model's server was silent for {self.timeout:g} s") from None
        except urllib.error.URLError as error:
            raise LLMError(f"the model's server cannot be reached ({_reason(error.reason)})") from None
        except (OSError, http.client.HTTPException) as error:
            raise LLMError(f"the connection to the model's server broke ({type(error).__name__})") from None

    def _request(self, messages: Sequence[Mapping[str, str]]) -> urllib.request.Request:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(one) for one in messages],
            "stream": True,
        }
        if self.most is not None:
            body["max_tokens"] = self.most
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key.strip()}"
        data = json.dumps(body, ensure_ascii=True).encode()
        return urllib.request.Request(endpoint(self.url), data, headers)  # noqa: S310 - http(s) only: endpoint

    def _opener(self) -> urllib.request.OpenerDirector:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if _is_loopback(urlsplit(self.url).hostname or ""):
            handlers.append(urllib.request.ProxyHandler({}))
        return urllib.request.build_opener(*handlers)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key, and what is remembered, to another host."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def endpoint(url: str) -> str:
    """The address that takes chats. Raises InvalidInputError for what is no http(s) address."""
    try:
        parts = urlsplit(url.strip())
        known = (
            parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        known = False
    if not known:
        raise InvalidInputError("--url is no address; give one such as http://127.0.0.1:8080/v1")
    if parts.username or parts.password:
        raise InvalidInputError("--url holds a name or password; set the key in the environment instead")
    path = parts.path.rstrip("/")
    if not path.endswith(_PATH):
        path = (path or "/v1") + _PATH
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(reason: object) -> str:
    """An error of the network by its own words, or by its kind: it never holds what was sent."""
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return type(reason).__name__


def _streamed(response: http.client.HTTPResponse) -> Iterator[str]:
    """Pieces of a stream of server-sent events."""
    ended = False
    while line := response.readline(_LONGEST_LINE):
        if not line.startswith(b"data:"):
            continue
        data = line[len(b"data:") :].strip()
        if data == b"[DONE]":
            return
        choice = _choice(data)
        ended = ended or choice.get("finish_reason") is not None
        delta = choice.get("delta")
        piece = delta.get("content") if isinstance(delta, dict) else None
        if isinstance(piece, str) and piece:
            yield piece
    if not ended:
        raise LLMError("the model's server ended the reply in the middle")


def _whole(data: bytes) -> str:
    """The reply of a server that does not stream."""
    message = _choice(data).get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise LLMError("the model's server answered without a message")
    return text


def _choice(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        raise LLMError("the model's server sent something that is no JSON") from None
    if not isinstance(value, dict) or value.get("error"):
        raise LLMError("the model's server reported an error in its reply")
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return {}
