"""CSV, TSV, JSON, MatrixMarket and Parquet files."""

from __future__ import annotations

import csv
import io
import json
import warnings
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon.assoc.machine import Array
from ostrakon.assoc.whole import Whole
from ostrakon.errors import InvalidArgumentError
from ostrakon.extras import load

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

StrPath = str | PathLike[str]


def read_csv(
    cls: type[Assoc],
    /,
    path: StrPath,
    *,
    labels: bool = True,
    triples: bool = False,
    convert: bool = False,
    convert_keys: bool = False,
    delimiter: str | None = None,
    aggregate: Any = "min",
    **options: Any,
) -> Assoc:
    """Reads a table whose first line has the column keys and whose first column the row keys.
    Empty cells make no entries.

    Without `labels`, positions from 0 are the keys. With `triples`, lines are row, column,
    value, without a header. With `convert`, values become numbers if all are; with
    `convert_keys`, row keys if all of them are, and column keys. The delimiter is the comma, or
    the tab for `.tsv` files. Other options are those of `csv.reader` (`quotechar`, …).
    """
    with Path(path).open(newline="", encoding="utf-8-sig") as lines:
        options = {"delimiter": delimiter or _delimiter(path)} | options
        read = read_lines(str(path), lines, labels, triples, **options)
    return _read(cls, read, aggregate, convert, convert_keys)


def from_csv(
    cls: type[Assoc],
    /,
    text: str,
    *,
    labels: bool = True,
    triples: bool = False,
    convert: bool = False,
    convert_keys: bool = False,
    delimiter: str = ",",
    row_separator: str = "\n",
    aggregate: Any = "min",
    **options: Any,
) -> Assoc:
    """Reads a table in a text, as `read_csv` reads one in a file. A `row_separator` other than
    the end of a line cannot stand in quotes.

    >>> from ostrakon import Assoc
    >>> Assoc.from_csv("id;x;y/a;1;/b;;2", delimiter=";", row_separator="/", convert=True)
    ('a', 'x')  1
    ('b', 'y')  2
    """
    if not row_separator:
        raise InvalidArgumentError("row_separator: a text of at least one character is needed")
    lines: Any = io.StringIO(text, newline="")
    if row_separator not in ("\n", "\r\n"):
        lines = text.split(row_separator)
    read = read_lines("text", lines, labels, triples, delimiter=delimiter, **options)
    return _read(cls, read, aggregate, convert, convert_keys)


def to_csv(
    array: Assoc, *, triples: bool = False, delimiter: str = ",", row_separator: str = "\n"
) -> str:
    """The table, or the triples, as a text."""
    out = io.StringIO(newline="")
    _write_lines(array, out, triples, delimiter, row_separator)
    return out.getvalue()


def read_tsv(cls: type[Assoc], /, path: StrPath, **options: Any) -> Assoc:
    """The same with tabs."""
    return cls.read_csv(path, delimiter="\t", **options)


def write_csv(
    array: Assoc,
    path: StrPath,
    *,
    triples: bool = False,
    delimiter: str | None = None,
    row_separator: str = "\n",
) -> None:
    """Writes what `read_csv` reads."""
    with Whole(path) as part, part.open("w", newline="", encoding="utf-8") as lines:
        _write_lines(array, lines, triples, delimiter or _delimiter(path), row_separator)


def _write_lines(
    array: Assoc, file: Any, triples: bool, delimiter: str, row_separator: str
) -> None:
    writer = csv.writer(file, delimiter=delimiter, lineterminator=row_separator)
    if triples:
        writer.writerows(array)
        return
    cols = array._col.to_list()
    writer.writerow(["", *cols])
    places = {col: at for at, col in enumerate(cols, 1)}
    line: list[Any] = []
    for row, col, value in array:
        if not line or line[0] != row:
            if line:
                writer.writerow(line)
            line = [row] + [""] * len(cols)
        line[places[col]] = value
    if line:
        writer.writerow(line)


def write_tsv(array: Assoc, path: StrPath, *, triples: bool = False) -> None:
    """The same with tabs."""
    array.write_csv(path, triples=triples, delimiter="\t")


def to_json(array: Assoc) -> str:
    """A JSON object of rows, each an object of columns. Keys become texts; timestamps do
    too."""
    return json.dumps(array.to_dict(), default=str, ensure_ascii=False)


def from_json(cls: type[Assoc], /, text: str | bytes) -> Assoc:
    """Reads what `to_json` gives."""
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"text: no JSON: {error}") from None
    if not isinstance(entries, dict):
        raise InvalidArgumentError("text: a JSON object of rows is needed")
    return cls.from_dict(entries)


def write_json(array: Assoc, path: StrPath) -> None:
    """Writes `to_json` to a file."""
    with Whole(path) as part:
        part.write_text(array.to_json(), encoding="utf-8")


def read_json(cls: type[Assoc], /, path: StrPath) -> Assoc:
    """Reads a file of `write_json`."""
    return cls.from_json(Path(path).read_bytes())


def write_matrix_market(array: Assoc, path: StrPath) -> None:
    """Writes a MatrixMarket file of numbers, and its keys beside it, a JSON text a line, to
    `PATH.rows` and `PATH.cols`."""
    import scipy.io

    if array._val is not None:
        raise TypeError("MatrixMarket files hold numbers; to_numbers() or logical() gives some")
    with Whole(path) as part, part.open("wb") as file:
        scipy.io.mmwrite(file, array.to_scipy(), symmetry="general")
    for end, keys in ((".rows", array._row), (".cols", array._col)):
        lines = [json.dumps(key, default=str, ensure_ascii=False) for key in keys.to_list()]
        with Whole(f"{path}{end}") as part:
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_matrix_market(cls: type[Assoc], /, path: StrPath) -> Assoc:
    """Reads a MatrixMarket file; without files of keys beside it, positions from 1 are the
    keys."""
    import scipy.io

    with Path(path).open("rb") as file, warnings.catch_warnings():
        # SciPy announces that it will give an array; from_scipy takes both.
        warnings.simplefilter("ignore", DeprecationWarning)
        matrix = scipy.io.mmread(file)
    keys: list[Any] = []
    for end, size in ((".rows", matrix.shape[0]), (".cols", matrix.shape[1])):
        beside = Path(f"{path}{end}")
        if beside.exists():
            lines = beside.read_text(encoding="utf-8").splitlines()
            keys.append([json.loads(line) for line in lines])
        else:
            keys.append(np.arange(1, size + 1))
    return cls.from_scipy(matrix, *keys)


def write_parquet(array: Assoc, path: StrPath, compression: str = "zstd") -> None:
    """Writes the triples (columns row, col, val) with their types."""
    pq = load("pyarrow.parquet", "arrow")
    with Whole(path) as part:
        pq.write_table(array.to_arrow(), part, compression=compression)


def read_parquet(
    cls: type[Assoc],
    /,
    path: StrPath,
    row: str = "row",
    col: str = "col",
    val: str = "val",
    **options: Any,
) -> Assoc:
    """Reads triples from three columns of a Parquet file. Options are those of `Assoc`."""
    pq = load("pyarrow.parquet", "arrow")
    table = pq.read_table(path, columns=list(dict.fromkeys((row, col, val))))
    return cls.from_arrow(table, row, col, val, **options)


def _delimiter(path: StrPath) -> str:
    return "\t" if str(path).endswith((".tsv", ".tab")) else ","


def _read(
    cls: Any,
    read: tuple[list[Any], list[Any], list[str]],
    aggregate: Any,
    convert: bool,
    convert_keys: bool,
) -> Assoc:
    from ostrakon.assoc.construction import build
    from ostrakon.assoc.schema import parse_numbers

    keys: list[Any] = list(read[:2])
    if convert_keys:
        for axis, listed in enumerate(keys):
            if listed and isinstance(listed[0], str):
                numbers = parse_numbers(listed)
                keys[axis] = listed if numbers is None else numbers
    rows, cols = keys
    made = cast("Assoc", cls._make(*build(rows, cols, read[2], aggregate, convert=convert)))
    return made.to_numbers(strict=False) if convert else made


def read_lines(
    source: str, lines: Any, labels: bool, triples: bool, **options: Any
) -> tuple[list[Any], list[Any], list[str]]:
    """Rows, columns and values of lines of CSV. Options are those of `csv.reader`."""
    rows: list[Any] = []
    cols: list[Any] = []
    values: list[str] = []
    try:
        reader = csv.reader(lines, **options)
    except (TypeError, ValueError, csv.Error) as error:
        raise InvalidArgumentError(f"options: {error}") from None
    try:
        if triples:
            _read_triples(source, reader, rows, cols, values)
        else:
            _read_table(source, reader, labels, rows, cols, values)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{source}, line {reader.line_num}: {error}") from None
    return rows, cols, values


def _read_triples(
    path: StrPath, reader: Any, rows: list[Any], cols: list[Any], values: list[str]
) -> None:
    for line in reader:
        if not line:
            continue
        if len(line) != 3:
            raise InvalidArgumentError(
                f"{path}, line {reader.line_num}: {len(line)} cells; triples have three"
            )
        if line[2] != "":
            rows.append(line[0])
            cols.append(line[1])
            values.append(line[2])


def _read_table(
    path: StrPath, reader: Any, labels: bool, rows: list[Any], cols: list[Any], values: list[str]
) -> None:
    header: list[Any] | None = None
    at = 0
    for line in reader:
        if not line:
            continue
        if header is None:
            if labels:
                header = line[1:]
                continue
            header = list(range(len(line)))
        width = len(header) + (1 if labels else 0)
        if len(line) != width:
            raise InvalidArgumentError(
                f"{path}, line {reader.line_num}: {len(line)} cells where the header has {width}"
            )
        key, cells = (line[0], line[1:]) if labels else (at, line)
        at += 1
        for col, cell in zip(header, cells, strict=True):
            if cell != "":
                rows.append(key)
                cols.append(col)
                values.append(cell)


def keys_as_text(array: Array) -> list[str]:
    """Keys for people: as Python writes them."""
    return [str(key) for key in array.tolist()]
