"""The D4M 2.0 schema, which indexes every value of every record."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon.assoc import Assoc
from ostrakon.d4m.bindings import places_of
from ostrakon.d4m.graphs import summed
from ostrakon.d4m.ids import IdSource
from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.record_batches import (
    BATCH,
    Batch,
    Ingested,
    Options,
    batch_of,
    import_batches,
)
from ostrakon.d4m.search import Search
from ostrakon.d4m.selection import keys_of
from ostrakon.d4m.sources import read_batches
from ostrakon.d4m.table import AssocTable
from ostrakon.d4m.table_group import Counts, TableGroup
from ostrakon.d4m.upkeep import DegreesOf, Place, add_up, counted
from ostrakon.d4m.writing import coded
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.d4m.database import DB
    from ostrakon.table import Table

# So many records are imported as files; fewer are written with writers.
_IMPORTED = 100_000

# Keys and texts of records repeat much: half the bytes of the default LZ4.
_COMPRESSED = {"table.file.compress.type": "zstd"}


class Records(Search, TableGroup):
    """Records in five tables, which are created if missing: `Tedge` (row = record, column =
    `field|value`, value 1), its transpose `TedgeT`, `TedgeDeg` (row = `field|value`, column
    `Degree`: how often), `TedgeTxt` (row = record, column `Text`: the original record) and
    `TedgeField` (row and column = field: how often). Another prefix gives other names.

    >>> from ostrakon.d4m import DB
    >>> people = [{"name": "ann", "town": "Ulm"}, {"name": "bea", "town": "Ulm"}]
    >>> with DB() as db:
    ...     R = db.records("Tedge")
    ...     R.ingest(people, id="name")[:2]
    ...     print(R["ann", :])
    ...     print(R.degrees("town|*,"))
    ...     R.find(all_of="town|Ulm,name|bea,")
    (2, 15)
    ('ann', 'name|ann')  1
    ('ann', 'town|Ulm')  1
    ('town|Ulm', 'Degree')  2
    ['bea']
    """

    __slots__ = ()

    def __init__(self, db: DB, prefix: str = "Tedge", *, separator: str = "|") -> None:
        if not separator or not isinstance(separator, str):
            raise InvalidArgumentError(
                f"separator: a text of at least one character, not {separator!r}",
                {"argument": "separator"},
            )
        self.separator = separator
        self.degree_table: AssocTable
        self.field_table: AssocTable
        self.degree_table, self.field_table = summed(db, f"{prefix}Deg", f"{prefix}Field")
        for name in (prefix, f"{prefix}T", f"{prefix}Txt"):
            if name not in db.store:
                db.store.create_table(name, properties=_COMPRESSED, exist_ok=True)
        self.pair: AssocPair = db[prefix, f"{prefix}T"]
        self.text_table: AssocTable = db[f"{prefix}Txt"].using(numbers=False)

    def ingest(
        self,
        records: Any,
        *,
        id: Any = None,  # noqa: A002  (what everybody calls it)
        start: int | None = None,
        fields: Iterable[str] | None = None,
        text: bool | Iterable[str] = True,
        visibility: Any = None,
        upsert: bool = False,
    ) -> Ingested:
        """Writes records to all five tables.

        `records`: a data frame of pandas or polars, an Arrow table, anything with Arrow's stream
        interface, a list of dictionaries, a dictionary of columns, or the path of a file: CSV, TSV,
        JSON lines, Parquet, or a log of Zeek, of a web server, Squid, syslog or dpkg, all but
        Parquet also compressed by gzip or zstd. The name or the first line tells the format.
        Everything is checked before any of it is visible. Files, Arrow tables and frames are read
        in batches of a million records, which bounds the memory.

        `id`: the field with the records' keys, or a list of them; they must differ. Otherwise
        records are numbered from `start` on, with ten digits; or by the time, which no two calls
        share. The digits of numbers are reversed, so that new records spread over the table.

        `fields`: those to index; by default all (a text has all of them). `text`: whether to keep
        the records' texts, or a list of them; lines of JSON are kept as they are, other records as
        JSON.

        `visibility`: a label for all, a list with one per record, or a function of field and
        value. Degrees are stored separately for each label, so that a reader sees the sum of what
        the authorizations allow. A record that is written twice counts twice, unless `upsert`
        replaces it: then what the tables have of a record with the same key is deleted first, as
        far as the authorizations allow, so that old values are not found any more. With `upsert`,
        and in tables with constraints or logical time, a batch of a million records is written
        before the next one is read: an error then leaves the batches before it.

        Batches of 100,000 records and more are imported as files, without the log. They become
        visible at the end, table by table; an error before that leaves nothing.
        """
        options = Options(
            fields,
            text,
            self.pair.settings.visibility if visibility is None else visibility,
            self.separator,
            self.pair.settings.family,
        )
        ids = IdSource(id, start)
        if upsert and id is None:
            raise InvalidArgumentError(
                "`upsert` replaces records by their keys: give `id`", {"argument": "upsert"}
            )
        batches = read_batches(records, self.separator, BATCH)
        checked = (batch_of(read, ids, options) for read in batches)
        held = [next(checked)]
        imports = not upsert and self._imports()
        if not imports or held[0].records < _IMPORTED:
            held.extend(itertools.islice(checked, 1))
            if len(held) == 1:
                ids.end()
                options.end(held[0].records)
                return self._put(held[0], upsert)
        batches_left = _handed_over(held, checked)
        if not imports:
            return self._put_all(batches_left, ids, options, upsert)
        with self._lock.shared(), self.pair._lock.shared():
            return import_batches(
                (self.pair.main, self.pair.transpose, self.degree_table, self.field_table,
                 self.text_table),
                batches_left, ids, options,
            )  # fmt: skip

    def _imports(self) -> bool:
        """Whether many records may be imported as files: the entries of an import have the time of
        the machine, and no constraint looks at them."""
        times = {info.name: info.time_type for info in self.pair.main._store.table_infos()}
        tables = (*self._counting, self.pair.main, self.pair.transpose, self.text_table)
        return all(
            times[table.name] == "millis" and not _constrained(table.table) for table in tables
        )

    @property
    def _counting(self) -> tuple[AssocTable, AssocTable]:
        return self.degree_table, self.field_table

    def _put_all(
        self, batches: Iterator[Batch], ids: IdSource, options: Options, upsert: bool
    ) -> Ingested:
        """Writes batches one after another, so that one alone is in memory."""
        entries, keys = 0, []
        try:
            while (batch := next(batches, None)) is not None:
                entries += self._put(batch, upsert).entries
                keys.append(batch.ids)
                # Before the next batch is read.
                del batch
            ids.end()
            options.end(ids.count)
        except Exception as error:
            if keys and hasattr(error, "add_note"):
                written = sum(len(ids.places) for ids in keys)
                error.add_note(f"{written:,} records before were written")
            raise
        return Ingested(ids.count, entries, tuple(keys))

    def _put(self, batch: Batch, upsert: bool) -> Ingested:
        """Writes a batch with writers."""
        if upsert:
            with self._lock.alone():
                self._delete_records(batch.ids.keys.to_list())
                entries = self._write_all(batch)
        else:
            with self._lock.shared():
                entries = self._write_all(batch)
        return Ingested(batch.records, entries, (batch.ids,))

    @property
    def _tables(self) -> tuple[AssocPair, AssocTable]:
        return self.pair, self.degree_table

    def _write_all(self, batch: Batch) -> int:
        ids, parts, entries = batch.ids, batch.parts, 0
        family = self.pair.settings.family
        # Degrees first: a search ends at a term whose degree is 0.
        with self.degree_table._writer() as degrees, self.field_table._writer() as fields:
            for part in parts:
                values, labels, counts = part.counted()
                entries += degrees.put(
                    coded(part.columns, values), "Degree", counts,
                    family=family, visibility=[part.labels[at] for at in labels],
                )  # fmt: skip
                by_label = np.bincount(labels, weights=counts, minlength=len(part.labels))
                for name, count in zip(
                    part.labels, by_label.astype(np.int64).tolist(), strict=True
                ):
                    if count:
                        entries += fields.put(
                            part.name, part.name, count, family=family, visibility=name
                        )
        with (
            self.pair._lock.shared(),
            self.pair.main._writer() as main,
            self.pair.transpose._writer() as transpose,
        ):
            for part in parts:
                rows, cols = ids.column(part.records), coded(part.columns, part.places)
                label = part.visibility()
                for writer, row, col in ((main, rows, cols), (transpose, cols, rows)):
                    entries += writer.put(row, col, "1", family=family, visibility=label)
        texts = batch.texts()
        if texts:
            with self.text_table._writer() as writer:
                row = ids.column(np.arange(len(texts)))
                entries += writer.put(
                    row, "Text", texts, family=family, visibility=batch.text_labels
                )
        return entries

    def delete(self, ids: Any) -> int:
        """Deletes records by their keys from all tables, as far as the authorizations allow, and
        lowers the degrees; returns the number of entries deleted from `Tedge`.

        The entries are read first, so that the degrees of each label are lowered by what is
        deleted. Degrees are lowered last: after a failure they are too high rather than too low. A
        record that was written twice was counted twice, but is subtracted once; `repair` counts
        again.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     R = db.records()
        ...     _ = R.ingest([{"name": "ann", "town": "Ulm"}, {"name": "bea", "town": "Ulm"}],
        ...                  id="name")
        ...     R.delete("ann,"), R.degrees("town|Ulm"), R.find(all_of="town|Ulm,"), R.text()
        (2, ('town|Ulm', 'Degree')  1, ['bea'], {'bea': '{"name": "bea", "town": "Ulm"}'})
        """
        keys = keys_of("ids", ids)
        with self._lock.alone():
            return self._delete_records(keys)

    def _delete_records(self, keys: list[str]) -> int:
        """Deletes records; the caller holds the lock."""
        deleted = self._gone(self.pair.main._labelled_rows(keys, "value"))
        for block in self.text_table._labelled_rows(keys):
            self.text_table._delete([block])
        return deleted

    def delete_triple(self, ids: Any, columns: Any) -> int:
        """Deletes single values: records and columns `field|value`, of equal length. The texts of
        the records do not change."""
        rows, cols = places_of(ids, columns)
        with self._lock.alone():
            return self._gone(self.pair.main._labelled(rows, cols, "value"))

    deleteTriple = delete_triple  # noqa: N815  (D4M's name)

    def _degrees_of(self) -> list[tuple[AssocTable, DegreesOf]]:
        # An entry counts once, whatever its value.
        return [
            (self.degree_table, lambda _, col, __: [(col, "Degree", 1)]),
            (self.field_table, lambda _, col, __: [(*2 * (self._field(col),), 1)]),
        ]

    def _field(self, column: str) -> str:
        return column.split(self.separator, 1)[0]

    def _counts(self) -> list[Counts]:
        columns: dict[Place, int] = {}
        for part in counted(self.pair.main):
            add_up(columns, "Degree", part.sums("col", np.ones(len(part.col_at), np.int64)))
        fields: dict[Place, int] = {}
        for (column, _, label), count in columns.items():
            add_up(fields, None, {(self._field(column), label): count})
        return [(self.degree_table, ["Degree"], columns), (self.field_table, None, fields)]

    def __getitem__(self, index: Any) -> Assoc:
        """Records and columns `field|value`: see `AssocPair`."""
        return self.pair[index]

    def text(self, ids: Any = slice(None)) -> dict[str, str]:
        """The texts of records, by id."""
        found = self.text_table[ids, "Text"]
        return {row: value for row, _, value in found}

    def fields(self) -> dict[str, int]:
        """The number of values of each field."""
        return {row: value for row, _, value in self.field_table[:, :]}


def _handed_over(held: list[Batch], rest: Iterator[Batch]) -> Iterator[Batch]:
    """All batches; those of the list are not held any longer."""
    while held:
        yield held.pop(0)
    yield from rest


def _constrained(table: Table) -> bool:
    own = "org.apache.accumulo.core.data.constraints.DefaultKeySizeConstraint"
    return any(
        name.startswith("table.constraint.") and value not in ("", own)
        for name, value in table.properties().items()
    )
