"""Turns as lines: who said what, for those who write summaries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

from memorybank.clock import day_of
from memorybank.hierarchy.salience import Line
from memorybank.models import Memory

Role = tuple[str, str | None]


def lines_of(turns: Sequence[Memory], roles: Mapping[str, Role], zone: ZoneInfo) -> list[Line]:
    """The lines of turns, in order. ``roles``: role and name of the messages by id, as far as known.

    A turn's text is its lines "speaker: words"; words may have line ends of their own. A line is the user's own
    if the message of that speaker has the role ``user``.
    """
    found: list[Line] = []
    for turn in turns:
        day = day_of(turn.began, zone)
        speakers = {name or role: role for role, name in (roles[s] for s in turn.sources if s in roles)}
        speakers = speakers or {"user": "user", "assistant": "assistant"}
        if turn.speaker is not None:
            speakers.setdefault(turn.speaker, "user")
        for speaker, words in _spoken(turn.text, list(speakers)):
            found.append(Line(turn.id, speaker, words, day, speakers.get(speaker, "user") == "user"))
    return found


def _spoken(text: str, speakers: Sequence[str]) -> list[tuple[str, str]]:
    names = "|".join(re.escape(name) for name in sorted(speakers, key=len, reverse=True))
    parts = re.split(rf"^({names}): ", text, flags=re.MULTILINE)
    before = [("user", parts[0].strip())] if parts[0].strip() else []
    spoken = [(parts[at], parts[at + 1].strip()) for at in range(1, len(parts) - 1, 2)]
    return before + [(speaker, words) for speaker, words in spoken if words]
