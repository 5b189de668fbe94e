"""Statements compiled once, then handed to the driver as they are.

A chat turn runs a dozen small statements. SQLAlchemy writes them (one source for every database) and its column
types convert what goes in and out, but executing them through its engine takes some ten times as long as SQLite
does (150 against 12 microseconds, measured). So the text and the conversions are worked out once per dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.types import TypeEngine

from memorybank.records.types import ESCAPE, VerbatimText, escape, unescape

Convert = Callable[[Any], Any]

_LONGEST = 512  # values of one IN list: within the number of parameters that databases allow


class _Compiled(NamedTuple):
    """A statement for one dialect. ``slots``: per parameter its name in the text, the caller's name and place in
    a list (or -1), its conversion, and its value where the statement itself holds it."""

    text: str
    slots: list[tuple[str, str, int, Convert | None, Any]]
    positional: bool
    converts: list[tuple[int, Convert]]
    verbatim: list[int]

    def parameters(self, values: Mapping[str, Any]) -> Any:
        found = []
        for _, name, place, convert, held in self.slots:
            value = values.get(name, held)
            if place >= 0:
                value = value[min(place, len(value) - 1)]
            found.append(value if convert is None or value is None else convert(value))
        if self.positional:
            return found
        return dict(zip((slot[0] for slot in self.slots), found, strict=True))

    def rows(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """What the driver gave, converted. Texts with escaped characters are rare, and so looked for first."""
        escaped = any(ESCAPE in row[at] for row in rows for at in self.verbatim if row[at] is not None)
        converts = [*self.converts, *((at, _unescape) for at in self.verbatim)] if escaped else self.converts
        if not converts:
            return rows
        made = []
        for row in rows:
            values = list(row)
            for at, convert in converts:
                values[at] = convert(values[at])
            made.append(tuple(values))
        return made


class Statement:
    """A statement with named parameters, compiled once per dialect. It runs inside a transaction of ``Database``."""

    def __init__(
        self,
        query: ClauseElement | Callable[[list[Any]], ClauseElement],
        listed: tuple[str, TypeEngine[Any]] | None = None,
    ) -> None:
        """``query`` is the statement.

        With ``listed``, a parameter's name and type, it makes the statement around that many parameters, which are
        the values of an IN: there the caller gives a sequence of 1 to 512 values. Such a statement is compiled for
        lengths of powers of two; the last value fills up, so it must not matter that it comes twice.
        """
        self._query = query
        self._listed = listed
        self._known: dict[tuple[str, int], _Compiled] = {}

    def all(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Every row."""
        compiled, cursor = self._run(connection, values)
        rows = cursor.fetchall()
        cursor.close()
        return compiled.rows(rows)

    def first(self, connection: Connection, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The first row, or None."""
        compiled, cursor = self._run(connection, values)
        row = cursor.fetchone()
        cursor.close()
        return None if row is None else compiled.rows([row])[0]

    def count(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Run it and say how many rows it changed."""
        _, cursor = self._run(connection, values)
        done = int(cursor.rowcount)
        cursor.close()
        return done

    def many(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run it once for each of these parameters."""
        if not rows:
            return
        compiled = self._compiled(connection.dialect, 0)
        cursor = _driver(connection).cursor()
        if len(rows) == 1:
            cursor.execute(compiled.text, compiled.parameters(rows[0]))
        else:
            cursor.executemany(compiled.text, [compiled.parameters(row) for row in rows])
        cursor.close()

    def _run(self, connection: Connection, values: Mapping[str, Any]) -> tuple[_Compiled, Any]:
        length = 0 if self._listed is None else _length(len(values[self._listed[0]]))
        compiled = self._compiled(connection.dialect, length)
        cursor = _driver(connection).cursor()
        cursor.execute(compiled.text, compiled.parameters(values))
        return compiled, cursor

    def _compiled(self, dialect: Dialect, length: int) -> _Compiled:
        # Two threads may both compile it the first time: the results are the same.
        known = self._known.get((dialect.name, length))
        if known is None:
            known = self._known[dialect.name, length] = self._compile(dialect, length)
        return known

    def _compile(self, dialect: Dialect, length: int) -> _Compiled:
        query: Any = self._query
        binds: list[Any] = []
        if self._listed is not None:
            binds = [sa.bindparam(f"{self._listed[0]}_{i}", type_=self._listed[1]) for i in range(length)]
            query = query(binds)
        places = {bind.key: i for i, bind in enumerate(binds)}
        compiled: Any = query.compile(dialect=dialect)
        slots: list[tuple[str, str, int, Convert | None, Any]] = []
        for name in compiled.positiontup if compiled.positional else compiled.params:
            bind = compiled.binds[name]
            place = places.get(bind.key, -1)
            called = bind.key if self._listed is None or place < 0 else self._listed[0]
            convert: Convert | None = escape
            if not isinstance(bind.type, VerbatimText):
                convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
            slots.append((name, called, place, convert, bind.value))
        converts: list[tuple[int, Convert]] = []
        verbatim: list[int] = []
        for at, kind in enumerate(_kinds(query)):
            if isinstance(kind, VerbatimText):
                verbatim.append(at)
                continue
            # Both drivers give floats as floats; psycopg's processor would want to know which kind of number it is.
            native = isinstance(kind, sa.Float)
            convert = None if native else kind.dialect_impl(dialect).result_processor(dialect, None)
            if convert is not None:
                converts.append((at, convert))
        return _Compiled(compiled.string, slots, bool(compiled.positional), converts, verbatim)


def _kinds(query: Any) -> list[Any]:
    """Types of the columns that a statement returns."""
    if isinstance(query, sa.Select):
        return [column.type for column in query.selected_columns]
    return [described["type"] for described in query.returning_column_descriptions]


def _unescape(value: str | None) -> str | None:
    return None if value is None else unescape(value)


def _length(values: int) -> int:
    """The least power of two that takes so many values."""
    if not 0 < values <= _LONGEST:
        raise ValueError(f"{values} values for a list; give 1 to {_LONGEST}")
    return 1 << (values - 1).bit_length()


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection
