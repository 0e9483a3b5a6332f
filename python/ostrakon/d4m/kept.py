"""What graphs and records have in common: tables that belong together, with degrees that count what
is in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ostrakon.d4m.gates import Gate, gate_of
from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.table import AssocTable
from ostrakon.d4m.upkeep import (
    DegreeError,
    DegreesOf,
    Place,
    UpkeepReport,
    add,
    lowered,
    mend_degrees,
    wrong_degrees,
)

Counts = tuple[AssocTable, "list[str] | None", dict[Place, int]]
"""A table of degrees, its columns that are degrees (by default all), and what they should be."""


class Kept(ABC):
    """Tables that are kept together. Puts go through the gate side by side; who deletes, checks or
    repairs goes alone."""

    __slots__ = ()

    @property
    @abstractmethod
    def _tables(self) -> tuple[AssocPair | None, AssocTable]:
        """The pair, and the table of degrees; a single table is both."""

    @abstractmethod
    def _counts(self) -> list[Counts]:
        """What the degrees should be, counted anew."""

    @abstractmethod
    def _degrees_of(self) -> list[tuple[AssocTable, DegreesOf]]:
        """The tables that count an entry, and as what."""

    @property
    def _gate(self) -> Gate:
        degrees = self._tables[1]
        return gate_of(degrees._store, "degrees", degrees.name)

    def _gone(self, blocks: Iterable[list[tuple[Any, ...]]]) -> int:
        """Deletes entries (row, column, label, value) and lowers what counts them; who calls holds
        the gate."""
        pair, single = self._tables
        deleted = 0
        for block in blocks:
            # Before: what cannot be counted is refused, and nothing has gone.
            changes = [(table, lowered(table, block, of)) for table, of in self._degrees_of()]
            if pair is None:
                deleted += single._delete([block])
            else:
                with pair._gate.alone():
                    deleted += pair._delete_entries(block)
            for table, change in changes:
                add(table, change)
        return deleted

    def check(self) -> UpkeepReport:
        """Compares the two tables of the pair, and the degrees with what they count, as far as the
        reader sees it. Writes wait meanwhile, those of other threads too."""
        return self._upkeep(mend=False)

    def repair(self) -> UpkeepReport:
        """The same, and mends what is different: the transpose becomes what the table says (see
        `AssocPair.repair`), and degrees what is there."""
        return self._upkeep(mend=True)

    def _upkeep(self, *, mend: bool) -> UpkeepReport:
        pair = self._tables[0]
        wrong: list[DegreeError] = []
        with self._gate.alone():
            report = None
            if pair is not None:
                report = pair.repair() if mend else pair.check()
            for table, columns, wanted in self._counts():
                found = wrong_degrees(table, columns, wanted)
                if mend:
                    mend_degrees(table, found)
                wrong += found
        return UpkeepReport(report, wrong)
