"""D4M's names for what tables do. Each is one line over the name in Python's style."""
# ruff: noqa: N802, D102

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ostrakon.assoc import Assoc
    from ostrakon.d4m.chunks import ChunkIterator
    from ostrakon.d4m.table import AssocTable, SplitReport


class D4MTableNames:
    """`putTriple`, `addColCombiner`, …"""

    __slots__ = ()

    @property
    def _named(self) -> AssocTable:
        return cast("AssocTable", self)

    def putTriple(self, row: Any, col: Any, val: Any, **options: Any) -> int:
        return self._named.put_triple(row, col, val, **options)

    def deleteTriple(self, row: Any, col: Any) -> int:
        return self._named.delete_triple(row, col)

    def deleteAssoc(self, array: Assoc) -> int:
        return self._named.delete_assoc(array)

    def deleteForce(self) -> None:
        self._named.drop()

    def Iterator(self, entries: int = 100_000) -> ChunkIterator:
        return self._named.iterator(entries)

    def get_iterator(self, entries: int = 100_000) -> ChunkIterator:
        return self._named.iterator(entries)

    def addColCombiner(self, columns: Any, combiner: str) -> None:
        self._named.add_col_combiner(columns, combiner)

    def listColCombiner(self) -> dict[str, Any]:
        return self._named.list_col_combiner()

    def revokeColCombiner(self, columns: Any) -> None:
        self._named.revoke_col_combiner(columns)

    def addSplits(self, rows: Any) -> None:
        self._named.add_splits(rows)

    def putSplits(self, rows: Any) -> None:
        self._named.put_splits(rows)

    def getSplits(self) -> SplitReport:
        return self._named.get_splits()

    def mergeSplits(self, start: str | None = None, end: str | None = None) -> None:
        self._named.merge_splits(start, end)

    def randRow(self, count: int = 1, seed: int | None = None) -> list[str]:
        return self._named.rand_row(count, seed)
