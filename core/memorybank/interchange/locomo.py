"""LoCoMo (Maharana et al., ACL 2024): long dialogues of two speakers, in the published JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from memorybank.interchange.source import Located
from memorybank.interchange.times import parse_spoken, steps
from memorybank.interchange.values import ImportOptions, ImportRecord, Item, Problem, Severity
from memorybank.models import Message

_SESSION = re.compile(r"session_(\d+)")
_STEP = timedelta(seconds=20)


def matches(value: Any) -> bool:
    """Whether this is one sample."""
    return isinstance(value, dict) and isinstance(value.get("conversation"), dict)


def parse(samples: Iterable[Located], options: ImportOptions) -> Iterator[Item]:
    """Every turn as a message: owner = ``sample_id``, session = ``session_N``, id = ``dia_id``.

    Both speakers are people, so every role is ``user`` and ``name`` tells them apart. A session has one time;
    its turns follow in small steps. A shared photo's caption is kept, marked as such, behind the words.
    """
    for sample in samples:
        if not matches(sample.value):
            yield Problem(sample.where, "not a sample with 'sample_id' and 'conversation'")
            continue
        owner = sample.value.get("sample_id", options.owner)
        if not isinstance(owner, str) or not owner.strip():
            yield Problem(sample.where, "no 'sample_id' to name the owner; give one with --owner")
            continue
        if options.owner is not None and owner != options.owner:
            continue
        yield from _conversation(owner, sample.value["conversation"])


def _conversation(owner: str, conversation: dict[str, Any]) -> Iterator[Item]:
    found = [match for match in map(_SESSION.fullmatch, conversation) if match]
    for match in sorted(found, key=lambda found: int(found[1])):
        session, turns = match[0], conversation[match[0]]
        where = f"{owner}, {session}"
        if not isinstance(turns, list):
            yield Problem(where, f"a list of turns was expected, not {type(turns).__name__}")
            continue
        if not turns:
            yield Problem(where, "no turns in this session", Severity.NOTE)
            continue
        start = parse_spoken(str(conversation.get(f"{session}_date_time", "")))
        if start is None:
            yield Problem(where, f"{session}_date_time is not like '1:56 pm on 8 May, 2023'; left out")
            continue
        for index, (turn, at) in enumerate(zip(turns, steps(start, len(turns), _STEP), strict=True)):
            yield _turn(owner, session, turn, at, f"{where}, turn {index}", f"{session}#{index}")


def _turn(owner: str, session: str, turn: Any, at: datetime, where: str, fallback_id: str) -> Item:
    if not isinstance(turn, dict):
        return Problem(where, f"an object was expected, not {type(turn).__name__}")
    speaker, text, caption = turn.get("speaker"), turn.get("text"), turn.get("blip_caption")
    if not isinstance(speaker, str) or not speaker.strip():
        return Problem(where, "no speaker")
    words = [text.strip()] if isinstance(text, str) and text.strip() else []
    if isinstance(caption, str) and caption.strip():
        words.append(f"[shares a photo: {caption.strip()}]")
    if not words:
        return Problem(where, "no text", Severity.NOTE)
    own_id = turn.get("dia_id")
    identifier = own_id if isinstance(own_id, str) and own_id.strip() else fallback_id
    message = Message("user", " ".join(words), at, identifier, speaker.strip())
    return ImportRecord(owner, session, message)
