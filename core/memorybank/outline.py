"""A failure for the log: which kinds of errors led to it and where, without a word of theirs.

A traceback ends with the messages of every error in the chain, and those of databases, embedders and models may
quote the text that they were given.
"""

from __future__ import annotations

from pathlib import PurePath


def outline(error: BaseException) -> str:
    """``StoreError (database.py:92) from OperationalError (default.py:952)``: the innermost place of each."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        parts.append(f"{type(current).__name__} ({_place(current)})")
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return " from ".join(parts)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    if trace is None:
        return "not raised"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
