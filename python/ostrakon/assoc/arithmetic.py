"""Two arrays place by place: `+ - * / & |`, scalars, minimum and maximum, any function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon._native import assoc_elementwise, assoc_join, assoc_match
from ostrakon.assoc.base import (
    common_numbers,
    filtered,
    is_assoc,
    is_number,
    numbers,
    ones,
    with_numbers,
    without_nulls,
)
from ostrakon.assoc.exact import absolute, computed, largest, scaled
from ostrakon.assoc.exactness import common
from ostrakon.assoc.items import read_items, resolve
from ostrakon.assoc.keys import Keys, TextKeys, meet, unite
from ostrakon.assoc.machine import MISSING, Array, inverse_map
from ostrakon.assoc.matrix import Matrix, matrix_of
from ostrakon.assoc.warning import AssocWarning

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


class Aligned:
    """Two arrays and the maps of their keys into common ones: the union, or the intersection."""

    __slots__ = ("col", "left", "right", "row", "shape")

    def __init__(self, left: Assoc, right: Assoc, over_union: bool) -> None:
        maps: list[list[Array | None]] = [[], []]
        keys: list[Keys] = []
        for mine, theirs, axis in (
            (left._row, right._row, "row"),
            (left._col, right._col, "column"),
        ):
            if over_union:
                common, one, two = unite(mine, theirs, axis)
            else:
                met = meet(mine, theirs, axis)
                common, one, two = mine, None, None
                if met is not None:
                    common = mine.take(met[0])
                    one = inverse_map(met[0], len(mine))
                    two = inverse_map(met[1], len(theirs))
            keys.append(common)
            maps[0].append(one)
            maps[1].append(two)
        self.row, self.col = keys
        self.left, self.right = maps
        self.shape = (len(self.row), len(self.col))

    def numbers(
        self, left: Matrix, right: Matrix, operation: str, over_union: bool, drop_null: bool = True
    ) -> Any:
        """A kernel's operation on numbers, or on positions of the same type."""
        return assoc_elementwise(
            (left, self.left[0], self.left[1]),
            (right, self.right[0], self.right[1]),
            self.shape,
            operation,
            over_union,
            drop_null,
        )

    def match(self, left: Matrix, right: Matrix, over_union: bool) -> Any:
        """Places, and which entries stand there."""
        return assoc_match(
            (left.kernel(), self.left[0], self.left[1]),
            (right.kernel(), self.right[0], self.right[1]),
            self.shape,
            over_union,
        )


def add(array: Assoc, other: Any) -> Assoc:
    """Union. Numbers are added; texts at one place are put end to end; beside numbers, texts
    count as ones (with a warning).

    >>> from ostrakon import Assoc
    >>> Assoc("a,", "x,", 1) + Assoc("a,b,", "x,", [2, 3])
    ('a', 'x')  3
    ('b', 'x')  3
    """
    if not is_assoc(other):
        return _not_ours(other, "+")
    if not len(other) or not len(array._matrix.columns):
        return array if not len(other) else other
    if array._val is not None and other._val is not None:
        return _joined(array, other)
    return _numeric(array, other, "add", "+", over_union=True)


def subtract(array: Assoc, other: Any) -> Assoc:
    """Numbers: difference over the union. With texts on either side: entries of the left array
    where the right one has none."""
    if not is_assoc(other):
        return _not_ours(other, "-")
    if array._val is not None or other._val is not None:
        return array.without(other)
    return _numeric(array, other, "subtract", "-", over_union=True)


def multiply(array: Assoc, other: Any) -> Assoc:
    """Place by place on the intersection. With texts on either side: the left values where the
    right array has an entry. A number multiplies every entry.

    >>> from ostrakon import Assoc
    >>> 2 * Assoc("a,", "x,", 3) * Assoc("a,", "x,y,", 5)
    ('a', 'x')  30
    """
    if is_number(other):
        return _scaled(array, other, np.multiply)
    if not is_assoc(other):
        return _not_ours(other, "*")
    if array._val is not None or other._val is not None:
        return array[other]
    return _numeric(array, other, "multiply", "*", over_union=False)


def rmul(array: Assoc, other: Any) -> Assoc:
    """A number times every entry."""
    if is_number(other):
        return _scaled(array, other, np.multiply)
    return _not_ours(other, "*")


def true_divide(array: Assoc, other: Any) -> Assoc:
    """Place by place on the intersection, as floats; a number divides every entry."""
    if is_number(other):
        if other == 0:
            raise ZeroDivisionError("an associative array divided by zero")
        return _scaled(array, other, np.true_divide)
    if not is_assoc(other):
        return _not_ours(other, "/")
    left, right = numbers(array, "/"), numbers(other, "/")
    left = left.with_values(left.values.astype(np.float64))
    right = right.with_values(right.values.astype(np.float64))
    aligned = Aligned(array, other, False)
    result = aligned.numbers(left, right, "divide", False)
    return without_nulls(array._condensed(aligned.row, aligned.col, None, left.values, result))


def divide(array: Assoc, other: Any) -> Assoc:
    """Same as `/`."""
    return array / other  # type: ignore[no-any-return]


def negative(array: Assoc) -> Assoc:
    """Every entry negated."""
    return _scaled(array, -1, np.multiply)


def magnitude(array: Assoc) -> Assoc:
    """Every entry without its sign."""
    return with_numbers(array, absolute(numbers(array, "abs()").values))


def and_(array: Assoc, other: Any) -> Assoc:
    """1 where both have an entry."""
    if not is_assoc(other):
        return _not_ours(other, "&")
    return _pattern(array, other, over_union=False)


def or_(array: Assoc, other: Any) -> Assoc:
    """1 where either has an entry."""
    if not is_assoc(other):
        return _not_ours(other, "|")
    return _pattern(array, other, over_union=True)


def xor(array: Assoc, other: Any) -> Assoc:
    """1 where exactly one has an entry."""
    if not is_assoc(other):
        return _not_ours(other, "^")
    return array.without(other) | other.without(array)


def without(array: Assoc, other: Assoc) -> Assoc:
    """The entries at places where `other` has no entry."""
    aligned = Aligned(array, other, True)
    _, _, left, right = aligned.match(array._matrix, other._matrix, True)
    # Maps ascend, so that entries of the left array come in their own order.
    return filtered(array, right[left != MISSING] == MISSING)


def minimum(array: Assoc, other: Assoc) -> Assoc:
    """Union with the smaller of the values present. Texts compare by their bytes."""
    return _extreme(array, other, "min")


def maximum(array: Assoc, other: Assoc) -> Assoc:
    """Union with the larger of the values present."""
    return _extreme(array, other, "max")


def combine(
    own: Assoc,
    other: Assoc,
    function: Callable[[Any, Any], Any],
    left_default: Any = None,
    right_default: Any = None,
) -> Assoc:
    """Union by a function of two values. Where one side has no entry its default goes in;
    without a default the other value stays as it is. A `numpy.ufunc` runs on whole arrays.

    >>> from ostrakon import Assoc
    >>> Assoc("a,", "x,", 2).combine(Assoc("a,b,", "x,", [3, 4]), pow, left_default=10)
    ('a', 'x')  8
    ('b', 'x')  10000
    """
    if own._matrix.values.dtype.kind in "mM" and other._matrix.values.dtype.kind in "mM":
        own, other = _of_one_unit(own, other)
    aligned = Aligned(own, other, True)
    starts, columns, left, right = aligned.match(own._matrix, other._matrix, True)
    if isinstance(function, np.ufunc) and own._val is None and other._val is None:
        values: Any = _combined_arrays(
            function, (own._matrix.values, left, left_default),
            (other._matrix.values, right, right_default),
        )  # fmt: skip
    else:
        mine, theirs = _listed(own, left), _listed(other, right)
        values = [
            _combined(function, one, two, left_default, right_default)
            for one, two in zip(mine, theirs, strict=True)
        ]
    items = read_items("function", values)
    dictionary: TextKeys | None = None
    if items.valid is not None:
        raise ValueError("function: it gave None or NaN")
    if items.is_text:
        keys, places = resolve([items])[0]
        dictionary, array = cast("TextKeys", keys), places
    else:
        array = cast("Array", items.array)
    matrix = matrix_of(starts, columns, array, len(aligned.col))
    made = own._make(aligned.row, aligned.col, dictionary, matrix)
    if dictionary is not None:
        empty = dictionary.find("")
        return filtered(made, array != empty) if empty is not None else made
    if array.dtype.kind in "mM":
        return made
    return filtered(made, array != 0)


def apply(array: Assoc, function: Callable[[Any], Any]) -> Assoc:
    """Each value through a function; nulls go. A `numpy.ufunc` runs on the whole array.

    >>> from ostrakon import Assoc
    >>> Assoc("a,b,", "x,", "u,vw,").apply(len)
    ('a', 'x')  1
    ('b', 'x')  2
    """
    from ostrakon.assoc.construction import _settled

    values: Any
    if array._val is not None:
        # Once for each distinct text.
        items = read_items("function", [function(text) for text in array._val.to_list()])
    elif isinstance(function, np.ufunc):
        items = read_items("function", function(array._matrix.values))
    else:
        items = read_items("function", [function(value) for value in _python(array._matrix)])
    if items.valid is not None:
        raise ValueError("function: it gave None or NaN")
    dictionary: TextKeys | None = None
    if items.is_text:
        keys, values = resolve([items])[0]
        dictionary = cast("TextKeys", keys)
    else:
        values = cast("Array", items.array)
    if array._val is not None:
        values = values[array._matrix.values]
    return array._make(
        *_settled(array._row, array._col, dictionary, array._matrix.with_values(values))
    )


def _joined(array: Assoc, other: Assoc) -> Assoc:
    """Texts put end to end."""
    aligned = Aligned(array, other, True)
    starts, columns, left, right = aligned.match(array._matrix, other._matrix, True)
    mine, theirs = cast("TextKeys", array._val), cast("TextKeys", other._val)
    keys, places = assoc_join(
        mine.native, _entries(array._matrix.values, left),
        "", theirs.native, _entries(other._matrix.values, right),
    )  # fmt: skip
    matrix = matrix_of(starts, columns, places, len(aligned.col))
    return array._make(aligned.row, aligned.col, TextKeys(keys), matrix)


def _numeric(array: Assoc, other: Assoc, operation: str, sign: str, over_union: bool) -> Assoc:
    if (array._val is None) != (other._val is None) and len(array._matrix.columns) and len(other):
        warnings.warn(
            f"{sign}: one side holds texts, which count as ones; logical() says so silently",
            AssocWarning,
            stacklevel=3,
        )
    left, right = common_numbers(numbers(array, sign), numbers(other, sign))
    aligned = Aligned(array, other, over_union)
    one, two = largest(left.values), largest(right.values)
    result = computed(
        lambda left, right, drop: aligned.numbers(left, right, operation, over_union, drop),
        left,
        right,
        one * two if operation == "multiply" else one + two,
    )
    return without_nulls(array._condensed(aligned.row, aligned.col, None, left.values, result))


def _pattern(array: Assoc, other: Assoc, over_union: bool) -> Assoc:
    aligned = Aligned(array, other, over_union)
    mine, theirs = ones(array), ones(other)
    result = aligned.numbers(mine, theirs, "pair", over_union)
    return array._condensed(aligned.row, aligned.col, None, mine.values, result)


def _extreme(array: Assoc, other: Assoc, operation: str) -> Assoc:
    if not is_assoc(other):
        raise TypeError(f"{operation}imum takes another Assoc, not {type(other).__name__}")
    aligned = Aligned(array, other, True)
    if array._val is not None and other._val is not None:
        # Positions in a common dictionary compare as the texts do.
        texts, one, two = unite(array._val, other._val, "value")
        left = array._matrix.with_values(_mapped(array._matrix.values, one).astype(np.int64))
        right = other._matrix.with_values(_mapped(other._matrix.values, two).astype(np.int64))
        starts, columns, values, rows, cols = aligned.numbers(left, right, operation, True, False)
        result = (starts, columns, values.astype(np.uint32), rows, cols)
        return array._condensed(aligned.row, aligned.col, cast("TextKeys", texts), values, result)
    if not len(other) or not len(array._matrix.columns):
        return array if not len(other) else other
    mine, theirs = array._matrix.values, other._matrix.values
    if mine.dtype.kind in "mM" and mine.dtype.kind == theirs.dtype.kind:
        array, other = _of_one_unit(array, other)
        mine = array._matrix.values
        result = aligned.numbers(
            array._matrix.kernel(), other._matrix.kernel(), operation, True, False
        )
        return array._condensed(aligned.row, aligned.col, None, mine, result)
    left, right = numbers(array, operation), numbers(other, operation)
    # A value is chosen, not computed: it stays exact.
    one, two = common(left.values, right.values, "the values")
    left, right = left.with_values(one), right.with_values(two)
    result = aligned.numbers(left, right, operation, True)
    if mine.dtype.kind == theirs.dtype.kind == "b":
        starts, columns, values, rows, cols = result
        result = (starts, columns, values.astype(bool), rows, cols)
    return array._condensed(aligned.row, aligned.col, None, left.values, result)


def _of_one_unit(array: Assoc, other: Assoc) -> tuple[Assoc, Assoc]:
    """Both with timestamps of the same unit."""
    one, two = common(array._matrix.values, other._matrix.values, "the values")
    return with_numbers(array, one), with_numbers(other, two)


def _scaled(array: Assoc, number: Any, function: np.ufunc) -> Assoc:
    if number != number:  # noqa: PLR0124 - NaN, of any type and size
        raise ValueError("a number that is NaN")
    values = scaled(numbers(array, "a product with a number").values, number, function)
    kind = np.int64 if values.dtype.kind in "iub" else np.float64
    return with_numbers(array, values.astype(kind))


def _not_ours(other: Any, sign: str) -> Assoc:
    if is_number(other):
        raise TypeError(
            f"{sign} with a number would fill the empty places; "
            "apply(lambda v: …) changes entries only"
        )
    return cast("Assoc", NotImplemented)


def _entries(values: Array, entries: Array) -> Array:
    """Values by entry, `MISSING` where there is none."""
    found = np.full(len(entries), MISSING, np.uint32)
    there = entries != MISSING
    found[there] = values[entries[there]]
    return found


def _mapped(positions: Array, places: Array | None) -> Array:
    return positions if places is None else places[positions]


def _python(matrix: Matrix) -> list[Any]:
    from ostrakon.assoc.matrix import python_list

    return python_list(matrix.values)


def _listed(array: Assoc, entries: Array) -> list[Any]:
    values = array.values.tolist() if array._val is not None else _python(array._matrix)
    return [None if entry == MISSING else values[entry] for entry in entries.tolist()]


def _combined(
    function: Callable[[Any, Any], Any], one: Any, two: Any, left: Any, right: Any
) -> Any:
    if one is None:
        if left is None:
            return two
        one = left
    elif two is None:
        if right is None:
            return one
        two = right
    return function(one, two)


def _combined_arrays(
    function: np.ufunc, one: tuple[Array, Array, Any], two: tuple[Array, Array, Any]
) -> Array:
    (mine, left, left_default), (theirs, right, right_default) = one, two
    here, there = left != MISSING, right != MISSING
    kind = np.result_type(mine, theirs)
    both = here & there
    a = np.full(len(left), 0 if left_default is None else left_default, kind)
    b = np.full(len(left), 0 if right_default is None else right_default, kind)
    a[here], b[there] = mine[left[here]], theirs[right[there]]
    known = both.copy()
    if left_default is not None:
        known |= ~here
    if right_default is not None:
        known |= ~there
    computed = function(a[known], b[known])
    if known.all():
        return np.asarray(computed)
    values = np.where(here, a, b).astype(np.result_type(computed, kind))
    values[known] = computed
    return values
