"""Reads a table as an associative array: plans the scan of a query, and converts its result.

No Python object is made per entry: a scan returns buffers, which the kernels of associative arrays
use directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostrakon._native import NativeScan
from ostrakon.assoc import Assoc
from ostrakon.assoc.construction import fold
from ostrakon.assoc.items import Items, resolve
from ostrakon.assoc.keys import TextKeys
from ostrakon.d4m.selection import Selection, Span
from ostrakon.d4m.settings import Settings
from ostrakon.iterators import IteratorSetting
from ostrakon.ranges import Range
from ostrakon.table import Table

# More pieces of rows than this are read as whole rows through a filter.
_PIECES = 20_000

# Behind the versions (20) and every combiner.
_FILTER_PRIORITY = 1_000
_SPAN_FILTER = "ostrakon.graph.KeyFilter"

FIELDS = ("row", "qualifier", "value")


class Texts(NamedTuple):
    """A column of byte strings."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def items(self, name: str) -> Items:
        """What the kernels take."""
        return Items(name, len(self), source=(name, "buffer", self.data, self.offsets))


Column = Texts | NDArray[Any]


def plan(settings: Settings, rows: Selection, cols: Selection) -> dict[str, Any]:
    """The arguments of a scan that gives exactly the entries in `rows` and `cols`."""
    family = settings.family
    pieces = _pieces(family, rows, cols)
    if pieces is not None:
        return {"ranges": pieces, "columns": [family], "iterators": []}
    columns: list[Any] = [family]
    filters = []
    expressions: dict[str, str] = {}
    if cols.exact:
        columns = [(family, key) for key in cols.keys]
    elif cols.patterns:
        expressions["colqRegex"] = cols.regex()
    elif not cols.everything:
        spans = {"columns": ",".join(map(_hexadecimal, cols.spans()))}
        filters.append(IteratorSetting(_FILTER_PRIORITY, _SPAN_FILTER, "d4mSpans", spans))
    if rows.patterns:
        expressions["rowRegex"] = rows.regex()
    if expressions:
        # Behind the other filter: an expression costs more than a comparison.
        last = IteratorSetting(_FILTER_PRIORITY + 1, "RegExFilter", "d4mPatterns", expressions)
        filters.append(last)
    return {"ranges": rows.rows(), "columns": columns, "iterators": filters}


def _hexadecimal(span: Span) -> str:
    start, end = span
    return f"{start.hex()}:{'-' if end is None else end.hex()}"


def _pieces(family: str, rows: Selection, cols: Selection) -> list[Range] | None:
    """Exact rows with ranges of columns: one seek for each, without reading unwanted entries."""
    if not rows.exact or cols.everything or cols.patterns:
        return None
    spans = cols.spans()
    if len(rows.keys) * len(spans) > _PIECES:
        return None
    ranges = []
    for row in rows.keys:
        for start, end in spans:
            low = (row, family, start) if start else (row, family)
            if end is None:
                ranges.append(Range(low, (row, family)))
            else:
                ranges.append(Range(low, (row, family, end), end_inclusive=False))
    return ranges


def is_nothing(rows: Selection, cols: Selection) -> bool:
    """Whether nothing is selected; a scan would treat an empty list of columns as all columns."""
    return rows.nothing or cols.nothing


def start(
    table: Table,
    settings: Settings,
    rows: Selection,
    cols: Selection,
    *,
    fields: tuple[str, ...] = FIELDS,
    ordered: bool = False,
) -> NativeScan:
    """A scan under way."""
    scan = table.scan(
        **plan(settings, rows, cols), auths=settings.auths, fields=fields, ordered=ordered
    )
    return scan._start()


def read(
    table: Table, settings: Settings, rows: Selection, cols: Selection, collision: Callable[[], str]
) -> Assoc:
    """The entries in `rows` and `cols` as an array. `collision` is asked what becomes of entries
    that meet at one place."""
    if is_nothing(rows, cols):
        return Assoc()
    # Threads pay where there is much to read.
    ordered = rows.exact and len(rows.keys) < 64
    scan = start(table, settings, rows, cols, ordered=ordered)
    return assemble(take(scan, settings), collision)


def take(scan: NativeScan, settings: Settings, entries: int | None = None) -> list[Column]:
    """The rest of a scan, or whole rows for at least so many entries."""
    columns: list[Column] = []
    for kind, data, offsets in scan.columns(entries, settings.memory, settings.numbers):
        if offsets is None:
            columns.append(np.frombuffer(data, np.int64 if kind == "int" else np.float64))
        else:
            columns.append(Texts(np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int64)))
    return columns


def assemble(
    columns: list[Column], collision: Callable[[], str], *, transposed: bool = False
) -> Assoc:
    """An array of rows, columns and values. What D4M calls null (0, the empty text) is left out."""
    rows, cols, values = columns
    if len(rows) == 0:
        return Assoc()
    assert isinstance(rows, Texts)
    assert isinstance(cols, Texts)
    if transposed:
        rows, cols = cols, rows
    lists = [rows.items("row"), cols.items("col")]
    if isinstance(values, Texts):
        lists.append(values.items("val"))
    resolved = resolve(lists)
    dictionary: TextKeys | None = None
    if isinstance(values, Texts):
        texts, values = resolved[2]
        assert isinstance(texts, TextKeys)
        dictionary = texts
    (row_keys, row_at), (col_keys, col_at) = resolved[:2]
    meeting = collision() if _may_meet(row_at, col_at) else "min"
    if meeting == "sum" and dictionary is not None:
        # Texts in a table of sums are no numbers, or they would have become some.
        meeting = "max"
    triples = (row_at, col_at, values)
    return Assoc._make(*fold(row_keys, col_keys, dictionary, triples, meeting, ";"))


def _may_meet(rows: NDArray[Any], cols: NDArray[Any]) -> bool:
    """Whether two entries may be at one place. Small answers, which come by the thousand, are
    looked at."""
    count = len(rows)
    if count > 1024:
        return True
    return len(np.unique(rows.astype(np.uint64) << np.uint64(32) | cols)) < count
