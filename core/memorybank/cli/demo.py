"""``demo``: the main job end to end, in English and Chinese, in under a minute."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import singledispatch
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from memorybank.cli.options import EmbedderOption, JsonOption, embedder_named
from memorybank.cli.output import (
    clean,
    emit_json,
    local,
    note,
    out,
    print_body,
    print_recalled,
    snippet,
    span,
)
from memorybank.demo import LANGUAGES, Step, run
from memorybank.demo.run import Asked, Faded, Imported, LookedBack, Plotted
from memorybank.demo.script import load_script
from memorybank.errors import InvalidInputError
from memorybank.plotting import retention_lines

_LISTED = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    language: Annotated[str, typer.Option("--language", "-l", help="en, zh or both.")] = "both",
    plots: Annotated[Path, typer.Option("--plots", help="Folder for the PNG files.")] = Path(),
    store: Annotated[
        Path | None,
        typer.Option("--store", help="Keep the store in this folder, to look around (default: temporary)."),
    ] = None,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
) -> None:
    """Play ten days of talk: remembering, recalling, forgetting.

    Questions over months, what fades and why, and plots. No network, no key.
    """
    languages = LANGUAGES if language == "both" else (language,)
    for one in languages:
        load_script(one)  # an unknown language is refused before anything is done
    if store is not None and store.exists() and any(store.iterdir() if store.is_dir() else [store]):
        raise InvalidInputError(f"{store} is not empty; the demo needs a folder of its own")
    plots.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[dict[str, object]]] = {}
    console = out()
    with _folder(store) as folder:
        for one in languages:
            for step in run(one, folder, plots / f"memorybank-demo-{one}.png", embedder_named(embedder)):
                if json:
                    found.setdefault(one, []).append({"step": type(step).__name__.lower(), "what": step})
                else:
                    show(step, console)
    if json:
        emit_json(found)
    elif store is not None:
        owners = ", ".join(load_script(one).owner for one in languages)
        note(f"The store is kept: memorybank show --store {store} --owner NAME (owners: {owners})")


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="memorybank-demo-") as name:
        yield Path(name) / "memory"


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


@singledispatch
def show(step: Step, console: Console) -> None:
    """Print one step."""
    raise NotImplementedError


@show.register
def _(step: Imported, console: Console) -> None:
    console.rule(f"{step.script.owner} ({step.script.language})")
    stats = step.stats
    console.print(f"Imported {stats.messages} messages of {stats.sessions} days: {stats.total} memories.")
    console.print(Text(f"Pinned note: {clean(step.note.text)}"))
    how = (
        f"by meaning ({step.embedder}) and words"
        if step.embedder
        else "by words only (no embedder installed)"
    )
    console.print(f"Recall is {how}. Time is the demo's own.", soft_wrap=True)


@show.register
def _(step: Asked, console: Console) -> None:
    _title(console, f"Day {step.question.day}: “{step.question.ask}”")
    console.print(Text(f"({step.question.reason})", style="dim"))
    print_recalled(console, step.recalled, str(step.now.tzinfo))
    if step.recalled:
        grown = ", ".join(
            f"S {one.memory.strength} → {step.strengths[one.memory.id]}" for one in step.recalled
        )
        console.print(Text(f"   reinforced: {grown}; t = 0", style="green"))


@show.register
def _(step: Faded, console: Console) -> None:
    _title(console, f"{step.now:%d %B %Y}: months later, the companion preset forgets")
    planned = step.planned
    same = "; then done, the same" if planned.archived == step.done.archived else "; done differently"
    console.print(f"Dry run: {len(planned.archived)} would be archived, {len(planned.kept)} kept{same}.")
    for memory in step.going[:_LISTED]:
        console.print(Text(f"  fades  {memory.began:%d %b}  {snippet(memory.text, 58)}", style="red"))
    for why in step.why:
        console.print(Text(f"Why “{snippet(why.memory.text, 44)}”", style="bold"))
        console.print(
            f"  t = {span(why.elapsed)}, S = {why.strength}, unit = {span(why.unit)}: R = {why.retention:.3f} → "
            f"{why.outcome}. {why.rule}",
            soft_wrap=True,
        )


@show.register
def _(step: LookedBack, console: Console) -> None:
    asked = step.asked
    _title(console, f"Day {asked.question.day}: “{asked.question.ask}”")
    console.print(Text(f"({asked.question.reason})", style="dim"))
    missing = not any(asked.question.expects in one.memory.text for one in step.without)
    console.print("Out of recall." if missing else "Still in recall.", end=" ")
    console.print("Asked among the archived as well:")
    for one in asked.recalled[:1]:
        console.print(
            Text(
                f"   {local(one.memory.began, str(asked.now.tzinfo))}  {one.memory.status.value}", style="dim"
            )
        )
        print_body(console, one.memory.text)
    if step.restored:
        console.print(Text("   restored: it is recalled again, and fades anew from today.", style="green"))


@show.register
def _(step: Plotted, console: Console) -> None:
    _title(
        console, "Retention over time: ● recalled (each recall starts it anew, and slower), · never recalled"
    )
    for line in retention_lines(step.traces, width=min(console.width, 100)):
        console.print(line)
    console.print(f"Below {step.threshold:g} a memory is archived.")
    if step.png is not None:
        console.print(f"PNG: {step.png}", soft_wrap=True)
    elif step.reason:
        note(step.reason)
