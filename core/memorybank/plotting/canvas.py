"""What every picture stands on: a page without a display, fonts, labels that can be drawn, PNG (extra ``plot``)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from memorybank.errors import StoreError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers too; without yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7A7A7A")
_LATIN = "DejaVu Sans"  # comes with matplotlib
_CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Heiti SC",
    "Microsoft YaHei",
    "SimHei",
    "Droid Sans Fallback",
    "Noto Serif CJK SC",
    "Arial Unicode MS",
)
# How files of such fonts are called, for those installed since matplotlib last looked.
_CJK_FILES = re.compile(
    r"cjk|sourcehan|wqy|pingfang|heiti|msyh|simhei|droidsansfallback|arial ?unicode", re.I
)
_STAND_IN = "\u25a1"  # for single characters that no font has


@dataclass(frozen=True, slots=True)
class Fonts:
    """Font families in the order in which they are tried, and the characters that they have."""

    families: tuple[str, ...]
    characters: frozenset[int]

    @property
    def chinese(self) -> bool:
        """Whether Chinese can be drawn."""
        return ord("记") in self.characters

    def label(self, text: str, instead: str, width: int = 44) -> str:
        """A text as it can be drawn, at most ``width`` columns wide (a Chinese character takes two): single missing
        characters as boxes. Where much of it is missing only what stands before its first such character (a date,
        say) and ``instead``."""
        line = " ".join(text.split())
        if cell_len(line) > width:
            line = f"{set_cell_size(line, width - 1).rstrip()}…"
        missing = [place for place, character in enumerate(line) if ord(character) not in self.characters]
        if 3 * len(missing) > len(line):
            line = line[: missing[0]].strip(" “\"'(（：:") or instead
            return line if line == instead or instead in line else f"{line} ({instead})"
        shown = "".join(one if ord(one) in self.characters else _STAND_IN for one in line)
        return shown.replace("$", r"\$")


@cache
def fonts() -> Fonts:
    """The fonts of this machine. Raises ImportError without matplotlib, naming the extra."""
    _needed()
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    chinese = _chinese_font()
    families = (_LATIN,) if chinese is None else (_LATIN, chinese)
    covered: set[int] = set()
    with _quiet():
        for family in families:
            path = font_manager.findfont(family, fallback_to_default=False)
            covered.update(FT2Font(path).get_charmap())
    return Fonts(families, frozenset(covered))


def _chinese_font() -> str | None:
    from matplotlib import font_manager

    manager = font_manager.fontManager
    known = {font.name for font in manager.ttflist}
    if not known.intersection(_CJK_FONTS):
        for path in font_manager.findSystemFonts():
            if _CJK_FILES.search(Path(path).name):
                manager.addfont(path)
        known = {font.name for font in manager.ttflist}
    return next((name for name in _CJK_FONTS if name in known), None)


def page(width: float, height: float) -> Figure:
    """An empty figure (inches) that needs no display. Raises ImportError without matplotlib, naming the extra."""
    _needed()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dress(figure: Figure) -> Figure:
    """Give every text of a figure the fonts that have its characters."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_fontfamily(list(fonts().families))
    return figure


def png(figure: Figure) -> bytes:
    """A figure as a PNG."""
    made = BytesIO()
    with _quiet():
        figure.savefig(made, format="png")
    return made.getvalue()


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as a PNG. Raises StoreError if the file cannot be written."""
    try:
        Path(path).write_bytes(png(figure))
    except OSError as error:
        raise StoreError(f"Cannot write the plot to {path}: {error.strerror or error}") from None
    return Path(path)


@contextmanager
def _quiet() -> Iterator[None]:
    """Fonts with one weight only are as good as any; matplotlib warns of each."""
    logger, muted = logging.getLogger("matplotlib.font_manager"), logging.Filter("nothing")
    logger.addFilter(muted)
    try:
        yield
    finally:
        logger.removeFilter(muted)


def _needed() -> None:
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "memorybank-core[plot]"') from error
