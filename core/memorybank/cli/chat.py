"""``chat``: a companion in the terminal that remembers; also a pipe of lines for programs."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from memorybank.bank import MemoryBank
from memorybank.cli.chat_room import Room
from memorybank.cli.models import ModelOption, UrlOption, chat_model_named, model_named
from memorybank.cli.options import (
    DEFAULT_STORE,
    EmbedderOption,
    JsonOption,
    MaxTokensOption,
    NowOption,
    OwnerOption,
    PolicyOption,
    StoreOption,
    TimeoutOption,
    any_store,
    checked_zone,
    parsed_time,
    policy_named,
)
from memorybank.cli.output import note
from memorybank.cli.texts import TEXTS
from memorybank.clock import Clock, to_utc
from memorybank.companion.talk import (
    Companion,
    TalkSettings,
)
from memorybank.companion.wording import SYSTEM, WORDINGS
from memorybank.errors import InvalidInputError
from memorybank.text.language import Language, detect

FAILED = 1
_LONGEST_SYSTEM = 20_000  # characters


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(chat)


def chat(
    owner: OwnerOption,
    model: ModelOption = None,
    url: UrlOption = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Name of the session (default: today's date).")
    ] = None,
    system: Annotated[
        Path | None,
        typer.Option(
            "--system", help="File with the instruction to the model; {today} in it becomes the date."
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", help="Language of the interface: en or zh (default: found out)."),
    ] = None,
    max_tokens: MaxTokensOption = 1500,
    timeout: TimeoutOption = 120.0,
    timezone: Annotated[str | None, typer.Option("--timezone", help="IANA zone of the owner's days.")] = None,
    policy: PolicyOption = "assistant",
    now: NowOption = None,
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
) -> None:
    """Talk with a companion that remembers. Lines that begin with / are commands: /help shows them.

    Without a model it says how to set one, and still records and recalls. With input from a pipe each line is
    said in turn; --json prints a JSON value a line.
    """
    zone = checked_zone(timezone)
    answering = chat_model_named(model, url, timeout)
    writing = model_named(model, url, timeout)
    instruction = None if system is None else _instruction(system)
    with quiet_summaries(), any_store(store, embedder, llm=writing) as opened:
        bank = opened.bank(owner, timezone=zone, policy=policy_named(policy))
        clock = _clock(parsed_time(now, "--now"), bank)
        spoken = _language(language, bank)
        today = clock().astimezone(ZoneInfo(bank.timezone)).date().isoformat()
        settings = TalkSettings(system=instruction or SYSTEM[spoken], memories=max_tokens)
        companion = Companion(bank, session or today, answering, clock, settings)
        room = Room(companion, WORDINGS[spoken], json, sys.stdin, TEXTS[spoken])
        failed = room.talk()
        if opened.runtime.background.drain(1.0) and not json:
            note(room.words.finishing)
    if failed and not room.live:
        raise typer.Exit(FAILED)


@contextmanager
def quiet_summaries() -> Iterator[None]:
    """What fails in the background is tried again later: no warning breaks into a talk, unless -v was given."""
    logger = logging.getLogger("memorybank.consolidation")
    before = logger.level
    if logger.getEffectiveLevel() >= logging.WARNING:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _instruction(path: Path) -> str:
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"--system {path} cannot be read: {type(error).__name__}") from None
    if not text or len(text) > _LONGEST_SYSTEM:
        raise InvalidInputError(
            f"--system {path} holds {len(text):,} characters; give 1 to {_LONGEST_SYSTEM:,}"
        )
    return text


def _clock(start: datetime | None, bank: MemoryBank) -> Clock:
    """The store's clock, or with ``--now`` one that stood there when the talk began."""
    clock = bank.runtime.clock
    if start is None:
        return clock
    offset = to_utc(start, ZoneInfo(bank.timezone)) - clock()
    return lambda: clock() + offset


def _language(wanted: str | None, bank: MemoryBank) -> Language:
    """As asked; else that of the bank, of what was said in it last, of the system."""
    if wanted not in (None, "en", "zh"):
        raise InvalidInputError(f"--language {wanted!r}: give en or zh")
    chosen = wanted or bank.language
    if chosen is not None:
        return "zh" if chosen == "zh" else "en"
    sessions = bank.sessions()
    said = bank.history(sessions[-1], last=20) if sessions else []
    if said:
        return detect("\n".join(message.text for message in said))
    named = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return "zh" if named.lower().startswith("zh") else "en"
