"""Integers beyond 64 bits: results that do not fit become floats and never wrap around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ostrakon.assoc.machine import Array
from ostrakon.assoc.matrix import Condensed, Matrix

LARGEST = 2**63 - 1


def largest(values: Array) -> int:
    """The largest absolute value of whole numbers; 0 for others, which do not wrap around."""
    if values.dtype.kind != "i" or not len(values):
        return 0
    return max(int(values.max()), -int(values.min()))


def wrapped(whole: Array, floats: Array) -> bool:
    """Whether whole numbers wrapped around: then they are off by a multiple of 2^64."""
    return bool((np.abs(floats - whole.astype(np.float64)) > 2.0**62).any())


def _as_floats(matrix: Matrix) -> Matrix:
    return matrix.with_values(matrix.values.astype(np.float64))


def computed(
    run: Callable[[Matrix, Matrix, bool], Condensed], left: Matrix, right: Matrix, most: int
) -> Condensed:
    """What `run` makes of two matrices, the last argument being whether nulls go. No whole number
    on the way is larger than `most`; when that is too large, floats are computed beside them."""
    if most <= LARGEST:
        return run(left, right, True)
    floats = run(_as_floats(left), _as_floats(right), False)
    whole = run(left, right, False)
    same = all(
        one is two or (one is not None and two is not None and np.array_equal(one, two))
        for one, two in ((whole[at], floats[at]) for at in (0, 1, 3, 4))
    )
    if same and not wrapped(whole[2], floats[2]):
        return run(left, right, True)
    return run(_as_floats(left), _as_floats(right), True)


def added(values: Array, starts: Array) -> Array:
    """The sum of each run of values."""
    with np.errstate(invalid="ignore"):  # inf - inf is NaN, which the caller leaves out
        whole = np.add.reduceat(values, starts)
    if largest(values) * len(values) <= LARGEST:
        return whole
    floats = np.add.reduceat(values.astype(np.float64), starts)
    return floats if wrapped(whole, floats) else whole


def total(values: Array) -> Any:
    """The sum of all values; an int of Python's is as large as it must be."""
    if largest(values) * len(values) <= LARGEST:
        with np.errstate(invalid="ignore"):
            return np.add.reduce(values)
    return sum(values.tolist())


def scaled(values: Array, number: Any, function: np.ufunc) -> Array:
    """Values by a number; by a whole one they stay whole if they fit."""
    integer = isinstance(number, (bool, int, np.integer, np.bool_))
    if values.dtype.kind == "i" and integer and len(values):
        ends = (int(values.min()) * int(number), int(values.max()) * int(number))
        if not -LARGEST - 1 <= min(ends) <= max(ends) <= LARGEST:
            values, number = values.astype(np.float64), float(number)
    with np.errstate(invalid="ignore"):  # 0 * inf is NaN, which the caller leaves out
        result: Array = function(values, number)
    return result


def absolute(values: Array) -> Array:
    """Values without their sign."""
    result: Array = np.abs(values.astype(np.float64) if largest(values) > LARGEST else values)
    return result
