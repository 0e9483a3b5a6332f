"""Tables with a schema: rows of typed values, written from frames and read as frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon._native import NativeTypedScan
from ostrakon.arguments import integer_of, items_of, optional_bytes, texts_of, wrong_type
from ostrakon.display import counted, shown, table_html
from ostrakon.errors import ArgumentTypeError, Error, InvalidArgumentError
from ostrakon.extras import load
from ostrakon.ranges import Bytes, Range
from ostrakon.rows import frame_of, polars_of, read_all, tuples_of
from ostrakon.scan import auths_of, limit_of, names_of
from ostrakon.schema import Schema, encoded_column

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import pyarrow.dataset

    from ostrakon.table import Table

__all__ = ["TypedScan", "TypedTable"]

# Maximum number of rows that a notebook shows.
_SHOWN = 10
_LABELS = "a label, or a list with one for each row"
# The last value of a condition that has one value.
_EQUAL: Any = object()


class TypedTable:
    """A table with a schema, returned by `Table.typed`.

    >>> import ostrakon
    >>> schema = ostrakon.Schema({"sensor": "text", "day": "int"}, {"celsius": "float"})
    >>> with ostrakon.open() as store:
    ...     readings = store.create_table("readings", schema=schema).typed()
    ...     readings.put({"sensor": ["a", "a", "b"], "day": [2, 10, 2], "celsius": [4.5, -3.0, 20]})
    ...     readings.scan().rows("a").head()
    ...     readings.scan().where("celsius", 0, ...).count()
    ...     readings.delete(("a", 10)), readings.count()
    3
    [{'sensor': 'a', 'day': 2, 'celsius': 4.5}, {'sensor': 'a', 'day': 10, 'celsius': -3.0}]
    2
    (1, 2)
    """

    __slots__ = ("schema", "table")

    def __init__(self, table: Table, schema: Schema) -> None:
        self.table = table
        self.schema = schema

    def put(
        self,
        frame: Any,
        *,
        visibility: Any = b"",
        timestamp: int | None = None,
        durability: str | None = None,
    ) -> int:
        """Writes the rows of a data frame, an Arrow table or a dictionary of columns; returns how
        many of them have a value, because the others are not stored.

        The frame has a column for each part of the row, and for at least one column of the schema.
        Missing values (`None`, NaN, NaT, pandas' `NA`) are not written; what the table has there
        remains, and `delete` removes it. A value of another type is an error, and so is one that
        the type cannot hold exactly; an `int` column also takes whole numbers up to 2^53 that come
        as floats. All values are checked before any is written.

        `visibility` is a label for all, or one for each row. A cell with another label is another
        cell: readers of the old one can still read it. `delete(…, visibility=OLD)` removes it.
        """
        columns = _columns(frame)
        unknown = [name for name in columns if name not in self.schema.names]
        lacking = [name for name in self.schema.keys if name not in columns]
        if unknown or lacking:
            fault = f"has {unknown[0]!r}" if unknown else f"has no {lacking[0]!r}"
            raise InvalidArgumentError(
                f"`frame` {fault}; the schema has {', '.join(self.schema.names)}; nothing was "
                "written",
                {"argument": "frame"},
            )
        if not any(name in self.schema.columns for name in columns):
            raise InvalidArgumentError(
                "`frame` has only the parts of the row, and a row without a value is not stored: "
                f"add one of the columns {', '.join(self.schema.columns) or '(there are none)'}; "
                "nothing was written",
                {"argument": "frame"},
            )
        counts = {name: len(column) for name, column in columns.items()}
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise InvalidArgumentError(
                f"the columns have different lengths ({told}); nothing was written",
                {"argument": "frame"},
            )
        try:
            rows = self.schema.rows_of(columns)
            values = {
                name: encoded_column(name, self.schema.type_of(name), column)
                for name, column in columns.items()
                if name not in self.schema.keys
            }
        except InvalidArgumentError as error:
            text = str(error).replace("; nothing was written", "")
            raise type(error)(f"{text}; nothing was written", error.context) from None
        stored = np.logical_or.reduce([valid for _, valid in values.values()])
        single = isinstance(visibility, (str, bytes))
        labels = visibility if single else items_of("visibility", visibility, _LABELS)
        with self.table._writer(durability=durability) as writer:
            for name, (encoded, valid) in values.items():
                column = self.schema.columns[name]
                keep = None if valid.all() else np.flatnonzero(valid)
                writer.put(
                    _kept(rows, keep),
                    column.qualifier,
                    _kept(encoded, keep),
                    family=column.family,
                    visibility=labels if single else _kept(labels, keep),
                    timestamp=timestamp,
                )
        return int(np.count_nonzero(stored))

    def delete(
        self,
        *keys: Any,
        columns: Iterable[str] | None = None,
        visibility: Bytes | None = None,
        auths: Bytes | Iterable[Bytes] | None = None,
        durability: str | None = None,
    ) -> int:
        """Deletes the rows with these keys; returns the number of cells that were deleted.

        Keys are as in `TypedScan.rows`: the values of all parts of the row, or of the first ones.
        Only cells that the reader sees are deleted: `auths` are the authorizations, by default
        those that the store was opened with. With `columns`, only these columns are cleared. With
        `visibility`, only cells with this label are deleted.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     schema = ostrakon.Schema("text", {"city": "text", "age": "int"})
        ...     people = store.create_table("people", schema=schema).typed()
        ...     _ = people.put({"row": ["ann", "bea"], "city": ["Ulm", "Bonn"], "age": [30, 40]})
        ...     people.delete("ann", columns=["age"])
        ...     people.delete("bea")
        ...     people.head()
        1
        2
        [{'row': 'ann', 'city': 'Ulm', 'age': None}]
        """
        names = None if columns is None else texts_of("columns", columns, "['age', 'city']")
        visibility = optional_bytes("visibility", visibility, "a label, such as 'hr|audit'")
        wanted: list[tuple[str, str]] = []
        for name in names or ():
            if name not in self.schema.columns:
                raise InvalidArgumentError(
                    f"the schema has no column {name!r}; it has {', '.join(self.schema.columns)}",
                    {"argument": "columns"},
                )
            wanted.append((self.schema.columns[name].family, self.schema.columns[name].qualifier))
        ranges = self.scan().rows(*keys)._ranges()
        label = visibility.encode() if isinstance(visibility, str) else visibility
        deleted = 0
        if names is not None and not wanted:
            return deleted
        found = self.table.scan(ranges, wanted, auths=auths, text=False)
        with self.table._writer(durability=durability) as writer:
            for batch in found:
                cells = [cell for cell in batch.tuples() if label is None or cell[3] == label]
                if cells:
                    row, family, qualifier, labels, stamps, _ = zip(*cells, strict=True)
                    # With the time of the cell, so that a value that is written now stays.
                    deleted += writer.delete(
                        list(row),
                        list(qualifier),
                        family=list(family),
                        visibility=list(labels),
                        timestamp=list(stamps),
                    )
        # What is put from now on gets a later time than the markers.
        self.table._native.advance_time()
        return deleted

    def scan(self) -> TypedScan:
        """A scan of all rows; its methods say what to read."""
        return TypedScan(self)

    def head(self, rows: int = 5) -> list[dict[str, Any]]:
        """The first rows as dictionaries."""
        return self.scan().head(rows)

    def count(self) -> int:
        """The number of rows."""
        return self.scan().count()

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a pyarrow table."""
        return self.scan().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas frame; needs pyarrow too."""
        return self.scan().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All rows as a polars frame."""
        return self.scan().to_polars()

    def __repr__(self) -> str:
        return f"<ostrakon.TypedTable {self.table.name!r}: {self.schema!r}>"

    def _repr_html_(self) -> str:
        return self.scan()._repr_html_()


class TypedScan:
    """The description of a scan of a table with a schema; a row of the result is a row of the
    table. Its methods return a changed scan, which runs each time it is read.

    It has Arrow's stream interface, with the types of the schema. If a reader sees several entries
    of one column, with several labels, the newest counts, and of equally old ones the first by key.
    Rows without any column of the schema that the reader sees are left out.
    """

    __slots__ = ("_auths", "_bounds", "_limit", "_names", "_rows", "_table")

    def __init__(self, table: TypedTable) -> None:
        self._table = table
        # `None` means all rows.
        self._rows: tuple[Range, ...] | None = None
        self._names: tuple[str, ...] = tuple(table.schema.names)
        self._auths: list[Bytes] | None = None
        self._limit: int | None = None
        self._bounds: dict[str, tuple[bytes | None, bytes | None]] = {}

    def _with(self, **changes: Any) -> TypedScan:
        made = TypedScan(self._table)
        for name in self.__slots__:
            setattr(made, name, changes.get(name, getattr(self, name)))
        return made

    def rows(self, *keys: Any) -> TypedScan:
        """The scan of the rows with these keys, instead of its own: several, or one list or array
        of them.

        A key is a value, or a tuple of the values of the row's parts. Only the first parts are
        enough: then it means all rows that begin with them. `range` takes a first and a last key.
        """
        given = keys[0] if len(keys) == 1 and _is_several(keys[0]) else keys
        listed = [
            key if isinstance(key, tuple) else (key,)
            for key in (given.to_pylist() if hasattr(given, "to_pylist") else given)
        ]
        for key in listed:
            if any(part is None or part is ... or isinstance(part, Range) for part in key):
                raise InvalidArgumentError(
                    f"`rows` takes keys, not {shown(key[0] if len(key) == 1 else key)}; "
                    "`range(first, last)` is the scan of a range",
                    {"argument": "keys"},
                )
        schema = self._table.schema
        made: list[Range] = []
        for count in sorted(set(map(len, listed))):
            rows = schema.keys_of([key for key in listed if len(key) == count])
            ends = ((row, count == len(schema.keys)) for row in rows)
            made += [self._between(end, end) for end in ends]
        return self._with(_rows=tuple(made))

    def range(self, first: Any, last: Any) -> TypedScan:
        """The scan of the rows from `first` to `last`, both inclusive, instead of its own; `...` or
        `None` is an open end. Keys are as in `rows`."""
        start = None if first is None or first is ... else self._key(first)
        end = None if last is None or last is ... else self._key(last)
        if start is not None and end is not None and _is_after(start, end):
            raise InvalidArgumentError(
                f"the range starts after its end: {shown(first)} is after {shown(last)}; swap the "
                "two",
                {"argument": "first"},
            )
        return self._with(_rows=(self._between(start, end),))

    def _key(self, given: Any) -> tuple[bytes, bool]:
        values = given if isinstance(given, tuple) else (given,)
        schema = self._table.schema
        return schema.key(*values), len(values) == len(schema.keys)

    @staticmethod
    def _between(start: tuple[bytes, bool] | None, end: tuple[bytes, bool] | None) -> Range:
        low = None if start is None else start[0]
        if end is None:
            return Range(low, None)
        high, whole = end
        # Parts are separated by a zero byte, and no part has one.
        return Range(low, high) if whole else Range(low, high + b"\x01", True, False)

    def columns(self, *names: str | Sequence[str]) -> TypedScan:
        """The scan that returns these parts of the row and columns instead of its own, in this
        order: several names, or one list of them. Which rows there are does not change."""
        listed = len(names) == 1 and not isinstance(names[0], str)
        given = texts_of("columns", names[0] if listed else names, "['age', 'city']")
        for name in given:
            self._table.schema.type_of(name)
        return self._with(_names=tuple(given))

    def where(self, name: str, first: Any, last: Any = _EQUAL) -> TypedScan:
        """The scan of the rows whose value of a column is equal to `first`, or, with `last`, lies
        between the two, both inclusive; `...` or `None` is an open end. Rows without a value are
        left out. Conditions add up, unlike what the other methods set.

        A condition on the first part of the row narrows what is read. Other values are compared
        while they are read, in their encoding.
        """
        if last is _EQUAL:
            if first is None or first is ...:
                raise InvalidArgumentError(
                    f"`where({name!r}, {first!r})` names no value: pass one, or the two ends of a "
                    "range, of which `...` or None is an open end",
                    {"argument": "first"},
                )
            last = first
        first = None if first is ... else first
        last = None if last is ... else last
        encode = self._table.schema.encode
        if self._table.schema.type_of(name) == "float":
            # -0.0 lies before 0.0, but is equal to it.
            first = -0.0 if first is not None and first == 0 else first
            last = 0.0 if last is not None and last == 0 else last
        # Every value is at least empty, and a row without one has none.
        low = b"" if first is None else encode(name, first)
        high = None if last is None else encode(name, last)
        old_low, old_high = self._bounds.get(name, (None, None))
        lows = [bound for bound in (low, old_low) if bound is not None]
        highs = [bound for bound in (high, old_high) if bound is not None]
        bound = (max(lows, default=None), min(highs, default=None))
        return self._with(_bounds={**self._bounds, name: bound})

    @property
    def _limited(self) -> int | None:
        return self._limit

    def _projected(self, names: Iterable[str]) -> TypedScan:
        return self.columns(*names)

    def auths(self, *names: Bytes | Iterable[Bytes]) -> TypedScan:
        """The scan with these authorizations instead; without arguments, with none."""
        return self._with(_auths=auths_of(names_of(names)))

    def limit(self, rows: int | None) -> TypedScan:
        """The scan of at most this many rows, whatever limit it had; `None` means all."""
        return self._with(_limit=limit_of(rows, "rows"))

    def _ranges(self) -> list[Range] | None:
        """What is read: the rows asked for, as far as the first part of the row is within its
        bounds. `None` means everything."""
        schema = self._table.schema
        low, high = self._bounds.get(next(iter(schema.keys)), (None, None))
        if low is not None and high is not None and low > high:
            return []
        if self._rows is not None:
            return list(self._rows)
        if not low and high is None:
            return None
        if len(schema.keys) == 1:
            return [Range(low, high)]
        begin, end = (None if bound is None else _escaped(bound) for bound in (low, high))
        return [Range(begin, None) if end is None else Range(begin, end + b"\x01", True, False)]

    def _start(self) -> NativeTypedScan:
        schema = self._table.schema
        wanted = [
            (column.family, column.qualifier)
            for column in schema.columns.values()
        ]  # fmt: skip
        scan = self._table.table.scan(self._ranges(), wanted, auths=self._auths)
        names = schema.names
        typed = {
            "keys": list(schema.keys.items()),
            "values": [
                (column.name, column.family, column.qualifier, column.type)
                for column in schema.columns.values()
            ],
            "bounds": [self._bounds.get(name, (None, None)) for name in names],
            "returned": [names.index(name) for name in self._names],
            "row_limit": self._limit,
        }
        return self._table.table._native.typed_scan(scan._argument, typed)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's stream interface."""
        return self._start().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Arrow's schema interface."""
        return self._start().__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow table."""
        return read_all(self._start())

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame; needs pyarrow too."""
        return frame_of(self.to_arrow(), date_as_object=False)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame."""
        return polars_of(self.to_arrow())

    def head(self, rows: int = 5) -> list[dict[str, Any]]:
        """The first rows as dictionaries; needs pyarrow."""
        rows = integer_of("rows", rows, "a number of rows")
        most = rows if self._limit is None else min(rows, self._limit)
        found = self.limit(most).to_arrow()
        # Unlike pyarrow, it says what to do about times for which Python has no object.
        lines = tuples_of(iter(found.to_batches()))
        return [dict(zip(found.column_names, line, strict=True)) for line in lines]

    def count(self) -> int:
        """The number of rows."""
        return self._start().count()

    def lazy(self) -> polars.LazyFrame:
        """A lazy frame of polars, which reads the scan when it is collected. The columns, limits
        and many conditions of the query narrow what is read."""
        from ostrakon.pushdown import lazy_frame

        return lazy_frame(self)

    def dataset(self) -> pyarrow.dataset.Dataset:
        """A dataset of Arrow, which DuckDB queries like a table (`SELECT … FROM name`, where `name`
        is a variable with the dataset). Columns and many conditions narrow what is read."""
        from ostrakon.pushdown import dataset

        return dataset(self)

    def explain(self) -> str:
        """Describes what the scan will do, without reading anything."""
        name, schema = self._table.table.name, self._table.schema
        ranges = self._ranges()
        first = next(iter(schema.keys))
        lines = [
            f"typed scan of {name!r}",
            f"  rows: {'all' if ranges is None else counted(len(ranges), 'range')}",
            f"  columns: {', '.join(self._names)}",
        ]
        for column, (low, high) in self._bounds.items():
            ends = [word for word, end in (("from", low), ("to", high)) if end]
            narrowed = column == first and self._rows is None
            how = "narrows what is read" if narrowed else "compared while reading"
            lines.append(f"  where {column} has bounds ({' and '.join(ends) or 'none'}): {how}")
        lines.append(f"  limit: {'none' if self._limit is None else counted(self._limit, 'row')}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        parts = ["all rows" if self._rows is None else "some rows"]
        parts += [f"where {name}" for name in self._bounds]
        if self._limit is not None:
            parts.append(f"at most {counted(self._limit, 'row')}")
        return f"<ostrakon.TypedScan of {self._table.table.name!r}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        try:
            rows = self.head(_SHOWN + 1)
        except Error as error:
            return table_html(self._names, [], f"{self!r}: {error}")
        more = ", and more" if len(rows) > _SHOWN else ""
        note = f"{self!r}: {counted(min(len(rows), _SHOWN), 'row')} shown{more}"
        return table_html(self._names, [list(row.values()) for row in rows[:_SHOWN]], note)


def _is_after(start: tuple[bytes, bool], end: tuple[bytes, bool]) -> bool:
    """Whether a key lies after all rows of another one, which may have only the first parts."""
    low, (high, whole) = start[0], end
    return low > high if whole else low > high and not low.startswith(high)


def _escaped(part: bytes) -> bytes:
    """A part of a row of several parts."""
    return part.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01")


def _is_several(given: Any) -> bool:
    """Whether an argument of `rows` is a column of keys, and not one key."""
    return (
        isinstance(given, (list, np.ndarray))
        or hasattr(given, "to_pylist")
        or hasattr(given, "to_list")
    )


def _columns(frame: Any) -> dict[str, Any]:
    if isinstance(frame, Mapping):
        return {str(name): _column(str(name), column) for name, column in frame.items()}
    names: Iterable[Any] | None = getattr(frame, "column_names", None)
    if names is None:
        names = getattr(frame, "columns", None)
    if names is None:
        if not hasattr(frame, "__arrow_c_stream__"):
            takes = "a data frame, an Arrow table or a dictionary of columns"
            error = wrong_type("frame", takes, frame)
            raise ArgumentTypeError(f"{error}; nothing was written", error.context)
        return _columns(load("pyarrow", "arrow").table(frame))
    return {str(name): frame[name] for name in names}


def _column(name: str, column: Any) -> Any:
    """A column of a dictionary; raises if it is a single value or has no order."""
    single = isinstance(column, (str, bytes)) or not hasattr(column, "__len__")
    single = single or getattr(column, "shape", None) == ()
    if single or isinstance(column, (Mapping, AbstractSet)):
        advice = f"write [{shown(column)}]" if single else "make a list of it"
        raise InvalidArgumentError(
            f"`frame` has {shown(column)} for {name!r}, which is not a column: {advice}; nothing "
            "was written",
            {"argument": "frame"},
        )
    return column


def _kept(column: Any, keep: Any) -> Any:
    """The entries at positions; all without positions."""
    if keep is None:
        return column
    if isinstance(column, list):
        return [column[at] for at in keep.tolist()]
    if isinstance(column, np.ndarray):
        return column[keep]
    return column.take(np.asarray(keep, np.uint32))
