"""The D4M 2.0 schema, which indexes every value of every record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostrakon._native import check_labels
from ostrakon.assoc import Assoc
from ostrakon.assoc.items import read_items, resolve
from ostrakon.assoc.keys import TextKeys
from ostrakon.d4m.bindings import places_of
from ostrakon.d4m.graphs import summed
from ostrakon.d4m.ids import flipped, new_ids
from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.parts import Part, part_of, text_labels_of
from ostrakon.d4m.search import Search
from ostrakon.d4m.selection import keys_of, texts_of
from ostrakon.d4m.sources import RecordSet, read_records
from ostrakon.d4m.table import AssocTable
from ostrakon.d4m.table_group import Counts, TableGroup
from ostrakon.d4m.upkeep import DegreesOf, Place, add_up, counted
from ostrakon.d4m.writing import coded
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.d4m.database import DB

Array = NDArray[Any]

# The store's own bounds on a key (row, family, qualifier and label together) and a value.
_KEY_BYTES = 1 << 20
_VALUE_BYTES = 256 << 20


class Ingested(NamedTuple):
    """The result of `Records.ingest`; `entries` counts the entries of all tables."""

    records: int
    entries: int
    ids: NDArray[Any]


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
        self.pair: AssocPair = db[prefix, f"{prefix}T"]
        self.degree_table: AssocTable = summed(db[f"{prefix}Deg"])
        self.text_table: AssocTable = db[f"{prefix}Txt"].using(numbers=False)
        self.field_table: AssocTable = summed(db[f"{prefix}Field"])

    def ingest(
        self,
        records: Any,
        *,
        id: Any = None,  # noqa: A002  (what everybody calls it)
        start: int | None = None,
        fields: Iterable[str] | None = None,
        text: bool | Iterable[str] = True,
        visibility: Any = None,
    ) -> Ingested:
        """Writes records to all five tables.

        `records`: a data frame of pandas or polars, an Arrow table, anything with Arrow's stream
        interface, a list of dictionaries, a dictionary of columns, or the path of a CSV, TSV, JSON
        lines or Parquet file. Data in memory is checked completely before it is written. Read files
        that are larger than memory in batches.

        `id`: the field with the records' keys, or a list of them; they must differ. Otherwise
        records are numbered from `start` on, with ten digits; or by the time, which no two calls
        share. The digits of numbers are reversed, so that new records spread over the table.

        `fields`: those to index; by default all (a text has all of them). `text`: whether to keep
        the records' texts, or a list of them; lines of JSON are kept as they are, other records as
        JSON.

        `visibility`: a label for all, a list with one per record, or a function of field and
        value. Degrees are stored separately for each label, so that a reader sees the sum of what
        the authorizations allow. A record that is written twice counts twice.
        """
        read = read_records(records, self.separator)
        ids = self._ids(read, id, start)
        indexed = _indexed(read, fields)
        label = self.pair.settings.visibility if visibility is None else visibility
        parts = [part_of(field, self.separator, label, read.count) for field in read.fields]
        texts = _texts(read, text)
        # A text shows all fields, including those that are not indexed.
        text_labels = text_labels_of(parts, label, read.count) if texts is not None else None
        parts = [part for part in parts if part.name in indexed and len(part.places)]
        _check(ids, parts, texts, text_labels, self.pair.settings.family)
        return Ingested(read.count, self._write(ids, parts, texts, text_labels), ids.to_numpy())

    def _ids(self, read: RecordSet, given: Any, start: int | None) -> Ids:
        if given is not None and start is not None:
            raise InvalidArgumentError("id and start: give one of them", {"argument": "start"})
        if given is None:
            if start is not None and start < 0:
                raise InvalidArgumentError("`start` is negative", {"argument": "start"})
            if start is not None:
                return _ids(flipped(range(start, start + read.count), 10))
            return _ids(new_ids(read.count))
        if isinstance(given, str):
            field = next((field for field in read.fields if field.name == given), None)
            if field is None:
                raise InvalidArgumentError(
                    f"id: there is no field {given!r}; there are "
                    f"{', '.join(field.name for field in read.fields)}",
                    {"argument": "id"},
                )
            if not np.array_equal(field.records, np.arange(read.count)):
                raise InvalidArgumentError(
                    f"id: the field {given!r} has not one value in every record", {"argument": "id"}
                )
            made = Ids(field.keys, field.places)
        else:
            made = _ids(texts_of(given))
        if len(made.places) != read.count:
            raise InvalidArgumentError(
                f"id: {len(made.places)} keys for {read.count} records", {"argument": "id"}
            )
        often = np.flatnonzero(np.bincount(made.places, minlength=len(made.keys)) > 1)
        if len(often):
            raise InvalidArgumentError(
                f"id: two records have the key {made.keys[int(often[0])]!r}; nothing was written",
                {"argument": "id"},
            )
        empty = made.keys.find("")
        if empty is not None and read.count:
            raise InvalidArgumentError("id: a record has an empty key", {"argument": "id"})
        return made

    def _write(self, ids: Ids, parts: list[Part], texts: list[str] | None, text_labels: Any) -> int:
        with self._lock.shared():
            return self._write_all(ids, parts, texts, text_labels)

    @property
    def _tables(self) -> tuple[AssocPair, AssocTable]:
        return self.pair, self.degree_table

    def _write_all(
        self, ids: Ids, parts: list[Part], texts: list[str] | None, text_labels: Any
    ) -> int:
        entries = 0
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
        if texts:
            with self.text_table._writer() as writer:
                row = ids.column(np.arange(len(texts)))
                entries += writer.put(row, "Text", texts, family=family, visibility=text_labels)
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


class Ids(NamedTuple):
    """The keys of records in the order of records."""

    keys: TextKeys
    places: Array

    def column(self, records: Array) -> Any:
        """The keys of some records, as a table takes them."""
        return coded(self.keys, self.places[records])

    def to_numpy(self) -> Array:
        """All of them."""
        array: Array = self.keys.spread(self.places)
        return array


def _ids(given: Any) -> Ids:
    keys, places = resolve([read_items("id", given)])[0]
    assert isinstance(keys, TextKeys)
    return Ids(keys, np.asarray(places, np.uint32))


def _indexed(read: RecordSet, fields: Iterable[str] | None) -> set[str]:
    known = {field.name for field in read.fields}
    if fields is None:
        return known
    wanted = {fields} if isinstance(fields, str) else set(fields)
    unknown = sorted(wanted - known)
    if unknown:
        raise InvalidArgumentError(
            f"fields: there is no field {unknown[0]!r}; there are {', '.join(sorted(known))}",
            {"argument": "fields"},
        )
    return wanted


def _texts(read: RecordSet, text: bool | Iterable[str]) -> list[str] | None:
    if text is False:
        return None
    if text is True:
        return read.texts()
    given = list(text)
    if len(given) != read.count or not all(isinstance(one, str) for one in given):
        raise InvalidArgumentError(
            f"text: {len(given)} items for {read.count} records; give a text for each",
            {"argument": "text"},
        )
    return given


def _check(
    ids: Ids, parts: list[Part], texts: list[str] | None, text_labels: Any, family: str
) -> None:
    """What could fail in the middle of writing, before it."""
    labels = {label for part in parts for label in part.labels}
    if texts is not None and not isinstance(text_labels, (str, bytes)):
        labels |= set(text_labels)
    check_labels(sorted(labels))
    label = max((len(label.encode()) for label in labels), default=0)
    record = ids.keys.native.longest if len(ids.keys) else 0
    for part in parts:
        size = 4 * (record + part.columns.native.longest) + len(family.encode()) + label
        if size > _KEY_BYTES:
            _check_exactly(ids, part, len(family.encode()) + label)
    for at, text in enumerate(texts or ()):
        if 4 * len(text) > _VALUE_BYTES and len(text.encode()) > _VALUE_BYTES:
            raise InvalidArgumentError(
                f"text: that of record {at} is larger than {_VALUE_BYTES} bytes; nothing was "
                "written",
                {"argument": "text"},
            )


def _check_exactly(ids: Ids, part: Part, rest: int) -> None:
    record = max(len(key.encode()) for key in ids.keys.to_list())
    column = max(len(key.encode()) for key in part.columns.to_list())
    if record + column + rest > _KEY_BYTES:
        raise InvalidArgumentError(
            f"records: a value of the field {part.name!r} makes a key of more than {_KEY_BYTES} "
            "bytes; leave the field out by `fields`; nothing was written",
            {"argument": "records"},
        )
