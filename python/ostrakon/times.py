"""Times of NumPy in other units. NumPy itself wraps around when a unit cannot hold a time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostrakon.errors import InvalidArgumentError

Array: TypeAlias = NDArray[Any]

# Unit -> its seconds. Years and months have no fixed length; NumPy counts their days.
_SECONDS = {
    "W": Fraction(604_800),
    "D": Fraction(86_400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "ps": Fraction(1, 10**12),
    "fs": Fraction(1, 10**15),
    "as": Fraction(1, 10**18),
}
# Calendar unit -> how many of them NumPy can count in days; no other unit needs more.
_CALENDAR = {"Y": 10**9, "M": 12 * 10**9}
_MOST = 2**63 - 1


def in_unit(times: Array, unit: str, *, exact: bool = True) -> tuple[Array, Array]:
    """The ticks of `datetime64` values in another unit, and which of the values it can hold.

    With `exact`, it must hold them without a remainder; else they are rounded down. Those that it
    cannot hold, and NaT, have any tick.

    >>> in_unit(np.array([1500, 2000], "M8[ms]"), "s")
    (array([1, 2]), array([False,  True]))
    >>> in_unit(np.array([2**62], "M8[s]"), "ms")[1]
    array([False])
    """
    given, count = np.datetime_data(times.dtype)
    ticks = times.astype(np.int64)
    # The smallest number stands for NaT.
    fits = ticks != -_MOST - 1
    if given in _CALENDAR:
        fits &= _within(ticks, _CALENDAR[given] // count)
        days = np.where(fits, ticks, 0).view(f"M8[{count}{given}]").astype("M8[D]")
        given, count, ticks = "D", 1, days.astype(np.int64)
    if given not in _SECONDS:
        # A type without a unit says of no number what it means.
        return np.zeros_like(ticks), np.zeros_like(fits)
    ratio = _SECONDS[given] * count / _SECONDS[unit]
    most = _MOST // ratio.numerator
    fits &= _within(ticks, most)
    # If only zero fits, its factor does not matter, and may be larger than 64 bits.
    scaled = np.where(fits, ticks, 0) * (ratio.numerator if most else 1)
    if ratio.denominator > _MOST:
        whole, rest = scaled // _MOST, scaled
    else:
        whole, rest = np.divmod(scaled, ratio.denominator)
    return whole, fits & (rest == 0) if exact else fits


def _within(ticks: Array, most: int) -> Array:
    return (ticks >= -most) & (ticks <= most)


def list_in_unit(
    times: Sequence[np.datetime64], unit: str, *, exact: bool = True
) -> tuple[Array, Array]:
    """Like `in_unit`, for a list, whose times may have several units."""
    ticks = np.zeros(len(times), np.int64)
    fits = np.zeros(len(times), bool)
    places: dict[Any, list[int]] = {}
    for at, time in enumerate(times):
        places.setdefault(time.dtype, []).append(at)
    for dtype, group in places.items():
        array = np.array([times[at] for at in group], dtype)
        ticks[group], fits[group] = in_unit(array, unit, exact=exact)
    return ticks, fits


def stamps_of(given: Any) -> Any:
    """The argument `timestamp`: times of NumPy in milliseconds, rounded down. Anything else is as
    it was, and NaT stays, for the native part to name."""
    if isinstance(given, np.datetime64):
        return stamps_of_list([given])[0]
    if not isinstance(given, np.ndarray) or isinstance(given, np.ma.MaskedArray):
        return given
    if given.dtype.kind == "u" and (given > _MOST).any():
        raise _no_stamp(given[given > _MOST][0])
    if given.dtype.kind != "M" or given.ndim != 1:
        return given
    ticks, fits = in_unit(given, "ms", exact=False)
    missing = np.isnat(given)
    if not (fits | missing).all():
        raise _no_stamp(given[~(fits | missing)][0])
    return np.where(missing, np.datetime64("NaT"), ticks.view("M8[ms]"))


def stamps_of_list(given: list[Any]) -> list[Any]:
    """`stamps_of` for a list, which may have other items."""
    places = [at for at, one in enumerate(given) if isinstance(one, np.datetime64)]
    times = [given[at] for at in places]
    ticks, fits = list_in_unit(times, "ms", exact=False)
    made = list(given)
    for at, time, tick, held in zip(places, times, ticks.tolist(), fits.tolist(), strict=True):
        if np.isnat(time):
            raise InvalidArgumentError(
                f"`timestamp` has no value for entry {at}: leave the argument out to let the table "
                "set all; nothing was written",
                {"argument": "timestamp"},
            )
        if not held:
            raise _no_stamp(time)
        made[at] = tick
    return made


def _no_stamp(given: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"`timestamp` has {given}, which milliseconds of 64 bits do not have; nothing was written",
        {"argument": "timestamp"},
    )
