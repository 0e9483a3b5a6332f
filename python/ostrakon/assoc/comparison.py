"""Comparisons keep the entries for which they hold, with their values.

`== != < <= > >=` with a value or another array.

A text may be written as a list of one, `"x,"`. Against another array, a place it lacks counts
as null: 0, or the empty text.

>>> from ostrakon import Assoc
>>> A = Assoc("a,b,c,", "x,", [1, 5, 47])
>>> A == 47.0
('c', 'x')  47
>>> (2 <= A) <= 9
('b', 'x')  5
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon.assoc.arithmetic import Aligned
from ostrakon.assoc.base import filtered, is_assoc, is_number
from ostrakon.assoc.exactness import compared
from ostrakon.assoc.items import split_delimited
from ostrakon.assoc.keys import as_timestamp, unite
from ostrakon.assoc.machine import MISSING, Array
from ostrakon.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

Compare = Callable[[Any, Any], Any]


def equal(array: Assoc, other: object) -> Assoc:
    """`==`."""
    return _compared(array, other, operator.eq, "==")


def not_equal(array: Assoc, other: object) -> Assoc:
    """`!=`."""
    return _compared(array, other, operator.ne, "!=")


def less(array: Assoc, other: Any) -> Assoc:
    """`<`."""
    return _compared(array, other, operator.lt, "<")


def less_equal(array: Assoc, other: Any) -> Assoc:
    """`<=`."""
    return _compared(array, other, operator.le, "<=")


def greater(array: Assoc, other: Any) -> Assoc:
    """`>`."""
    return _compared(array, other, operator.gt, ">")


def greater_equal(array: Assoc, other: Any) -> Assoc:
    """`>=`."""
    return _compared(array, other, operator.ge, ">=")


def _compared(array: Assoc, other: Any, compare: Compare, sign: str) -> Assoc:
    if is_assoc(other):
        return filtered(array, _against(array, other, compare))
    if isinstance(other, str):
        return filtered(array, _against_text(array, other, compare, sign))
    other = as_timestamp(other)
    stamped = array._matrix.values.dtype.kind in "mM"
    if isinstance(other, (np.datetime64, np.timedelta64)):
        fits = (
            array._val is None and stamped and array._matrix.values.dtype.kind == (other.dtype.kind)
        )
    elif is_number(other):
        fits = array._val is None and not stamped
    elif isinstance(other, (list, tuple, np.ndarray)):
        raise ArgumentTypeError(
            f"{sign}: {other!r} is a list, and one value is needed: write A {sign} 'v' for a text, "
            f"A {sign} 5 for a number"
        )
    else:
        return NotImplemented  # type: ignore[no-any-return]
    if fits:
        return filtered(array, compared(array._matrix.values, other, compare))
    return filtered(array, _unlike(array, other, compare, sign))


def _unlike(array: Assoc, other: Any, compare: Compare, sign: str) -> Array:
    """Values of another kind are different, and in no order."""
    if compare not in (operator.eq, operator.ne) and len(array._matrix.columns):
        kind = "texts" if array._val is not None else str(array._matrix.values.dtype)
        raise TypeError(f"{sign}: the values are {kind}, {other!r} is not comparable with them")
    return np.full(len(array._matrix.columns), compare is operator.ne)


def _against_text(array: Assoc, text: str, compare: Compare, sign: str) -> Array:
    words = split_delimited(text)
    if len(words) != 1:
        raise InvalidArgumentError(f"{sign}: compare with one text, not with {len(words)}")
    if array._val is None:
        return _unlike(array, text, compare, sign)
    # The dictionary is sorted, so that the text is compared once, not with every entry.
    start, stop = array._val.native.range(words[0], words[0])
    side = np.zeros(len(array._val), np.int8)
    side[:start], side[stop:] = -1, 1
    return cast("Array", compare(side, 0)[array._matrix.values])


def _against(array: Assoc, other: Assoc, compare: Compare) -> Array:
    mine, theirs = array._matrix.values, other._matrix.values
    if array._val is not None and other._val is not None:
        # Zero is the empty text; a text stands one above its place in the common dictionary.
        _, one, two = unite(array._val, other._val, "value")
        mine = (mine if one is None else one[mine]).astype(np.int64) + 1
        theirs = (theirs if two is None else two[theirs]).astype(np.int64) + 1
    elif (array._val is None) != (other._val is None) and len(mine) and len(theirs):
        raise TypeError("one side holds texts, the other does not: they do not compare")
    elif {mine.dtype.kind, theirs.dtype.kind} & set("mM") and mine.dtype.kind != (
        theirs.dtype.kind
    ):
        raise TypeError("one side holds timestamps, the other does not: they do not compare")
    aligned = Aligned(array, other, True)
    _, _, left, right = aligned.match(array._matrix, other._matrix, True)
    # Maps ascend, so that entries of the left array come in their own order.
    right = right[left != MISSING]
    there = right != MISSING
    facing = np.zeros(len(mine), theirs.dtype)
    facing[there] = theirs[right[there]]
    marks = compared(mine, facing, compare)
    if theirs.dtype.kind in "mM":
        # Timestamps have no null: a missing one is only different.
        marks = np.where(there, marks, compare is operator.ne)
    return marks
