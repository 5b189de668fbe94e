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
    wrap,
)
from memorybank.cli.texts import TEXTS, Texts
from memorybank.demo import LANGUAGES, Step, run
from memorybank.demo.run import Asked, Faded, Imported, LookedBack, Plotted
from memorybank.demo.script import load_script
from memorybank.errors import InvalidInputError
from memorybank.models import Memory
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
    languages = LANGUAGES if language == "both" else (load_script(language).language,)
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
                    show(step, console, TEXTS[one])
    if json:
        emit_json(found)
    elif store is not None:
        texts = TEXTS[languages[0]]  # English when both were played
        owners = texts.separator.join(load_script(one).owner for one in languages)
        note(texts.demo.kept.format(store=store, owners=owners))


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
def show(step: Step, console: Console, texts: Texts) -> None:
    """Print one step."""
    raise NotImplementedError


@show.register
def _(step: Imported, console: Console, texts: Texts) -> None:
    words = texts.demo
    console.rule(f"{step.script.owner} ({step.script.language})")
    stats = step.stats
    console.print(
        words.imported.format(messages=stats.messages, sessions=stats.sessions, memories=stats.total)
    )
    console.print(Text(words.pinned.format(note=clean(step.note.text))))
    how = words.meaning.format(embedder=step.embedder) if step.embedder else words.words
    console.print(how, soft_wrap=True)
    for line in (words.parts, words.time):
        for piece in wrap(line, console.width):
            console.print(piece, soft_wrap=True)


@show.register
def _(step: Asked, console: Console, texts: Texts) -> None:
    words = texts.demo
    _print_question(console, step, texts)
    print_recalled(console, step.recalled, str(step.now.tzinfo), texts)
    if step.recalled:
        grown = texts.separator.join(
            words.strength.format(before=one.memory.strength, after=step.strengths[one.memory.id])
            for one in step.recalled
        )
        console.print(Text(f"   {words.reinforced.format(grown=grown)}", style="green"))


@show.register
def _(step: Faded, console: Console, texts: Texts) -> None:
    words = texts.demo
    _title(console, words.months.format(date=step.now.strftime(texts.date)))
    planned = step.planned
    then = words.same if planned.archived == step.done.archived else words.different
    console.print(
        words.dry_run.format(archived=len(planned.archived), kept=len(planned.kept), then=then),
        soft_wrap=True,
    )
    for memory in step.going[:_LISTED]:
        when = memory.began.strftime(texts.day)
        console.print(Text(f"  {words.fades}  {when}  {_first_words(memory, 58)}", style="red"))
    for why in step.why:
        console.print(Text(words.why.format(text=_first_words(why.memory, 44)), style="bold"))
        told = words.explained.format(
            elapsed=span(why.elapsed, texts),
            strength=why.strength,
            unit=span(why.unit, texts),
            retention=why.retention,
            outcome=texts.outcomes.get(why.outcome, why.outcome),
            rule=texts.rules.get(why.rule, why.rule),
        )
        console.print(f"  {told}", soft_wrap=True)


def _print_question(console: Console, asked: Asked, texts: Texts) -> None:
    question, date = asked.question, asked.now.strftime(texts.date)
    _title(console, texts.demo.day.format(day=question.day, date=date, ask=question.ask))
    console.print(Text(f"({question.reason})", style="dim"))


def _first_words(memory: Memory, width: int) -> str:
    """What the user said, as far as it fits."""
    return snippet(memory.text.partition("\n")[0], width)


@show.register
def _(step: LookedBack, console: Console, texts: Texts) -> None:
    asked, words = step.asked, texts.demo
    _print_question(console, asked, texts)
    missing = not any(asked.question.expects in one.memory.text for one in step.without)
    console.print(words.missing if missing else words.found)
    for one in asked.recalled[:1]:
        status = texts.marks.get(one.memory.status.value, one.memory.status.value)
        when = local(one.memory.began, str(asked.now.tzinfo))
        console.print(Text(f"   {when}  {status}", style="dim"))
        print_body(console, one.memory.text, texts=texts)
    if step.restored:
        console.print(Text(f"   {words.restored}", style="green"))


@show.register
def _(step: Plotted, console: Console, texts: Texts) -> None:
    words = texts.demo
    _title(console, words.plot)
    for line in retention_lines(step.traces, width=min(console.width, 100), day=words.axis):
        console.print(line)
    console.print(words.below.format(level=step.threshold))
    if step.png is not None:
        console.print(words.picture.format(path=step.png), soft_wrap=True)
    elif step.reason:
        note(words.no_picture.format(reason=step.reason))
