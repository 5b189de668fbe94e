"""``eval growth`` and ``abstention``: what size and unanswerable questions do to recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any, cast, get_args

import typer

from memorybank.cli import fading
from memorybank.cli.figures import (
    FileArgument,
    JsonOption,
    OutputOption,
    PlotOption,
    QuestionsOption,
    SampleOption,
    SeedOption,
    cases_of,
    name_of,
    print_grid,
    print_problems,
    progress_bars,
    publish,
    share,
)
from memorybank.cli.options import EmbedderOption, embedder_named
from memorybank.cli.output import note, out
from memorybank.errors import InvalidInputError
from memorybank.evaluation.abstaining import KEPT, OWN, floors, plan
from memorybank.evaluation.datasets import read_any
from memorybank.evaluation.growing import Growth, grow
from memorybank.evaluation.memo import memo_of
from memorybank.evaluation.plots import plot_lines
from memorybank.interchange import Problem
from memorybank.runtime import Search


def register(app: typer.Typer) -> None:
    """Add the commands to the group."""
    for command in (fading.forgetting, growth, abstention):
        app.command()(command)


def growth(
    file: FileArgument,
    questions: QuestionsOption = None,
    sizes: Annotated[
        str, typer.Option("--sizes", help="Memories, comma-separated.", metavar="N,M")
    ] = "1000,10000,100000",
    search: Annotated[
        str, typer.Option("--search", help="auto (from 50,000 on the index), exact or chroma.")
    ] = "auto",
    sample: SampleOption = 1,
    seed: SeedOption = 0,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """The same questions asked of one bank as it grows.

    By other conversations and altered copies of them.
    """
    wanted = _numbers(sizes)
    if search not in get_args(Search):
        raise InvalidInputError(f"--search {search!r} is unknown; give {', '.join(get_args(Search))}")
    chosen = memo_of(embedder_named(embedder))
    dataset, cases = cases_of(file, questions, sample)
    problems: list[Problem] = []
    with progress_bars() as progress:
        grown = grow(
            cases,
            chosen,
            wanted,
            seed=seed,
            search=cast(Search, search),
            report=problems.append,
            progress=progress,
        )
    found = {
        "dataset": dataset,
        "sizes": [asdict(one) for one in grown.sizes],
        "settings": {
            "file": str(file),
            "embedder": name_of(chosen),
            "asked_of": grown.asked_of,
            "altered_cosine": grown.near,
            "search": search,
            "sample": sample,
            "seed": seed,
        },
    }
    publish(found, json, output, lambda: _print_growth(grown))
    if plot is not None:
        points = {
            name: [(one.memories, one.measures[name]) for one in grown.sizes]
            for name in ("recall@1", "recall@10", "mrr")
        }
        plot_lines(points, plot, title="Recall as a bank grows", x="memories", y="share", logarithmic=True)
        note(f"plot written to {plot}")


def _numbers(sizes: str) -> list[int]:
    try:
        found = [int(one) for one in sizes.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise InvalidInputError(f"--sizes {sizes!r}: give numbers of memories, such as 1000,10000")
    return sorted(found)


def _print_growth(grown: Growth) -> None:
    console = out()
    heads = [
        "memories",
        "altered",
        "R@1",
        "R@3",
        "R@5",
        "R@10",
        "R@20",
        "MRR",
        "p50 ms",
        "p95 ms",
        "without embedding",
    ]
    names = ("recall@1", "recall@3", "recall@5", "recall@10", "recall@20", "mrr")
    rows = []
    for one in grown.sizes:
        times = [f"{one.latency_ms[name]:.1f}" for name in ("p50", "p95", "recall_p50")]
        rows.append(
            [f"{one.memories:,}", f"{one.altered:,}", *(share(one.measures[name]) for name in names), *times]
        )
    print_grid(console, heads, rows)
    asked, n = ", ".join(grown.asked_of), grown.sizes[0].measures["n"]
    console.print(f"{n} questions about {asked}; the rest are distractors", soft_wrap=True)
    if grown.near is not None:
        console.print(
            f"altered: copies with words replaced, their vectors drawn at cosine {grown.near:.2f} to the originals' "
            "(measured on really embedded copies)",
            soft_wrap=True,
        )


def abstention(
    file: FileArgument,
    questions: QuestionsOption = None,
    sample: SampleOption = 1,
    seed: SeedOption = 0,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """What ``min_score="auto"`` keeps and what it lets through.

    Of answerable questions, and of others.
    """
    chosen = memo_of(embedder_named(embedder))
    problems: list[Problem] = []
    dataset, cases = read_any(file, questions, problems.append, apart=True)
    cases = [replace(case, questions=case.questions[::sample]) for case in cases]
    with progress_bars() as progress:
        curve = floors(cases, chosen, seed=seed, report=problems.append, progress=progress)
    print_problems(problems)
    auto = next(one for one in curve if one.scale == 1)
    kept = auto.answered.get(OWN, 0.0)
    found = {
        "dataset": dataset,
        "curve": [asdict(one) for one in curve],
        "auto": {**asdict(auto), "kept": kept, "bound": KEPT, "holds": kept >= KEPT},
        "asked": Counter(one.kind for one in plan(cases, seed=seed)),
        "settings": {"file": str(file), "embedder": name_of(chosen), "sample": sample, "seed": seed},
    }
    publish(found, json, output, lambda: _print_abstention(found))
    if plot is not None:
        others = [kind for kind in auto.answered if kind != OWN]
        points = {kind: [(one.answered[kind], one.answered[OWN]) for one in curve] for kind in others}
        plot_lines(points, plot, title="Abstention", x="answered although it cannot be", y="answerable kept")
        note(f"plot written to {plot}")


def _print_abstention(found: Mapping[str, Any]) -> None:
    console = out()
    kinds = list(found["asked"])
    console.print("Share of questions that get anything, by the floor")
    rows = [
        [
            f"{row['scale']:.1f}" + " auto" * (row["scale"] == 1),
            f"{row['threshold']:.3f}",
            *(share(row["answered"][kind]) for kind in kinds),
        ]
        for row in found["curve"]
    ]
    print_grid(
        console, ["of auto", "evidence", *(f"{kind} ({found['asked'][kind]})" for kind in kinds)], rows
    )
    auto = found["auto"]
    verdict = "holds" if auto["holds"] else "FAILS"
    console.print(f"{verdict}: auto keeps {auto['kept']:.1%} of the answerable (bound {auto['bound']:.0%})")
