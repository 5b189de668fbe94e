"""``consolidate``: what is missing or stale of summaries and portraits is written."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from memorybank.cli.models import ModelOption, UrlOption, model_named
from memorybank.cli.options import (
    DEFAULT_STORE,
    EmbedderOption,
    JsonOption,
    NowOption,
    OwnerOption,
    StoreOption,
    existing_store,
    known_bank,
    parsed_time,
)
from memorybank.cli.output import clean, emit_json, err, note, out
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.models import Consolidated

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
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="Seconds a model may take per text.")
    ] = 120.0,
    now: NowOption = None,
    embedder: EmbedderOption = "default",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write summaries and portraits of the days that are over.

    And what they amount to together.
    Without a model they are quotes.
    """
    writer = model_named(model, url, timeout)
    with existing_store(store, embedder, llm=writer) as opened:
        bank = known_bank(opened, owner)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=err(), transient=True, disable=json) as bar:
            task = bar.add_task("days", total=None)
            done = bank.consolidate(
                until=until,
                now=parsed_time(now, "--now"),
                settings=HierarchySettings(timeout=timeout),
                progress=lambda what, at, total: bar.update(
                    task, description=what, completed=at, total=total
                ),
            )
    if json:
        emit_json({"owner": owner, **_figures(done)})
    else:
        _report(done)
    if done.failed:
        raise typer.Exit(FAILED)


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
    console.print(f"{len(done.made)} texts made, {len(done.updated)} written anew, {len(done.failed)} failed")
    if done.calls:
        console.print(
            f"{done.calls} calls of the model, {done.prompt_tokens} tokens to it, {done.reply_tokens} from it"
        )
    for failure in done.failed:
        note(f"{clean(failure.subject)}: {clean(failure.reason)}; tried again next time")
