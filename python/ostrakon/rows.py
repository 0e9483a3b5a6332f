"""Rows of queries as Python objects and as tables of other libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ostrakon.errors import UnsupportedError
from ostrakon.extras import load

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ostrakon._native import NativeRows, NativeScan, NativeTypedScan

__all__ = ["batches_of", "frame_of", "polars_of", "read_all", "table_of", "tuples_of"]


def batches_of(rows: NativeRows) -> Iterator[pyarrow.RecordBatch]:
    """The rows as pyarrow record batches, as they are found."""
    pyarrow = load("pyarrow", "arrow")
    while (batch := rows.next_batch()) is not None:
        yield pyarrow.record_batch(batch)


def table_of(rows: NativeRows) -> pyarrow.Table:
    """All rows as a pyarrow table."""
    pyarrow = load("pyarrow", "arrow")
    schema = pyarrow.schema(rows)
    return pyarrow.Table.from_batches(list(batches_of(rows)), schema)


def read_all(scan: NativeScan | NativeTypedScan) -> pyarrow.Table:
    """All of a scan as a pyarrow table. Batch by batch, because a stream that pyarrow reads cannot
    be interrupted."""
    pyarrow = load("pyarrow", "arrow")
    batches = []
    while (batch := scan.next_batch()) is not None:
        batches.append(pyarrow.record_batch(batch))
    return pyarrow.Table.from_batches(batches, pyarrow.schema(scan))


def tuples_of(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """The rows of batches one by one."""
    for batch in batches:
        columns = [_objects(column) for column in batch.columns]
        yield from zip(*columns, strict=True)


def _objects(column: pyarrow.Array) -> list[Any]:
    try:
        objects: list[Any] = column.to_pylist()
    except (OverflowError, ValueError) as error:
        if str(column.type).startswith(("timestamp[ns", "time64[ns")):
            raise UnsupportedError(
                "a time has nanoseconds or is not in the years 1 to 9999, and Python has no object "
                "for it: read it with `to_arrow` or `to_polars`, or as CAST(… AS TIMESTAMP(6))",
                {"type": str(column.type)},
            ) from error
        raise UnsupportedError(
            "a time is not in the years 1 to 9999, and Python has no object for it: read it with "
            "`to_arrow` or `to_polars`, or as CAST(… AS VARCHAR)",
            {"type": str(column.type)},
        ) from error
    return objects


def frame_of(table: pyarrow.Table, *, date_as_object: bool = True) -> pandas.DataFrame:
    """A table as a pandas frame."""
    pandas_ = load("pandas", "pandas")
    arrow = load("pyarrow", "arrow")
    frame: pandas.DataFrame = table.to_pandas(date_as_object=date_as_object)
    for at, column in enumerate(table.columns):
        # pandas takes floating-point numbers for integers beside nulls. They do not have all.
        if column.null_count and arrow.types.is_integer(column.type):
            name = str(column.type).replace("uint", "UInt").replace("int", "Int")
            nullable = pandas_.api.types.pandas_dtype(name)
            frame.isetitem(at, column.to_pandas(types_mapper=lambda _, kind=nullable: kind))
    return frame


def polars_of(table: pyarrow.Table) -> polars.DataFrame:
    """A table as a polars frame."""
    frame: polars.DataFrame = load("polars", "polars").DataFrame(table)
    return frame
