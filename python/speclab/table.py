# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables: the rows of an experiment as columns, for pandas and without it."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any, Iterator

import numpy as np

from .library import ffi, lib


class Table:
    """Columns as NumPy arrays, by name; `attrs` has the provenance. Made where pandas is absent.

    The methods that DataFrames have too are called in the same way.
    """

    def __init__(self, columns: dict[str, np.ndarray], attrs: dict[str, Any]) -> None:
        self._columns = columns
        self.attrs = attrs

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __getitem__(self, name: str | list[str]) -> Any:
        """A column, or the table of several."""
        if isinstance(name, str):
            return self._columns[name]
        return Table({each: self._columns[each] for each in name}, self.attrs)

    def head(self, n: int = 5) -> Table:
        """The first n rows."""
        return Table({name: column[:n] for name, column in self._columns.items()}, self.attrs)

    def round(self, decimals: int = 0) -> Table:
        return Table({name: column if column.dtype == object else column.round(decimals)
                      for name, column in self._columns.items()}, self.attrs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists."""
        return {name: column.tolist() for name, column in self._columns.items()}

    def to_pandas(self) -> Any:
        """A DataFrame with the same columns and attrs."""
        import pandas  # type: ignore[import-untyped]

        frame = pandas.DataFrame(self._columns)
        frame.attrs.update(self.attrs)
        return frame

    def _cells(self) -> list[list[str]]:
        texts = [[_cell_text(value) for value in column] for column in self._columns.values()]
        return [[_cell_text(name) for name in self.columns], *map(list, zip(*texts))]

    def to_string(self, index: bool = True) -> str:
        """Aligned text, without an index in any case."""
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells)]
        return "\n".join("  ".join(text.rjust(width) for text, width in zip(row, widths))
                         for row in cells)

    __repr__ = to_string

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        lines = ["<table><thead><tr>", *(f"<th>{escape(name)}</th>" for name in head),
                 "</tr></thead><tbody>"]
        for row in body:
            lines += ["<tr>", *(f"<td>{escape(text)}</td>" for text in row), "</tr>"]
        return "".join([*lines, "</tbody></table>"])


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "".join(c if c.isprintable() else "?" for c in str(value))  # it may control a terminal


def _cell(table: Any, row: int, column: int) -> Any:
    kind = lib.speclab_table_kind(table, row, column)
    if kind == lib.SPECLAB_CELL_TEXT:
        return ffi.string(lib.speclab_table_text(table, row, column)).decode()
    if kind == lib.SPECLAB_CELL_INTEGER:
        return lib.speclab_table_integer(table, row, column)
    if kind == lib.SPECLAB_CELL_NUMBER:
        return lib.speclab_table_number(table, row, column)
    return None


def _column(table: Any, column: int) -> np.ndarray:
    """int64 for integers, float64 for numbers and empty cells, objects for texts."""
    rows = lib.speclab_table_rows(table)
    kinds = {lib.speclab_table_kind(table, row, column) for row in range(rows)}
    if lib.SPECLAB_CELL_TEXT in kinds:
        return np.array([_cell(table, row, column) for row in range(rows)], dtype=object)
    if kinds == {lib.SPECLAB_CELL_INTEGER}:
        return np.array([_cell(table, row, column) for row in range(rows)], dtype=np.int64)
    numbers = np.empty(rows)
    lib.speclab_table_numbers(ffi.from_buffer("double[]", numbers), table, column)
    return numbers


@cache
def has_pandas() -> bool:
    """Asked once: a process forked while another thread imports a module may never finish."""
    try:
        import pandas
    except ImportError:
        return False
    return True


def frame_of(table: Any) -> Any:
    """The DataFrame of a table of the library, or a Table where pandas is absent."""
    names = [ffi.string(lib.speclab_table_name(table, column)).decode()
             for column in range(lib.speclab_table_columns(table))]
    checks = ffi.new("uint64_t[2]")
    lib.speclab_table_checks(checks, checks + 1, table)
    provenance = ffi.string(lib.speclab_table_provenance(table)).decode(errors="replace")
    made = Table({name: _column(table, column) for column, name in enumerate(names)},
                 {"provenance": provenance, "holds": checks[0], "fails": checks[1]})
    return made.to_pandas() if has_pandas() else made
