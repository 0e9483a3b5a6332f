"""Reads a table in chunks of whole rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ostrakon.assoc import Assoc
from ostrakon.d4m import reading
from ostrakon.d4m.selection import ALL, Selection, select
from ostrakon.d4m.settings import Settings
from ostrakon.errors import InvalidArgumentError
from ostrakon.table import Table

if TYPE_CHECKING:
    from ostrakon.d4m.bindings import Binding


def chunks(
    table: Table,
    settings: Settings,
    entries: int,
    rows: Selection,
    cols: Selection,
    *,
    collision: Callable[[], str],
) -> Iterator[Assoc]:
    """Arrays of whole rows with at least `entries` entries each; the last row is complete."""
    if reading.is_nothing(rows, cols):
        return
    scan = reading.start(table, settings, rows, cols, ordered=True)
    while True:
        columns = reading.take(scan, settings, entries)
        if len(columns[0]) == 0:
            return
        array = reading.assemble(columns, collision)
        # A chunk that holds only nulls is not the end.
        if len(array):
            yield array


def checked_entries(entries: int) -> int:
    """The target number of entries per chunk."""
    if isinstance(entries, bool) or not isinstance(entries, int) or entries < 1:
        raise InvalidArgumentError(
            f"entries: a chunk has at least one entry, not {entries!r}", {"argument": "entries"}
        )
    return entries


class ChunkIterator:
    """D4M's iterator: `A = It[rows, cols]` begins, and `A = It()` continues until `A` is empty.

    >>> from ostrakon import Assoc
    >>> from ostrakon.d4m import DB
    >>> with DB() as db:
    ...     T = db["T"]
    ...     T.put(Assoc("a,a,b,c,", "x,y,x,x,", 1))
    ...     It = T.iterator(1)
    ...     It[:, :].nnz, It().nnz, It().nnz, It().nnz
    4
    (2, 1, 1, 0)
    """

    __slots__ = ("_binding", "_entries", "_running")

    def __init__(self, binding: Binding, entries: int) -> None:
        self._binding = binding
        self._entries = checked_entries(entries)
        self._running: Iterator[Assoc] = iter(())

    def __getitem__(self, index: Any) -> Assoc:
        rows, cols = index if isinstance(index, tuple) else (index, ALL)
        self._running = self._binding.chunks(
            self._entries, select(rows, "row"), select(cols, "col")
        )
        return self()

    def __call__(self) -> Assoc:
        """The next chunk; an empty one at the end."""
        return next(self._running, Assoc())

    def __iter__(self) -> Iterator[Assoc]:
        return self._running
