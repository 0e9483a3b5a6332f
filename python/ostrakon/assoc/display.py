"""Display of arrays: triples, tables, HTML for notebooks."""

from __future__ import annotations

import html
import sys
from typing import IO, TYPE_CHECKING, Any

from ostrakon.display import shortened

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

# Characters of a key or value that are shown.
_LONGEST = 200

# Entries that `repr` shows, from both ends of a longer list.
_SHOWN = 60


def text_of(array: Assoc) -> str:
    """The first and last triples, and the number of those between."""
    count = len(array._matrix.columns)
    if count == 0:
        return "Assoc()"
    if count <= _SHOWN:
        return "\n".join(_line(triple) for triple in array)
    height, width = array.shape
    ends = [*_slice(array, 0, 5), f"… {count - 10:,} more …", *_slice(array, count - 5, count)]
    head = f"Assoc of {count:,} entries, {height:,} rows by {width:,} columns"
    return "\n".join([head, *ends])


def _slice(array: Assoc, start: int, stop: int) -> list[str]:
    """Lines for some entries, without a look at the others."""
    matrix = array._matrix
    rows = matrix.rows()[start:stop].tolist()
    columns = matrix.columns[start:stop].tolist()
    values = matrix.values[start:stop]
    shown = (
        [array._val[value] for value in values.tolist()]
        if array._val is not None
        else (list(values) if values.dtype.kind in "mM" else values.tolist())
    )
    return [
        _line((array._row[row], array._col[col], value))
        for row, col, value in zip(rows, columns, shown, strict=True)
    ]


def table(array: Assoc, rows: int | None = 100, cols: int | None = 50) -> str:
    """A table: row keys to the left, column keys above, blanks where there is no entry; at most
    `rows` by `cols` keys.

    >>> from ostrakon import Assoc
    >>> print(Assoc("a,b,", "x,y,", [1, 22]).table())
       x   y
    a  1
    b     22
    """
    grid, left = shown_cells(array, rows, cols)
    if not grid[1:]:
        return "Assoc()"
    widths = [max(len(line[at]) for line in grid) for at in range(len(grid[0]))]
    lines = []
    for line in grid:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines + left)


def printfull(
    array: Assoc,
    cutoff_rows: int | None = None,
    cutoff_cols: int | None = None,
    file: IO[str] | None = None,
) -> None:
    """Writes the table, whole unless cut off, to standard output or `file`."""
    (file or sys.stdout).write(array.table(cutoff_rows, cutoff_cols) + "\n")


def notebook_html(array: Assoc) -> str:
    """The upper left corner as a table."""
    grid, left = shown_cells(array, 30, 15)
    height, width = array.shape
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in grid[0])
    body = "".join(
        f"<tr><th>{html.escape(line[0])}</th>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in line[1:])
        + "</tr>"
        for line in grid[1:]
    )
    note = " ".join([f"{len(array._matrix.columns):,} entries, {height:,} × {width:,}.", *left])
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{html.escape(note)}</p>"
    )


def shown_cells(
    array: Assoc, rows: int | None, cols: int | None
) -> tuple[list[list[str]], list[str]]:
    """Cells of the upper left corner, and what to say of the rest."""
    height, width = array.shape
    part = _corner(array, rows, cols)
    column_keys = part._col.to_list()
    places = {key: at for at, key in enumerate(column_keys, 1)}
    grid = [["", *(str(key) for key in column_keys)]]
    lines: dict[Any, list[str]] = {}
    for key in part._row.to_list():
        lines[key] = [str(key)] + [""] * len(column_keys)
        grid.append(lines[key])
    for row, col, value in part:
        lines[row][places[col]] = str(value)
    left = []
    if part.shape[0] < height:
        left.append(f"… {height - part.shape[0]:,} more rows")
    if part.shape[1] < width:
        left.append(f"… {width - part.shape[1]:,} more columns")
    return grid, left


def _corner(array: Assoc, rows: int | None, cols: int | None) -> Assoc:
    height, width = array.shape
    if rows is not None and rows < height:
        array = array.iloc[:rows, :]
    if cols is not None and cols < width:
        array = array.iloc[:, :cols]
    return array


def _line(triple: tuple[Any, Any, Any]) -> str:
    return triple_line(*triple)


def triple_line(row: Any, col: Any, value: Any) -> str:
    """An entry as `repr` writes it."""
    return f"({_key(row)}, {_key(col)})  {_key(value)}"


def _key(value: Any) -> str:
    # NumPy timestamps print with their class otherwise.
    return shortened(value, _LONGEST) if isinstance(value, (str, int, float, bool)) else str(value)
