"""What the evaluation commands share: options, progress, and figures as tables or JSON."""

from __future__ import annotations

import json as json_format
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from memorybank.cli.output import clean, emit_json, err, note, plain
from memorybank.errors import StoreError
from memorybank.evaluation.cases import Case
from memorybank.evaluation.datasets import read_any
from memorybank.evaluation.memo import MemoEmbedder
from memorybank.evaluation.running import Progress
from memorybank.interchange import Problem, Severity

FileArgument = Annotated[
    Path, typer.Argument(help="The conversations, with their questions (docs/evaluation.md).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout instead of text.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the JSON object to this file as well.")
]
PlotOption = Annotated[Path | None, typer.Option("--plot", help="Draw a PNG (extra plot).", metavar="PNG")]
SeedOption = Annotated[int, typer.Option("--seed", help="Of everything that is left to chance.")]
QuestionsOption = Annotated[
    Path | None,
    typer.Option("--questions", help="For MemoryBank's users (default: FILE_questions.jsonl beside FILE)."),
]
SampleOption = Annotated[int, typer.Option("--sample", min=1, help="Only every N-th question.", metavar="N")]
_SHOWN = 10


def name_of(embedder: MemoEmbedder | None) -> str | None:
    """The embedder's name for the settings of a result."""
    return None if embedder is None else embedder.name


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Bars on stderr, one for each thing that is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = err()
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                for task in tasks.values():
                    bars.update(task, visible=False)
                tasks[what] = bars.add_task(clean(what), total=total or None)
            bars.update(tasks[what], completed=done)

        yield progress


def print_problems(problems: Sequence[Problem]) -> None:
    """What was wrong with the file, on stderr; mere notes only by number."""
    skipped = [one for one in problems if one.severity is not Severity.NOTE]
    for problem in skipped[:_SHOWN]:
        note(f"{problem.severity.value}: {problem}")
    if len(skipped) > _SHOWN:
        note(f"… and {len(skipped) - _SHOWN} more records left out")


def publish(found: Mapping[str, Any], json: bool, output: Path | None, show: Callable[[], None]) -> None:
    """The result to where it was asked for: text or JSON on stdout, JSON in a file."""
    if output is not None:
        try:
            output.write_text(
                json_format.dumps(plain(found), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
            )
        except OSError as error:
            raise StoreError(f"Cannot write {output}: {error.strerror or error}") from None
    if json:
        emit_json(found)
    else:
        show()


def share(value: float) -> str:
    """A share as it stands in the tables: ``.713``, ``1.00``."""
    return f"{value:.3f}".removeprefix("0") if abs(value) < 0.9995 else f"{value:.2f}"


def print_grid(console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table of figures: first column left, the others right, each line whole however wide the terminal."""
    lines = [list(heads), *(list(row) for row in rows)]
    widths = [max(cell_len(line[column]) for line in lines) for column in range(len(heads))]
    for number, line in enumerate(lines):
        first, *others = (
            " " * (width - cell_len(cell)) if column else cell + " " * (width - cell_len(cell))
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        figures = "".join(f" {pad}{cell}" for pad, cell in zip(others, line[1:], strict=True))
        console.print(Text(f"{first}{figures}", style="" if number else "bold"), soft_wrap=True)


def cases_of(file: Path, questions: Path | None, sample: int) -> tuple[str, list[Case]]:
    """The conversations with every ``sample``-th of their answerable questions; defects go to stderr."""
    problems: list[Problem] = []
    dataset, cases = read_any(file, questions, problems.append)
    print_problems(problems)
    thinned = [
        replace(case, questions=tuple(one for one in case.questions if one.evidence)[::sample])
        for case in cases
    ]
    return dataset, [case for case in thinned if case.questions]
