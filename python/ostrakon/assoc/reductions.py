"""Sums over an axis, degrees, diagonals, patterns, and the array turned round.

Reductions over rows (axis 0: one row, with key 0) or columns (axis 1: one column, with key
0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon._native import assoc_transpose
from ostrakon.assoc.base import filtered, is_assoc, numbers, ones, without_nulls
from ostrakon.assoc.exact import added, total
from ostrakon.assoc.keys import Keys, NumberKeys, TextKeys, inner_map, python_value
from ostrakon.assoc.machine import MISSING, Array
from ostrakon.assoc.matrix import Matrix, matrix_of, restored
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

_ONE = np.zeros(1, np.int64)


def transpose(array: Assoc) -> Assoc:
    """Rows become columns."""
    matrix = array._matrix
    starts, columns, values = assoc_transpose(matrix.kernel())
    values = restored(values, matrix.values)
    turned = matrix_of(starts, columns, values, matrix.height)
    return array._make(array._col, array._row, array._val, turned)


def T(array: Assoc) -> Assoc:  # noqa: N802  (NumPy's name)
    """The transpose."""
    return array.transpose()


def sum_(array: Assoc, axis: int | None = None) -> Any:
    """Sum of all values, or of each column (axis 0), or of each row (axis 1). Texts are ones.

    >>> from ostrakon import Assoc
    >>> A = Assoc("a,a,b,", "x,y,x,", [1, 2, 3])
    >>> A.sum(), A.sum(1)
    (6, ('a', 0)  3
    ('b', 0)  3)
    """
    return _reduced(array, numbers(array, "sum"), np.add, axis, 0)


def count(array: Assoc, axis: int | None = None) -> Any:
    """How many entries there are, in all or along an axis."""
    return _reduced(array, ones(array), np.add, axis, 0)


def min_(array: Assoc, axis: Any = None) -> Any:
    """Smallest value, in all or along an axis. With another Assoc: `minimum`."""
    return _least(array, axis, np.minimum)


def max_(array: Assoc, axis: Any = None) -> Any:
    """Largest value, in all or along an axis. With another Assoc: `maximum`."""
    return _least(array, axis, np.maximum)


def mean(array: Assoc, axis: int | None = None) -> Any:
    """Sum by count of the entries that are there."""
    if axis is None:
        if not len(array._matrix.columns):
            raise InvalidArgumentError("an empty array has no mean; test len(A) first")
        return array.sum() / len(array._matrix.columns)
    return array.sum(axis) / array.count(axis)


def reduce(array: Assoc, function: Callable[[Any, Any], Any], axis: int) -> Any:
    """Folds values along an axis by a function of two values, in key order."""
    from ostrakon.assoc.construction import collision_name, fold

    rows, columns = array._matrix.rows(), array._matrix.columns
    zeros = np.zeros(len(rows), np.uint32)
    one = NumberKeys(_ONE.copy())
    if _axis(axis) == 0:
        triples, row, col = (zeros, columns, array._matrix.values), cast("Keys", one), array._col
    else:
        triples, row, col = (rows, zeros, array._matrix.values), array._row, cast("Keys", one)
    if not len(rows):
        return array
    return array._make(*fold(row, col, array._val, triples, collision_name(function), ""))


def degree(array: Assoc, axis: int = 1) -> Assoc:
    """How many entries each row (axis 1: out-degree) or column (axis 0: in-degree) has."""
    return cast("Assoc", array.count(axis))


def degree_distribution(array: Assoc, axis: int = 1) -> Assoc:
    """How many rows (or columns) have each degree: row keys are degrees, the column key is 0.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,b,c,", "x,y,x,x,", 1).degree_distribution()
    (1, 0)  2
    (2, 0)  1
    """
    from ostrakon.assoc.core import Assoc

    degrees = _degrees(array, axis)
    return Assoc(degrees, 0, 1, "sum") if len(degrees) else Assoc()


def binned_degrees(array: Assoc, base: float = 2.0, axis: int = 1) -> Assoc:
    """The same in logarithmic bins: the row key is the smallest degree of the bin."""
    from ostrakon.assoc.core import Assoc

    degrees = _degrees(array, axis)
    if not len(degrees):
        return Assoc()
    if base <= 1:
        raise InvalidArgumentError(f"base: above 1, not {base}")
    bins = np.floor(np.log(degrees) / np.log(base) + 1e-9)
    return Assoc(np.ceil(base**bins - 1e-9).astype(np.int64), 0, 1, "sum")


def _degrees(array: Assoc, axis: int) -> Array:
    if _axis(axis) == 1:
        return np.diff(array._matrix.starts.astype(np.int64))
    return np.bincount(array._matrix.columns, minlength=array._matrix.width).astype(np.int64)


def logical(array: Assoc) -> Assoc:
    """1 at every entry."""
    return array._make(array._row, array._col, None, ones(array))


def diag(array: Assoc) -> Assoc:
    """The entries whose row key is their column key."""
    return filtered(array, _on_diagonal(array))


def nodiag(array: Assoc) -> Assoc:
    """The other entries. Works for keys of any two sets.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,b,", "a,b,c,", 1).nodiag()
    ('a', 'b')  1
    ('b', 'c')  1
    """
    return filtered(array, ~_on_diagonal(array))


def triu(array: Assoc, k: int = 0) -> Assoc:
    """The entries whose column key is at or above their row key (above it for `k=1`)."""
    return filtered(array, _ranks(array, 1) >= _ranks(array, 0) + (1 if k else 0))


def tril(array: Assoc, k: int = 0) -> Assoc:
    """The entries whose column key is at or below their row key (below it for `k=-1`)."""
    return filtered(array, _ranks(array, 1) <= _ranks(array, 0) - (1 if k else 0))


def norow(array: Assoc) -> Assoc:
    """One row, with key 0, and 1 for each column key."""
    return _flat(array, 0)


def nocol(array: Assoc) -> Assoc:
    """One column, with key 0, and 1 for each row key."""
    return _flat(array, 1)


def _flat(array: Assoc, axis: int) -> Assoc:
    return cast("Assoc", array.count(axis)).logical()


def _ranks(array: Assoc, axis: int) -> Array:
    """Place of the key of each entry among the keys of both axes."""
    from ostrakon.assoc.keys import unite

    _, rows, cols = unite(array._row, array._col, "row and column")
    places, keys = (rows, array._matrix.rows()) if axis == 0 else (cols, array._matrix.columns)
    return (keys if places is None else places[keys]).astype(np.int64)


def _on_diagonal(array: Assoc) -> Array:
    rows, columns = array._matrix.rows(), array._matrix.columns
    if isinstance(array._row, TextKeys) != isinstance(array._col, TextKeys):
        return np.zeros(len(rows), bool)
    faces = inner_map(array._row, array._col)
    facing = rows if faces is None else faces[rows]
    return cast("Array", (facing == columns) & (facing != MISSING))


def _least(array: Assoc, axis: Any, function: np.ufunc) -> Any:
    if is_assoc(axis):
        name = "minimum" if function is np.minimum else "maximum"
        return getattr(array, name)(axis)
    if axis is None and not len(array._matrix.columns):
        raise ValueError("an empty array has no smallest and no largest value")
    reduced = _reduced(array, array._matrix, function, axis, 0, array._val)
    if axis is None and array._val is not None:
        return array._val[int(reduced)]
    return reduced


def _reduced(
    array: Assoc,
    matrix: Matrix,
    function: np.ufunc,
    axis: int | None,
    empty: Any,
    val: TextKeys | None = None,
) -> Any:
    if axis is None:
        if not len(matrix.values):
            return empty
        adding = function is np.add
        return python_value(total(matrix.values) if adding else function.reduce(matrix.values))
    if not len(matrix.values):
        return array
    one = NumberKeys(_ONE.copy())
    if _axis(axis) == 1:
        sums = _runs(function, matrix.values, matrix.starts)
        starts = np.arange(len(array._row) + 1, dtype=np.uint32)
        columns = np.zeros(len(array._row), np.uint32)
        reduced = matrix_of(starts, columns, sums, 1)
        return _cleaned(array._make(array._row, one, val, reduced))
    starts, _, values = assoc_transpose(matrix.kernel())
    values = restored(values, matrix.values)
    sums = _runs(function, values, starts)
    columns = np.arange(len(array._col), dtype=np.uint32)
    whole = np.array([0, len(columns)], np.uint32)
    reduced = matrix_of(whole, columns, sums, len(columns))
    return _cleaned(array._make(one, array._col, val, reduced))


def _cleaned(array: Assoc) -> Assoc:
    """Without zeros and unused texts."""
    values = array._matrix.values
    if array._val is not None or values.dtype.kind in "mM":
        return filtered(array, np.ones(len(values), bool))
    return without_nulls(array)


def _runs(function: np.ufunc, values: Array, starts: Array) -> Array:
    firsts = starts[:-1].astype(np.int64)
    return added(values, firsts) if function is np.add else function.reduceat(values, firsts)


def _axis(axis: int) -> int:
    if axis not in (0, 1):
        raise InvalidArgumentError(f"axis: 0 (over rows) or 1 (over columns), not {axis!r}")
    return axis
