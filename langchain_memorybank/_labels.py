"""Names of LangGraph's namespaces and items: labels that may hold any id, and the session an item is kept in."""

from __future__ import annotations

from hashlib import blake2b

SPACE = "langgraph-store:"
"""How the sessions that hold items begin."""

_LONGEST = 480  # characters of a session name, with room for the prefix


def encode_label(label: object) -> object:
    """An id as LangGraph allows labels: no "." in it, and numbers as text. Other things are left for it to refuse."""
    if isinstance(label, int) and not isinstance(label, bool):
        return str(label)
    if isinstance(label, str):
        return label.replace("%", "%25").replace(".", "%2E")
    return label


def decode_label(label: str) -> str:
    """The inverse of ``encode_label`` (of a number: its text)."""
    return label.replace("%2E", ".").replace("%25", "%")


def session_of(namespace: tuple[str, ...], key: str) -> str:
    """The session of an item: readable if it is short enough, else hashed."""
    name = "/".join(_escape(part) for part in (*namespace, key))
    if len(name) <= _LONGEST:
        return SPACE + name
    return f"{SPACE}#{blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=24).hexdigest()}"


def path_of(session: str) -> tuple[tuple[str, ...], str] | None:
    """Namespace and key in a readable session name; None for a hashed one or another session."""
    if not session.startswith(SPACE) or session.startswith(f"{SPACE}#"):
        return None
    *namespace, key = (_unescape(part) for part in session[len(SPACE) :].split("/"))
    return tuple(namespace), key


def _escape(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1").replace("#", "~2")


def _unescape(part: str) -> str:
    return part.replace("~2", "#").replace("~1", "/").replace("~0", "~")
