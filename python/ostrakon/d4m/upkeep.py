"""Checks whether related tables are consistent, and repairs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ostrakon.assoc.items import resolve
from ostrakon.assoc.keys import TextKeys
from ostrakon.assoc.machine import Array
from ostrakon.d4m import reading
from ostrakon.d4m.table import AssocTable, tick
from ostrakon.errors import InvalidArgumentError
from ostrakon.ranges import Range

# Number of entries that are compared at a time.
_BLOCK = 10_000
# Number of entries whose degrees are summed at a time.
_COUNTED = 1 << 18

Place = tuple[str, str, str]
"""Row, column and label."""


class PairReport(NamedTuple):
    """The result of `check` and `repair` of a pair.

    `entries` is the number of entries of the table. Of these, `missing` are not in the transpose,
    and `different` have another value there. `surplus` entries are only in the transpose.
    `examples` holds some of them: row, column, label, value in the table, value in the transpose.
    """

    entries: int
    missing: int
    different: int
    surplus: int
    examples: list[tuple[str, str, str, Any, Any]]

    @property
    def sound(self) -> bool:
        """Whether both tables are equal."""
        return not (self.missing or self.different or self.surplus)


def compare(main: AssocTable, transpose: AssocTable, examples: int, *, repair: bool) -> PairReport:
    """Looks up each entry of the table in the transpose, and vice versa, block by block."""
    entries = missing = different = surplus = 0
    shown: list[tuple[str, str, str, Any, Any]] = []
    for block in _blocks(main):
        entries += len(block)
        there = _found(transpose, block)
        lacking, other = [], []
        for (row, col, label), (value, _) in block.items():
            met = there.get((col, row, label))
            if met is None:
                lacking.append((col, row, label, value, None))
            elif met[0] != value:
                other.append((col, row, label, value, met[1]))
            else:
                continue
            if len(shown) < examples:
                shown.append((row, col, label, value, None if met is None else met[0]))
        missing += len(lacking)
        different += len(other)
        if repair:
            # The new entries must be younger than any delete marker.
            tick()
            _replace(transpose, lacking, other)
    for block in _blocks(transpose):
        there = _found(main, block)
        extra = [place for place in block if (place[1], place[0], place[2]) not in there]
        surplus += len(extra)
        for col, row, label in extra[: max(examples - len(shown), 0)]:
            shown.append((row, col, label, None, block[col, row, label][0]))
        if repair:
            transpose._delete([extra])
    return PairReport(entries, missing, different, surplus, shown)


def _blocks(table: AssocTable) -> Iterator[dict[Place, tuple[Any, int]]]:
    """All entries, in blocks: place -> value and timestamp."""
    settings = table.settings
    scan = table.table.scan(
        columns=[settings.family],
        auths=settings.auths,
        fields=["row", "qualifier", "visibility", "value", "timestamp"],
    )
    block: dict[Place, tuple[Any, int]] = {}
    for batch in scan:
        for row, col, label, value, timestamp in batch.tuples():
            block[row, col, label] = (value, timestamp)
            if len(block) == _BLOCK:
                yield block
                block = {}
    if block:
        yield block


def _found(table: AssocTable, block: Iterable[Place]) -> dict[Place, tuple[Any, int]]:
    """The entries at the transposed places of a block."""
    family = table.settings.family
    places = sorted({(col, row) for row, col, _ in block})
    ranges = [Range.row(row, family, col) for row, col in places]
    found = table._entries(ranges, "value", "timestamp")
    return {(row, col, label): (value, stamp) for row, col, label, value, stamp in found}


def _replace(
    table: AssocTable, lacking: list[tuple[Any, ...]], other: list[tuple[Any, ...]]
) -> None:
    """Writes entries (row, column, label, value, timestamp of the entry to replace)."""
    family = table.settings.family
    with table._writer() as writer:
        if other:
            row, col, label, value, stamp = zip(*other, strict=True)
            place: dict[str, Any] = {"family": family, "visibility": list(label)}
            # A combiner would add the new value to the old one, so the old entry is deleted first.
            # The new entry is one tick younger than the delete marker.
            writer.delete(list(row), list(col), timestamp=list(stamp), **place)
            later = [at + 1 for at in stamp]
            writer.put(list(row), list(col), list(value), timestamp=later, **place)
        if lacking:
            row, col, label, value, _ = zip(*lacking, strict=True)
            writer.put(list(row), list(col), list(value), family=family, visibility=list(label))


# Degrees.


class DegreeError(NamedTuple):
    """A degree that differs from the number of entries that it counts."""

    table: str
    row: str
    column: str
    label: str
    degree: int
    counted: int


class UpkeepReport(NamedTuple):
    """The result of `check` and `repair` of a graph or of records: the report of the pair (`None`
    if there is only one table), and the wrong degrees."""

    pair: PairReport | None
    degrees: list[DegreeError]

    @property
    def sound(self) -> bool:
        """Whether everything is consistent."""
        return not self.degrees and (self.pair is None or self.pair.sound)


class Counted(NamedTuple):
    """A chunk of a table: the distinct rows, columns and labels, and for each entry their positions
    and the value."""

    rows: TextKeys
    row_at: Array
    cols: TextKeys
    col_at: Array
    labels: TextKeys
    label_at: Array
    values: Array

    def sums(self, of: str, values: Array | None = None) -> dict[tuple[str, str], int]:
        """Sums of values for each row or column, and label."""
        keys, at = (self.rows, self.row_at) if of == "row" else (self.cols, self.col_at)
        return sums(keys, at, self.labels, self.label_at, self.values if values is None else values)


def sums(
    keys: TextKeys, at: Array, labels: TextKeys, label_at: Array, values: Array
) -> dict[tuple[str, str], int]:
    """Sums of values for each key and label."""
    codes = at.astype(np.int64) * max(len(labels), 1) + label_at
    distinct, places = np.unique(codes, return_inverse=True)
    totals = np.zeros(len(distinct), np.int64)
    np.add.at(totals, places, values)
    width = max(len(labels), 1)
    return {
        (keys[code // width], labels[code % width]): total
        for code, total in zip(distinct.tolist(), totals.tolist(), strict=True)
    }


DegreesOf = Callable[[str, str, int], Iterable[tuple[str, str, int]]]
"""The rows and columns of a table of degrees that count an entry (row, column, value), and by how
much."""


def add_up(found: dict[Place, int], column: str | None, counts: dict[tuple[str, str], int]) -> None:
    """Adds counts of (key, label) to a column of degrees; without `column`, to the column with the
    name of the key."""
    for (key, label), count in counts.items():
        place = (key, key if column is None else column, label)
        found[place] = found.get(place, 0) + count


def counted(table: AssocTable, column: str | None = None) -> Iterator[Counted]:
    """A table (or one of its columns) in chunks, without an object per entry."""
    settings = table.using(numbers=True).settings
    chosen: Any = settings.family if column is None else (settings.family, column)
    scan = table.table.scan(
        columns=[chosen],
        auths=settings.auths,
        fields=["row", "qualifier", "visibility", "value"],
    )._start()
    while True:
        rows, cols, labels, values = reading.take(scan, settings, _COUNTED)
        if not len(rows):
            return
        if isinstance(values, reading.Texts) or values.dtype.kind != "i":
            raise InvalidArgumentError(
                f"the table {table.name!r} has values that are not integers; its degrees "
                "cannot be counted",
                {"table": table.name},
            )
        lists = [part.items("keys") for part in (rows, cols, labels)]  # type: ignore[union-attr]
        found: Any = [part for pair in resolve(lists) for part in pair]
        row_keys, row_at, col_keys, col_at, label_keys, label_at = found
        yield Counted(row_keys, row_at, col_keys, col_at, label_keys, label_at, values)


def add(table: AssocTable, changes: Iterable[tuple[str, str, str, int]]) -> None:
    """Adds to degrees: row, column, label and amount."""
    wanted = [change for change in changes if change[3]]
    if wanted:
        row, col, label, value = zip(*wanted, strict=True)
        with table._writer() as writer:
            writer.put(
                list(row),
                list(col),
                list(value),
                family=table.settings.family,
                visibility=list(label),
            )


def lowered(
    table: AssocTable, entries: Iterable[tuple[Any, ...]], degrees_of: DegreesOf
) -> list[tuple[str, str, str, int]]:
    """The changes of a table's degrees when entries (row, column, label, value) are deleted."""
    changes: dict[Place, int] = {}
    for row, col, label, value in entries:
        try:
            weight = int(value)
        except ValueError:
            raise InvalidArgumentError(
                f"the value {value!r} at ({row!r}, {col!r}) is not an integer and cannot be "
                f"subtracted from the degrees in {table.name!r}; nothing was deleted",
                {"table": table.name},
            ) from None
        for degree_row, degree_col, count in degrees_of(row, col, weight):
            place = (degree_row, degree_col, label)
            changes[place] = changes.get(place, 0) - count
    return [(*place, count) for place, count in changes.items()]


def wrong_degrees(
    table: AssocTable, columns: list[str] | None, wanted: dict[Place, int]
) -> list[DegreeError]:
    """The degrees that differ from the counts. `columns` are the columns of degrees, all by
    default."""
    family = table.settings.family
    chosen: list[Any] = [family] if columns is None else [(family, column) for column in columns]
    scan = table.table.scan(
        columns=chosen,
        auths=table.settings.auths,
        fields=["row", "qualifier", "visibility", "value"],
    )
    left = {place: count for place, count in wanted.items() if count}
    wrong = []
    for batch in scan:
        for row, col, label, value in batch.tuples():
            count = left.pop((row, col, label), 0)
            if int(value) != count:
                wrong.append(DegreeError(table.name, row, col, label, int(value), count))
    wrong += [DegreeError(table.name, *place, 0, count) for place, count in left.items()]
    return wrong


def correct_degrees(table: AssocTable, wrong: list[DegreeError]) -> None:
    """Adds the differences, which may be negative."""
    add(table, ((one.row, one.column, one.label, one.counted - one.degree) for one in wrong))
