"""Reading entries of a table."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ostrakon._native import NativeBatch as Batch
from ostrakon._native import NativeScan, NativeTable
from ostrakon.arguments import (
    bytes_list,
    bytes_of,
    integer_of,
    items_of,
    optional_bytes,
    optional_integer,
    wrong_type,
)
from ostrakon.display import counted, entries_html, shortened
from ostrakon.errors import Error, InvalidArgumentError
from ostrakon.explain import explained
from ostrakon.extras import load
from ostrakon.iterators import IteratorSetting
from ostrakon.ranges import Bytes, Range, native_ranges
from ostrakon.rows import polars_of, read_all

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import pyarrow.dataset

__all__ = ["Batch", "Entry", "Scan"]

FIELDS = ("row", "family", "qualifier", "visibility", "timestamp", "value")


if TYPE_CHECKING:
    import typing_extensions

    # What the parts of an entry are: `Entry` and `Scan` alone mean those of text.
    Part = typing_extensions.TypeVar("Part", bound=Bytes, default=str)

    class Entry(NamedTuple, Generic[Part]):
        """A key and its value. The parts are `str`, or `bytes` in a scan with `text=False`."""

        row: Part
        family: Part
        qualifier: Part
        visibility: Part
        timestamp: int
        value: Part

else:
    Part = TypeVar("Part")

    class Entry(NamedTuple):
        """A key and its value. The parts are `str`, or `bytes` in a scan with `text=False`."""

        row: Any
        family: Any
        qualifier: Any
        visibility: Any
        timestamp: int
        value: Any

        # Python 3.10 has no generic named tuples.
        __class_getitem__ = classmethod(types.GenericAlias)


class Scan(Generic[Part]):
    """The description of a scan, returned by `Table.scan`; the scan runs each time it is read.

    `rows`, `columns`, `auths`, `limit` and `iterators` return a changed scan; the scan itself does
    not change. It has Arrow's stream interface, so that `pyarrow.table(scan)`,
    `polars.DataFrame(scan)` and other libraries read it without a copy.

    >>> import ostrakon
    >>> with ostrakon.open() as store:
    ...     table = store.create_table("graph")
    ...     _ = table.put(["alice", "alice", "bob"], ["age", "knows", "knows"], 7, timestamp=1)
    ...     knows = table.scan().columns(("", "knows"))
    ...     knows.rows("alice").head()
    ...     knows.count(), knows.limit(1).count()
    [Entry(row='alice', family='', qualifier='knows', visibility='', timestamp=1, value='7')]
    (2, 1)
    """

    __slots__ = ("_argument", "_ranges", "_table")

    def __init__(self, table: NativeTable, argument: dict[str, Any], ranges: Any = None) -> None:
        self._table = table
        self._argument = argument
        # The ranges as given by the caller, for `explain`.
        self._ranges = ranges

    def _start(self, **changes: Any) -> NativeScan:
        return self._table.scan({**self._argument, **changes})

    def _with(self, **changes: Any) -> Scan[Part]:
        return Scan(self._table, {**self._argument, **changes}, self._ranges)

    def rows(self, *rows: Any) -> Scan[Part]:
        """The scan with these rows instead of its own: rows, pairs (first, last), `Range` objects,
        a list or an array."""
        given = rows[0] if len(rows) == 1 else list(rows)
        made, listed = native_ranges(given, "rows")
        return Scan(self._table, {**self._argument, "ranges": made, "rows": listed}, given)

    def range(self, first: Any, last: Any) -> Scan[Part]:
        """The scan of the rows from `first` to `last`, both inclusive, instead of its own; `...` or
        `None` is an open end."""
        return self.rows(Range(None if first is ... else first, None if last is ... else last))

    def columns(self, *columns: Bytes | Sequence[Bytes]) -> Scan[Part]:
        """The scan with these columns instead of its own: families, or pairs (family,
        qualifier)."""
        given: Any = columns[0] if len(columns) == 1 and isinstance(columns[0], list) else columns
        return self._with(columns=columns_of(given))

    def auths(self, *names: Bytes | Iterable[Bytes]) -> Scan[Part]:
        """The scan with these authorizations instead; without arguments, with none."""
        return self._with(auths=auths_of(names_of(names)))

    def limit(self, entries: int | None) -> Scan[Part]:
        """The scan of at most this many entries, whatever limit it had; `None` means all."""
        return self._with(limit=limit_of(entries, "entries"))

    def iterators(self, *settings: IteratorSetting) -> Scan[Part]:
        """The scan with these iterators instead, in addition to those of the table."""
        return self._with(iterators=native_iterators(settings))

    @property
    def _limited(self) -> int | None:
        limit: int | None = self._argument["limit"]
        return limit

    @property
    def _narrowed(self) -> bool:
        return self._argument["ranges"] is not None or self._argument["rows"] is not None

    def _projected(self, fields: Iterable[str]) -> Scan[Part]:
        return self._with(fields=list(fields))

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns that are returned, in order."""
        return tuple(self._argument["fields"])

    def __iter__(self) -> Iterator[Batch]:
        """Reads the scan as Arrow record batches."""
        scan = self._start()
        while (batch := scan.next_batch()) is not None:
            yield batch

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's stream interface."""
        return self._start().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Arrow's schema interface."""
        return self._start(ranges=[], rows=[]).__arrow_c_schema__()

    def entries(self) -> Iterator[Entry[Part]]:
        """The entries one by one as Python objects: for display, tests and small results."""
        scan = self._start(fields=list(FIELDS))
        make: Callable[[Iterable[Any]], Entry[Part]] = Entry._make
        while (batch := scan.next_batch()) is not None:
            yield from map(make, batch.tuples())

    def head(self, entries: int = 5) -> list[Entry[Part]]:
        """The first entries as Python objects."""
        most = self._argument["limit"]
        entries = integer_of("entries", entries, "a number of entries")
        return list(self.limit(entries if most is None else min(most, entries)).entries())

    def count(self) -> int:
        """The number of entries."""
        return self._start(fields=["row"]).count()

    def to_arrow(self, *, datetimes: bool = False) -> pyarrow.Table:
        """All entries as a pyarrow table. Timestamps are integers; with `datetimes`, points in time
        in UTC, for tables whose time is in milliseconds (`time_type="millis"`, the default)."""
        pa = load("pyarrow", "arrow")
        table = read_all(self._start())
        if datetimes and "timestamp" in table.column_names:
            at = table.column_names.index("timestamp")
            times = table.column(at).cast(pa.timestamp("ms", tz="UTC"))
            table = table.set_column(at, "timestamp", times)
        return table

    def to_pandas(self, *, datetimes: bool = False) -> pandas.DataFrame:
        """All entries as a pandas frame; needs pyarrow too. `datetimes` is as in `to_arrow`: then
        timestamps are `datetime64[ms, UTC]`."""
        load("pandas", "pandas")
        return self.to_arrow(datetimes=datetimes).to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All entries as a polars frame."""
        return polars_of(self.to_arrow())

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
        """Describes what the scan will do, without reading anything.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     table = store.create_table("graph", splits=["b", "m"])
        ...     print(table.scan(("a", "c"), columns=["edge"], limit=10).explain())
        scan of 'graph'
          rows: 'a' to 'c'
          columns: family 'edge'
          auths: what the store was opened with
          iterators: those of the table
          order: by key, at most 10 entries
          reads: 2 of 3 tablets, which hold about 0 of 0 entries
        """
        return explained(self._table, self._argument, self._ranges)

    def __copy__(self) -> Scan[Part]:
        return self._with()

    def __reduce__(self) -> Any:
        raise TypeError(
            "a scan of an open store cannot be pickled: open the store where it is needed"
        )

    def __repr__(self) -> str:
        name, argument = self._table.name, self._argument
        said = []
        if argument["ranges"] is not None:
            said.append(counted(len(argument["ranges"]), "range"))
        elif argument["rows"] is not None:
            said.append("some rows")
        if argument["columns"]:
            said.append(counted(len(argument["columns"]), "column"))
        if argument["auths"] is not None:
            said.append(f"auths {shortened(argument['auths'])}")
        if argument["limit"] is not None:
            said.append(f"at most {argument['limit']:,} entries")
        return f"<ostrakon.Scan of {name!r}: {', '.join(said) or 'everything'}>"

    def _repr_html_(self) -> str:
        try:
            # As bytes, since not all of them need be text: `entries_html` shows what is.
            found = self._with(text=False).limit(_SHOWN + 1).head(_SHOWN + 1)
            return entries_html(repr(self), found, _SHOWN, text=self._argument["text"])
        except Error as error:
            return entries_html(f"{self!r}: {error}", [], _SHOWN)


# Maximum number of entries that a notebook shows.
_SHOWN = 10


def limit_of(limit: int | None, argument: str = "limit") -> int | None:
    """A valid limit, or an error."""
    return optional_integer(argument, limit, "a number, such as 100")


def names_of(names: tuple[Bytes | Iterable[Bytes], ...]) -> Any:
    """The authorizations that a call names: each as an argument, or all in one list."""
    return names[0] if len(names) == 1 else names


_BETWEEN_NAMES = ",;|& \t\n"


def auths_of(auths: Bytes | Iterable[Bytes] | None) -> list[Bytes] | None:
    """Authorizations, in the form of the native part."""
    if auths is None:
        return None
    if isinstance(auths, (str, bytes)):
        return [_one_name(auths)]
    return bytes_list("auths", auths, "['hr', 'audit']")


def native_iterators(settings: Any) -> list[tuple[int, str, str, dict[str, str]]]:
    """Iterators, in the form of the native part."""
    takes = "a list of `IteratorSetting` objects"
    listed = items_of("iterators", settings, takes)
    for one in listed:
        if not isinstance(one, IteratorSetting):
            raise wrong_type("iterators", takes, one)
    return [one.native() for one in listed]


def _one_name(name: Bytes) -> Bytes:
    """One authorization; rejects a text that looks like a list or an expression."""
    text = name.decode(errors="replace") if isinstance(name, bytes) else name
    names = [text]
    for sign in _BETWEEN_NAMES:
        names = [part for one in names for part in one.split(sign) if part]
    if names != [text]:
        raise InvalidArgumentError(
            f"`auths` is one text, {text!r}: use a list of names, {names!r}, or [{text!r}] if that "
            "is one name",
            {"argument": "auths"},
        )
    return name


def columns_of(columns: Any) -> list[tuple[Bytes, Bytes | None]]:
    """Columns, in the form of the native part."""
    listed = items_of("columns", columns, "a list of families and pairs (family, qualifier)")
    return [column_of(column) for column in listed]


def column_of(column: Any) -> tuple[Bytes, Bytes | None]:
    """A family, or a family and a qualifier."""
    if isinstance(column, (str, bytes)):
        return bytes_of("columns", column), None
    if isinstance(column, (tuple, list)) and len(column) == 2:
        takes = "families and pairs (family, qualifier) of text or bytes"
        return bytes_of("columns", column[0], takes), optional_bytes("columns", column[1], takes)
    raise wrong_type("columns", "families and pairs (family, qualifier)", column)
