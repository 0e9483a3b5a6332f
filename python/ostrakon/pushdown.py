"""Scans as sources of polars and DuckDB. Columns, limits and conditions of a query narrow the scan.

Of a condition only comparisons of a column with a constant, joined by `and`, narrow what is read.
The whole condition is applied afterwards all the same, so that what is not understood costs time,
but no rows.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ostrakon.errors import InvalidArgumentError
from ostrakon.extras import load
from ostrakon.ranges import Range
from ostrakon.scan import Scan
from ostrakon.typed import TypedScan

if TYPE_CHECKING:
    import polars
    import pyarrow.dataset

__all__ = ["dataset", "lazy_frame"]

AnyScan: TypeAlias = Scan[Any] | TypedScan
Condition: TypeAlias = tuple[str, str, Any]
"""Column, operator (`==`, `<=` or `>=`; also for the strict ones) and constant."""


def narrowed(scan: AnyScan, conditions: Sequence[Condition]) -> AnyScan:
    """The scan without rows that cannot fulfil the conditions."""
    if scan._limited:
        # The first rows of another scan would be other rows.
        return scan
    for name, operator, value in conditions:
        low = value if operator != "<=" else None
        high = value if operator != ">=" else None
        if isinstance(scan, TypedScan):
            try:
                scan = scan.where(name, low, high)
            except InvalidArgumentError:
                continue  # A constant of another type, which the query may compare all the same.
        elif name == "row" and isinstance(value, str) and not scan._narrowed:
            scan = scan.rows(Range(low, high))
    return scan


def _batches(scan: AnyScan, columns: Sequence[str] | None) -> Any:
    """The batches of a scan as pyarrow reads them; with columns, in their order."""
    pa = load("pyarrow", "arrow")
    return pa.RecordBatchReader.from_stream(scan if columns is None else scan._projected(columns))


# polars.


def lazy_frame(scan: AnyScan) -> polars.LazyFrame:
    """A lazy frame of polars that reads the scan when it is collected."""
    pl = load("polars", "polars")
    plugins = load("polars.io.plugins", "polars")
    pa = load("pyarrow", "polars")
    schema = pl.from_arrow(pa.schema(scan).empty_table()).schema

    def read(
        columns: list[str] | None, predicate: Any, rows: int | None, batch_rows: int | None
    ) -> Iterator[Any]:
        del batch_rows
        source = scan
        wanted = columns
        if predicate is not None:
            source = narrowed(source, polars_conditions(predicate))
            if columns is not None:
                more = [name for name in predicate.meta.root_names() if name not in columns]
                wanted = [*columns, *more]
        elif rows is not None:
            source = source.limit(rows if source._limited is None else min(rows, source._limited))
        left = rows
        for batch in _batches(source, wanted):
            frame = pl.from_arrow(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            if columns is not None:
                frame = frame.select(columns)
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            yield frame
            if left == 0:
                return

    made: polars.LazyFrame = plugins.register_io_source(read, schema=schema)
    return made


_POLARS = {"Eq": "==", "LtEq": "<=", "Lt": "<=", "GtEq": ">=", "Gt": ">="}
_FLIPPED = {"==": "==", "<=": ">=", ">=": "<="}
_UNITS = {"Milliseconds": 1000, "Microseconds": 1}


def polars_conditions(expression: Any) -> list[Condition]:
    """The conditions that an expression of polars implies, as far as they are understood."""
    try:
        tree = json.loads(expression.meta.serialize(format="json"))
        return list(_of_tree(tree))
    except Exception:
        # The form of expressions may change in any version of polars.
        return []


def _of_tree(tree: Any) -> Iterator[Condition]:
    node = tree.get("BinaryExpr") if isinstance(tree, dict) else None
    if not node:
        return
    if node["op"] in ("And", "LogicalAnd"):
        yield from _of_tree(node["left"])
        yield from _of_tree(node["right"])
        return
    operator = _POLARS.get(node["op"])
    left, right = node["left"], node["right"]
    if operator and "Literal" in left and "Column" in right:
        left, right, operator = right, left, _FLIPPED[operator]
    if operator and "Column" in left and "Literal" in right:
        value = _of_literal(right["Literal"])
        if value is not None:
            yield left["Column"], operator, value


def _of_literal(literal: Any) -> Any:
    ((_, held),) = literal.items()
    ((kind, value),) = held.items()
    if kind == "Date":
        return dt.date(1970, 1, 1) + dt.timedelta(days=value)
    if kind == "Datetime":
        count, unit, zone = value
        if zone is not None or unit not in _UNITS:
            return None
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=count * _UNITS[unit])
    return value if isinstance(value, (bool, int, float, str)) else None


# Arrow's datasets, which DuckDB reads.


def dataset(scan: AnyScan) -> pyarrow.dataset.Dataset:
    """A dataset of Arrow that reads the scan for each query."""
    ds = load("pyarrow.dataset", "arrow")
    pa = load("pyarrow", "arrow")
    schema = pa.schema(scan)

    class ScanDataset(ds.Dataset):  # type: ignore[misc, name-defined]
        """A scan, as a dataset. DuckDB calls `schema` and `scanner` alone."""

        def __init__(self) -> None:
            pass

        @property
        def schema(self) -> Any:
            return schema

        def scanner(
            self,
            columns: Any = None,
            filter: Any = None,  # noqa: A002  (the name that DuckDB passes)
            **options: Any,
        ) -> Any:
            options.pop("memory_pool", None)
            source: AnyScan = scan
            wanted = list(columns) if isinstance(columns, (list, tuple)) else None
            if filter is not None:
                # Arrow shows constants of bytes in hexadecimal, like texts of those digits.
                conditions = [
                    one for one in arrow_conditions(filter) if not _is_binary(schema, one[0])
                ]
                source = narrowed(source, conditions)
                text = str(filter)
                if wanted is not None:
                    more = [name for name in schema.names if name in text and name not in wanted]
                    wanted = [*wanted, *more]
            reader = _batches(source, wanted)
            return ds.Scanner.from_batches(reader, columns=columns, filter=filter, **options)

        def __reduce__(self) -> Any:
            raise TypeError("a scan of an open store cannot be pickled")

    return ScanDataset()


def _is_binary(schema: Any, name: str) -> bool:
    """Whether the column of that name has bytes."""
    return name in schema.names and "binary" in str(schema.field(name).type)


_COMPARISON = re.compile(r'(\w+) (==|<=|>=|<|>) (-?\d+|-?\d+\.\d+|"[^"\\()]*"|true|false)')


def arrow_conditions(expression: Any) -> list[Condition]:
    """The conditions that an expression of Arrow implies, from its text: there is no other way to
    look into it. Constants with quotes, backslashes or parentheses are skipped."""
    found: list[Condition] = []
    for part in _conjuncts(str(expression)):
        match = _COMPARISON.fullmatch(part)
        if match is None:
            continue
        name, operator, text = match.groups()
        value: Any = text[1:-1] if text.startswith('"') else json.loads(text)
        found.append((name, operator if operator == "==" else operator[0] + "=", value))
    return found


def _conjuncts(text: str) -> Iterator[str]:
    """The parts of a text that are joined by `and` outside of parentheses and quotes."""
    if not (text.startswith("(") and _closing(text) == len(text) - 1):
        return
    inner = text[1:-1]
    at = _closing(inner) + 1
    if inner.startswith("(") and inner[at:].startswith(" and "):
        yield from _conjuncts(inner[:at])
        yield from _conjuncts(inner[at + len(" and ") :])
    else:
        yield inner


def _closing(text: str) -> int:
    """The place of the parenthesis that closes the first one; -1 if there is none."""
    depth = 0
    quoted = False
    at = 0
    while at < len(text):
        sign = text[at]
        if quoted:
            at += sign == "\\"
            quoted = sign != '"'
        elif sign == '"':
            quoted = True
        elif sign in "()":
            depth += 1 if sign == "(" else -1
            if depth == 0:
                return at
        at += 1
    return -1
