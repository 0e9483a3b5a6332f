"""Reading entries of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ostrakon._native import NativeBatch as Batch
from ostrakon._native import NativeScan, NativeTable
from ostrakon.extras import load

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Batch", "Entry", "Scan"]

FIELDS = ("row", "family", "qualifier", "visibility", "timestamp", "value")


class Entry(NamedTuple):
    """A key and its value. The parts are `str`, or `bytes` in a scan with `text=False`."""

    row: Any
    family: Any
    qualifier: Any
    visibility: Any
    timestamp: int
    value: Any


class Scan:
    """What `Table.scan` answers: a description of a scan, run each time it is read.

    It has Arrow's stream interface, so that `pyarrow.table(scan)`, `polars.DataFrame(scan)` and
    others take it without a copy of what it hands out.

    >>> import ostrakon
    >>> with ostrakon.open() as store:
    ...     table = store.create_table("graph")
    ...     _ = table.put(["alice", "bob"], "knows", ["bob", "carl"], timestamp=1)
    ...     scan = table.scan("alice")
    ...     list(scan.entries())
    [Entry(row='alice', family='', qualifier='knows', visibility='', timestamp=1, value='bob')]
    """

    __slots__ = ("_argument", "_table")

    def __init__(self, table: NativeTable, argument: dict[str, Any]) -> None:
        self._table = table
        self._argument = argument

    def _start(self, **changes: Any) -> NativeScan:
        return self._table.scan({**self._argument, **changes})

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns handed out, in order."""
        return tuple(self._argument["fields"])

    def __iter__(self) -> Iterator[Batch]:
        """Arrow record batches, as long as there are any."""
        scan = self._start()
        while (batch := scan.next_batch()) is not None:
            yield batch

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's stream interface."""
        return self._start().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Arrow's schema interface."""
        return self._start(ranges=[], rows=[]).__arrow_c_schema__()

    def entries(self) -> Iterator[Entry]:
        """The entries one by one as Python objects: for people, tests and small results."""
        scan = self._start(fields=list(FIELDS))
        while (batch := scan.next_batch()) is not None:
            yield from map(Entry._make, batch.tuples())

    def count(self) -> int:
        """The number of entries."""
        return self._start(fields=["row"]).count()

    def to_arrow(self) -> pyarrow.Table:
        """All entries as a pyarrow table."""
        table: pyarrow.Table = load("pyarrow", "arrow").table(self)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """All entries as a pandas frame; needs pyarrow too."""
        load("pandas", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All entries as a polars frame."""
        frame: polars.DataFrame = load("polars", "polars").DataFrame(self)
        return frame

    def __repr__(self) -> str:
        return f"<ostrakon.Scan of {self._table.name!r}: {', '.join(self.fields)}>"
