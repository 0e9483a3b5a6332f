"""Writing entries to a table."""

from __future__ import annotations

import datetime as dt
import types
import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ostrakon._native import NativeStore, NativeWriter
from ostrakon.arguments import is_missing, mapping_of, texts_by_text, wrong_type
from ostrakon.errors import ArgumentTypeError, ClosedError, InvalidArgumentError
from ostrakon.progress import Progress, reporting

__all__ = ["Writer"]

LANES = ("row", "family", "qualifier", "visibility", "timestamp", "value")


def frame_columns_of(
    frame: Any = None,
    names: Mapping[str, str] | None = None,
    delete: bool = False,
    **given: Any,
) -> dict[str, Any]:
    """The arguments of a call, in the form of the native part."""
    names = texts_by_text("columns", names, "{'row': 'source'}")
    for name in names:
        if name not in LANES:
            raise InvalidArgumentError(
                f"`columns` has {name!r}; the parts of an entry are {', '.join(LANES)}",
                {"argument": "columns"},
            )
        if given.get(name) is not None:
            raise InvalidArgumentError(
                f"`{name}` is given twice: as an argument and in `columns`", {"argument": name}
            )
    columns = {lane: given.get(lane) for lane in LANES}
    columns["timestamp"] = _milliseconds(columns["timestamp"])
    return {**columns, "frame": frame, "names": names, "delete": delete}


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_TIMESTAMP = (
    "integers (milliseconds), datetime, datetime64 or Arrow timestamps, one each or one for all"
)


def _milliseconds(timestamp: Any) -> Any:
    """Points in time as milliseconds since 1970, rounded down; those without a zone are in UTC.
    Anything else is left to the native part."""
    if timestamp is None or type(timestamp) is int:
        return timestamp
    if isinstance(timestamp, (list, tuple)):
        # `int` first, since most are.
        if all(type(one) is int for one in timestamp):
            return timestamp
        made = [_millisecond(one) for one in timestamp]
        if any(hasattr(one, "dtype") for one in made):
            from ostrakon.times import stamps_of_list

            return stamps_of_list(made)
        return made
    if hasattr(timestamp, "dtype"):
        # It loads NumPy, which few calls need.
        from ostrakon.times import stamps_of

        timestamp = stamps_of(timestamp)
    return _millisecond(timestamp)


def _millisecond(timestamp: Any) -> Any:
    if isinstance(timestamp, bool) or type(timestamp).__name__ in ("bool", "bool_"):
        raise wrong_type("timestamp", _TIMESTAMP, timestamp)
    if isinstance(timestamp, dt.datetime) and not is_missing(timestamp):
        moment = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=dt.timezone.utc)
        return (moment - _EPOCH) // dt.timedelta(milliseconds=1)
    return timestamp


_COLUMN = (
    "str, bytes or numbers, one for all or a column of them (a list, a NumPy array, anything with "
    "Arrow's interface)"
)
# What numbers and columns have at least one of.
_OF_COLUMNS = (
    "__index__",
    "__float__",
    "dtype",
    "__len__",
    "__iter__",
    "__array_interface__",
    "__arrow_c_array__",
    "__arrow_c_stream__",
)


def _refuse_other_columns(name: str, column: Any) -> None:
    """Names what to do with things that are not columns; the native part has the other cases."""
    if isinstance(column, (str, bytes, list)):
        return
    if isinstance(column, types.GeneratorType):
        raise ArgumentTypeError(
            f"`{name}` is a generator, which can be read only once; pass `list(…)`; nothing was "
            "written",
            {"argument": name},
        )
    kind = type(column)
    if kind.__name__ == "MaskedArray" and kind.__module__.startswith("numpy"):
        raise ArgumentTypeError(
            f"`{name}` is a masked array: pass `compressed()` to drop the masked items, or "
            "`filled()` to replace them; nothing was written",
            {"argument": name},
        )
    if name != "timestamp" and not any(hasattr(column, one) for one in _OF_COLUMNS):
        raise wrong_type(name, _COLUMN, column)


def entries_of(delete: bool = False, **given: Any) -> dict[str, Any]:
    """Like `frame_columns_of`, for arguments that are columns; only `timestamp` may be `None`."""
    for name, column in given.items():
        if column is None and name != "timestamp":
            raise ArgumentTypeError(
                f'`{name}` is None, which cannot be stored: leave it out, or use b"" for empty; '
                "nothing was written",
                {"argument": name},
            )
        _refuse_other_columns(name, column)
    return frame_columns_of(delete=delete, **given)


def columns_of_dict(entries: Mapping[Any, Mapping[Any, Any]], **given: Any) -> dict[str, Any]:
    """Turns a dictionary of dictionaries into columns."""
    rows: list[Any] = []
    qualifiers: list[Any] = []
    values: list[Any] = []
    for row, cells in mapping_of("entries", entries, "{'row': {'qualifier': 'value'}}").items():
        if not isinstance(cells, Mapping):
            raise ArgumentTypeError(
                f"`entries` must map rows to dictionaries of qualifier and value; row {row!r} has "
                f"{type(cells).__name__}",
                {"argument": "entries"},
            )
        rows.extend([row] * len(cells))
        qualifiers.extend(cells.keys())
        values.extend(cells.values())
    return entries_of(row=rows, qualifier=qualifiers, value=values, **given)


class Writer:
    """Writes entries to one table; created by `Table.writer`, used as a context manager.

    Entries are collected and submitted in batches. `flush` and the end of the `with` block wait
    until they are acknowledged, and raise any failure. If an exception leaves the block, entries
    that were not submitted are dropped, as when a writer is deleted without `close` (with a
    `ResourceWarning`). Use one writer per thread.

    Every argument of `put` is one value for all entries, or a column with one value per entry: a
    list, a NumPy array (`str`, `bytes`, numbers), or anything with Arrow's interface (pyarrow,
    polars, pandas). Numbers are stored as decimal text. All arguments of a call are checked before
    any entry is written.

    `timestamp` takes milliseconds since 1970, `datetime` (without a zone: in UTC), `datetime64` or
    Arrow's timestamps; they are stored as milliseconds, rounded down. Without it the
    table sets the timestamps.
    """

    __slots__ = ("_is_dirty", "_native", "_store")

    def __init__(self, native: NativeWriter, store: NativeStore | None = None) -> None:
        self._native = native
        self._store = store
        # Whether there are entries that no flush has acknowledged.
        self._is_dirty = False

    def put(
        self,
        row: Any,
        qualifier: Any = b"",
        value: Any = b"",
        *,
        family: Any = b"",
        visibility: Any = b"",
        timestamp: Any = None,
        progress: Progress = None,
    ) -> int:
        """Writes entries; returns their number.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     table = store.create_table("graph")
        ...     with table.writer() as writer:
        ...         writer.put(["alice", "alice"], ["bob", "carl"], [1, 2], family="edge")
        ...     table.scan().count()
        2
        2
        """
        return self._put(
            entries_of(
                row=row,
                qualifier=qualifier,
                value=value,
                family=family,
                visibility=visibility,
                timestamp=timestamp,
            ),
            progress,
        )

    def put_frame(
        self,
        frame: Any,
        columns: Mapping[str, str] | None = None,
        *,
        family: Any = None,
        qualifier: Any = None,
        value: Any = None,
        visibility: Any = None,
        timestamp: Any = None,
        progress: Progress = None,
    ) -> int:
        """Writes one entry per row of a data frame or Arrow table; returns their number.

        `columns` maps the parts of an entry to columns of the frame, as in
        `{"row": "source", "qualifier": "target"}`. Without it, the columns `row`, `family`,
        `qualifier`, `visibility`, `timestamp` and `value` of the frame are used. The other
        arguments are the parts for which the frame has no column.
        """
        return self._put(
            frame_columns_of(
                frame,
                columns,
                family=family,
                qualifier=qualifier,
                value=value,
                visibility=visibility,
                timestamp=timestamp,
            ),
            progress,
        )

    def put_dict(
        self,
        entries: Mapping[Any, Mapping[Any, Any]],
        *,
        family: Any = b"",
        visibility: Any = b"",
        timestamp: Any = None,
    ) -> int:
        """Writes `{row: {qualifier: value}}`; returns the number of entries."""
        return self._put(
            columns_of_dict(entries, family=family, visibility=visibility, timestamp=timestamp),
            None,
        )

    def delete(
        self,
        row: Any,
        qualifier: Any = b"",
        *,
        family: Any = b"",
        visibility: Any = b"",
        timestamp: Any = None,
    ) -> int:
        """Deletes cells by writing delete markers; returns the number of markers, whether there
        are such cells or not.

        The label is a part of the key: only the cell with the label `visibility` is deleted.
        """
        return self._put(
            entries_of(
                row=row,
                qualifier=qualifier,
                family=family,
                visibility=visibility,
                timestamp=timestamp,
                delete=True,
            ),
            None,
        )

    def _put(self, columns: dict[str, Any], progress: Progress) -> int:
        # The native writer would notice it when it submits a batch.
        if self._store is not None and self._store.closed:
            self._is_dirty = False
            raise ClosedError("the store is closed: open it again with ostrakon.open")
        with reporting(progress, "entries") as report:
            self._is_dirty = True
            return self._native.put(columns, report)

    def flush(self) -> None:
        """Waits until everything written so far is acknowledged."""
        # An error tells of the loss, too.
        self._is_dirty = False
        self._native.flush()

    def close(self) -> None:
        """Flushes and closes the writer. A second call does nothing."""
        self._is_dirty = False
        self._native.close()

    @property
    def closed(self) -> bool:
        """Whether the writer is closed."""
        return self._native.closed

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_dirty = False
        if kind is None:
            self._native.close()
        else:
            self._native.abandon()

    def __del__(self) -> None:
        # Missing if `__init__` failed.
        if getattr(self, "_is_dirty", False) and not self._native.closed:
            warnings.warn(
                f"{self!r} was not closed, so entries may be lost: use it in a `with` block, or "
                "call `close()`",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

    def __repr__(self) -> str:
        return f"<ostrakon.Writer, {'closed' if self.closed else 'open'}>"
