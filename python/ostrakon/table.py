"""One table of a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from ostrakon._native import NativeStore, NativeTable
from ostrakon.arguments import (
    bytes_list,
    bytes_of,
    flag_of,
    integer_of,
    mapping_of,
    optional_bytes,
    optional_seconds,
    optional_text,
    path_of,
    text_of,
    texts_of,
    wrong_type,
)
from ostrakon.errors import InvalidArgumentError, NotFoundError
from ostrakon.iterators import SCOPES, IteratorSetting
from ostrakon.progress import Progress
from ostrakon.ranges import Bytes, Range, native_ranges
from ostrakon.scan import FIELDS, Entry, Scan, auths_of, columns_of, limit_of, native_iterators
from ostrakon.writer import Writer, entries_of, frame_columns_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ostrakon.schema import Schema
    from ostrakon.typed import TypedTable

__all__ = ["ImportReport", "Location", "Table", "Tablet"]


# The property that holds the schema of a table.
SCHEMA = "table.custom.ostrakon.schema"


class Tablet(NamedTuple):
    """A range of a table's rows: after `previous_end`, up to and including `end`.

    `None` means unbounded.
    """

    previous_end: bytes | None
    end: bytes | None
    files: int
    entries: int
    bytes: int


class Location(NamedTuple):
    """The location of a row: the bounds of its tablet, the place that serves it, and `layout`.

    The number `layout` grows whenever the bounds of any tablet of the table change.
    """

    previous_end: bytes | None
    end: bytes | None
    location: str
    layout: int


class ImportReport(NamedTuple):
    """The result of `Table.import_directory`."""

    files: int
    entries: int
    bytes: int
    empty_files: int
    copied_files: int
    files_left: int


def changes_of(changes: Any, argument: str = "changes") -> list[tuple[str, str | None]]:
    """Changes of properties, in the form of the native part."""
    example = "{'table.durability': 'log'}"
    return [
        (
            text_of(argument, name, f"a dictionary of properties, such as {example}"),
            None if value is None else str(value),
        )
        for name, value in mapping_of(argument, changes, example).items()
    ]


def _ends(start: Any, end: Any) -> tuple[Bytes | None, Bytes | None]:
    takes = "a row of text or bytes"
    return optional_bytes("start", start, takes), optional_bytes("end", end, takes)


def _several(columns: Any) -> Any:
    if isinstance(columns, (str, bytes)):
        return [columns]
    pair = isinstance(columns, tuple) and len(columns) == 2
    if pair and all(isinstance(part, (str, bytes)) for part in columns):
        raise InvalidArgumentError(
            f"`columns` is ambiguous: {columns!r} may be one column or two families; write "
            f"[{columns!r}] for one column, {list(columns)!r} for two families",
            {"argument": "columns"},
        )
    return columns


class Table:
    """A table of an open store, returned by `Store.table` or `Store.create_table`.

    It stays valid when the table is renamed. Rows, columns, labels and values are bytes; text is
    encoded as UTF-8.
    """

    __slots__ = ("_is_plain", "_native", "_store")

    def __init__(self, native: NativeTable, store: NativeStore | None = None) -> None:
        self._native = native
        self._store = store
        # Whether the table is known to have no schema.
        self._is_plain = False

    @property
    def name(self) -> str:
        """The current name."""
        return self._native.name

    def writer(
        self,
        *,
        durability: str | None = None,
        batch_bytes: int = 1 << 20,
        memory_bytes: int = 50 << 20,
    ) -> Writer:
        """Creates a `Writer`.

        `durability` is `none`, `log`, `flush` or `sync`; `None` means the table's setting (`sync`
        by default). The writer submits a batch when it has `batch_bytes`, and waits while more than
        `memory_bytes` are not acknowledged.

        A table with a schema is written with `typed().put`: it rejects plain values and deletes,
        because its rows and values are encoded.
        """
        self._refuse_schema("typed().put", "typed().delete")
        return self._writer(durability, batch_bytes, memory_bytes)

    def _writer(
        self,
        durability: str | None = None,
        batch_bytes: int = 1 << 20,
        memory_bytes: int = 50 << 20,
    ) -> Writer:
        """A writer, also for a table with a schema."""
        bytes_taken = "a number of bytes"
        return Writer(
            self._native.writer(
                optional_text("durability", durability, "'none', 'log', 'flush' or 'sync'"),
                integer_of("batch_bytes", batch_bytes, bytes_taken),
                integer_of("memory_bytes", memory_bytes, bytes_taken),
            ),
            self._store,
        )

    def _refuse_schema(self, *instead: str) -> None:
        """Rejects a plain change of a table with a schema; asks the table once."""
        if self._is_plain:
            return
        if self.properties().get(SCHEMA):
            calls = " and ".join(f"`{call}`" for call in instead)
            raise InvalidArgumentError(
                f"the table {self.name!r} has a schema, whose columns encode their values: use "
                f"{calls} of the table; nothing was written",
                {"table": self.name},
            )
        self._is_plain = True

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
        """Writes entries, and waits until they are acknowledged; returns their number.

        The arguments are those of `Writer.put`. For many small calls, use one `Writer` instead.

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
        family: Any = None,
        qualifier: Any = None,
        value: Any = None,
        visibility: Any = None,
        timestamp: Any = None,
        progress: Progress = None,
    ) -> int:
        """Writes the rows of a data frame or Arrow table: see `Writer.put_frame`."""
        with self.writer(durability=durability) as writer:
            return writer.put_frame(
                frame,
                columns,
                family=family,
                qualifier=qualifier,
                value=value,
                visibility=visibility,
                timestamp=timestamp,
                progress=progress,
            )

    def put_dict(
        self,
        entries: Mapping[Any, Mapping[Any, Any]],
        *,
        family: Any = b"",
        visibility: Any = b"",
        timestamp: Any = None,
        durability: str | None = None,
    ) -> int:
        """Writes `{row: {qualifier: value}}`: see `Writer.put_dict`."""
        with self.writer(durability=durability) as writer:
            return writer.put_dict(
                entries, family=family, visibility=visibility, timestamp=timestamp
            )

    def delete(
        self,
        row: Any,
        qualifier: Any = b"",
        *,
        family: Any = b"",
        visibility: Any = b"",
        timestamp: Any = None,
        durability: str | None = None,
    ) -> int:
        """Deletes cells; returns the number of deletes that were written.

        A cell is deleted if its row, family, qualifier and label are those given. Whether there is
        such a cell is not looked up, so the number does not say it. See `Writer.delete`.
        """
        with self.writer(durability=durability) as writer:
            return writer.delete(
                row, qualifier, family=family, visibility=visibility, timestamp=timestamp
            )

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
        """Imports entries atomically and without the log; returns their number.

        Sorted columns are fastest; others are sorted first. Without `timestamp`, entries get the
        current time.
        """
        self._refuse_schema("typed().put")
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
        self,
        frame: Any,
        columns: Mapping[str, str] | None = None,
        *,
        family: Any = None,
        qualifier: Any = None,
        value: Any = None,
        visibility: Any = None,
        timestamp: Any = None,
    ) -> int:
        """Like `bulk_import`, for a data frame with columns as in `Writer.put_frame`."""
        self._refuse_schema("typed().put")
        return self._native.bulk_import(
            frame_columns_of(
                frame,
                columns,
                family=family,
                qualifier=qualifier,
                value=value,
                visibility=visibility,
                timestamp=timestamp,
            )
        )

    def import_directory(
        self,
        directory: str | PathLike[str],
        *,
        transfer: str = "move",
        verify: bool = False,
        allow_empty: bool = False,
    ) -> ImportReport:
        """Imports every sorted file of a directory atomically.

        Any process may write the files, with `write_sorted_file`. Names that begin with `_` or `.`
        are skipped. If a file is not a valid sorted file, the error names it, and nothing is
        imported. `transfer` is `move` (removes the files from the directory), `link` (shares their
        bytes; never change such a file) or `copy`. `verify` checks every entry first.
        """
        return ImportReport(
            *self._native.import_directory(
                path_of("directory", directory),
                text_of("transfer", transfer, "'move', 'link' or 'copy'"),
                flag_of("verify", verify),
                flag_of("allow_empty", allow_empty),
            )
        )

    @overload
    def scan(
        self,
        ranges: Any = None,
        columns: Iterable[Bytes | Sequence[Bytes]] = (),
        *,
        auths: Bytes | Iterable[Bytes] | None = None,
        iterators: Iterable[IteratorSetting] = (),
        fields: Iterable[str] = FIELDS,
        text: Literal[True] = True,
        ordered: bool = True,
        limit: int | None = None,
        batch_entries: int = 1 << 16,
        timeout: float | None = None,
    ) -> Scan: ...

    @overload
    def scan(
        self,
        ranges: Any = None,
        columns: Iterable[Bytes | Sequence[Bytes]] = (),
        *,
        auths: Bytes | Iterable[Bytes] | None = None,
        iterators: Iterable[IteratorSetting] = (),
        fields: Iterable[str] = FIELDS,
        text: Literal[False],
        ordered: bool = True,
        limit: int | None = None,
        batch_entries: int = 1 << 16,
        timeout: float | None = None,
    ) -> Scan[bytes]: ...

    @overload
    def scan(
        self,
        ranges: Any = None,
        columns: Iterable[Bytes | Sequence[Bytes]] = (),
        *,
        auths: Bytes | Iterable[Bytes] | None = None,
        iterators: Iterable[IteratorSetting] = (),
        fields: Iterable[str] = FIELDS,
        text: bool,
        ordered: bool = True,
        limit: int | None = None,
        batch_entries: int = 1 << 16,
        timeout: float | None = None,
    ) -> Scan[Any]: ...

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
    ) -> Scan[Any]:
        """Describes a scan, which runs each time it is read.

        `ranges`: a row, a pair (first, last), a `Range`, a list of those (thousands are fine), or
        an array of rows; `None` means every row. `columns`: families, and pairs (family,
        qualifier). `auths`: the authorizations of the reader; by default those the store was opened
        with. `fields`: the columns to return; fewer are faster. `text=False` returns bytes instead
        of text. `ordered=False` reads in any order, with several threads. `limit`: the maximum
        number of entries. `timeout`: the number of seconds that one run of the scan may take before
        it raises `TimedOutError`. Ctrl-C ends a running scan.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     table = store.create_table("people")
        ...     _ = table.put("ann", ["mail", "town"], ["a@b.c", "Ulm"], visibility=["hr", ""])
        ...     [e.value for e in table.scan().entries()]
        ...     [e.value for e in table.scan(auths="hr").entries()]
        ['Ulm']
        ['a@b.c', 'Ulm']
        """
        fields = texts_of("fields", fields, "['row', 'value']")
        for name in fields:
            if name not in FIELDS:
                raise InvalidArgumentError(
                    f"`fields` has {name!r}; the fields are {', '.join(FIELDS)}",
                    {"argument": "fields"},
                )
        made, rows = native_ranges(ranges)
        columns = _several(columns)
        argument = {
            "ranges": made,
            "rows": rows,
            "columns": columns_of(columns),
            "auths": auths_of(auths),
            "iterators": native_iterators(iterators),
            "fields": fields,
            "text": flag_of("text", text),
            "ordered": flag_of("ordered", ordered),
            "limit": limit_of(limit),
            "batch_entries": integer_of("batch_entries", batch_entries, "a number of entries", 1),
            "timeout": optional_seconds("timeout", timeout),
        }
        return Scan(self._native, argument, ranges)

    def head(self, entries: int = 5) -> list[Entry]:
        """The first entries as Python objects; short for `scan().head()`.

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

    @overload
    def get(
        self,
        row: Bytes,
        qualifier: Bytes = b"",
        *,
        family: Bytes = b"",
        auths: Bytes | Iterable[Bytes] | None = None,
        text: Literal[True] = True,
    ) -> str | None: ...

    @overload
    def get(
        self,
        row: Bytes,
        qualifier: Bytes = b"",
        *,
        family: Bytes = b"",
        auths: Bytes | Iterable[Bytes] | None = None,
        text: Literal[False],
    ) -> bytes | None: ...

    @overload
    def get(
        self,
        row: Bytes,
        qualifier: Bytes = b"",
        *,
        family: Bytes = b"",
        auths: Bytes | Iterable[Bytes] | None = None,
        text: bool,
    ) -> Bytes | None: ...

    def get(
        self,
        row: Bytes,
        qualifier: Bytes = b"",
        *,
        family: Bytes = b"",
        auths: Bytes | Iterable[Bytes] | None = None,
        text: bool = True,
    ) -> Bytes | None:
        """The value of one column of a row, as text or (`text=False`) bytes; `None` if there is
        none that the reader sees. Of several, with several labels, it is the newest.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     table = store.create_table("people")
        ...     _ = table.put("ann", "town", "Ulm")
        ...     table.get("ann", "town"), table.get("bea", "town")
        ('Ulm', None)
        """
        place = Range.row(
            bytes_of("row", row), bytes_of("family", family), bytes_of("qualifier", qualifier)
        )
        found = list(self.scan(place, auths=auths, text=text).entries())
        value: Bytes | None = None
        if found:
            value = max(found, key=lambda entry: entry.timestamp).value
        return value

    @property
    def schema(self) -> Schema | None:
        """The schema that the table was created with, if any."""
        from ostrakon.schema import Schema

        text = self.properties().get(SCHEMA)
        return None if not text else Schema.from_json(text)

    def typed(self, schema: Schema | None = None) -> TypedTable:
        """The table with the types of its schema, or of another one."""
        from ostrakon.schema import Schema
        from ostrakon.typed import TypedTable

        if schema is not None and not isinstance(schema, Schema):
            raise wrong_type("schema", "an `ostrakon.Schema`, or None", schema)
        schema = schema or self.schema
        if schema is None:
            raise InvalidArgumentError(
                f"the table {self.name!r} has no schema: give one, or create it with `schema=`",
                {"argument": "schema"},
            )
        return TypedTable(self, schema)

    def properties(self) -> dict[str, str]:
        """The properties in effect, including defaults, with Accumulo's names."""
        return self._native.properties()

    def set_properties(self, changes: Mapping[str, str | None]) -> None:
        """Sets or removes (`None`) properties atomically; the table may be in use."""
        self._native.modify_properties(changes_of(changes))
        self._is_plain = False

    def attach_iterator(self, setting: IteratorSetting, scopes: Iterable[str] = SCOPES) -> None:
        """Adds an iterator to the table's stacks of `scopes`."""
        if not isinstance(setting, IteratorSetting):
            raise wrong_type("setting", "an `ostrakon.IteratorSetting`", setting)
        self.set_properties(setting.properties(texts_of("scopes", scopes, "['scan', 'majc']")))

    def remove_iterator(self, name: str, scopes: Iterable[str] = SCOPES) -> None:
        """Removes an iterator from the table's stacks of `scopes`; raises `NotFoundError` if none
        of them has it."""
        name = text_of("name", name, "the name of an iterator")
        scopes = texts_of("scopes", scopes, "['scan', 'majc']")
        prefixes = [f"table.iterator.{scope}.{name}" for scope in scopes]
        names = [
            known
            for known in self.properties()
            if any(known == prefix or known.startswith(f"{prefix}.") for prefix in prefixes)
        ]
        if not names:
            raise NotFoundError(
                f"the table {self.name!r} has no iterator {name!r} for {', '.join(scopes)}",
                {"table": self.name, "iterator": name},
            )
        self.set_properties(dict.fromkeys(names))

    def tablets(self) -> list[Tablet]:
        """The tablets in row order."""
        return [Tablet(*tablet) for tablet in self._native.tablets()]

    def splits(self) -> list[bytes]:
        """The rows at which the table is split."""
        return [tablet.end for tablet in self.tablets() if tablet.end is not None]

    def add_splits(self, rows: Iterable[Bytes]) -> None:
        """Splits the table at rows; existing split points are skipped."""
        if isinstance(rows, (str, bytes)):
            rows = [rows]
        self._native.add_splits(bytes_list("rows", rows, "['g', 'n']"))

    def merge(self, start: Bytes | None = None, end: Bytes | None = None) -> None:
        """Merges the tablets that hold the rows after `start` up to and including `end`."""
        self._native.merge(*_ends(start, end))

    def delete_rows(self, start: Bytes | None = None, end: Bytes | None = None) -> None:
        """Deletes the rows after `start` up to and including `end`."""
        self._native.delete_rows(*_ends(start, end))

    def locate(self, row: Bytes) -> Location:
        """The location of `row`, which need not exist.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     store.create_table("graph", splits=["m"]).locate("alice").end
        b'm'
        """
        return Location(*self._native.locate(bytes_of("row", row)))

    def flush(self, *, wait: bool = True, timeout: float | None = None) -> None:
        """Writes the memory of the table to files.

        After `timeout` seconds it raises `TimedOutError`, and the flush continues.
        """
        self._native.flush(flag_of("wait", wait), optional_seconds("timeout", timeout))

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

        After `timeout` seconds it raises `TimedOutError`. The compaction continues until it ends or
        is cancelled by `cancel_compaction`.
        """
        settings = native_iterators(iterators)
        first, last = _ends(start, end)
        self._native.compact(
            first, last, settings, flag_of("wait", wait), optional_seconds("timeout", timeout)
        )

    def cancel_compaction(self) -> None:
        """Cancels the requested compactions of the table."""
        self._native.cancel_compaction()

    def __copy__(self) -> Table:
        return Table(self._native, self._store)

    def __reduce__(self) -> Any:
        raise TypeError(
            "a table of an open store cannot be pickled: open the store where it is needed"
        )

    def __repr__(self) -> str:
        return f"<ostrakon.Table {self.name!r}>"

    def _repr_html_(self) -> str:
        return self.scan()._repr_html_()
