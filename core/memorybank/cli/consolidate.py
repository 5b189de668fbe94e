"""``consolidate``: what is missing or stale of summaries and portraits is written."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from memorybank.bank import MemoryBank
from memorybank.cli.models import ModelOption, UrlOption, model_named
from memorybank.cli.options import (
    DEFAULT_STORE,
    EmbedderOption,
    JsonOption,
    NowOption,
    OwnerOption,
    StoreOption,
    TimeoutOption,
    existing_store,
    known_bank,
    parsed_time,
)
from memorybank.cli.output import clean, emit_json, err, note, out
from memorybank.clock import to_utc
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.models import Consolidated
from memorybank.text.counting import counted

FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(consolidate)


def consolidate(
    owner: OwnerOption,
    until: Annotated[
        str | None, typer.Option("--until", help="Last day to write (YYYY-MM-DD; default: yesterday).")
    ] = None,
    model: ModelOption = None,
    url: UrlOption = None,
    timeout: TimeoutOption = 120.0,
    now: NowOption = None,
    embedder: EmbedderOption = "default",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write summaries and portraits of the days that are over.

    And what they amount to together.
    Without a model they are quotes.
    """
    moment = parsed_time(now, "--now")
    writer = model_named(model, url, timeout)
    with existing_store(store, embedder, llm=writer) as opened:
        bank = known_bank(opened, owner)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = err()
        silent = json or not console.is_terminal
        with Progress(*columns, console=console, transient=True, disable=silent) as bar:
            task = bar.add_task("days", total=None)
            done = bank.consolidate(
                until=until,
                now=moment,
                settings=HierarchySettings(timeout=timeout),
                progress=lambda what, at, total: bar.update(
                    task, description=what, completed=at, total=total
                ),
            )
        idle = _nothing(bank, until, moment)
    if json:
        emit_json({"owner": owner, **_figures(done)})
    else:
        _report(done)
        if not (done.made or done.updated or done.failed):
            out().print(idle, soft_wrap=True)
    if done.failed:
        raise typer.Exit(FAILED)


def _nothing(bank: MemoryBank, until: str | None, now: datetime | None) -> str:
    """Why there was nothing to write: no day is over yet, or each one is written already."""
    zone = ZoneInfo(bank.timezone)
    today = (bank.runtime.clock() if now is None else to_utc(now, zone, "now")).astimezone(zone).date()
    last = today - timedelta(days=1) if until is None else date.fromisoformat(until)
    stats = bank.stats()
    if stats.first is None or stats.last is None:
        return "nothing to do: there are no messages"
    ended = stats.last.astimezone(zone).date()
    rest = f"a day is written once it is over, or now with --until {ended}"
    if stats.first.astimezone(zone).date() > last:
        return f"nothing to do: no message is from {last} or before; {rest}"
    written = f"nothing to do: every day up to {last} is written already"
    return written if ended <= last else f"{written}; {rest}"


def _figures(done: Consolidated) -> dict[str, Any]:
    return {
        "made": done.made,
        "updated": done.updated,
        "failed": done.failed,
        "calls": done.calls,
        "prompt_tokens": done.prompt_tokens,
        "reply_tokens": done.reply_tokens,
    }


def _report(done: Consolidated) -> None:
    console = out()
    made = counted(len(done.made), "text")
    if done.made or done.updated or done.failed:
        console.print(f"{made} made, {len(done.updated)} written anew, {len(done.failed)} failed")
    if done.calls:
        calls, tokens = counted(done.calls, "call"), counted(done.prompt_tokens, "token")
        console.print(f"{calls} of the model, {tokens} to it, {done.reply_tokens:,} from it")
    for failure in done.failed:
        note(f"{clean(failure.subject)}: {clean(failure.reason)}; tried again next time")
