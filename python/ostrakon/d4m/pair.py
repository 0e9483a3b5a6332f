"""A table and its transpose, kept consistent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from ostrakon.assoc import Assoc
from ostrakon.d4m import reading
from ostrakon.d4m.bindings import Binding
from ostrakon.d4m.locks import ReadWriteLock, lock_of
from ostrakon.d4m.selection import ALL, Selection, select
from ostrakon.d4m.settings import Settings
from ostrakon.d4m.table import AssocTable, SplitReport, checked
from ostrakon.d4m.upkeep import PairReport, compare
from ostrakon.d4m.writing import Labels, Triples, of_assoc
from ostrakon.errors import InvalidArgumentError


class AssocPair(Binding):
    """A table and its transpose: `db["T", "Tt"]`. Writes go to both tables, a query goes to the one
    that reads less.

    A write is checked for both tables before the first one is written; the table is written before
    its transpose. A later failure (a full disk, a power cut) may leave the transpose incomplete;
    `check` finds that, and `repair` fixes it. Writes may run concurrently; a delete runs alone.
    """

    __slots__ = ("main", "transpose")

    def __init__(self, main: AssocTable, transpose: AssocTable) -> None:
        if main.name == transpose.name:
            raise InvalidArgumentError(
                f"a pair is made of two tables, not of {main.name!r} twice", {"argument": "names"}
            )
        self.main = main
        self.transpose = transpose

    @property
    def names(self) -> tuple[str, str]:
        """The names of both tables."""
        return self.main.name, self.transpose.name

    @property
    def T(self) -> AssocPair:  # noqa: N802  (NumPy's name)
        """The pair with rows and columns exchanged."""
        return AssocPair(self.transpose, self.main)

    @property
    def settings(self) -> Settings:
        """How it reads and writes."""
        return self.main.settings

    def using(self, **changes: Any) -> AssocPair:
        """The same tables with other settings."""
        dataclasses.replace(self.settings, **changes)
        return AssocPair(self.main.using(**changes), self.transpose.using(**changes))

    def _read(self, rows: Selection, cols: Selection) -> Assoc:
        if rows.cost <= cols.cost:
            return self.main._read(rows, cols)
        if reading.is_nothing(rows, cols):
            return Assoc()
        transpose = self.transpose
        ordered = cols.exact and len(cols.keys) < 64
        scan = reading.start(transpose.table, transpose.settings, cols, rows, ordered=ordered)
        found = reading.take(scan, transpose.settings)
        return reading.assemble(found, transpose._collision, transposed=True)

    def chunks(self, entries: int, rows: Any = ALL, cols: Any = ALL) -> Iterator[Assoc]:
        """Arrays of whole rows, as `AssocTable.chunks`. `T.T.chunks` gives whole columns,
        transposed."""
        return self.main.chunks(entries, rows, cols)

    def put(self, array: Assoc, *, visibility: Labels = None, timestamp: Any = None) -> int:
        """Puts an array into both tables: see `AssocTable.put`."""
        label = self.settings.visibility if visibility is None else visibility
        if len(checked(array)) == 0:
            return 0
        triples = of_assoc(array, label, timestamp)
        # The label of each entry is worked out once.
        other = of_assoc(array, triples.visibility, timestamp, by_column=True)
        return self._write(triples, other.transposed())

    def _put_triples(self, triples: Triples) -> int:
        return self._write(triples, triples.transposed())

    def _write(self, triples: Triples, transposed: Triples) -> int:
        self.main._refuse_other_values(triples)
        self.transpose._refuse_other_values(transposed)
        with self._lock.shared():
            count = self.main._write(triples)
            self.transpose._write(transposed)
        return count

    @property
    def _lock(self) -> ReadWriteLock:
        return lock_of(self.main._store, "pair", *self.names)

    def _delete_places(self, rows: list[str], cols: list[str]) -> int:
        with self._lock.alone():
            return sum(self._delete_entries(block) for block in self.main._labelled(rows, cols))

    def _delete_entries(self, entries: list[tuple[Any, ...]]) -> int:
        """Deletes entries by row, column and label; the caller holds the lock."""
        count = self.main._delete([entries])
        self.transpose._delete([[(col, row, label) for row, col, label, *_ in entries]])
        return count

    def check(self, *, examples: int = 10) -> PairReport:
        """Compares both tables, entry by entry and label by label, as far as the authorizations
        allow. Writes through pairs wait until it ends.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     T = db["T", "Tt"]
        ...     T.put_triple("a,b,", "x,y,", [1, 2])
        ...     T.transpose.delete_triple("x,", "a,")
        ...     T.check().missing, T.repair().missing, T.check().sound
        2
        1
        (1, 1, True)
        """
        with self._lock.alone():
            return compare(self.main, self.transpose, examples, repair=False)

    def repair(self, *, examples: int = 10) -> PairReport:
        """Makes the transpose equal to the table, and reports the differences. Writes and deletes
        go to the table first, so the table is correct as a rule; if it is not, repair `T.T`."""
        with self._lock.alone():
            return compare(self.main, self.transpose, examples, repair=True)

    def nnz(self) -> int:
        """The number of entries."""
        return self.main.nnz()

    def drop(self) -> None:
        """Deletes both tables."""
        self.main.drop()
        self.transpose.drop()

    def add_col_combiner(self, columns: Any, combiner: str) -> None:
        """Combines the values of all columns (':'), in both tables. Single columns are not
        possible, because they are rows in the transpose."""
        self._all_columns(columns)
        self.main.add_col_combiner(":", combiner)
        self.transpose.add_col_combiner(":", combiner)

    def list_col_combiner(self) -> dict[str, Any]:
        """Kind of combiner -> its columns, or ':' for all."""
        return self.main.list_col_combiner()

    def revoke_col_combiner(self, columns: Any) -> None:
        """Stops combining, in both tables."""
        self._all_columns(columns)
        self.main.revoke_col_combiner(":")
        self.transpose.revoke_col_combiner(":")

    def _all_columns(self, columns: Any) -> None:
        if not select(columns, "columns").everything:
            raise InvalidArgumentError(
                "columns: a pair combines all columns (':') or none, since columns are rows in the "
                "transpose; for some columns use a single table",
                {"argument": "columns"},
            )

    def add_splits(self, rows: Any, cols: Any = ()) -> None:
        """Splits the table after rows, and the transpose after columns."""
        self.main.add_splits(rows)
        self.transpose.add_splits(cols)

    def put_splits(self, rows: Any, cols: Any = ()) -> None:
        """Splits the table after these rows only, and the transpose after these columns only."""
        self.main.put_splits(rows)
        self.transpose.put_splits(cols)

    def get_splits(self) -> SplitReport:
        """Splits of the table; those of the transpose are `T.T.get_splits()`."""
        return self.main.get_splits()

    def merge_splits(self, start: str | None = None, end: str | None = None) -> None:
        """Removes the splits of the table between two rows, all by default."""
        self.main.merge_splits(start, end)

    def rand_row(self, count: int = 1, seed: int | None = None) -> list[str]:
        """A number of different random rows: see `AssocTable.rand_row`."""
        return self.main.rand_row(count, seed)

    def __repr__(self) -> str:
        return f"<ostrakon.d4m.AssocPair {self.main.name!r}, {self.transpose.name!r}>"
