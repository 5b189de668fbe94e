"""Whose memory a request may see: on a loopback the profiles of this machine, elsewhere only what a hook says."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from memorybank.errors import InvalidInputError

_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Knock:
    """Who asks: the request's headers (names in lower case) and the address that it came from."""

    headers: Mapping[str, str]
    peer: str


Identify = Callable[[Knock], str | None]
"""The hook of a server: the owner that a request speaks for, or None for nobody. A name typed by a visitor is no
identity; a session of yours, a token that you check, or a header set by your proxy is."""


def trusted_header(name: str, proxies: Collection[str] = ("127.0.0.1", "::1")) -> Identify:
    """The owner is what a reverse proxy says in a header; from other addresses than ``proxies`` it counts nothing.

    The proxy must set the header itself and drop what a visitor sends under that name. Raises InvalidInputError.
    """
    wanted = name.strip().lower()
    if not wanted:
        raise InvalidInputError("the header's name is blank; give one such as X-Forwarded-User")
    known = {_address(one) for one in proxies}

    def identify(knock: Knock) -> str | None:
        try:
            trusted = _address(knock.peer) in known
        except InvalidInputError:
            return None
        said = knock.headers.get(wanted, "").strip()
        return said or None if trusted else None

    return identify


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address to listen at."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def check_bind(host: str, identify: Identify | None) -> None:
    """Raises InvalidInputError for a page that others could reach and that asks nobody who they are."""
    if identify is None and not is_loopback(host):
        raise InvalidInputError(
            f"host {host!r} can be reached from other machines, and nothing says who asks: whoever opens the page "
            "could read every memory. Keep 127.0.0.1, or name who is who with --auth or --trusted-header "
            "(docs/app.md)"
        )


def right_host(headers: Mapping[str, str], local: bool) -> bool:
    """Whether a request was meant for this page: a loopback page answers to loopback names alone, so that no
    site's name can be bent to it, and a page of another site may not talk to it."""
    host = headers.get("host", "")
    if local and _without_port(host) not in _LOCAL_NAMES:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == host


def new_owner() -> str:
    """An owner that nobody guesses."""
    return f"profile-{secrets.token_hex(8)}"


def _without_port(host: str) -> str:
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        raise InvalidInputError(f"proxy {text!r} is no IP address; give one such as 10.0.0.5") from None
    return getattr(found, "ipv4_mapped", None) or found
