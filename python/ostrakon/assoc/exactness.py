"""Numbers of two types, and timestamps of two units, side by side: exactly, or an error.

NumPy rounds integers to floats and lets timestamps wrap around when two types meet. All code here
that brings two arrays to one type, or compares across types, goes through this module.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from ostrakon.assoc.exact import largest
from ostrakon.assoc.machine import Array
from ostrakon.errors import InvalidArgumentError

# Floats hold every integer up to this one.
FLOAT_INTEGERS = 2**53

# How many attoseconds each unit has, the finest first.
_ATTOSECONDS = {
    "as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18,
    "m": 60 * 10**18, "h": 3600 * 10**18, "D": 86400 * 10**18, "W": 7 * 86400 * 10**18,
}  # fmt: skip
_UNITS = [*_ATTOSECONDS, "M", "Y"]


class InexactError(InvalidArgumentError, OverflowError):
    """Two arrays have no common type that holds all their items exactly.

    Nothing was computed; convert one side first. Also an `OverflowError`.
    """


def converted(array: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The items in another type, and marks of those that it holds exactly."""
    if array.dtype == dtype:
        return array, np.ones(len(array), bool)
    if array.dtype.kind == "i" and dtype.kind == "f" and largest(array) <= FLOAT_INTEGERS:
        return array.astype(dtype), np.ones(len(array), bool)
    try:
        with np.errstate(all="ignore"):
            made = array.astype(dtype)
            back = made.astype(array.dtype)
    except OverflowError:
        # The units are so far apart that 64 bits do not even hold their ratio.
        return np.zeros(len(array), dtype), np.zeros(len(array), bool)
    same = back == array
    if array.dtype.kind in "mM":
        return made, same | np.isnat(array)
    # 2^63 as a float becomes an integer that becomes 2^63 again on some machines.
    floats = array if array.dtype.kind == "f" else made
    if "f" in (array.dtype.kind, dtype.kind) and "i" in (array.dtype.kind, dtype.kind):
        same &= (floats >= -(2.0**63)) & (floats < 2.0**63)
    return made, same


def common(left: Array, right: Array, what: str) -> tuple[Array, Array]:
    """Both in one type that holds all items; of timestamps the finest unit that does."""
    if left.dtype == right.dtype:
        return left, right
    for dtype in _candidates(left.dtype, right.dtype, what):
        (one, fits), (two, fit) = converted(left, dtype), converted(right, dtype)
        if fits.all() and fit.all():
            return one, two
    if left.dtype.kind in "mM":
        raise InexactError(
            f"{what} are {left.dtype} and {right.dtype}, and no unit holds all of them exactly; "
            "convert one side with astype() first"
        )
    raise InexactError(
        f"{what} are {left.dtype} and {right.dtype}, and a float does not hold all the integers "
        "(it does up to 2^53); make both integers, or both floats"
    )


def _candidates(left: np.dtype[Any], right: np.dtype[Any], what: str) -> list[np.dtype[Any]]:
    if left.kind not in "mM" and right.kind not in "mM":
        return [np.promote_types(left, right)]
    if left.kind != right.kind:
        raise _unlike(left, right, what)
    units = [np.datetime_data(dtype)[0] for dtype in (left, right)]
    if "generic" in units:
        return [right if units[0] == "generic" else left]
    calendar = [unit in ("M", "Y") for unit in units]
    if left.kind == "m" and calendar[0] != calendar[1]:
        raise _unlike(left, right, what)
    try:
        first = [np.promote_types(left, right)]
    except OverflowError:
        first = []
    finest = min(_UNITS.index(unit) for unit in units)
    # A month has no fixed length, so that durations do not change between the two groups.
    last = len(_UNITS) if left.kind == "M" or calendar[0] else len(_ATTOSECONDS)
    return first + [np.dtype(f"{left.kind}8[{unit}]") for unit in _UNITS[finest:last]]


def _unlike(left: np.dtype[Any], right: np.dtype[Any], what: str) -> TypeError:
    return TypeError(f"{what} are {left} and {right}, which do not compare; convert one side")


def stamped(items: list[Any], what: str) -> Array:
    """Timestamps of several units as an array of one."""
    groups: dict[np.dtype[Any], list[int]] = {}
    for at, item in enumerate(items):
        groups.setdefault(item.dtype, []).append(at)
    array, order = np.array([], items[0].dtype), []
    for places in groups.values():
        array = np.concatenate(common(array, np.array([items[at] for at in places]), what))
        order += places
    result = np.empty_like(array)
    result[order] = array
    return result


def same(left: Array, right: Array) -> bool:
    """Whether both hold equal items."""
    if left.shape != right.shape:
        return False
    made, fits = converted(left, right.dtype) if _comparable(left, right) else (left, None)
    return fits is not None and bool(fits.all()) and np.array_equal(made, right)


def compared(left: Array, right: Any, compare: Callable[[Any, Any], Any]) -> Array:
    """A comparison, item by item, or with one item. Each is by the exact values."""
    one = not isinstance(right, np.ndarray)
    if one and right != right:  # noqa: PLR0124 - NaN and NaT, of any type
        return np.asarray(compare(left, right))
    try:
        mine, theirs = common(left, array_of(right) if one else right, "the values")
        return np.asarray(compare(mine, theirs))
    except InexactError:
        pass
    if not one:
        # Rare: items of both kinds where either loses something.
        mine = np.array([exact(item) for item in left] + [None], object)[:-1]
        theirs = np.array([exact(item) for item in right] + [None], object)[:-1]
        return np.asarray(compare(mine, theirs), bool)
    distinct, places = np.unique(left, return_inverse=True)
    sides = np.zeros(len(distinct), np.int8)
    sides[: rank(distinct, right, "left")] = -1
    sides[rank(distinct, right, "right") :] = 1
    return np.asarray(compare(sides[places], 0))


def rank(ascending: Array, bound: Any, side: str) -> int:
    """How many items are below a bound (`left`), or not above it (`right`)."""
    if bound != bound:  # noqa: PLR0124 - NaN and NaT stand behind all
        return len(ascending)
    held = array_of(bound)
    if held.dtype == object and ascending.dtype.kind in "mM":
        raise _unlike(ascending.dtype, held.dtype, "the keys and the bound")
    if held.dtype != object:
        _candidates(ascending.dtype, held.dtype, "the keys and the bound")
        made, fits = converted(held, ascending.dtype)
        if fits[0]:
            return int(np.searchsorted(ascending, made[0], "left" if side == "left" else "right"))
    found = bisect_left if side == "left" else bisect_right
    return found(range(len(ascending)), exact(bound), key=lambda at: exact(ascending[at]))


def array_of(item: Any) -> Array:
    """An array of one number or timestamp; of objects if 64 bits do not hold it."""
    if isinstance(item, np.integer) and not isinstance(item, np.timedelta64):
        item = int(item)
    if isinstance(item, int) and not -(2**63) <= item < 2**63:
        return np.array([item], object)
    return np.array([item])


def exact(item: Any) -> Any:
    """A number as Python's, a timestamp as attoseconds since 1970: these compare exactly."""
    if not isinstance(item, np.generic):
        return item
    if item.dtype.kind not in "mM":
        return item.item()
    dtype: Any = item.dtype
    unit, count = np.datetime_data(dtype)
    ticks = int(item.view(np.int64)) * count
    if unit in _ATTOSECONDS:
        return ticks * _ATTOSECONDS[unit]
    months = ticks * 12 if unit == "Y" else ticks
    if item.dtype.kind == "m":
        return months
    return _days(*divmod(months, 12)) * _ATTOSECONDS["D"]


def _days(years: int, month: int) -> int:
    """Days from 1970 to the first of a month; NumPy's own count wraps around far away."""
    # Years begin in March here, so that the leap day is their last.
    year = 1970 + years - (month < 2)
    era, within = divmod(year, 400)
    of_year = (153 * ((month + 10) % 12) + 2) // 5
    return era * 146097 + within * 365 + within // 4 - within // 100 + of_year - 719468


def _comparable(left: Array, right: Array) -> bool:
    try:
        return bool(_candidates(left.dtype, right.dtype, ""))
    except TypeError:
        return False
