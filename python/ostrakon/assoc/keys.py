"""The keys of one axis: sorted, unique texts (in Rust) or numbers and timestamps (NumPy)."""

from __future__ import annotations

import datetime as dt
from typing import Any, TypeAlias

import numpy as np

from ostrakon._native import NativeKeys, assoc_keys
from ostrakon.assoc.exactness import common, converted, rank, same
from ostrakon.assoc.machine import MISSING, Array, frozen

# Wider fixed-width arrays than this, in bytes, become arrays of Python strings.
_WIDEST = 1 << 30


class TextKeys:
    """Sorted, unique texts: by code points, which is the order of their UTF-8 bytes."""

    __slots__ = ("_array", "native")

    def __init__(self, native: NativeKeys) -> None:
        self.native = native
        self._array: Array | None = None

    @classmethod
    def of(cls, texts: list[str], argument: str = "keys") -> TextKeys:
        """Keys of a list with repeats, in any order."""
        return cls(assoc_keys([(argument, "list", texts)], 1)[0][0])

    def __len__(self) -> int:
        return len(self.native)

    def __getitem__(self, position: int) -> str:
        return self.native.get(position)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_buffers, self.native.to_buffers()

    @property
    def kind(self) -> str:
        """What the keys are, for messages."""
        return "text"

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.native.nbytes

    def to_list(self) -> list[Any]:
        """All keys as Python strings."""
        return self.native.to_list()

    def to_numpy(self) -> Array:
        """All keys as a NumPy array of kind `U`; of objects when a key ends in NUL or is huge."""
        if self._array is None:
            width = max(self.native.longest, 1)
            units = None
            if 4 * width * len(self) <= _WIDEST:
                units = self.native.to_utf32(width)
            if units is None:
                array: Array = np.array(self.to_list(), dtype=object)
            else:
                array = units.view(f"U{width}")
            self._array = frozen(array)
        return self._array

    def spread(self, places: Array) -> Array:
        """The keys at places, which may repeat. One long key among millions of entries would make
        a fixed-width array huge: then an array of objects, which share their texts."""
        array = self.to_numpy()
        if array.dtype.kind == "U" and array.itemsize * len(places) > _WIDEST:
            array = np.array(self.to_list(), dtype=object)
        return array[places]

    def take(self, positions: Array) -> TextKeys:
        """The keys at positions that ascend strictly."""
        return TextKeys(self.native.take(positions))

    def slice(self, start: int, stop: int) -> TextKeys:
        """The keys from one position up to another."""
        return TextKeys(self.native.slice(start, stop))

    def equals(self, other: Keys) -> bool:
        """Whether both hold the same keys."""
        return isinstance(other, TextKeys) and self.native.equals(other.native)

    def union(self, other: TextKeys) -> tuple[TextKeys, Array, Array]:
        """All keys, and where those of either side stand among them."""
        keys, left, right = self.native.union(other.native)
        return TextKeys(keys), left, right

    def intersection(self, other: TextKeys) -> tuple[Array, Array]:
        """Positions of the common keys on either side."""
        return self.native.intersection(other.native)

    def positions_in(self, other: TextKeys) -> Array:
        """For each key its position in `other`, or `MISSING`."""
        return self.native.positions_in(other.native)

    def find(self, key: Any) -> int | None:
        """Position of a key."""
        return self.native.find(key) if isinstance(key, str) else None

    def range(self, first: Any, last: Any) -> tuple[int, int]:
        """Positions from `first` to `last`, both included; `None` is an open end."""
        for bound in (first, last):
            if bound is not None and not isinstance(bound, str):
                raise TypeError(f"the keys are text, the bound {bound!r} is not")
        return self.native.range(first, last)

    def lookup(self, items: TextKeys | NumberKeys) -> Array:
        """Positions of the keys that are among `items`, ascending."""
        if not isinstance(items, TextKeys):
            if len(items) == 0:
                return np.empty(0, np.uint32)
            raise TypeError("the keys are text; for positions use .iloc")
        return self.intersection(items)[0]


class NumberKeys:
    """Sorted, unique integers, floats or timestamps."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = frozen(array)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, position: int) -> Any:
        return python_value(self.array[position])

    def __reduce__(self) -> tuple[Any, ...]:
        return NumberKeys, (np.array(self.array),)

    @property
    def kind(self) -> str:
        """What the keys are, for messages."""
        return {"M": "timestamps", "m": "durations"}.get(self.array.dtype.kind, "numbers")

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.array.nbytes

    def to_list(self) -> list[Any]:
        """All keys as Python numbers, or NumPy timestamps."""
        return list(self.array) if self.array.dtype.kind in "mM" else self.array.tolist()

    def to_numpy(self) -> Array:
        """All keys."""
        return self.array

    def spread(self, places: Array) -> Array:
        """The keys at places, which may repeat."""
        return self.array[places]

    def take(self, positions: Array) -> NumberKeys:
        """The keys at positions that ascend strictly."""
        return NumberKeys(self.array[positions])

    def slice(self, start: int, stop: int) -> NumberKeys:
        """The keys from one position up to another."""
        return NumberKeys(self.array[start:stop])

    def equals(self, other: Keys) -> bool:
        """Whether both hold the same keys."""
        return isinstance(other, NumberKeys) and same(self.array, other.array)

    def union(self, other: NumberKeys, axis: str = "inner") -> tuple[NumberKeys, Array, Array]:
        """All keys, and where those of either side stand among them."""
        mine, theirs = common(self.array, other.array, f"the {axis} keys")
        array = np.union1d(mine, theirs)
        left = np.searchsorted(array, mine).astype(np.uint32)
        return NumberKeys(array), left, np.searchsorted(array, theirs).astype(np.uint32)

    def intersection(self, other: NumberKeys) -> tuple[Array, Array]:
        """Positions of the common keys on either side."""
        positions = self.positions_in(other)
        mine = np.flatnonzero(positions != MISSING).astype(np.uint32)
        return mine, positions[mine]

    def positions_in(self, other: NumberKeys) -> Array:
        """For each key its position in `other`, or `MISSING`."""
        if len(other) == 0:
            return np.full(len(self), MISSING, np.uint32)
        mine, fits = converted(self.array, other.array.dtype)
        places = np.searchsorted(other.array, mine)
        found = fits & (other.array[np.minimum(places, len(other) - 1)] == mine)
        return np.where(found, places, MISSING).astype(np.uint32)

    def find(self, key: Any) -> int | None:
        """Position of a key."""
        key = as_timestamp(key)
        if not is_bound(key):
            return None
        try:
            first, last = rank(self.array, key, "left"), rank(self.array, key, "right")
        except TypeError:
            return None  # a number among timestamps, or the reverse
        return first if first < last else None

    def range(self, first: Any, last: Any) -> tuple[int, int]:
        """Positions from `first` to `last`, both included; `None` is an open end."""
        for bound in (first, last):
            if isinstance(bound, str):
                raise TypeError(f"the keys are {self.kind}, the bound {bound!r} is text")
            if bound is not None and not is_bound(bound):
                raise TypeError(f"the keys are {self.kind}, the bound {bound!r} is not")
        start = 0 if first is None else rank(self.array, first, "left")
        stop = len(self) if last is None else rank(self.array, last, "right")
        return start, max(start, stop)

    def lookup(self, items: TextKeys | NumberKeys) -> Array:
        """Positions of the keys that are among `items`, ascending."""
        if not isinstance(items, NumberKeys):
            if len(items) == 0:
                return np.empty(0, np.uint32)
            raise TypeError(f"the keys are {self.kind}, not text; give {self.kind}, or use .iloc")
        if len(self) and len(items) and self.kind != items.kind:
            raise TypeError(f"the keys are {self.kind}, not {items.kind}; give {self.kind}")
        return self.intersection(items)[0]


Keys: TypeAlias = TextKeys | NumberKeys


def python_value(value: Any) -> Any:
    """A NumPy scalar as Python's own; timestamps stay, for their unit."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        return value.item()
    return value


def from_sorted_numbers(array: Array) -> NumberKeys:
    """Numbers that are known to ascend."""
    return NumberKeys(array)


def unite(left: Keys, right: Keys, axis: str) -> tuple[Keys, Array | None, Array | None]:
    """All keys of both, and the maps into them; `None` for a map that changes nothing."""
    if left is right or left.equals(right):
        return left, None, None
    if len(left) == 0:
        return right, np.empty(0, np.uint32), None
    if len(right) == 0:
        return left, None, np.empty(0, np.uint32)
    if isinstance(left, TextKeys) and isinstance(right, TextKeys):
        return left.union(right)
    if isinstance(left, NumberKeys) and isinstance(right, NumberKeys):
        _check_kinds(left, right, axis)
        return left.union(right, axis)
    raise _mixed(left, right, axis)


def meet(left: Keys, right: Keys, axis: str) -> tuple[Array, Array] | None:
    """Positions of the common keys on either side; `None` when the keys are the same."""
    if left is right or left.equals(right):
        return None
    if len(left) == 0 or len(right) == 0:
        return np.empty(0, np.uint32), np.empty(0, np.uint32)
    if isinstance(left, TextKeys) and isinstance(right, TextKeys):
        return left.intersection(right)
    if isinstance(left, NumberKeys) and isinstance(right, NumberKeys):
        _check_kinds(left, right, axis)
        return left.intersection(right)
    raise _mixed(left, right, axis)


def inner_map(left: Keys, right: Keys) -> Array | None:
    """For each left key its position on the right or `MISSING`; `None` when the keys are the
    same."""
    met = meet(left, right, "inner")
    if met is None:
        return None
    places = np.full(len(left), MISSING, np.uint32)
    places[met[0]] = met[1]
    return places


def _check_kinds(left: NumberKeys, right: NumberKeys, axis: str) -> None:
    if left.kind != right.kind:
        raise _mixed(left, right, axis)


def _mixed(left: Keys, right: Keys, axis: str) -> TypeError:
    return TypeError(
        f"the {axis} keys are {left.kind} on the left and {right.kind} on the right; "
        "convert one side"
    )


def _from_buffers(data: Array, offsets: Array) -> TextKeys:
    return TextKeys(assoc_keys([("keys", "buffer", data, offsets)], 1)[0][0])


def is_bound(value: Any) -> bool:
    """Whether it is a number or a timestamp of NumPy's."""
    return isinstance(value, (int, float, np.number, np.bool_, np.datetime64))


def as_timestamp(value: Any) -> Any:
    """Python's dates and times as NumPy's; anything else unchanged."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    if isinstance(value, (dt.datetime, dt.date)):
        return np.datetime64(value, "us")
    if isinstance(value, dt.timedelta):
        return np.timedelta64(value, "us")
    return value
