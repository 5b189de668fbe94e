"""``eval forgetting``: what each rule of forgetting costs and saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

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
    progress_bars,
    publish,
    share,
)
from memorybank.cli.options import EmbedderOption, embedder_named
from memorybank.cli.output import note, out
from memorybank.errors import InvalidInputError
from memorybank.evaluation.bounds import checks
from memorybank.evaluation.fading import CREDITS, Faded, at_the_end, through_a_year
from memorybank.evaluation.memo import memo_of
from memorybank.evaluation.plots import plot_lines
from memorybank.evaluation.rules import FORMS, STRONG, UNITS, grid, presets
from memorybank.evaluation.snapshots import filled
from memorybank.interchange import Problem


def forgetting(
    file: FileArgument,
    questions: QuestionsOption = None,
    units: Annotated[
        str,
        typer.Option(
            "--units", help="Units of the curves, comma-separated; none: only the presets.", metavar="A,B"
        ),
    ] = ",".join(UNITS),
    asks: Annotated[
        int, typer.Option("--asks", min=1, help="Questions a conversation in the simulated year.")
    ] = 150,
    sample: SampleOption = 1,
    seed: SeedOption = 0,
    embedder: EmbedderOption = "default",
    json: JsonOption = False,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """What each rule of forgetting costs, on the same questions.

    Asked at the end, and through a year of use.
    """
    wanted = [] if units == "none" else [name.strip() for name in units.split(",") if name.strip()]
    unknown = sorted(set(wanted) - set(UNITS))
    if unknown:
        raise InvalidInputError(f"--units {units!r}: give some of {', '.join(UNITS)}, or none")
    chosen = memo_of(embedder_named(embedder))
    dataset, cases = cases_of(file, questions, sample)
    rules = [*presets(seed), *grid(FORMS, wanted)]
    problems: list[Problem] = []
    with progress_bars() as progress, filled(cases, chosen, problems.append, progress) as snapshots:
        ends = [
            row
            for used in (False, True)
            for row in at_the_end(snapshots, cases, rules, reinforced=used, progress=progress)
        ]
        years = through_a_year(
            snapshots, cases, [*presets(seed), STRONG], CREDITS, seed=seed, count=asks, progress=progress
        )
    settings = {
        "file": str(file),
        "embedder": name_of(chosen),
        "asks": asks,
        "sample": sample,
        "seed": seed,
        "units": wanted,
    }
    held = checks(ends, years)
    found = {
        "dataset": dataset,
        "end": [_faded(row) for row in ends],
        "year": [_faded(row) for row in years],
        "checks": [asdict(check) for check in held],
        "settings": settings,
    }
    publish(found, json, output, lambda: _print_forgetting(found))
    if plot is not None:
        _plot_forgetting(ends, plot)


def _faded(row: Faded) -> dict[str, Any]:
    policy, curve = row.rule.policy, row.rule.policy.curve
    found: dict[str, Any] = {
        "rule": row.rule.name,
        "effect": row.rule.effect,
        "unit": row.rule.unit or None,
        "rank_weight": policy.rank_weight,
        "archive_below": policy.archive_below,
        "unit_seconds": None if curve is None else curve.unit.total_seconds(),
        "reinforced": row.reinforced,
        "archived": row.archived,
        **row.measures,
    }
    if row.again is not None:
        found |= {"again": row.again, "unused": row.unused, "unused_archived": row.unused_archived}
    return found


def _print_forgetting(found: Mapping[str, Any]) -> None:
    console = out()
    console.print("Asked once, after the conversation")
    heads = [
        "rule",
        "effect",
        "unit",
        "R@1",
        "R@10",
        "MRR",
        "archived",
        "R@1 used",
        "R@10",
        "MRR",
        "archived",
    ]
    plain_rows = [row for row in found["end"] if not row["reinforced"]]
    used_rows = [row for row in found["end"] if row["reinforced"]]
    rows = []
    for one, other in zip(plain_rows, used_rows, strict=True):
        figures = [
            share(row[name]) for row in (one, other) for name in ("recall@1", "recall@10", "mrr", "archived")
        ]
        rows.append([one["rule"], one["effect"], one["unit"] or "", *figures])
    print_grid(console, heads, rows)
    console.print("\nA year in which questions come up again")
    heads = ["rule", "credited", "R@1", "R@10", "MRR", "again: R@1", "R@10", "MRR", "archived", "of unused"]
    names = ("recall@1", "recall@10", "mrr")
    print_grid(
        console,
        heads,
        [
            [
                row["rule"],
                row["reinforced"],
                *(share(row[name]) for name in names),
                *(share(row["again"][name]) for name in names),
                share(row["archived"]),
                share(row["unused_archived"]),
            ]
            for row in found["year"]
        ],
    )
    console.print("")
    for check in found["checks"]:
        verdict = "holds" if check["holds"] else "FAILS"
        console.print(
            f"{verdict}: {check['name']}: {check['value']:+.3f} (bound {check['bound']:.3f})", soft_wrap=True
        )


def _plot_forgetting(rows: Sequence[Faded], path: Path) -> None:
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.rule.policy.curve is not None:
            used = ", reinforced" if row.reinforced else ""
            days = row.rule.policy.curve.unit.total_seconds() / 86_400
            lines.setdefault(f"{row.rule.name}, {row.rule.effect}{used}", []).append(
                (days, row.measures["recall@10"])
            )
    plot_lines(
        lines,
        path,
        title="Recall@10 under rules of forgetting, asked at the end",
        x="unit of the curve (days)",
        y="recall@10",
        logarithmic=True,
    )
    note(f"plot written to {path}")
