"""Pictures of the figures, as PNG (extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorybank.errors import StoreError
from memorybank.evaluation.metrics import RECALL_AT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_recall(found: Mapping[str, Any], path: Path) -> Path:
    """Recall@k over k, a line for each category and a thick one for all. Raises ImportError, StoreError."""
    figure, axes = _page()
    for name, row in found["categories"].items():
        label = f"{name} {row.get('name', '')}".strip()
        axes.plot(
            RECALL_AT,
            [row[f"recall@{k}"] for k in RECALL_AT],
            "o-",
            linewidth=1,
            label=f"{label} ({row['n']})",
        )
    overall = found["overall"]
    axes.plot(
        RECALL_AT,
        [overall[f"recall@{k}"] for k in RECALL_AT],
        "ko-",
        linewidth=2.5,
        label=f"overall ({overall['n']})",
    )
    axes.set(xlabel="k", ylabel="recall@k", ylim=(0, 1.03), title=f"Evidence found: {found['dataset']}")
    axes.set_xticks(RECALL_AT)
    return _save(figure, axes, path)


def plot_lines(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    path: Path,
    *,
    title: str,
    x: str,
    y: str,
    logarithmic: bool = False,
) -> Path:
    """Named lines through (x, y) points. Raises ImportError, StoreError."""
    figure, axes = _page()
    for name, points in lines.items():
        axes.plot([one[0] for one in points], [one[1] for one in points], "o-", markersize=4, label=name)
    if logarithmic:
        axes.set_xscale("log")
    axes.set(xlabel=x, ylabel=y, title=title)
    return _save(figure, axes, path)


def _page() -> tuple[Figure, Axes]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "memorybank-core[plot]"') from error
    figure = Figure(figsize=(9, 5.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _save(figure: Figure, axes: Axes, path: Path) -> Path:
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        raise StoreError(f"Cannot write the plot to {path}: {error.strerror or error}") from None
    return path
