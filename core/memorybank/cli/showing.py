"""``show`` and ``owners``: what a store and a bank hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from memorybank.bank import MemoryBank
from memorybank.cli.options import (
    DEFAULT_STORE,
    JsonOption,
    NowOption,
    OwnerOption,
    PolicyOption,
    StoreOption,
    existing_store,
    known_bank,
    parsed_time,
    policy_named,
)
from memorybank.cli.output import (
    clean,
    emit_json,
    memory_head,
    out,
    print_body,
    print_memories,
    snippet,
    table,
)
from memorybank.clock import to_utc, zone_of
from memorybank.forgetting import MemoryState
from memorybank.models import Level, Memory, Status
from memorybank.text.counting import counted


class Part(StrEnum):
    """What ``show`` can show."""

    ALL = "all"
    TIMELINE = "timeline"
    WEAKEST = "weakest"
    PORTRAIT = "portrait"
    EVENTS = "events"
    SESSIONS = "sessions"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(show)
    app.command()(owners)


def owners(store: StoreOption = DEFAULT_STORE, json: JsonOption = False) -> None:
    """List the owners in a store."""
    with existing_store(store, read_only=True) as opened:
        names = opened.owners()
        counts = {name: opened.bank(name).stats() for name in names}
    if json:
        emit_json([{"owner": name, "stats": counts[name]} for name in names])
        return
    rows = table("owner", "messages", "memories", "archived", "from", "to")
    for name, stats in counts.items():
        first, last = (f"{at:%Y-%m-%d}" if at else "" for at in (stats.first, stats.last))
        rows.add_row(clean(name), str(stats.messages), str(stats.total), str(stats.archived), first, last)
    out().print(rows if names else "no owners yet")


def show(
    owner: OwnerOption,
    part: Annotated[Part, typer.Argument(help="What to show.")] = Part.ALL,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many memories.")] = 10,
    day: Annotated[str | None, typer.Option("--day", help="Portrait and events of this day.")] = None,
    now: NowOption = None,
    policy: PolicyOption = "assistant",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Show what a bank holds: portrait, events, timeline, weakest."""
    with existing_store(store, read_only=True) as opened:
        bank = known_bank(opened, owner, policy_named(policy))
        moment = parsed_time(now, "--now")
        at = datetime.now(UTC) if moment is None else to_utc(moment, zone_of(bank.timezone), "now")
        wanted: set[Part] = set(Part) if part is Part.ALL else {part}
        stats = bank.stats()
        memories = bank.memories() if wanted & {Part.TIMELINE, Part.WEAKEST} else []
        portrait = bank.portrait(day) if Part.PORTRAIT in wanted else None
        events = bank.events(day) if Part.EVENTS in wanted else None
        timeline = [one for one in memories if one.level is Level.TURN or one.level is Level.NOTE][-limit:]
        weakest = _weakest(bank, memories, at)[:limit]
        sessions = bank.sessions() if Part.SESSIONS in wanted else []
    if json:
        chosen = {
            "stats": stats,
            "portrait": portrait,
            "events": events,
            "timeline": timeline,
            "weakest": [{"memory": memory, "retention": retention} for memory, retention in weakest],
            "sessions": sessions,
        }
        emit_json(
            {"owner": owner, "timezone": bank.timezone}
            | {k: v for k, v in chosen.items() if _chosen(k, wanted)}
        )
        return
    console = out()
    kinds = ", ".join(f"{count} {level}" for level, count in stats.memories.items() if count)
    console.print(Text(f"{clean(owner)} ({bank.timezone})", style="bold"))
    held = f"{counted(stats.messages, 'message')} in {counted(stats.sessions, 'session')}"
    console.print(f"{held}; memories: {kinds or 'none'}", soft_wrap=True)
    console.print(
        f"{stats.archived} archived, {stats.pinned} pinned, {stats.stale} stale, {counted(stats.links, 'link')}"
    )
    made = {Part.PORTRAIT: portrait, Part.EVENTS: events}
    _print_derived(console, wanted, made, alone=part is not Part.ALL, dated=day is not None)
    if Part.TIMELINE in wanted:
        _title(console, f"latest {len(timeline)}")
        print_memories(console, timeline, bank.timezone)
    if Part.WEAKEST in wanted:
        _title(console, f"weakest {len(weakest)} (retention, first to fade first)")
        _print_weakest(console, weakest, bank.timezone)
    if Part.SESSIONS in wanted and part is not Part.ALL:
        for name in sessions:
            console.print(clean(name), soft_wrap=True)


def _chosen(key: str, wanted: set[Part]) -> bool:
    return key == "stats" or Part(key) in wanted


def _weakest(bank: MemoryBank, memories: Sequence[Memory], now: datetime) -> list[tuple[Memory, float]]:
    """Active memories that can fade, by retention."""
    fading = [
        one
        for one in memories
        if one.status is Status.ACTIVE and not bank.policy.protects(one.level, one.pinned)
    ]
    if not fading:
        return []
    elapsed = [max((now - MemoryState.of(one).since).total_seconds(), 0.0) for one in fading]
    retained = bank.curve.retentions([one.strength for one in fading], elapsed)
    return sorted(zip(fading, retained.tolist(), strict=True), key=lambda pair: pair[1])


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _print_derived(
    console: Console, wanted: set[Part], made: dict[Part, Memory | None], *, alone: bool, dated: bool
) -> None:
    """Portrait and events, or how they come about."""
    for part, memory in made.items():
        if part not in wanted or (memory is None and part is Part.EVENTS and not alone):
            continue
        _title(console, part.value)
        if memory is None:
            day = "that day" if dated else "the days that are over"
            console.print(
                f"none yet: memorybank consolidate --owner NAME writes it for {day}", soft_wrap=True
            )
        else:
            sources = counted(len(memory.sources), "source")
            console.print(Text(f"by {memory.maker.value}, from {sources}", style="dim"))
            print_body(console, memory.text, longest=4000)


def _print_weakest(console: Console, weakest: Sequence[tuple[Memory, float]], zone: str) -> None:
    for memory, retention in weakest:
        head = Text(f"R={retention:.3f}  ", style="red" if retention < 0.1 else "")
        head.append(memory_head(memory, zone), style="dim")
        console.print(head)
        console.print(Text(f"   {snippet(memory.text, max(console.width - 3, 10))}"), soft_wrap=True)
