"""The entries of one field of records: record, `field|value` and label, each by position."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostrakon._native import assoc_join
from ostrakon.assoc.keys import TextKeys
from ostrakon.d4m.sources import Field
from ostrakon.d4m.writing import coded
from ostrakon.errors import InvalidArgumentError

Array = NDArray[Any]


class Part(NamedTuple):
    """Entry `i` says that record `records[i]` has the column `columns[places[i]]`."""

    name: str
    columns: TextKeys
    records: Array
    places: Array
    labels: list[str]
    label_at: Array | None
    """Position in `labels` for each entry; `None` when all have the first."""

    def visibility(self) -> Any:
        """The labels as a table takes them."""
        if self.label_at is None:
            return self.labels[0]
        keys = TextKeys.of(self.labels)
        places = np.array([keys.find(label) for label in self.labels], np.uint32)
        return coded(keys, places[self.label_at])

    def counted(self) -> tuple[Array, Array, Array]:
        """How often each column has each label: positions of columns, of labels, and counts."""
        if self.label_at is None:
            counts = np.bincount(self.places, minlength=len(self.columns))
            values = np.flatnonzero(counts)
            return values, np.zeros(len(values), np.int64), counts[values]
        width = len(self.labels)
        both = self.places.astype(np.int64) * width + self.label_at
        pairs, counts = np.unique(both, return_counts=True)
        return pairs // width, pairs % width, counts


def part_of(field: Field, separator: str, label: Any, count: int) -> Part:
    """The entries of a field. Only its distinct values become text. A value that a record has
    twice is one entry."""
    field = _once(field)
    keys = field.keys
    joined, at = assoc_join(
        TextKeys.of([field.name]).native,
        np.zeros(len(keys), np.uint32),
        separator,
        keys.native,
        np.arange(len(keys), dtype=np.uint32),
    )
    labels, label_at = _labels(field, label, count)
    return Part(field.name, TextKeys(joined), field.records, at[field.places], labels, label_at)


def _once(field: Field) -> Field:
    if not (field.records[1:] == field.records[:-1]).any():
        return field
    both = field.records.astype(np.uint64) << np.uint64(32) | field.places
    distinct = np.unique(both)
    if len(distinct) == len(both):
        return field
    return replace(
        field,
        records=(distinct >> np.uint64(32)).astype(np.uint32),
        places=distinct.astype(np.uint32),
    )


def _labels(field: Field, label: Any, count: int) -> tuple[list[str], Array | None]:
    if isinstance(label, (str, bytes)):
        return [_label_text(label)], None
    if callable(label):
        # A function of field and value is asked once a distinct value.
        given = [label(field.name, value) for value in field.keys.to_list()]
        distinct, at = _distinct(given)
        return distinct, at[field.places]
    if len(label) != count:
        raise InvalidArgumentError(
            f"visibility: {len(label)} labels for {count} records; nothing was written",
            {"argument": "visibility"},
        )
    distinct, at = _distinct(label.tolist() if hasattr(label, "tolist") else list(label))
    return distinct, at[field.records]


def _label_text(label: Any) -> str:
    if isinstance(label, bytes):
        return label.decode()
    if not isinstance(label, str):
        raise InvalidArgumentError(
            f"visibility: {label!r} is not a label; nothing was written", {"argument": "visibility"}
        )
    return label


def _distinct(given: list[Any]) -> tuple[list[str], Array]:
    known: dict[str, int] = {}
    at = [known.setdefault(_label_text(label), len(known)) for label in given]
    return list(known), np.array(at, np.int64)


def text_labels_of(parts: list[Part], label: Any, count: int) -> Any:
    """The labels of the records' texts. A text holds all values, so that with a label for each
    value it needs all of theirs."""
    if isinstance(label, (str, bytes)):
        return _label_text(label)
    if not callable(label):
        return [_label_text(one) for one in label]
    needed: list[set[str]] = [set() for _ in range(count)]
    for part in parts:
        at = part.label_at
        if at is None:
            continue
        for record, place in zip(part.records.tolist(), at.tolist(), strict=True):
            needed[record].add(part.labels[place])
    return [_all_of(labels - {""}) for labels in needed]


def _all_of(labels: set[str]) -> str:
    if len(labels) == 1:
        return next(iter(labels))
    return "&".join(f"({label})" for label in sorted(labels))
