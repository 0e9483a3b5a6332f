"""One table as an associative array."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ostrakon.assoc import Assoc
from ostrakon.assoc.items import resolve
from ostrakon.d4m import combiners, reading
from ostrakon.d4m.bindings import Binding
from ostrakon.d4m.chunks import checked_entries, chunks
from ostrakon.d4m.selection import ALL, Selection, select
from ostrakon.d4m.settings import Settings
from ostrakon.d4m.writing import Labels, Triples, of_assoc
from ostrakon.errors import InvalidArgumentError
from ostrakon.ranges import Range
from ostrakon.writer import Writer

if TYPE_CHECKING:
    from ostrakon.store import Store
    from ostrakon.table import Table

# Places whose labels are looked up, and which are deleted, at a time.
_PLACES = 10_000
# Rows that are read to be deleted, at a time.
_ROWS = 1_000


class SplitReport(NamedTuple):
    """The splits of a table, and the approximate number of entries of each tablet."""

    splits: list[str]
    entries: list[int]


class AssocTable(Binding):
    """A table whose rows and qualifiers are the rows and columns of an array: `db["T"]`.

    `T[rows, cols]` reads, `T.put(A)` and `T += A` write. A query of columns reads the whole table
    inside the store; a pair `db["T", "Tt"]` reads its transpose instead.
    """

    __slots__ = ("_settings", "_store", "table")

    def __init__(self, store: Store, table: Table, settings: Settings) -> None:
        self._store = store
        self.table = table
        self._settings = settings

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name

    @property
    def settings(self) -> Settings:
        """How it reads and writes."""
        return self._settings

    def using(self, **changes: Any) -> AssocTable:
        """The same table with other settings: `T.using(visibility="A&B", auths=["A"])`."""
        return AssocTable(self._store, self.table, dataclasses.replace(self._settings, **changes))

    def _collision(self) -> str:
        return combiners.collision(self.table, self._settings.family)

    def _read(self, rows: Selection, cols: Selection) -> Assoc:
        return reading.read(self.table, self._settings, rows, cols, self._collision)

    def chunks(self, entries: int, rows: Any = ALL, cols: Any = ALL) -> Iterator[Assoc]:
        """Arrays of whole rows, with at least `entries` entries each. A row is never divided, so a
        chunk may be larger.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     T = db["T"]
        ...     T.put_triple("a,a,b,", "x,y,x,", 1)
        ...     [chunk.nnz for chunk in T.chunks(1)]
        3
        [2, 1]
        """
        return chunks(
            self.table,
            self._settings,
            checked_entries(entries),
            select(rows, "row"),
            select(cols, "col"),
            collision=self._collision,
        )

    def _writer(self) -> Writer:
        settings = self._settings
        return self.table.writer(durability=settings.durability, batch_bytes=settings.put_bytes)

    def put(self, array: Assoc, *, visibility: Labels = None, timestamp: Any = None) -> int:
        """Writes an array; returns the number of its entries, which are then durable.

        `visibility` is a label for all, a list with one per entry in the order of `find()`, an
        Assoc of labels, or a function of row, column and value; by default the binding's.
        """
        label = self._settings.visibility if visibility is None else visibility
        if len(checked(array)) == 0:
            return 0
        return self._put_triples(of_assoc(array, label, timestamp))

    def _put_triples(self, triples: Triples) -> int:
        self._refuse_other_values(triples)
        return self._write(triples)

    def _refuse_other_values(self, triples: Triples) -> None:
        """Values that combined columns cannot have. Integers, as nearly always, are not looked
        at."""
        values = triples.val
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            return
        family = self._settings.family
        if combiners.combines_whole_numbers(self.table, family):
            columns, values = triples.objects()
            combiners.refuse_other_values(self.table, family, columns, values)

    def _write(self, triples: Triples) -> int:
        with self._writer() as writer:
            return writer.put(
                triples.row,
                triples.col,
                triples.val,
                family=self._settings.family,
                visibility=triples.visibility,
                timestamp=triples.timestamp,
            )

    def _delete_places(self, rows: list[str], cols: list[str]) -> int:
        return self._delete(self._labelled(rows, cols))

    def _labelled(
        self, rows: list[str], cols: list[str], *more: str
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The entries at places, by row, column and label (what a delete must name) and what else
        is asked for. No place comes twice."""
        family = self._settings.family
        places = sorted(set(zip(rows, cols, strict=True)))
        for at in range(0, len(places), _PLACES):
            ranges = [Range.row(row, family, col) for row, col in places[at : at + _PLACES]]
            yield self._entries(ranges, *more)

    def _labelled_rows(self, rows: list[str], *more: str) -> Iterator[list[tuple[Any, ...]]]:
        """The same of whole rows."""
        wanted = sorted(set(rows))
        for at in range(0, len(wanted), _ROWS):
            ranges = [Range.row(row, self._settings.family) for row in wanted[at : at + _ROWS]]
            yield self._entries(ranges, *more)

    def _entries(self, ranges: list[Range], *more: str) -> list[tuple[Any, ...]]:
        scan = self.table.scan(
            ranges,
            auths=self._settings.auths,
            fields=["row", "qualifier", "visibility", *more],
            ordered=False,
        )
        found: list[tuple[Any, ...]] = []
        for batch in scan:
            found.extend(batch.tuples())
        return found

    def _delete(self, blocks: Iterable[Sequence[tuple[Any, ...]]]) -> int:
        """Deletes entries by row, column and label; what else a tuple has is not looked at."""
        deleted = 0
        with self._writer() as writer:
            for entries in blocks:
                if entries:
                    row, col, label, *_ = zip(*entries, strict=True)
                    deleted += writer.delete(
                        list(row),
                        list(col),
                        family=self._settings.family,
                        visibility=list(label),
                    )
        if deleted:
            tick()
        return deleted

    def nnz(self) -> int:
        """The number of entries that the authorizations allow, counted by a scan."""
        family = self._settings.family
        return self.table.scan(columns=[family], auths=self._settings.auths, ordered=False).count()

    def drop(self) -> None:
        """Deletes the table."""
        self._store.drop(self.name)

    # Combiners.

    def add_col_combiner(self, columns: Any, combiner: str) -> None:
        """Combines the values that meet at one place of some columns: `sum`, `min`, `max`, and
        `sum_decimal`, … of all columns for numbers with fractions. Set it before writing: older
        versions may be gone.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     T = db["deg"]
        ...     T.add_col_combiner("OutDeg,InDeg,", "sum")
        ...     T.put_triple("alice,alice,", "OutDeg,", [2, 3])
        ...     T.list_col_combiner(), T["alice", "OutDeg"].values.tolist()
        2
        ({'sum': ['InDeg', 'OutDeg']}, [5])
        """
        combiners.add(self.table, self._settings.family, columns, combiner)

    def list_col_combiner(self) -> dict[str, Any]:
        """Kind of combiner -> its columns, or ':' for all."""
        return combiners.listed(self.table, self._settings.family)

    def revoke_col_combiner(self, columns: Any) -> None:
        """Stops combining some columns; ':' means all."""
        combiners.revoke(self.table, self._settings.family, columns)

    # Splits.

    def add_splits(self, rows: Any) -> None:
        """Splits the table after rows: a delimiter string or a list."""
        chosen = select(rows, "rows")
        if not chosen.exact:
            raise InvalidArgumentError("rows: splits are row keys", {"argument": "rows"})
        self.table.add_splits(chosen.keys)

    def put_splits(self, rows: Any) -> None:
        """Splits the table after exactly these rows."""
        chosen = select(rows, "rows")
        if not chosen.exact:
            raise InvalidArgumentError("rows: splits are row keys", {"argument": "rows"})
        self.table.add_splits(chosen.keys)
        kept = {key.encode() for key in chosen.keys}
        before = None
        # A merge takes the splits strictly between two that stay.
        for split in [*sorted(kept), None]:
            inside = [one for one in self.table.splits() if _between(before, one, split)]
            if inside:
                self.table.merge(before, split)
            before = split

    def get_splits(self) -> SplitReport:
        """Where the table is split, and about how many entries each tablet holds."""
        tablets = self.table.tablets()
        splits = [tablet.end.decode() for tablet in tablets if tablet.end is not None]
        return SplitReport(splits, [tablet.entries for tablet in tablets])

    def merge_splits(self, start: str | None = None, end: str | None = None) -> None:
        """Removes the splits between two rows, all by default."""
        self.table.merge(start, end)

    def rand_row(self, count: int = 1, seed: int | None = None) -> list[str]:
        """A number of different random rows, sorted; fewer if there are no more. Reads every
        row."""
        if count < 1:
            raise InvalidArgumentError("`count` is below 1", {"argument": "count"})
        random = np.random.default_rng(seed)
        scan = reading.start(self.table, self._settings, ALL, ALL, fields=("row",), ordered=True)
        kept: list[tuple[float, str]] = []
        while True:
            (rows,) = reading.take(scan, self._settings, 1 << 16)
            if len(rows) == 0:
                return sorted(row for _, row in kept)
            assert isinstance(rows, reading.Texts)
            keys = resolve([rows.items("row")])[0][0]
            # Each row draws a number; the smallest win, whatever chunk they came in.
            drawn = random.random(len(keys))
            best = np.argsort(drawn)[:count]
            kept += [(float(drawn[at]), keys[int(at)]) for at in best]
            kept = sorted(kept)[:count]

    def __repr__(self) -> str:
        return f"<ostrakon.d4m.AssocTable {self.name!r}>"


def tick() -> None:
    """Waits for the next millisecond. A delete marker hides entries with its timestamp, so entries
    that are put after a delete must be younger."""
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= now:
        time.sleep(0.0002)


def _between(before: bytes | None, split: bytes, end: bytes | None) -> bool:
    return (before is None or split > before) and (end is None or split < end)


def checked(array: Any) -> Assoc:
    """An array, or an error that says what to do."""
    if not isinstance(array, Assoc):
        raise InvalidArgumentError(
            f"array: an Assoc, not {type(array).__name__}; for lists use put_triple",
            {"argument": "array"},
        )
    return array
