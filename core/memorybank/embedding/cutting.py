"""Texts as models can take them: valid Unicode, and no longer than a limit."""

from __future__ import annotations

_GAP = " … "
_HEAD = (
    0.75  # of a cut text: a long message is mostly a paste with its topic first and its request first or last
)
_SLACK = 40  # characters within which a cut looks for a space, so that words stay whole


def clean(text: str) -> str:
    """Without NUL and lone surrogates, which break C strings and UTF-8."""
    if "\0" in text:
        text = text.replace("\0", " ")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters: three quarters from the beginning, the rest from the end, "…" between."""
    if len(text) <= limit:
        return text
    room = limit - len(_GAP)
    if room < 4:
        return text[:limit]
    head = int(room * _HEAD)
    tail = room - head
    space = text.rfind(" ", max(0, head - _SLACK), head + 1)
    first = text[: space if space > head // 2 else head]
    start = len(text) - tail
    space = text.find(" ", start, start + min(_SLACK, tail // 2))
    return first + _GAP + text[space + 1 if space >= 0 else start :]
