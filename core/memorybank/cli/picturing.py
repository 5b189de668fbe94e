"""``plot``: the pictures of a bank as PNG files (extra ``plot``)."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memorybank.bank import MemoryBank
from memorybank.cli.options import (
    DEFAULT_STORE,
    UNUSED,
    EmbedderOption,
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
from memorybank.cli.output import emit_json, out
from memorybank.clock import to_utc, zone_of
from memorybank.errors import InvalidInputError
from memorybank.forgetting import MemoryState
from memorybank.models import Level, Memory, Status
from memorybank.plotting import (
    day_counts,
    outlook,
    plot_recall_map,
    plot_retention,
    plot_timeline,
    recall_map,
)
from memorybank.text.language import Language, detect

_TALK = (Level.TURN, Level.NOTE)
_CURVES = 8
_AHEAD = 365.0  # days
_NEWEST = 12


class Picture(StrEnum):
    """What ``plot`` draws."""

    RETENTION = "retention"
    TIMELINE = "timeline"
    LINKS = "links"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(plot)


def plot(
    picture: Annotated[
        Picture, typer.Argument(help="Curves of what fades, memories by day, or what links to what.")
    ],
    owner: OwnerOption,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The PNG (default: memorybank-PICTURE.png).")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", help="Links around what this recalls (default: among the newest)."),
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="Words on the picture: en or zh (default: found out).")
    ] = None,
    policy: PolicyOption = "companion",
    now: NowOption = None,
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
) -> None:
    """Draw a picture of a memory into a PNG.

    Nothing is changed, nothing is credited.
    """
    if language not in (None, "en", "zh"):
        raise InvalidInputError(f"--language {language!r}: give en or zh")
    path = output or Path(f"memorybank-{picture.value}.png")
    searching = embedder if query is not None else UNUSED
    with existing_store(store, searching, read_only=True) as opened:
        bank = known_bank(opened, owner, policy_named(policy))
        moment = parsed_time(now, "--now")
        at = datetime.now(UTC) if moment is None else to_utc(moment, zone_of(bank.timezone), "now")
        memories = bank.memories(levels=_TALK)
        said = "\n".join(one.text for one in memories[-20:])
        words: Language = detect(said) if language is None else "zh" if language == "zh" else "en"
        _draw(bank, picture, memories, path, at, words, query)
    if json:
        emit_json({"picture": picture.value, "path": path})
    else:
        out().print(str(path), soft_wrap=True)


def _draw(
    bank: MemoryBank,
    picture: Picture,
    memories: list[Memory],
    path: Path,
    now: datetime,
    language: Language,
    query: str | None,
) -> None:
    if picture is Picture.TIMELINE:
        days = day_counts(memories, bank.curve, now=now, timezone=bank.timezone)
        plot_timeline(days, path, language=language)
    elif picture is Picture.LINKS:
        chosen = [one.id for one in memories[-_NEWEST:]]
        if query is not None:
            chosen = [one.memory.id for one in bank.recall(query, now=now, reinforce=False)]
        links = bank.links(chosen, now=now)
        near = {*chosen, *(id_ for link in links for id_ in (link.a, link.b))}
        plot_recall_map(recall_map(bank.get(sorted(near)), links, chosen=chosen), path, language=language)
    else:
        alive = [one for one in memories if one.status is Status.ACTIVE and not one.pinned]
        fading = sorted(alive, key=lambda one: (_retention(bank, one, now), one.id))[:_CURVES]
        traces = [
            outlook(
                f"{one.began:%Y-%m-%d} {one.text.removeprefix('user: ')}",
                bank.curve,
                one.strength,
                MemoryState.of(one).since,
                now=now,
                days=_AHEAD,
            )
            for one in fading
        ]
        plot_retention(traces, path, threshold=bank.policy.archive_below, language=language)


def _retention(bank: MemoryBank, memory: Memory, now: datetime) -> float:
    return bank.curve.retention(memory.strength, now - MemoryState.of(memory).since)
