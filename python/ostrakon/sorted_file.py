"""Sorted files, which any process can write and a table can import."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from ostrakon._native import write_sorted_file as _write
from ostrakon.arguments import path_of
from ostrakon.writer import entries_of, frame_columns_of

__all__ = ["write_sorted_file", "write_sorted_frame"]


def write_sorted_file(
    path: str | PathLike[str],
    row: Any,
    qualifier: Any = b"",
    value: Any = b"",
    *,
    family: Any = b"",
    visibility: Any = b"",
    timestamp: Any = None,
) -> int:
    """Writes entries to a sorted file, without a store; returns their number.

    The arguments are those of `Writer.put`; entries need not be sorted. The name must end with
    `.sorted`, and the file must not exist. The file is durable when the call returns. In a parallel
    program, each process writes its own files into one directory; then one process imports all of
    them with `Table.import_directory`. Without `timestamp`, entries get the current time.

    >>> import ostrakon, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, ostrakon.open() as store:
    ...     for part in range(2):
    ...         path = pathlib.Path(folder, f"part-{part}.sorted")
    ...         ostrakon.write_sorted_file(path, [f"b{part}", f"a{part}"], "q", [1, 2])
    ...     table = store.create_table("t")
    ...     table.import_directory(folder).entries
    ...     [entry.row for entry in table.scan().entries()]
    2
    2
    4
    ['a0', 'a1', 'b0', 'b1']
    """
    return _write(
        path_of("path", path),
        entries_of(
            row=row,
            qualifier=qualifier,
            value=value,
            family=family,
            visibility=visibility,
            timestamp=timestamp,
        ),
    )


def write_sorted_frame(
    path: str | PathLike[str],
    frame: Any,
    columns: Mapping[str, str] | None = None,
    *,
    family: Any = None,
    qualifier: Any = None,
    value: Any = None,
    visibility: Any = None,
    timestamp: Any = None,
) -> int:
    """Like `write_sorted_file`, for a data frame with columns as in `Writer.put_frame`."""
    return _write(
        path_of("path", path),
        frame_columns_of(
            frame,
            columns,
            family=family,
            qualifier=qualifier,
            value=value,
            visibility=visibility,
            timestamp=timestamp,
        ),
    )
