"""Rows of queries as Python objects and as tables of other libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ostrakon.extras import load

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ostrakon._native import NativeRows

__all__ = ["batches_of", "frame_of", "polars_of", "table_of", "tuples_of"]


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


def tuples_of(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """The rows of batches one by one."""
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        yield from zip(*columns, strict=True)


def frame_of(table: pyarrow.Table) -> pandas.DataFrame:
    """A table as a pandas frame."""
    load("pandas", "pandas")
    return table.to_pandas()


def polars_of(table: pyarrow.Table) -> polars.DataFrame:
    """A table as a polars frame."""
    frame: polars.DataFrame = load("polars", "polars").DataFrame(table)
    return frame
