"""Batches of records on their way into tables, and their import as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostrakon._native import NativeColumn, NativeRecordImport, check_labels
from ostrakon.d4m.ids import Ids, IdSource
from ostrakon.d4m.parts import Part, part_of, text_labels_of
from ostrakon.d4m.sources import RecordSet
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.d4m.table import AssocTable

Array = NDArray[Any]

# Records that are read and sorted at once.
BATCH = 1_000_000
# Files of batches wait until all are written; after so many they are published.
_WAITING = 64

# The store's own bounds on a key (row, family, qualifier and label together) and a value.
_KEY_BYTES = 1 << 20
_VALUE_BYTES = 256 << 20


class Ingested(NamedTuple):
    """The result of `Records.ingest`; `entries` counts what was written to all tables."""

    records: int
    entries: int
    batches: tuple[Ids, ...]

    @property
    def ids(self) -> NDArray[Any]:
        """The keys of the records, made when they are asked for."""
        if len(self.batches) == 1:
            return self.batches[0].to_numpy()
        return np.concatenate([batch.to_numpy() for batch in self.batches])

    def __repr__(self) -> str:
        return f"Ingested(records={self.records}, entries={self.entries})"


class Options:
    """What a call of `ingest` says of all records, and what was read so far."""

    def __init__(
        self,
        fields: Iterable[str] | None,
        text: bool | Iterable[str],
        label: Any,
        separator: str,
        family: str,
    ) -> None:
        if isinstance(fields, str):
            fields = [fields]
        self.wanted = None if fields is None else set(fields)
        self.known: set[str] = set()
        self.text = text if isinstance(text, bool) else list(text)
        if not isinstance(label, (str, bytes)) and not callable(label):
            label = label.tolist() if hasattr(label, "tolist") else list(label)
        self.label = label
        self.separator = separator
        self.family = family

    def labels(self, before: int, count: int) -> Any:
        """The labels of the records after the first `before`."""
        if isinstance(self.label, list):
            return self.label[before : before + count]
        return self.label

    def texts(self, before: int, count: int) -> bool | list[str]:
        """The texts given for those records, or whether to make them."""
        if isinstance(self.text, bool):
            return self.text
        given = self.text[before : before + count]
        if len(given) != count or not all(isinstance(one, str) for one in given):
            raise InvalidArgumentError(
                f"text: {len(self.text)} items for {before + count} records; give a text for each",
                {"argument": "text"},
            )
        return given

    def end(self, count: int) -> None:
        """Checks what is known only when all records were read."""
        unknown = sorted((self.wanted or set()) - self.known)
        if unknown:
            raise InvalidArgumentError(
                f"fields: there is no field {unknown[0]!r}; there are "
                f"{', '.join(sorted(self.known))}",
                {"argument": "fields"},
            )
        for name, given in (("text", self.text), ("visibility", self.label)):
            if isinstance(given, list) and len(given) != count:
                raise InvalidArgumentError(
                    f"{name}: {len(given)} items for {count} records; give one for each; nothing "
                    "was written",
                    {"argument": name},
                )


class Batch(NamedTuple):
    """Checked records: their keys, the entries of each indexed field, and the texts."""

    records: int
    ids: Ids
    parts: list[Part]
    read: RecordSet
    text: bool | list[str]
    text_labels: Any

    def texts(self) -> NativeColumn | list[str] | None:
        """The text of each record."""
        if isinstance(self.text, bool):
            return self.read.texts() if self.text else None
        return self.text


def batch_of(read: RecordSet, source: IdSource, options: Options) -> Batch:
    """Checks the next records of a call."""
    before, count = source.count, read.count
    ids = source.take(read)
    options.known |= {field.name for field in read.fields}
    label = options.labels(before, count)
    parts = [part_of(field, options.separator, label, count) for field in read.fields]
    text = options.texts(before, count)
    # A text shows all fields, including those that are not indexed.
    text_labels = text_labels_of(parts, label, count) if text is not False else None
    wanted = options.wanted
    parts = [part for part in parts if len(part.places) and (wanted is None or part.name in wanted)]
    batch = Batch(count, ids, parts, read, text, text_labels)
    _check(batch, options.family)
    return batch


def _check(batch: Batch, family: str) -> None:
    """What could fail in the middle of writing, before it."""
    labels = {label for part in batch.parts for label in part.labels}
    if batch.text is not False and not isinstance(batch.text_labels, (str, bytes)):
        labels |= set(batch.text_labels)
    check_labels(sorted(labels))
    label = max((len(label.encode()) for label in labels), default=0)
    record = batch.ids.keys.native.longest if len(batch.ids.keys) else 0
    for part in batch.parts:
        size = 4 * (record + part.columns.native.longest) + len(family.encode()) + label
        if size > _KEY_BYTES:
            _check_exactly(batch.ids, part, len(family.encode()) + label)
    # A line of a file is shorter than that.
    for at, text in enumerate(batch.text if isinstance(batch.text, list) else ()):
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


def import_batches(
    tables: tuple[AssocTable, ...], batches: Iterator[Batch], ids: IdSource, options: Options
) -> Ingested:
    """Writes batches to files, and makes all of them part of the tables at the end."""
    main, transpose, degrees, fields, texts = (table.table._native for table in tables)
    native = NativeRecordImport(main, transpose, degrees, fields, texts, options.family)
    made: list[Ids] = []
    entries = 0
    published = 0
    try:
        while (batch := next(batches, None)) is not None:
            entries += native.add(_argument(batch, options.separator))
            made.append(batch.ids)
            if len(made) % _WAITING == 0:
                native.publish()
                published = ids.count
            # Before the next batch is read.
            del batch
        ids.end()
        options.end(ids.count)
        native.publish()
    except Exception as error:
        if published and hasattr(error, "add_note"):
            error.add_note(f"{published:,} records before were written")
        raise
    finally:
        native.close()
    return Ingested(ids.count, entries, tuple(made))


def _argument(batch: Batch, separator: str) -> dict[str, Any]:
    """A batch in the form of the native part."""
    read = batch.read
    texts: Any = batch.text if isinstance(batch.text, list) else None
    fields = None
    if batch.text is True:
        if read.raw is not None or read.rows is not None:
            texts = read.texts()
        else:
            fields = [
                (field.name, field.keys.native, field.records, field.places, field.plain,
                 field.several)
                for field in read.fields
            ]  # fmt: skip
    labels, label_at = [""], None
    if texts is not None or fields is not None:
        labels, label_at = _distinct(batch.text_labels)
    return {
        "ids": batch.ids.keys.native,
        "id_at": batch.ids.places,
        "parts": [
            (part.name, part.name + separator, part.columns.native, part.records,
             np.asarray(part.places, np.uint32), part.labels,
             None if part.label_at is None else part.label_at.astype(np.uint32))
            for part in batch.parts
        ],
        "texts": texts,
        "fields": fields,
        "text_labels": labels,
        "text_label_at": label_at,
    }  # fmt: skip


def _distinct(labels: Any) -> tuple[list[str], Array | None]:
    if isinstance(labels, str):
        return [labels], None
    known: dict[str, int] = {}
    at = [known.setdefault(label, len(known)) for label in labels]
    return list(known) or [""], np.array(at, np.uint32)
