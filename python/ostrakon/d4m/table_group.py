"""The common base of graphs and records: related tables, and degrees that count their entries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ostrakon.d4m.locks import ReadWriteLock, lock_of
from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.table import AssocTable
from ostrakon.d4m.upkeep import (
    DegreeError,
    DegreesOf,
    Place,
    UpkeepReport,
    add,
    correct_degrees,
    lowered,
    wrong_degrees,
)

Counts = tuple[AssocTable, "list[str] | None", dict[Place, int]]
"""A table of degrees, the columns that hold degrees (all by default), and the correct degrees."""


class TableGroup(ABC):
    """Tables that are kept consistent. Puts share the lock; deletes, checks and repairs hold it
    alone."""

    __slots__ = ()

    @property
    @abstractmethod
    def _tables(self) -> tuple[AssocPair | None, AssocTable]:
        """The pair, and the table of degrees; a single table is both."""

    @abstractmethod
    def _counts(self) -> list[Counts]:
        """The correct degrees, counted from the entries."""

    @abstractmethod
    def _degrees_of(self) -> list[tuple[AssocTable, DegreesOf]]:
        """The tables that count an entry, and how they count it."""

    @property
    def _lock(self) -> ReadWriteLock:
        degrees = self._tables[1]
        return lock_of(degrees._store, "degrees", degrees.name)

    def _gone(self, blocks: Iterable[list[tuple[Any, ...]]]) -> int:
        """Deletes entries (row, column, label, value), and lowers their degrees.

        The caller holds the lock.
        """
        pair, single = self._tables
        deleted = 0
        for block in blocks:
            # First, because an entry that cannot be counted raises before anything is deleted.
            changes = [(table, lowered(table, block, of)) for table, of in self._degrees_of()]
            if pair is None:
                deleted += single._delete([block])
            else:
                with pair._lock.alone():
                    deleted += pair._delete_entries(block)
            for table, change in changes:
                add(table, change)
        return deleted

    def check(self) -> UpkeepReport:
        """Compares the two tables of the pair, and the degrees with the entries, as far as the
        authorizations allow. Writes of all threads wait until the check ends."""
        return self._upkeep(repair=False)

    def repair(self) -> UpkeepReport:
        """Like `check`, and repairs what differs: the transpose is made equal to the table (see
        `AssocPair.repair`), and the degrees to the counts."""
        return self._upkeep(repair=True)

    def _upkeep(self, *, repair: bool) -> UpkeepReport:
        pair = self._tables[0]
        wrong: list[DegreeError] = []
        with self._lock.alone():
            report = None
            if pair is not None:
                report = pair.repair() if repair else pair.check()
            for table, columns, wanted in self._counts():
                found = wrong_degrees(table, columns, wanted)
                if repair:
                    correct_degrees(table, found)
                wrong += found
        return UpkeepReport(report, wrong)
