"""``consolidate``: what is missing or stale of summaries and portraits is written."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

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
from memorybank.errors import InvalidInputError
from memorybank.hierarchy.settings import HierarchySettings
from memorybank.models import Consolidated
from memorybank.runtime import LLM

FAILED = 1

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        envvar="MEMORYBANK_MODEL",
        help="Who writes: provider:model of a LangChain chat model (openai:…, ollama:…), or package.module:name "
        "of a function from text to text. Default: quotes, without a model.",
        metavar="WHICH",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(consolidate)


def consolidate(
    owner: OwnerOption,
    until: Annotated[
        str | None, typer.Option("--until", help="Last day to write (YYYY-MM-DD; default: yesterday).")
    ] = None,
    model: ModelOption = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="Seconds a model may take per text.")
    ] = 120.0,
    now: NowOption = None,
    embedder: EmbedderOption = "default",
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write summaries and portraits of the days that are over, and what they amount to together."""
    writer = None if model is None else model_named(model)
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


def model_named(which: str) -> LLM:
    """A function from prompt to reply: your own (``package.module:name``), or a LangChain chat model's.

    Raises InvalidInputError for a name that is neither, ImportError naming the extra without LangChain.
    """
    module, colon, name = which.partition(":")
    if not colon or not module or not name:
        raise InvalidInputError(
            f"model {which!r}: give provider:model (openai:…, ollama:…) or package.module:name"
        )
    if "." in module:
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InvalidInputError(f"model {which!r} cannot be imported: {error}") from None
        if not callable(found):
            raise InvalidInputError(f"model {which!r} is no function from text to text")
        return found  # type: ignore[no-any-return]  # what it returns is checked when it replies
    return _chat_model(which)


def _chat_model(which: str) -> LLM:
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ImportError(
            "--model provider:model needs the extra: pip install 'memorybank-core[langchain]'"
        ) from error
    try:
        model = init_chat_model(which)
    except (ImportError, ValueError) as error:
        raise InvalidInputError(f"model {which!r} cannot be used: {error}") from None

    def ask(prompt: str) -> str:
        return str(model.invoke(prompt).text)

    return ask
