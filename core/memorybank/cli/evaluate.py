"""``eval``: retrieval, forgetting, growth and abstention measured on labelled conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from memorybank.cli import measuring
from memorybank.cli.figures import (
    FileArgument,
    JsonOption,
    OutputOption,
    PlotOption,
    SeedOption,
    name_of,
    print_grid,
    print_problems,
    progress_bars,
    publish,
    share,
)
from memorybank.cli.options import EmbedderOption, embedder_named
from memorybank.cli.output import clean, emit_json, note, out, plain
from memorybank.errors import InvalidInputError
from memorybank.evaluation.cases import Case, pooled
from memorybank.evaluation.comparing import compare
from memorybank.evaluation.datasets import (
    Report,
    questions_beside,
    read_locomo,
    read_longmemeval,
    read_memorybank,
)
from memorybank.evaluation.memo import memo_of, memo_reranker
from memorybank.evaluation.metrics import MEASURES, RECALL_AT
from memorybank.evaluation.results import answered_in, described, result
from memorybank.evaluation.running import evaluate
from memorybank.interchange import Problem
from memorybank.retrieval.settings import STAGES, RetrievalSettings

StagesOption = Annotated[
    str | None, typer.Option("--stages", help="Only these stages, comma-separated.", metavar="A,B")
]
WithoutOption = Annotated[
    str | None,
    typer.Option("--without", help=f"Without these stages: {', '.join(STAGES)}.", metavar="A,B"),
]
RerankOption = Annotated[
    bool, typer.Option("--rerank", help="Rerank with the offline cross-encoder (English; slow).")
]
ReinforceOption = Annotated[
    bool, typer.Option("--reinforce", help="Credit what each question recalls (order then matters).")
]
PooledOption = Annotated[bool, typer.Option("--pooled", help="All conversations in one bank.")]
ConsolidateOption = Annotated[
    bool,
    typer.Option("--consolidate", help="Write summaries first; one takes up its rank, counts for no turn."),
]
_HEADS = {**{f"recall@{k}": f"R@{k}" for k in RECALL_AT}, "mrr": "MRR", "ndcg@10": "nDCG"}

app: typer.Typer = typer.Typer(
    name="eval",
    help="Measure what is found again, on labelled conversations.\n\n"
    "None come with MemoryBank: docs/evaluation.md says which files are read, and their shape.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(parent: typer.Typer) -> None:
    """Add the group."""
    measuring.register(app)
    parent.add_typer(app)


@app.command()
def locomo(
    file: FileArgument,
    pool: PooledOption = False,
    embedder: EmbedderOption = "default",
    stages: StagesOption = None,
    without: WithoutOption = None,
    rerank: RerankOption = False,
    reinforce: ReinforceOption = False,
    consolidate: ConsolidateOption = False,
    json: JsonOption = False,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """LoCoMo: two speakers over months; every turn is a memory. Overall is categories 1 to 4, 5 stands apart."""
    run = Run("locomo", file, embedder, stages, without, pool, reinforce, consolidate, json, output, plot)
    run.go(lambda report: read_locomo(file, report), rerank)


@app.command()
def memorybank(
    file: FileArgument,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", help="JSON lines (default: FILE_questions.jsonl beside FILE)."),
    ] = None,
    pool: PooledOption = False,
    embedder: EmbedderOption = "default",
    stages: StagesOption = None,
    without: WithoutOption = None,
    rerank: RerankOption = False,
    reinforce: ReinforceOption = False,
    consolidate: ConsolidateOption = False,
    json: JsonOption = False,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """MemoryBank's users and questions; an exchange is a memory."""
    asked = questions or questions_beside(file)
    if questions is None and not asked.exists():
        raise InvalidInputError(
            f"there is no {asked.name} beside {file.name}; give the questions: --questions FILE"
        )
    run = Run("memorybank", file, embedder, stages, without, pool, reinforce, consolidate, json, output, plot)
    run.go(lambda report: read_memorybank(file, asked, report), rerank, questions=str(asked))


@app.command()
def longmemeval(
    file: FileArgument,
    unit: Annotated[str, typer.Option("--unit", help="What counts as found: turn or session.")] = "turn",
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Only the first so many.")] = None,
    embedder: EmbedderOption = "default",
    stages: StagesOption = None,
    without: WithoutOption = None,
    rerank: RerankOption = False,
    consolidate: ConsolidateOption = False,
    json: JsonOption = False,
    output: OutputOption = None,
    plot: PlotOption = None,
) -> None:
    """LongMemEval: each question with a bank of its own.

    Evidence are the turns that hold the answer.
    """
    if unit not in ("turn", "session"):
        raise InvalidInputError(f"--unit {unit!r} is unknown; give turn or session")

    def cases(report: Report) -> Iterator[Case]:
        for number, case in enumerate(read_longmemeval(file, report, sessions=unit == "session")):
            if limit is not None and number >= limit:
                return
            yield case

    run = Run("longmemeval", file, embedder, stages, without, False, False, consolidate, json, output, plot)
    run.go(cases, rerank, unit=unit, limit=limit)


@app.command("compare")
def compare_runs(
    first: Annotated[Path, typer.Argument(help="A result (--json or --output).")],
    second: Annotated[Path, typer.Argument(help="Another result on the same questions.")],
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Compare two results, question by question.

    The difference of each measure with its 95 % interval.
    """
    (kind, one), (other_kind, other) = answered_in(first), answered_in(second)
    if kind != other_kind:
        raise InvalidInputError(
            f"{first} is of {kind}, {second} of {other_kind}; compare runs on the same file"
        )
    found = compare(one, other, seed=seed)
    common = len({row.qid for row in one} & {row.qid for row in other})
    if json:
        rows = {row.measure: {**plain(row), "difference": row.difference} for row in found}
        emit_json({"n": common, "seed": seed, "measures": rows})
        return
    console = out()
    print_grid(
        console,
        ["measure", "first", "second", "difference", "95 % interval", "p"],
        [
            [
                row.measure,
                share(row.first),
                share(row.second),
                f"{row.difference:+.3f}",
                f"[{row.low:+.3f}, {row.high:+.3f}]",
                f"{row.worse:.3f}",
            ]
            for row in found
        ],
    )
    console.print(
        f"{common} questions in both; p: share of resamples in which the second is not better", soft_wrap=True
    )


class Run:
    """One retrieval run as it was typed."""

    def __init__(
        self,
        dataset: str,
        file: Path,
        embedder: str,
        stages: str | None,
        without: str | None,
        pool: bool,
        reinforce: bool,
        consolidate: bool,
        json: bool,
        output: Path | None,
        plot: Path | None,
    ) -> None:
        self._dataset, self._file, self._pool = dataset, file, pool
        self._retrieval = retrieval_of(stages, without)
        self._embedder = memo_of(embedder_named(embedder))
        self._reinforce, self._consolidate = reinforce, consolidate
        self._json, self._output, self._plot = json, output, plot

    def go(self, read: Callable[[Report], Iterable[Case]], rerank: bool = False, **more: object) -> None:
        """Read, ask, report."""
        reranker = memo_reranker() if rerank else None
        problems: list[Problem] = []
        cases: Iterable[Case] = read(problems.append)
        if self._pool:
            cases = [pooled(cases)]
        with progress_bars() as progress:
            asked = evaluate(
                cases,
                self._embedder,
                retrieval=self._retrieval,
                reranker=reranker,
                reinforce=self._reinforce,
                consolidate=self._consolidate,
                report=problems.append,
                progress=progress,
            )
        print_problems(problems)
        found = result(self._dataset, asked, self._settings({"reranker": reranker and reranker.name, **more}))
        publish(found, self._json, self._output, lambda: _print(found))
        if self._plot is not None:
            from memorybank.evaluation.plots import plot_recall

            plot_recall(found, self._plot)
            note(f"plot written to {self._plot}")

    def _settings(self, more: Mapping[str, object]) -> dict[str, object]:
        return {
            "file": str(self._file),
            "embedder": name_of(self._embedder),
            "pooled": self._pool,
            "reinforce": self._reinforce,
            "consolidate": self._consolidate,
            **described(self._retrieval),
            **more,
        }


def retrieval_of(stages: str | None, without: str | None) -> RetrievalSettings:
    """The default settings, with stages switched off as asked."""
    if stages is not None and without is not None:
        raise InvalidInputError("give --stages (only these) or --without (all but these), not both")
    settings = RetrievalSettings()
    if stages is not None:
        return settings.only(*_names(stages))
    return settings if without is None else settings.without(*_names(without))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _print(found: Mapping[str, Any]) -> None:
    names = [f"{key} {row['name']}" if "name" in row else key for key, row in found["categories"].items()]
    rows = [("overall", found["overall"]), *zip(names, found["categories"].values(), strict=True)]
    console = out()
    print_grid(
        console,
        ["", "n", *(_HEADS.get(name, name) for name in MEASURES)],
        [[clean(name), str(row["n"]), *(share(row[one]) for one in MEASURES)] for name, row in rows],
    )
    context, latency = found["context"], found["latency_ms"]
    console.print(
        f"context: {context['tokens_mean']:.0f} tokens on average (p95 {context['tokens_p95']:.0f}), "
        f"holding {context['recall']:.1%} of the evidence",
        soft_wrap=True,
    )
    console.print(
        f"latency of a recall: p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms "
        f"(without embedding the question {latency['recall_p50']:.1f} / {latency['recall_p95']:.1f})",
        soft_wrap=True,
    )
