"""`A[rows, cols]` by keys, `A.iloc[i, j]` by positions, `A[mask]` by another array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon._native import assoc_match, assoc_select
from ostrakon.assoc.base import filtered
from ostrakon.assoc.keys import meet
from ostrakon.assoc.machine import MISSING, Array, inverse_map
from ostrakon.assoc.selectors import by_position, positions
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


def select(array: Assoc, index: Any) -> Assoc:
    """The entries in some rows and columns. Missing keys are ignored.

    Each side is `:`; a key; a delimiter string `"a,b,"` in which `"a,:,c,"` is an inclusive
    range, `":,c,"` and `"a,:,"` are open, several ranges and keys may follow each other, and
    `al*` is a wildcard; a list or array of keys (taken literally); a slice of keys `"a":"c"`
    (inclusive); a mask of booleans; or `startswith`, `contains`, `matches`. One other Assoc
    keeps the entries where that one has an entry.

    >>> from ostrakon import Assoc
    >>> A = Assoc("alan,alice,bob,", "x,y,y,", [1, 2, 3])
    >>> A["al*", :]
    ('alan', 'x')  1
    ('alice', 'y')  2
    >>> A["alice,:,", "y"].nnz
    2
    """
    from ostrakon.assoc.core import Assoc

    if isinstance(index, Assoc):
        return _where(array, index)
    rows, cols = _pair(index)
    return selected(array, positions(array._row, rows, "row"), positions(array._col, cols, "col"))


def loc(array: Assoc) -> Assoc:
    """The array itself: brackets take keys."""
    return array


def iloc(array: Assoc) -> Positions:
    """By positions: `A.iloc[0]`, `A.iloc[:10, [0, -1]]`.

    >>> from ostrakon import Assoc
    >>> Assoc("a,b,c,", "x,", [1, 2, 3]).iloc[-1]
    ('c', 'x')  3
    """
    return Positions(array)


def selected(array: Assoc, rows: Array | None, cols: Array | None) -> Assoc:
    """The entries in these rows and columns, by position; `None` for all."""
    if rows is None and cols is None:
        return array
    matrix = array._matrix
    result = assoc_select(matrix.kernel(), rows, cols)
    return array._condensed(array._row, array._col, array._val, matrix.values, result)


def _where(array: Assoc, mask: Assoc) -> Assoc:
    """The entries at places where `mask` has one."""
    sides: list[list[Array | None]] = [[], []]
    shape = []
    for mine, theirs, axis in (
        (array._row, mask._row, "row"),
        (array._col, mask._col, "column"),
    ):
        met = meet(mine, theirs, axis)
        if met is None:
            sides[0].append(None)
            sides[1].append(None)
            shape.append(len(mine))
        else:
            sides[0].append(inverse_map(met[0], len(mine)))
            sides[1].append(inverse_map(met[1], len(theirs)))
            shape.append(len(met[0]))
    _, _, left, _ = assoc_match(
        (array._matrix.kernel(), sides[0][0], sides[0][1]),
        (mask._matrix.kernel(), sides[1][0], sides[1][1]),
        (shape[0], shape[1]),
        False,
    )
    marks = np.zeros(len(array._matrix.columns), bool)
    marks[left[left != MISSING]] = True
    return filtered(array, marks)


class Positions:
    """What `.iloc` gives."""

    __slots__ = ("_array",)

    def __init__(self, array: Assoc) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Assoc:
        rows, cols = _pair(index)
        height, width = self._array.shape
        return selected(
            self._array, by_position(height, rows, "row"), by_position(width, cols, "col")
        )


def _pair(index: Any) -> tuple[Any, Any]:
    if not isinstance(index, tuple):
        return index, slice(None)
    if len(index) != 2:
        raise InvalidArgumentError(f"an array has rows and columns, not {len(index)} axes")
    return index
