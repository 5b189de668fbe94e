"""Output: JSON for programs, text for people. Memory texts are shown as data, never as markup or control codes."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memorybank.cli.texts import ENGLISH, Texts
from memorybank.models import Memory, Recalled

_SURROGATE = re.compile("[\ud800-\udfff]")
# A Chinese character with the punctuation that must not be parted from it, a word, or a run of spaces.
_TOKENS = re.compile(
    r"[“‘（《「『]*[\u2e80-\u9fff\uf900-\ufaff][，。！？、；：”’）》」』…]*|[^\s\u2e80-\u9fff\uf900-\ufaff]+|\s+"
)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LONGEST = 600
_UNITS = (("y", 365 * 86_400), ("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def out() -> Console:
    """Where results go."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False)


def err() -> Console:
    """Where notes, progress and errors go."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def error_line(message: str) -> None:
    """One line for an error."""
    line = " ".join(clean(message).split())
    err().print(Text(f"error: {line}", style="red"), soft_wrap=True)


def error_json(message: str, *, kind: str, code: int) -> None:
    """One JSON object on one line for an error: what is wrong, its kind (the error's class), the exit code."""
    line = " ".join(clean(message).split())
    sys.stderr.write(json.dumps({"error": line, "kind": kind, "code": code}) + "\n")


def note(message: str) -> None:
    """A remark beside the result."""
    err().print(Text(clean(message), style="dim"), soft_wrap=True)


def clean(text: str) -> str:
    """Text that cannot steer a terminal: control codes, bidi overrides and lone surrogates become ``\\ufffd``."""
    return "".join("\ufffd" if _steers(character) else character for character in text)


def _steers(character: str) -> bool:
    if character in "\n\t":
        return False
    return character in _BIDI or unicodedata.category(character) in ("Cc", "Cs")


def emit_json(value: Any) -> None:
    """Print JSON: characters as themselves where stdout can show them, escapes elsewhere."""
    sys.stdout.write(_json(value, indent=1))


def emit_json_line(value: Any) -> None:
    """Print JSON on one line, at once: for results that come one by one."""
    sys.stdout.write(_json(value, indent=None))
    sys.stdout.flush()


def _json(value: Any, indent: int | None) -> str:
    unicode_out = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    text = json.dumps(plain(value), ensure_ascii=not unicode_out, indent=indent)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def plain(value: Any) -> Any:
    """Dataclasses, enums, times and spans as JSON values; times in ISO 8601, spans in seconds."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):  # a datetime is one too
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value


def local(moment: datetime, zone: str) -> str:
    """A time in the bank's zone, to the minute."""
    return moment.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


def span(elapsed: timedelta, texts: Texts = ENGLISH) -> str:
    """A span in its largest unit: ``12 d``, ``3.4 h``."""
    seconds = elapsed.total_seconds()
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= size), ("s", 1))
    amount = seconds / size
    named = texts.units.get(unit, unit)
    return f"{amount:.0f} {named}" if amount >= 10 or unit == "s" else f"{amount:.1f} {named}"


def print_body(
    console: Console, text: str, *, indent: int = 3, longest: int = _LONGEST, texts: Texts = ENGLISH
) -> None:
    """A memory's text, indented and wrapped, cut when it is very long."""
    shown = texts.said(clean(text[:longest]))
    if len(text) > longest:
        shown += texts.cut.format(n=len(text))
    for line in shown.splitlines():
        for piece in wrap(line, max(console.width - indent, 8)):
            console.print(Text(" " * indent + piece), soft_wrap=True)


def wrap(line: str, width: int) -> list[str]:
    """A line in pieces at most ``width`` columns wide: broken at spaces, and between any Chinese characters."""
    pieces, current, used = [], "", 0
    for token in _TOKENS.findall(line):
        size = cell_len(token)
        if used + size > width and current.strip():
            pieces.append(current.rstrip())
            token = token.lstrip()
            current, used, size = "", 0, cell_len(token)
        while size > width:  # one word wider than the terminal
            head = set_cell_size(token, width).rstrip() if cell_len(token[0]) <= width else token[0]
            pieces.append(head)
            token = token[len(head) :]
            size = cell_len(token)
        current, used = current + token, used + size
    return [*pieces, current.rstrip()] if current.strip() or not pieces else pieces


def rows(items: Iterable[str], width: int) -> list[str]:
    """Items beside each other in rows at most ``width`` columns wide; none is broken."""
    made: list[str] = []
    for item in items:
        if made and cell_len(made[-1]) + 2 + cell_len(item) <= width:
            made[-1] = f"{made[-1]}  {item}"
        else:
            made.append(item)
    return made


def snippet(text: str, width: int = 60) -> str:
    """The first words of a memory, on one line of ``width`` columns, without "user:"."""
    line = " ".join(clean(text[: 4 * width]).removeprefix("user: ").split())
    return line if cell_len(line) <= width else f"{set_cell_size(line, width - 1).rstrip()}…"


def memory_head(memory: Memory, zone: str, texts: Texts = ENGLISH) -> str:
    """When, what kind, how strong, which one: one line."""
    marks = [mark for mark, on in (("pinned", memory.pinned), ("stale", memory.stale)) if on]
    if memory.status.value != "active":
        marks.append(memory.status.value)
    level = texts.levels.get(memory.level.value, memory.level.value)
    shown = f"{local(memory.began, zone)}  {level}  S={memory.strength}  {memory.id[:8]}"
    return "  ".join([shown, *(texts.marks.get(mark, mark) for mark in marks)])


def print_recalled(console: Console, recalled: Sequence[Recalled], zone: str, texts: Texts = ENGLISH) -> None:
    """Recalled memories with the parts of their scores, best first."""
    for rank, one in enumerate(recalled, 1):
        head = Text(f"{rank}. {one.score:.3f}", style="bold")
        head.append(f"  R={one.retention:.2f}  {memory_head(one.memory, zone, texts)}", style="dim")
        console.print(head)
        parts = [
            f"{texts.parts.get(name, name)} {value:.2f}"
            for name, value in one.parts.items()
            if abs(value) >= 0.005
        ]
        for row in rows(parts, max(console.width - 3, 8)):
            console.print(Text(f"   {row}", style="cyan"))
        print_body(console, one.memory.text, texts=texts)


def print_memories(console: Console, memories: Iterable[Memory], zone: str) -> None:
    """Memories by their heads and texts."""
    for memory in memories:
        console.print(Text(memory_head(memory, zone), style="dim"))
        print_body(console, memory.text)


def table(*columns: str) -> Table:
    """A plain table: first column left, numbers to the right where the caller formats them."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made
