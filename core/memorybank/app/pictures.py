"""The pictures of the page, as PNG: from a bank to bytes. None where matplotlib is not installed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from memorybank import keeping
from memorybank.app.texts import Texts
from memorybank.app.views import TALK, Fading
from memorybank.bank import MemoryBank
from memorybank.forgetting import MemoryState
from memorybank.models import Link, Memory
from memorybank.plotting import (
    RecallMap,
    day_counts,
    outlook,
    png,
    recall_map,
    recall_map_figure,
    retention_figure,
    timeline_figure,
)

_ONE_AT_A_TIME = threading.Lock()  # matplotlib is not made for several threads
_AHEAD = 90.0  # days that the curves look ahead at least
_CURVES = 8  # as many as there are colours
_WIDTH = 5.4  # inches: beside the talk, and on a phone
_MAPPED = 14  # memories of a map
_NEWEST = 12  # memories that the map is about when nothing was recalled


def fading(found: Sequence[Fading], bank: MemoryBank, texts: Texts, now: datetime) -> bytes | None:
    """The curves of the first memories of the list, numbered as they are there."""
    drawn = found[:_CURVES]
    ends = [(one.archives_at - now).days for one in drawn if one.archives_at is not None]
    days = max([_AHEAD, *(1.2 * end for end in ends if end < 3650)])
    traces = [
        outlook(
            one.card.text,
            bank.curve,
            one.memory.strength,
            MemoryState.of(one.memory).since,
            now=now,
            days=days,
        )
        for one in drawn
    ]
    return _drawn(
        lambda: png(
            retention_figure(
                traces,
                threshold=bank.policy.archive_below,
                language=texts.code,
                legend=False,
                ahead=True,
                width=_WIDTH,
            )
        )
    )


def timeline(bank: MemoryBank, texts: Texts, now: datetime) -> bytes | None:
    """The days with what is left of them."""
    days = day_counts(bank.memories(levels=TALK), bank.curve, now=now, timezone=bank.timezone)
    return _drawn(lambda: png(timeline_figure(days, language=texts.code, width=_WIDTH)))


def mapped(bank: MemoryBank, recalled: Sequence[str], now: datetime) -> RecallMap:
    """What links to what: around what was recalled last, else among the newest."""
    chosen = [one.id for one in _known(bank, recalled)]
    links: Sequence[Link] = bank.links(chosen, now=now)
    if not links:
        chosen = [one.id for one in bank.memories(levels=TALK)[-_NEWEST:]]
        links = bank.links(chosen, now=now)
    near = {*chosen, *(id_ for link in links for id_ in (link.a, link.b))}
    return recall_map(_known(bank, sorted(near)), links, chosen=chosen, most=_MAPPED)


def map_of(drawn: RecallMap, texts: Texts) -> bytes | None:
    """The map as a picture."""
    return _drawn(lambda: png(recall_map_figure(drawn, language=texts.code, width=_WIDTH)))


def _known(bank: MemoryBank, ids: Sequence[str]) -> list[Memory]:
    found = keeping.find(bank.runtime, bank.owner, ids)
    return [found[id_] for id_ in ids if id_ in found and found[id_].text]


def _drawn(draw: Callable[[], bytes]) -> bytes | None:
    try:
        with _ONE_AT_A_TIME:
            return draw()
    except ImportError:
        return None
