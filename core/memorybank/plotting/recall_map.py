"""The recall map: memories in order of time, arcs between those that are linked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memorybank.models import Level, Link, Memory
from memorybank.plotting.canvas import dress, fonts, page, save
from memorybank.plotting.words import words
from memorybank.text.language import Language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"next": "#8A949E", "co_recalled": "#D55E00", "derived": "#009E73"}
_STYLES = {"next": ":", "co_recalled": "-", "derived": "--"}
_COLUMNS = 7  # of a label, to an inch of the picture


@dataclass(frozen=True, slots=True)
class RecallMap:
    """What is drawn. ``chosen``: ids of the memories that the map is about."""

    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
    chosen: frozenset[str] = frozenset()


def recall_map(
    memories: Sequence[Memory], links: Sequence[Link], *, chosen: Sequence[str] = (), most: int = 24
) -> RecallMap:
    """The map of at most ``most`` memories, in order of time: those chosen, then those with most links. Pure."""
    known = {one.id: one for one in memories}
    wanted = [id_ for id_ in dict.fromkeys(chosen) if id_ in known]
    weights = dict.fromkeys(known, 0.0)
    for link in links:
        if link.a in known and link.b in known:
            weights[link.a] += link.weight
            weights[link.b] += link.weight
    others = sorted((id_ for id_ in known if id_ not in wanted), key=lambda id_: (-weights[id_], id_))
    if wanted:
        others = [id_ for id_ in others if weights[id_]]
    shown = {*wanted[:most], *others[: max(most - len(wanted), 0)]}
    ordered = sorted((known[id_] for id_ in shown), key=lambda one: (one.began, one.id))
    kept = tuple(link for link in links if link.a in shown and link.b in shown)
    return RecallMap(tuple(ordered), kept, frozenset(wanted))


def recall_map_figure(
    drawn: RecallMap, *, title: str | None = None, language: Language = "en", width: float = 9
) -> Figure:
    """Time runs down; the thicker an arc, the heavier the link; chosen memories are filled. ``width``: inches.

    Numbers before the labels are those of ``drawn.memories``, from 1. What no installed font can draw is left out
    of labels. Raises ImportError without matplotlib, naming the extra.
    """
    said = words(language)
    rows = {one.id: place for place, one in enumerate(drawn.memories)}
    figure = page(width, max(2.4, 1.1 + 0.34 * len(rows)))
    axes = figure.add_subplot()
    seen: set[str] = set()
    for link in drawn.links:
        _arc(axes, rows[link.a], rows[link.b], link)
        seen.add(link.kind)
    for place, one in enumerate(drawn.memories):
        filled = one.id in drawn.chosen
        size = 30 + 14 * min(one.strength, 12)
        axes.scatter(
            [0], [place], s=size, color="#0072B2" if filled else "white", edgecolor="#0072B2", zorder=3
        )
        label = fonts().label(_label(one), said.memory.format(n=place + 1), int(_COLUMNS * width))
        axes.annotate(
            f"{place + 1}  {label}", (0, place), (12, 0), textcoords="offset points", va="center", fontsize=8
        )
    reach = max((abs(rows[one.a] - rows[one.b]) for one in drawn.links), default=1)
    axes.set(xlim=(-max(reach / 2, 1) * 1.1, max(reach / 2, 1) * 2.2), ylim=(max(len(rows), 1) - 0.4, -0.6))
    axes.set_title(said.map_title if title is None else title)
    axes.axis("off")
    if seen:
        for kind in sorted(seen):
            axes.plot([], [], color=_COLOURS[kind], linestyle=_STYLES[kind], label=said.links[kind])
        figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False, handlelength=2)
    return dress(figure)


def plot_recall_map(
    drawn: RecallMap, path: str | Path, *, title: str | None = None, language: Language = "en"
) -> Path:
    """Draw ``recall_map_figure`` into a PNG and return its path. Raises ImportError as it does, StoreError."""
    return save(recall_map_figure(drawn, title=title, language=language), path)


def _arc(axes: Axes, a: int, b: int, link: Link) -> None:
    from matplotlib.patches import Arc

    height = abs(a - b)
    axes.add_patch(
        Arc(
            (0, (a + b) / 2),
            height,
            height,
            theta1=90,
            theta2=270,
            color=_COLOURS[link.kind],
            linestyle=_STYLES[link.kind],
            linewidth=min(0.8 + 0.5 * link.weight, 3.5),
        )
    )


def _label(memory: Memory) -> str:
    """When, and the words; summaries begin with their day themselves."""
    text = memory.text.removeprefix("user: ") if memory.level is Level.TURN else memory.text
    day = f"{memory.began:%Y-%m-%d}"
    return text if text.startswith(day) else f"{day} {text}"
