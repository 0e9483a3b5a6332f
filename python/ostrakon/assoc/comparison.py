"""Comparisons keep the entries for which they hold, with their values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon.assoc.arithmetic import Aligned
from ostrakon.assoc.base import Parts, is_number
from ostrakon.assoc.items import split_delimited
from ostrakon.assoc.keys import as_timestamp, unite
from ostrakon.assoc.machine import MISSING, Array
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

Compare = Callable[[Any, Any], Any]


class Comparison(Parts):
    """`== != < <= > >=` with a value or another array.

    A text may be written as a list of one, `"x,"`. Against another array, a place it lacks counts
    as null: 0, or the empty text.

    >>> from ostrakon import Assoc
    >>> A = Assoc("a,b,c,", "x,", [1, 5, 47])
    >>> A == 47.0
    ('c', 'x')  47
    >>> (2 <= A) <= 9
    ('b', 'x')  5
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Assoc:  # type: ignore[override]
        return self._compared(other, operator.eq, "==")

    def __ne__(self, other: object) -> Assoc:  # type: ignore[override]
        return self._compared(other, operator.ne, "!=")

    def __lt__(self, other: Any) -> Assoc:
        return self._compared(other, operator.lt, "<")

    def __le__(self, other: Any) -> Assoc:
        return self._compared(other, operator.le, "<=")

    def __gt__(self, other: Any) -> Assoc:
        return self._compared(other, operator.gt, ">")

    def __ge__(self, other: Any) -> Assoc:
        return self._compared(other, operator.ge, ">=")

    def _compared(self, other: Any, compare: Compare, sign: str) -> Assoc:
        if isinstance(other, Comparison):
            return self._filtered(self._against(cast("Assoc", other), compare))
        if isinstance(other, str):
            return self._filtered(self._against_text(other, compare, sign))
        other = as_timestamp(other)
        stamped = self._matrix.values.dtype.kind in "mM"
        if isinstance(other, (np.datetime64, np.timedelta64)):
            fits = (
                self._val is None
                and stamped
                and self._matrix.values.dtype.kind == (other.dtype.kind)
            )
        elif is_number(other):
            fits = self._val is None and not stamped
        else:
            return NotImplemented  # type: ignore[no-any-return]
        if fits:
            return self._filtered(compare(self._matrix.values, other))
        return self._filtered(self._unlike(other, compare, sign))

    def _unlike(self, other: Any, compare: Compare, sign: str) -> Array:
        """Values of another kind are different, and in no order."""
        if compare not in (operator.eq, operator.ne) and len(self._matrix.columns):
            kind = "texts" if self._val is not None else str(self._matrix.values.dtype)
            raise TypeError(f"{sign}: the values are {kind}, {other!r} is not comparable with them")
        return np.full(len(self._matrix.columns), compare is operator.ne)

    def _against_text(self, text: str, compare: Compare, sign: str) -> Array:
        words = split_delimited(text)
        if len(words) != 1:
            raise InvalidArgumentError(f"{sign}: compare with one text, not with {len(words)}")
        if self._val is None:
            return self._unlike(text, compare, sign)
        # The dictionary is sorted, so that the text is compared once, not with every entry.
        start, stop = self._val.native.range(words[0], words[0])
        side = np.zeros(len(self._val), np.int8)
        side[:start], side[stop:] = -1, 1
        return cast("Array", compare(side, 0)[self._matrix.values])

    def _against(self, other: Assoc, compare: Compare) -> Array:
        mine, theirs = self._matrix.values, other._matrix.values
        if self._val is not None and other._val is not None:
            # Zero is the empty text; a text stands one above its place in the common dictionary.
            _, one, two = unite(self._val, other._val, "value")
            mine = (mine if one is None else one[mine]).astype(np.int64) + 1
            theirs = (theirs if two is None else two[theirs]).astype(np.int64) + 1
        elif (self._val is None) != (other._val is None) and len(mine) and len(theirs):
            raise TypeError("one side holds texts, the other does not: they do not compare")
        elif {mine.dtype.kind, theirs.dtype.kind} & set("mM") and mine.dtype.kind != (
            theirs.dtype.kind
        ):
            raise TypeError("one side holds timestamps, the other does not: they do not compare")
        aligned = Aligned(cast("Assoc", self), other, True)
        _, _, left, right = aligned.match(self._matrix, other._matrix, True)
        # Maps ascend, so that entries of the left array come in their own order.
        right = right[left != MISSING]
        there = right != MISSING
        facing = np.zeros(len(mine), theirs.dtype)
        facing[there] = theirs[right[there]]
        marks = np.asarray(compare(mine, facing))
        if theirs.dtype.kind in "mM":
            # Timestamps have no null: a missing one is only different.
            marks = np.where(there, marks, compare is operator.ne)
        return marks
