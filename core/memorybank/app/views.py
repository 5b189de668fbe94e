"""What the page shows, as values: from a bank to rows of text. Nothing here changes a memory, or knows of a page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from memorybank import keeping, rewinding
from memorybank.app.texts import Texts
from memorybank.bank import MemoryBank
from memorybank.errors import InvalidInputError
from memorybank.forgetting import MemoryState, decide
from memorybank.models import Level, Link, Maker, Memory, Message, Recalled, Status
from memorybank.text.counting import Count

_SAID = 200  # messages of a conversation that the page shows
_FOUND = 20  # memories that a search shows
_LEAST = 0.05  # shares of a score below one in twenty say little
_NEVER = datetime.max.replace(tzinfo=ZoneInfo("UTC"))
TALK = (Level.TURN, Level.NOTE)


@dataclass(frozen=True, slots=True)
class Card:
    """A memory as it is shown: ``words`` with the speakers' names in the page's language, ``text`` as it is kept;
    ``head`` says when, what and how strong it is. ``talk``: whether it is a turn."""

    id: str
    text: str
    words: str
    head: str
    pinned: bool
    archived: bool
    talk: bool
    reasons: tuple[str, ...] = ()
    used: bool = False


@dataclass(frozen=True, slots=True)
class Day:
    """A day: its summary if it has one, and the cards of what was said."""

    day: date
    title: str
    summary: Card | None
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Fading:
    """A memory that fades: its retention R now, and in words when it will be archived."""

    card: Card
    memory: Memory
    retention: float
    fate: str
    archives_at: datetime | None = None


def said(bank: MemoryBank, session: str) -> list[Message]:
    """What the session shows of the talk: the user's and the companion's words, oldest first."""
    shown = rewinding.read_end(bank, session, lambda messages: len(messages) >= _SAID)
    spoken = [one for one in shown.messages if one.role in ("user", "assistant") and one.text.strip()]
    return spoken[-_SAID:]


def card(
    memory: Memory,
    texts: Texts,
    zone: ZoneInfo,
    *,
    retention: float | None = None,
    reasons: Sequence[str] = (),
    used: bool = False,
) -> Card:
    """A memory in words."""
    marks = [memory.began.astimezone(zone).strftime(texts.moment), texts.levels[memory.level.value]]
    if memory.level in TALK:
        marks.append(texts.strength.format(n=memory.strength))
        if retention is not None:
            marks.append(texts.retention.format(percent=round(100 * retention)))
    else:
        marks[0] = memory.began.astimezone(zone).strftime(texts.date)
        marks.append(made_by(memory, texts))
    archived = memory.status is Status.ARCHIVED
    marks += [word for word, on in ((texts.pinned, memory.pinned), (texts.archived, archived)) if on]
    if memory.stale:
        marks.append(texts.stale)
    head = " · ".join(one for one in marks if one)
    talk = memory.level is Level.TURN
    return Card(
        id=memory.id,
        text=memory.text,
        words=_renamed(memory.text, _names(texts)) if talk else memory.text,
        head=head,
        pinned=memory.pinned,
        archived=archived,
        talk=talk,
        reasons=tuple(reasons),
        used=used,
    )


def as_kept(words: str, card: Card, texts: Texts) -> str:
    """Words that a visitor changed, with the speakers as the records name them."""
    return _renamed(words, {name: role for role, name in _names(texts).items()}) if card.talk else words


def _names(texts: Texts) -> dict[str, str]:
    return {"user: ": f"{texts.you}: ", "assistant: ": f"{texts.companion}: "}


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Speakers at the beginnings of lines by their other names; those of people stand as they are."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        for old, new in names.items():
            if line.startswith(old):
                lines[place] = new + line[len(old) :]
                break
    return "\n".join(lines)


def made_by(memory: Memory, texts: Texts) -> str:
    """Who wrote a memory's text, where that was not simply said."""
    makers = {Maker.LLM: texts.by_llm, Maker.EXTRACTIVE: texts.by_quotes, Maker.USER: texts.by_user}
    return makers.get(memory.maker, "")


def why(
    recalled: Sequence[Recalled], used: Collection[str], texts: Texts, zone: ZoneInfo, bank: MemoryBank
) -> list[Card]:
    """What was recalled, best first, each with the parts of its score in words; as it stands in the bank now."""
    current = {memory.id: memory for memory in _known(bank, [one.memory.id for one in recalled])}
    return [
        card(
            current[one.memory.id],
            texts,
            zone,
            retention=one.retention,
            reasons=reasons(one, texts),
            used=one.memory.id in used,
        )
        for one in recalled
        if one.memory.id in current
    ]


def _known(bank: MemoryBank, ids: Sequence[str]) -> list[Memory]:
    """Those that are still there."""
    found = keeping.find(bank.runtime, bank.owner, ids)
    return [found[id_] for id_ in ids if id_ in found and found[id_].text]


def reasons(one: Recalled, texts: Texts) -> list[str]:
    """The parts of a score in words, the weightiest first, with their share of what speaks for the memory."""
    total = sum(value for value in one.parts.values() if value > 0)
    shares = sorted(((value / total, name) for name, value in one.parts.items() if value > 0), reverse=True)
    return [
        texts.share.format(reason=texts.parts.get(name, name), percent=round(100 * share))
        for share, name in shares
        if share >= _LEAST
    ]


def days(bank: MemoryBank, texts: Texts, most: int = 60) -> list[Day]:
    """The newest days with what was said on them, newest first."""
    zone = ZoneInfo(bank.timezone)
    listed = bank.memories(levels=[*TALK, Level.DAY_EVENTS])
    ordered = sorted(listed, key=lambda one: one.began)
    found = []
    for day, group in groupby(ordered, key=lambda one: one.began.astimezone(zone).date()):
        members = list(group)
        summary = next((one for one in members if one.level is Level.DAY_EVENTS), None)
        found.append(
            Day(
                day,
                day.strftime(texts.date),
                None if summary is None else card(summary, texts, zone),
                tuple(card(one, texts, zone) for one in members if one.level in TALK),
            )
        )
    return found[-most:][::-1]


def overall(bank: MemoryBank, level: Level, texts: Texts) -> Card | None:
    """The global portrait or the global events; None if not written yet."""
    found = bank.portrait() if level is Level.PORTRAIT else bank.events()
    return None if found is None else card(found, texts, ZoneInfo(bank.timezone))


def portraits(bank: MemoryBank, texts: Texts, most: int = 14) -> list[Card]:
    """The newest portraits of single days, newest first."""
    listed = bank.memories(levels=[Level.DAY_PORTRAIT])[-most:][::-1]
    return [card(one, texts, ZoneInfo(bank.timezone)) for one in listed]


def fading(bank: MemoryBank, texts: Texts, now: datetime, most: int = 12) -> list[Fading]:
    """Active memories of talk that can fade, first to fade first."""
    zone = ZoneInfo(bank.timezone)
    alive = [one for one in bank.memories(levels=TALK, include_archived=False) if not one.pinned]
    decided = decide([MemoryState.of(one) for one in alive], bank.curve, bank.policy, now).all
    # By the time at which they will be archived; where nothing ever is, by what is left of them.
    order = sorted(
        zip(alive, decided, strict=True), key=lambda pair: (pair[1].archives_at or _NEVER, pair[1].retention)
    )
    return [
        Fading(
            card(memory, texts, zone, retention=fate.retention),
            memory,
            fate.retention,
            _fate(fate.archives_at, texts, zone, now),
            fate.archives_at,
        )
        for memory, fate in order[:most]
    ]


def archive(bank: MemoryBank, texts: Texts, most: int = 60) -> list[Card]:
    """What is archived, newest first."""
    listed = [one for one in bank.memories(levels=TALK) if one.status is Status.ARCHIVED]
    return [card(one, texts, ZoneInfo(bank.timezone)) for one in listed[-most:][::-1]]


def search(
    bank: MemoryBank,
    texts: Texts,
    now: datetime,
    query: str,
    since: str = "",
    until: str = "",
    *,
    archived: bool = False,
) -> list[Card]:
    """Memories that fit a question, between two days (inclusive); without a question, all of those days.

    Looking is not using: nothing is credited. Raises InvalidInputError for what is no date.
    """
    zone = ZoneInfo(bank.timezone)
    first, last = _day(since, zone, texts), _day(until, zone, texts, end=True)
    if query.strip():
        found = bank.recall(
            query, _FOUND, since=first, until=last, now=now, reinforce=False, include_archived=archived
        )
        return [
            card(one.memory, texts, zone, retention=one.retention, reasons=reasons(one, texts))
            for one in found
        ]
    if first is None and last is None:
        return []
    listed = bank.memories(levels=TALK, since=first, until=last, include_archived=archived)
    return [card(one, texts, zone) for one in listed[:100]]


def linked(memories: Sequence[Memory], links: Sequence[Link], texts: Texts) -> dict[str, str]:
    """For each memory what it links to, by the numbers of the list."""
    numbers = {one.id: number for number, one in enumerate(memories, 1)}
    found: dict[str, dict[str, set[int]]] = {one.id: {} for one in memories}
    for link in links:
        for one, other in ((link.a, link.b), (link.b, link.a)):
            found[one].setdefault(link.kind, set()).add(numbers[other])
    return {
        id_: "; ".join(
            f"{texts.link_kinds[kind]}: {', '.join(map(str, sorted(others)))}"
            for kind, others in sorted(kinds.items())
        )
        for id_, kinds in found.items()
    }


def holdings(bank: MemoryBank, texts: Texts) -> str:
    """What the bank holds, in a sentence."""
    stats = bank.stats()
    return texts.holds.format(
        messages=Count(stats.messages),
        sessions=Count(stats.sessions),
        memories=Count(stats.total),
        archived=stats.archived,
        pinned=stats.pinned,
    )


def _fate(at: datetime | None, texts: Texts, zone: ZoneInfo, now: datetime) -> str:
    if at is None:
        return texts.never
    if at <= now:
        return texts.archives_now
    span = texts.in_days.format(n=Count(max(1, round((at - now) / timedelta(days=1)))))
    return texts.archives_on.format(date=at.astimezone(zone).strftime(texts.date), days=span)


def _day(text: str, zone: ZoneInfo, texts: Texts, *, end: bool = False) -> datetime | None:
    if not text.strip():
        return None
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInputError(texts.bad_date.format(text=text.strip()[:40])) from None
    return datetime.combine(day, time.max if end else time.min, zone)
