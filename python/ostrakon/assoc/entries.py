"""Reading entries: all of them, one of them, and whether two arrays are equal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon.assoc.exactness import same
from ostrakon.assoc.keys import python_value
from ostrakon.assoc.machine import Array
from ostrakon.assoc.matrix import python_list

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


def contains(array: Assoc, item: object) -> bool:
    """Whether there is a row of this key; for `(row, col)` or `(row, col, value)`, such an
    entry.

    >>> from ostrakon import Assoc
    >>> A = Assoc("a,", "x,", 7)
    >>> "a" in A, "x" in A, ("a", "x") in A, ("a", "x", 8) in A
    (True, False, True, False)
    """
    if not isinstance(item, tuple):
        return array._row.find(item) is not None
    if len(item) not in (2, 3):
        raise TypeError(f"a row key, (row, col) or (row, col, value), not {item!r}")
    there = array.get(*item[:2])
    return there is not None and (len(item) == 2 or bool(there == item[2]))


def find(array: Assoc, order: str = "row") -> tuple[Array, Array, Array]:
    """Rows, columns and values of all entries, as arrays of one length.

    `order` is `"row"` (by row, then column) or `"col"`, which is how Matlab's `find` sorts.

    >>> from ostrakon import Assoc
    >>> r, c, v = Assoc("a,b,", "y,x,", [1, 2]).find("col")
    >>> r.tolist(), c.tolist(), v.tolist()
    (['b', 'a'], ['x', 'y'], [2, 1])
    """
    if order not in ("row", "col", 0, 1):
        raise ValueError(f"order is 'row' or 'col', not {order!r}")
    rows = array._row.spread(array._matrix.rows())
    cols = array._col.spread(array._matrix.columns)
    if order in ("row", 0):
        return rows, cols, array.values
    by_column = np.argsort(array._matrix.columns, kind="stable")
    return rows[by_column], cols[by_column], array.values[by_column]


def triples(array: Assoc) -> list[tuple[Any, Any, Any]]:
    """All entries as Python tuples, by row, then column."""
    return list(array)


def iterate(array: Assoc) -> Iterator[tuple[Any, Any, Any]]:
    """The entries as Python tuples, by row, then column."""
    rows, cols = array._row.to_list(), array._col.to_list()
    values = python_list(array._matrix.values)
    if array._val is not None:
        texts = array._val.to_list()
        values = [texts[value] for value in values]
    places = zip(array._matrix.rows().tolist(), array._matrix.columns.tolist(), strict=True)
    for (row, col), value in zip(places, values, strict=True):
        yield rows[row], cols[col], value


def get(array: Assoc, row: Any, col: Any, default: Any = None) -> Any:
    """The value at one place, or `default`.

    >>> from ostrakon import Assoc
    >>> A = Assoc("a,", "x,", 7)
    >>> A.get("a", "x"), A.get("a", "y", 0)
    (7, 0)
    """
    at, place = array._row.find(row), array._col.find(col)
    if at is None or place is None:
        return default
    start, stop = array._matrix.starts[at], array._matrix.starts[at + 1]
    entry = start + np.searchsorted(array._matrix.columns[start:stop], place)
    if entry >= stop or array._matrix.columns[entry] != place:
        return default
    value = array._matrix.values[entry]
    return python_value(value) if array._val is None else array._val[int(value)]


def get_value(array: Assoc, row: Any, col: Any) -> Any:
    """The value at one place, or null: 0, or the empty text."""
    return array.get(row, col, "" if array.is_text else 0)


def equals(array: Assoc, other: Any) -> bool:
    """Whether both have the same keys at the same places with equal values.

    >>> from ostrakon import Assoc
    >>> Assoc("a,", "x,", 1).equals(Assoc("a,", "x,", 1.0))
    True
    """
    from ostrakon.assoc.core import Assoc

    if not isinstance(other, Assoc):
        return False
    mine, theirs = array._matrix, other._matrix
    if not len(mine.columns) and not len(theirs.columns):
        return True
    if (array._val is None) != (other._val is None):
        return False
    if array._val is not None and other._val is not None and not array._val.equals(other._val):
        return False
    keys_same = array._row.equals(other._row) and array._col.equals(other._col)
    return (
        keys_same
        and np.array_equal(mine.starts, theirs.starts)
        and np.array_equal(mine.columns, theirs.columns)
        and same(mine.values, theirs.values)
    )


def check_canonical(array: Assoc) -> None:
    """Raises `AssertionError` where the parts contradict each other; for tests."""
    starts, columns, values, width = array._matrix
    rows = array._matrix.rows()
    for keys in (array._row, array._col, *([] if array._val is None else [array._val])):
        listed = keys.to_list()
        _hold(all(a < b for a, b in itertools.pairwise(listed)), "keys ascend")
    _hold(len(starts) == len(array._row) + 1, "a start for each row key")
    _hold(width == len(array._col), "as wide as there are column keys")
    _hold(bool((np.diff(starts.astype(np.int64)) > 0).all()), "no empty row")
    _hold(np.array_equal(np.unique(columns), np.arange(width)), "no empty column")
    inside = np.diff(columns.astype(np.int64))[np.diff(rows) == 0]
    _hold(bool((inside > 0).all()), "columns ascend in each row")
    _hold(len(values) == len(columns), "a value for each entry")
    if array._val is not None:
        _hold(np.array_equal(np.unique(values), np.arange(len(array._val))), "no unused text")
        _hold(array._val.find("") is None, "no empty text")
    elif values.dtype.kind not in "mM":
        _hold(bool(np.asarray(values != 0).all()), "no zero")


def _hold(fact: bool, what: str) -> None:
    if not fact:
        raise AssertionError(f"broken associative array: {what}")
