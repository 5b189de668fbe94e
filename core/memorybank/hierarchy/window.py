"""The sliding window of a session, its marks, and when the digest must be written (after SoulMem).

The last messages of a session are always at hand. Every n-th message is marked (the first one included),
and any message can be marked by force. When a marked message slides out of the window, the digest is
rewritten from the old digest and the messages that stood in the window with it. Unmarked messages slide out
silently. Nothing ever leaves the store: these functions only choose.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memorybank.errors import InvalidInputError
from memorybank.models import Message


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """``size``: messages in the window. ``mark_every``: one message in so many is marked.

    With ``mark_every <= size`` every message is read by some digest before it is out of sight.
    """

    size: int = 20
    mark_every: int = 10

    def __post_init__(self) -> None:
        for field, value in (("size", self.size), ("mark_every", self.mark_every)):
            if value < 1:
                raise InvalidInputError(f"window {field} must be at least 1, got {value}")


@dataclass(frozen=True, slots=True)
class DigestStep:
    """One rewriting of the digest: ``messages`` are read with the old digest.

    Afterwards it covers ``through``, the position of the last marked message that slid out.
    """

    messages: tuple[Message, ...]
    through: int


def marked(
    messages: Sequence[Message], mark_every: int, through: int = -1, forced: Collection[int] = ()
) -> list[Message]:
    """The marked messages after position ``through``: the first there is of every ``mark_every`` positions.

    Positions count from 0, the session's first message. Where a message was deleted the next one of its span
    is marked instead, so that nothing escapes the digest. ``forced`` are positions marked by hand.
    """
    found: list[Message] = []
    seen = through // mark_every if through >= 0 else -1
    for message in messages:
        if message.position <= through:
            continue
        span = message.position // mark_every
        if span > seen or message.position in forced:
            found.append(message)
        seen = max(seen, span)
    return found


def recent(messages: Sequence[Message], size: int) -> tuple[Message, ...]:
    """The last ``size`` messages, oldest first, cut so that chat models accept them.

    A tool call and its results stay together: an assistant message followed by tool messages is taken whole
    or not at all; results whose call is gone are left out. Normally the cut moves forward (fewer messages).
    If that leaves nothing, the newest call is taken whole although it is longer than the window.
    """
    if size < 1 or not messages:
        return ()
    groups = _groups(messages)
    taken: list[tuple[Message, ...]] = []
    room = size
    for group in reversed(groups):
        if len(group) > room and taken:
            break
        taken.append(group)
        room -= len(group)
        if room <= 0:
            break
    return tuple(message for group in reversed(taken) for message in group)


def _groups(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """Messages that must stay together: a call with its results, any other alone. Orphan results drop."""
    groups: list[list[Message]] = []
    open_call = False
    for message in messages:
        if message.role == "tool":
            if open_call:
                groups[-1].append(message)
            continue
        groups.append([message])
        open_call = message.role == "assistant"
    return [tuple(group) for group in groups]


def slid_out(
    messages: Sequence[Message], settings: WindowSettings, through: int = -1, forced: Collection[int] = ()
) -> tuple[Message, ...]:
    """Marked messages that left the window and that no digest has covered yet (positions > ``through``)."""
    window = recent(messages, settings.size)
    start = window[0].position if window else 0
    return tuple(
        message
        for message in marked(messages, settings.mark_every, through, forced)
        if message.position < start
    )


def digest_steps(
    messages: Sequence[Message],
    settings: WindowSettings,
    through: int = -1,
    forced: Collection[int] = (),
    *,
    at_once: int = 40,
) -> list[DigestStep]:
    """What to read, in order, to bring the digest up to date; empty when it is.

    ``messages`` are the session's, oldest first, from before ``through`` to its end. Each marked message that
    slid out is read with the messages that shared the window with it. Marks that are overdue together (a
    long session that is digested late) share steps of at most ``at_once`` messages, so catching up takes one
    reading of the transcript, not one per mark.
    """
    due = slid_out(messages, settings, through, forced)
    if not due:
        return []
    index = {message.position: place for place, message in enumerate(messages)}
    spans: list[tuple[int, int, int]] = []
    for marked in due:
        first = index[marked.position]
        last = min(first + settings.size, len(messages))
        if spans and (last - spans[-1][0] <= max(at_once, settings.size) or last <= spans[-1][1]):
            spans[-1] = (spans[-1][0], last, marked.position)
        else:
            spans.append((max(first, spans[-1][1]) if spans else first, last, marked.position))
    return [DigestStep(tuple(messages[first:last]), covered) for first, last, covered in spans]
