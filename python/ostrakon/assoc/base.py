"""What several modules of operations share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ostrakon._native import assoc_filter
from ostrakon.assoc.machine import Array
from ostrakon.assoc.matrix import Matrix

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


def filtered(array: Assoc, marks: Array) -> Assoc:
    """The entries whose mark is set."""
    matrix = array._matrix
    result = assoc_filter(matrix.kernel(), np.ascontiguousarray(marks, bool))
    return array._condensed(array._row, array._col, array._val, matrix.values, result)


def with_numbers(array: Assoc, values: Array) -> Assoc:
    """The same places with numbers; zeros and NaN go."""
    made = array._make(array._row, array._col, None, array._matrix.with_values(values))
    return without_nulls(made)


def without_nulls(array: Assoc) -> Assoc:
    """The entries that are not zero and not NaN, which counts as missing, as in `inf - inf`."""
    values = array._matrix.values
    if array._val is not None or values.dtype.kind in "mM":
        return array
    keep = np.asarray(values != 0)
    if values.dtype.kind == "f":
        keep &= ~np.isnan(values)
    return array if keep.all() else filtered(array, keep)


def ones(array: Assoc) -> Matrix:
    """The places with 1 everywhere."""
    return array._matrix.with_values(np.ones(len(array._matrix.columns), np.int64))


def numbers(array: Assoc, what: str) -> Matrix:
    """The matrix as numbers that can be added: texts are ones, booleans 0 and 1."""
    values = array._matrix.values
    if array._val is not None:
        return ones(array)
    if values.dtype.kind in "mM":
        raise TypeError(f"{what} is not defined for timestamps; logical() turns them into ones")
    if values.dtype.kind == "b":
        return array._matrix.with_values(values.astype(np.int64))
    return array._matrix


def is_assoc(value: Any) -> TypeGuard[Assoc]:
    """Whether it is an associative array."""
    from ostrakon.assoc.core import Assoc

    return isinstance(value, Assoc)


def is_number(value: Any) -> bool:
    """Whether a scalar can be computed with."""
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def common_numbers(left: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
    """Both with float64 values, unless both are integers."""
    if left.values.dtype == right.values.dtype:
        return left, right
    return (
        left.with_values(left.values.astype(np.float64)),
        right.with_values(right.values.astype(np.float64)),
    )
