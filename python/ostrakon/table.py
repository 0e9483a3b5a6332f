"""One table of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from ostrakon._native import NativeTable
from ostrakon.errors import InvalidArgumentError
from ostrakon.iterators import SCOPES, IteratorSetting
from ostrakon.progress import Progress
from ostrakon.ranges import Bytes, native_ranges
from ostrakon.scan import FIELDS, Entry, Scan, auths_of, column_of, limit_of
from ostrakon.writer import Writer, columns_of, entries_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["ImportReport", "Location", "Table", "Tablet"]


class Tablet(NamedTuple):
    """One range of a table's rows: after `previous_end`, up to `end`; `None` is open."""

    previous_end: bytes | None
    end: bytes | None
    files: int
    entries: int
    bytes: int


class Location(NamedTuple):
    """Where a row lies: the rows of its tablet, where that is served, and a number that grows
    whenever the rows of some tablet of the table change."""

    previous_end: bytes | None
    end: bytes | None
    location: str
    layout: int


class ImportReport(NamedTuple):
    """What `Table.import_directory` took over."""

    files: int
    entries: int
    bytes: int
    empty_files: int
    copied_files: int
    files_left: int


def _several(columns: Any) -> Any:
    if isinstance(columns, (str, bytes)):
        return [columns]
    pair = isinstance(columns, tuple) and len(columns) == 2
    if pair and all(isinstance(part, (str, bytes)) for part in columns):
        raise InvalidArgumentError(
            f"`columns` is {columns!r}, a family and a qualifier or two families: write "
            f"[{columns!r}] for one column, {list(columns)!r} for two families",
            {"argument": "columns"},
        )
    return columns


class Table:
    """A table of an open store; from `Store.table` or `Store.create_table`.

    It stays valid when the table is renamed. Rows, columns, labels and values are bytes; text
    stands for its UTF-8.
    """

    __slots__ = ("_native",)

    def __init__(self, native: NativeTable) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """The present name."""
        return self._native.name

    def writer(
        self,
        *,
        durability: str | None = None,
        batch_bytes: int = 1 << 20,
        memory_bytes: int = 50 << 20,
    ) -> Writer:
        """A writer: see `Writer`.

        `durability` is `none`, `log`, `flush` or `sync`; `None` takes the table's (`sync` unless
        set). A batch is submitted at `batch_bytes`; the writer waits when `memory_bytes` are under
        way.
        """
        return Writer(self._native.writer(durability, batch_bytes, memory_bytes))

    def put(
        self,
        row: Any,
        qualifier: Any = b"",
        value: Any = b"",
        *,
        family: Any = b"",
        visibility: Any = b"",
        timestamp: Any = None,
        durability: str | None = None,
        progress: Progress = None,
    ) -> int:
        """Puts entries and waits until they are acknowledged; returns their number.

        The arguments are those of `Writer.put`. For many small calls keep a writer.

        >>> import ostrakon, numpy
        >>> with ostrakon.open() as store:
        ...     table = store.create_table("scores")
        ...     table.put(numpy.array(["ann", "bea"]), "score", numpy.array([0.5, 1.0]))
        ...     [(entry.row, entry.value) for entry in table.scan().entries()]
        2
        [('ann', '0.5'), ('bea', '1.0')]
        """
        with self.writer(durability=durability) as writer:
            return writer.put(
                row,
                qualifier,
                value,
                family=family,
                visibility=visibility,
                timestamp=timestamp,
                progress=progress,
            )

    def put_frame(
        self,
        frame: Any,
        columns: Mapping[str, str] | None = None,
        *,
        durability: str | None = None,
        progress: Progress = None,
        **parts: Any,
    ) -> int:
        """Puts the rows of a data frame or Arrow table: see `Writer.put_frame`."""
        with self.writer(durability=durability) as writer:
            return writer.put_frame(frame, columns, progress=progress, **parts)

    def put_dict(self, entries: Mapping[Any, Mapping[Any, Any]], **parts: Any) -> int:
        """Puts `{row: {qualifier: value}}`: see `Writer.put_dict`."""
        with self.writer() as writer:
            return writer.put_dict(entries, **parts)

    def delete(self, row: Any, qualifier: Any = b"", **parts: Any) -> int:
        """Deletes columns of rows: see `Writer.delete`."""
        with self.writer() as writer:
            return writer.delete(row, qualifier, **parts)

    def bulk_import(
        self,
        row: Any,
        qualifier: Any = b"",
        value: Any = b"",
        *,
        family: Any = b"",
        visibility: Any = b"",
        timestamp: Any = None,
    ) -> int:
        """Makes entries part of the table in one step, past the log; returns their number.

        All become visible at once, or none. Sorted columns are the quickest; others are sorted
        first. Without `timestamp` entries get the present time.
        """
        return self._native.bulk_import(
            entries_of(
                row=row,
                qualifier=qualifier,
                value=value,
                family=family,
                visibility=visibility,
                timestamp=timestamp,
            )
        )

    def bulk_import_frame(
        self, frame: Any, columns: Mapping[str, str] | None = None, **parts: Any
    ) -> int:
        """`bulk_import` of a data frame, whose columns are named as in `Writer.put_frame`."""
        return self._native.bulk_import(columns_of(frame, columns, **parts))

    def import_directory(
        self,
        directory: str | PathLike[str],
        *,
        transfer: str = "move",
        verify: bool = False,
        allow_empty: bool = False,
    ) -> ImportReport:
        """Takes over every sorted file of a directory, all of them at once or none.

        The files are those of `write_sorted_file`, written by any process; names that begin with
        `_` or `.` are passed over. A file that is no sound sorted file is refused by name, and
        nothing is imported. `transfer`: `move` takes the files out of the directory, `link` shares
        their bytes with it (never change such a file), `copy` leaves it alone. `verify` reads every
        entry first.
        """
        return ImportReport(
            *self._native.import_directory(directory, transfer, verify, allow_empty)
        )

    def scan(
        self,
        ranges: Any = None,
        columns: Iterable[Bytes | Sequence[Bytes]] = (),
        *,
        auths: Bytes | Iterable[Bytes] | None = None,
        iterators: Iterable[IteratorSetting] = (),
        fields: Iterable[str] = FIELDS,
        text: bool = True,
        ordered: bool = True,
        limit: int | None = None,
        batch_entries: int = 1 << 16,
        timeout: float | None = None,
    ) -> Scan:
        """A scan, run when it is read.

        `ranges`: a row, a pair (first, last), a `Range`, a list of those (thousands are fine), an
        array of rows; `None` is every row. `columns`: families and pairs (family, qualifier).
        `auths`: what the reader may see; by default what the store was opened with. `fields`: the
        columns handed out; fewer are quicker. `text=False` hands out bytes instead of text.
        `ordered=False` reads in any order and with several threads. `limit`: entries at most.
        `timeout`: seconds that one reading of the scan may take; after it `TimedOutError`. Ctrl-C
        ends a scan that is being read.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     table = store.create_table("people")
        ...     _ = table.put("ann", ["mail", "town"], ["a@b.c", "Ulm"], visibility=["hr", ""])
        ...     [e.value for e in table.scan().entries()]
        ...     [e.value for e in table.scan(auths="hr").entries()]
        ['Ulm']
        ['a@b.c', 'Ulm']
        """
        if batch_entries < 1:
            raise InvalidArgumentError("`batch_entries` is below 1", {"argument": "batch_entries"})
        fields = list(fields)
        for name in fields:
            if name not in FIELDS:
                raise InvalidArgumentError(
                    f"`fields` names {name!r}, which is none of {', '.join(FIELDS)}",
                    {"argument": "fields"},
                )
        made, rows = native_ranges(ranges)
        columns = _several(columns)
        argument = {
            "ranges": made,
            "rows": rows,
            "columns": [column_of(column) for column in columns],
            "auths": auths_of(auths),
            "iterators": [setting.native() for setting in iterators],
            "fields": fields,
            "text": text,
            "ordered": ordered,
            "limit": limit_of(limit),
            "batch_entries": batch_entries,
            "timeout": timeout,
        }
        return Scan(self._native, argument, ranges)

    def head(self, entries: int = 5) -> list[Entry]:
        """The first entries as Python objects; `scan().head()` in short, as the four below.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     table = store.create_table("t")
        ...     _ = table.put(["a", "b"], "q", ["v", "w"], timestamp=1)
        ...     table.count(), table.head(1)
        (2, [Entry(row='a', family='', qualifier='q', visibility='', timestamp=1, value='v')])
        """
        return self.scan().head(entries)

    def count(self) -> int:
        """The number of entries."""
        return self.scan().count()

    def to_arrow(self) -> pyarrow.Table:
        """All entries as a pyarrow table."""
        return self.scan().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """All entries as a pandas frame; needs pyarrow too."""
        return self.scan().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All entries as a polars frame."""
        return self.scan().to_polars()

    def properties(self) -> dict[str, str]:
        """The properties in force, defaults included, under Accumulo's names."""
        return self._native.properties()

    def set_properties(self, changes: Mapping[str, str | None]) -> None:
        """Sets and removes (`None`) properties in one step, while the table is in use."""
        self._native.modify_properties(
            [(name, None if value is None else str(value)) for name, value in changes.items()]
        )

    def attach_iterator(self, setting: IteratorSetting, scopes: Iterable[str] = SCOPES) -> None:
        """Puts an iterator into the table's stacks of `scopes`."""
        self.set_properties(setting.properties(scopes))

    def remove_iterator(self, name: str, scopes: Iterable[str] = SCOPES) -> None:
        """Takes an iterator out of the table's stacks."""
        prefixes = [f"table.iterator.{scope}.{name}" for scope in scopes]
        names = [
            known
            for known in self.properties()
            if any(known == prefix or known.startswith(f"{prefix}.") for prefix in prefixes)
        ]
        self.set_properties(dict.fromkeys(names))

    def tablets(self) -> list[Tablet]:
        """The tablets in row order."""
        return [Tablet(*tablet) for tablet in self._native.tablets()]

    def splits(self) -> list[bytes]:
        """The rows at which the table is split."""
        return [tablet.end for tablet in self.tablets() if tablet.end is not None]

    def add_splits(self, rows: Iterable[Bytes]) -> None:
        """Splits the table at rows; those that are split points already are passed over."""
        if isinstance(rows, (str, bytes)):
            rows = [rows]
        self._native.add_splits(list(rows))

    def merge(self, start: Bytes | None = None, end: Bytes | None = None) -> None:
        """Makes one tablet of those that meet the rows after `start` up to `end`."""
        self._native.merge(start, end)

    def delete_rows(self, start: Bytes | None = None, end: Bytes | None = None) -> None:
        """Deletes the rows after `start` (not itself) up to `end` (itself too)."""
        self._native.delete_rows(start, end)

    def locate(self, row: Bytes) -> Location:
        """The tablet that `row` lies in, whether there is such a row or not.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     store.create_table("graph", splits=["m"]).locate("alice").end
        b'm'
        """
        return Location(*self._native.locate(row))

    def flush(self, *, wait: bool = True, timeout: float | None = None) -> None:
        """Writes what is in memory to files.

        After `timeout` seconds it raises `TimedOutError`; the flush goes on.
        """
        self._native.flush(wait, timeout)

    def compact(
        self,
        start: Bytes | None = None,
        end: Bytes | None = None,
        *,
        iterators: Iterable[IteratorSetting] = (),
        wait: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Merges the files of each tablet between two rows into one, after a flush.

        After `timeout` seconds it raises `TimedOutError`; the compaction goes on, and
        `cancel_compaction` ends it.
        """
        settings = [setting.native() for setting in iterators]
        self._native.compact(start, end, settings, wait, timeout)

    def cancel_compaction(self) -> None:
        """Cancels compactions that were asked for."""
        self._native.cancel_compaction()

    def __repr__(self) -> str:
        return f"<ostrakon.Table {self.name!r}>"

    def _repr_html_(self) -> str:
        return self.scan()._repr_html_()
