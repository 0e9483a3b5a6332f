"""SQL on the tables of a store."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ostrakon.arguments import encodable, is_missing, text_of, wrong_type
from ostrakon.display import counted, table_html
from ostrakon.errors import ArgumentTypeError, ClosedError, Error, InvalidArgumentError
from ostrakon.rows import batches_of, frame_of, polars_of, table_of, tuples_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ostrakon._native import NativeRows, NativeSql

__all__ = ["SqlResult", "SqlSession"]


class SqlResult:
    """What a statement returned: rows, or the number of records that it changed.

    The rows can be read once as they are found, in bounded memory: by iteration, by `batches`, or
    by Arrow's stream interface. The other methods keep all rows, and can be called again, but not
    after rows were read as they are found. All of them need pyarrow, except for the stream
    interface.

    A result keeps its store open until the store is closed or the result is deleted.
    """

    __slots__ = ("_count", "_rows", "_started", "_table")

    def __init__(self, rows: NativeRows | None, count: int | None) -> None:
        self._rows = rows
        self._count = count
        self._started = False
        self._table: pyarrow.Table | None = None

    @property
    def returns_rows(self) -> bool:
        """Whether the statement asked for rows."""
        return self._rows is not None

    @property
    def count(self) -> int | None:
        """The number of records that the statement wrote or deleted; `None` if it changes none."""
        return self._count

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [] if self._rows is None else [name for name, _ in self._rows.columns()]

    @property
    def types(self) -> list[str]:
        """The types of the columns, as Arrow names them."""
        return [] if self._rows is None else [kind for _, kind in self._rows.columns()]

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The rows as pyarrow record batches, as they are found."""
        if self._table is not None:
            return iter(self._table.to_batches())
        return batches_of(self._begin())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Reads the rows as tuples of Python objects, as they are found."""
        return tuples_of(self.batches())

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples of Python objects."""
        return list(tuples_of(iter(self.to_arrow().to_batches())))

    def scalar(self) -> Any:
        """The only value of the only row."""
        table = self.to_arrow()
        if (table.num_rows, table.num_columns) != (1, 1):
            raise InvalidArgumentError(
                f"the result has {counted(table.num_rows, 'row')} and "
                f"{counted(table.num_columns, 'column')}, not one of each: use `fetchall`",
                {},
            )
        return table.column(0)[0].as_py()

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a pyarrow table."""
        if self._table is None:
            self._table = table_of(self._begin())
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas frame; needs pyarrow too."""
        return frame_of(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """All rows as a polars frame; needs pyarrow too."""
        return polars_of(self.to_arrow())

    def _begin(self) -> NativeRows:
        """The rows, to be read from the first to the last by one reader."""
        rows = self._rows_left()
        self._started = True
        return rows

    def _rows_left(self) -> NativeRows:
        """The rows, unless they are being read."""
        if self._rows is None:
            raise InvalidArgumentError(
                "the statement returned no rows: `count` is the number of records that it changed",
                {},
            )
        if self._started:
            raise ClosedError("the rows of the result were read already: run the statement again")
        return self._rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's stream interface."""
        if self._table is not None:
            return self._table.__arrow_c_stream__(requested_schema)
        # Whoever reads first has the rows: some consumers ask for a stream only to see its schema.
        return self._rows_left().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        if self._rows is None:
            said = "no rows" if self._count is None else counted(self._count, "changed record")
        else:
            said = ", ".join(f"{name} {kind}" for name, kind in self._rows.columns()[:_SHOWN])
        return f"<ostrakon.SqlResult: {said}>"

    def _repr_html_(self) -> str:
        if self._rows is None:
            return table_html((), (), repr(self))
        try:
            table = self.to_arrow()
        except Error as error:
            return table_html((), (), f"{self!r}: {error}")
        lines = tuples_of(iter(table.slice(0, _SHOWN).to_batches()))
        return table_html(self.columns, lines, counted(table.num_rows, "row"))


# Maximum number of rows, and of columns of a text, that a notebook shows.
_SHOWN = 20


class SqlSession:
    """Runs statements of SQL with certain authorizations. Made by `Store.sql_session`.

    The authorizations are those of the session: no statement can change them.
    `SET label = 'EXPRESSION'` changes the label that new records get. Threads can share a session.
    """

    __slots__ = ("_native",)

    def __init__(self, native: NativeSql) -> None:
        self._native = native

    def execute(self, text: str, parameters: Sequence[object] = ()) -> SqlResult:
        """Runs a statement. The values of `parameters` take the places of `?`, or of `$1`, `$2`.

        They are values, never a part of the text: `None`, numbers, texts, bytes, dates and times.
        A datetime with a zone becomes the time in UTC, and a time of day becomes text. What a
        statement changes is changed when this returns; rows are found while they are read.
        """
        return SqlResult(
            *self._native.execute(
                text_of("text", text, "a statement of SQL, such as 'SELECT 1'"),
                [value_of(value) for value in _list(parameters)],
            )
        )

    def __repr__(self) -> str:
        return "<ostrakon.SqlSession>"


def _list(parameters: Sequence[object]) -> Sequence[object]:
    if isinstance(parameters, (list, tuple)):
        return parameters
    raise wrong_type("parameters", "a list or a tuple of values, such as [1, 'a']", parameters)


_EPOCH = dt.datetime(1970, 1, 1)
_INTEGERS = range(-(2**63), 2**63)
_NUMBER_BYTES = 8


def _inexact(value: Any, advice: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the parameter {value} is not a TIMESTAMP, which has microseconds: {advice}",
        {"argument": "parameters"},
    )


def value_of(value: Any) -> object:
    """A value for a parameter of a statement, in the form of the native part."""
    if isinstance(value, str):
        return encodable(value, "parameters")
    if isinstance(value, (bool, bytes, float)):
        return value
    # pandas has values that are none, and not equal to themselves.
    if is_missing(value):
        return None
    if isinstance(value, int):
        if value not in _INTEGERS:
            raise InvalidArgumentError(
                f"the parameter {value} is larger than a BIGINT: pass it as text",
                {"argument": "parameters"},
            )
        return int(value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, dt.datetime):
        # Timestamps of pandas have nanoseconds.
        if getattr(value, "nanosecond", 0):
            raise _inexact(value, "round it, as with `Timestamp.round('us')`")
        if value.tzinfo is not None:
            value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
        return ("timestamp", int((value - _EPOCH) // dt.timedelta(microseconds=1)))
    if isinstance(value, dt.time) and value.tzinfo is not None:
        raise InvalidArgumentError(
            "a time of day with a zone has no time in UTC: pass a datetime, or a time without zone",
            {"argument": "parameters"},
        )
    if isinstance(value, dt.time):
        return value.isoformat()
    if isinstance(value, dt.date):
        return ("date", (value - _EPOCH.date()).days)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        if value.dtype.kind == "M":
            if str(value.dtype) == "datetime64[D]":
                return ("date", int(value.astype("int64")))
            micros = value.astype("datetime64[us]")
            # NumPy cuts and wraps.
            if micros.astype(value.dtype) != value:
                raise _inexact(value, "round it, as with `astype('datetime64[us]')`")
            return ("timestamp", int(micros.astype("int64")))
        # Floats of more than 64 bits have no equal among those of Python.
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= _NUMBER_BYTES:
            return value_of(value.item())
    raise ArgumentTypeError(
        f"`parameters`: a parameter cannot be a {type(value).__name__}: convert it to a number, a "
        "text, bytes or a time",
        {"argument": "parameters"},
    )
