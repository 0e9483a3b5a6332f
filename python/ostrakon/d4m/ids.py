"""Keys of records and edges that are spread over a table."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostrakon._native import NativeColumn, assoc_keys
from ostrakon.assoc.items import read_items, resolve
from ostrakon.assoc.keys import TextKeys
from ostrakon.d4m.selection import texts_of
from ostrakon.d4m.sources import RecordSet
from ostrakon.d4m.writing import coded
from ostrakon.errors import InvalidArgumentError

Array = NDArray[Any]

# Digits of the microseconds since 1970, until the year 2286.
_TIME_DIGITS = 16
# Digits of the numbers of records.
_DIGITS = 10


def flipped(numbers: Iterable[int], width: int) -> list[str]:
    """Numbers with leading zeros and reversed digits, so that consecutive ones are spread.

    >>> flipped([1, 23], 4)
    ['1000', '3200']
    """
    return [f"{number:0{width}d}"[::-1] for number in numbers]


def new_ids(count: int) -> list[str]:
    """Unique keys, made from the time with reversed digits and a random suffix."""
    now = time.time_ns() // 1000
    tag = secrets.token_hex(4)
    return [key + tag for key in flipped(range(now, now + count), _TIME_DIGITS)]


class Ids(NamedTuple):
    """The keys of records in the order of records."""

    keys: TextKeys
    places: Array

    def column(self, records: Array) -> NativeColumn:
        """The keys of some records, as a table takes them."""
        return coded(self.keys, self.places[records])

    def to_numpy(self) -> Array:
        """All of them."""
        array: Array = self.keys.spread(self.places)
        return array


def ids_of(given: Any) -> Ids:
    """Keys of a list or array."""
    keys, places = resolve([read_items("id", given)])[0]
    assert isinstance(keys, TextKeys)
    return Ids(keys, np.asarray(places, np.uint32))


def _numbered(start: int, count: int, width: int, suffix: str = "") -> Ids:
    """Consecutive numbers, `flipped`, without a Python object for each."""
    if start + count > 10**width or start + count > 2**63:
        return ids_of([key + suffix for key in flipped(range(start, start + count), width)])
    rest = np.arange(start, start + count, dtype=np.int64)
    cells = np.empty((count, width + len(suffix)), np.uint8)
    for digit in range(width):
        rest, cells[:, digit] = np.divmod(rest, 10)
    cells[:, :width] += ord("0")
    cells[:, width:] = np.frombuffer(suffix.encode("ascii"), np.uint8)
    keys, places = assoc_keys([("id", "fixed", cells)], 1)[0]
    return Ids(TextKeys(keys), places)


class IdSource:
    """The keys of the records of one call, batch after batch."""

    def __init__(self, given: Any, start: int | None) -> None:
        if given is not None and start is not None:
            raise InvalidArgumentError("id and start: give one of them", {"argument": "start"})
        if start is not None and start < 0:
            raise InvalidArgumentError("`start` is negative", {"argument": "start"})
        self._field = given if isinstance(given, str) else None
        self._listed = None if given is None or self._field else ids_of(texts_of(given))
        if self._listed is not None:
            _check_distinct(self._listed)
        self._suffix = "" if start is not None else secrets.token_hex(4)
        self._width = _DIGITS if start is not None else _TIME_DIGITS
        self._next = time.time_ns() // 1000 if start is None else start
        self._seen = _Seen()
        self.count = 0

    def take(self, read: RecordSet) -> Ids:
        """The keys of the next batch, which were not used before."""
        before = self.count
        self.count += read.count
        if self._field is not None:
            made = _of_field(read, self._field)
            _check_distinct(made)
            self._seen.add(made.keys)
            return made
        if self._listed is not None:
            places = self._listed.places[before : self.count]
            if len(places) != read.count:
                self.end()
            order = np.argsort(places)
            ranks = np.empty(len(places), np.uint32)
            ranks[order] = np.arange(len(places), dtype=np.uint32)
            return Ids(self._listed.keys.take(places[order]), ranks)
        self._next += read.count
        return _numbered(self._next - read.count, read.count, self._width, self._suffix)

    def end(self) -> None:
        """Raises when a list of keys has another length than there were records."""
        if self._listed is not None and len(self._listed.places) != self.count:
            raise InvalidArgumentError(
                f"id: {len(self._listed.places)} keys for {self.count} records; nothing was "
                "written",
                {"argument": "id"},
            )


def _of_field(read: RecordSet, name: str) -> Ids:
    field = next((field for field in read.fields if field.name == name), None)
    if field is None:
        raise InvalidArgumentError(
            f"id: there is no field {name!r}; there are "
            f"{', '.join(field.name for field in read.fields)}",
            {"argument": "id"},
        )
    if not np.array_equal(field.records, np.arange(read.count)):
        raise InvalidArgumentError(
            f"id: the field {name!r} has not one value in every record", {"argument": "id"}
        )
    # A dictionary may hold texts that only gaps had.
    used = np.bincount(field.places, minlength=len(field.keys)) > 0
    if used.all():
        return Ids(field.keys, field.places)
    ranks = (np.cumsum(used) - 1).astype(np.uint32)
    return Ids(field.keys.take(np.flatnonzero(used).astype(np.uint32)), ranks[field.places])


def _check_distinct(made: Ids) -> None:
    often = np.flatnonzero(np.bincount(made.places, minlength=len(made.keys)) > 1)
    if len(often):
        raise _twice(made.keys[int(often[0])])
    if len(made.keys) and made.keys.find("") is not None:
        raise InvalidArgumentError("id: a record has an empty key", {"argument": "id"})


def _twice(key: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"id: two records have the key {key!r}; nothing was written", {"argument": "id"}
    )


class _Seen:
    """The keys of all batches so far, in dictionaries of growing size, so that n batches need
    about n log n merges."""

    def __init__(self) -> None:
        self._held: list[TextKeys] = []

    def add(self, keys: TextKeys) -> None:
        """Adds keys; raises if one of them was added before."""
        for held in self._held:
            both = held.intersection(keys)[0]
            if len(both):
                raise _twice(held[int(both[0])])
        self._held.append(keys)
        while len(self._held) > 1 and len(self._held[-2]) <= 2 * len(self._held[-1]):
            last = self._held.pop()
            self._held[-1] = self._held[-1].union(last)[0]
