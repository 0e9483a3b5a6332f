"""Input of keys and values: delimiter strings, lists, NumPy, Arrow, pandas, polars.

Array inputs never become one Python object per item.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrakon._native import assoc_keys
from ostrakon.assoc.exactness import FLOAT_INTEGERS, InexactError, stamped
from ostrakon.assoc.keys import Keys, NumberKeys, TextKeys, as_timestamp
from ostrakon.assoc.machine import Array, threads
from ostrakon.errors import ArgumentTypeError, InvalidArgumentError
from ostrakon.extras import load

# A text that ends in one of these is a list; any other text is one item.
DELIMITERS = frozenset(",; \t\n\r\0" + "".join(map(chr, range(1, 32))) + "\x7f")


def split_delimited(text: str) -> list[str]:
    r"""A delimiter string as a list: `"a,b,"` is two items, `"ab"` is one.

    >>> split_delimited("a,b,"), split_delimited("a b"), split_delimited("")
    (['a', 'b'], ['a b'], [''])
    """
    if len(text) > 1 and text[-1] in DELIMITERS:
        return text[:-1].split(text[-1])
    return [text]


@dataclass
class Items:
    """A list of keys or values: `source` for texts, `array` for anything else."""

    name: str
    count: int
    array: Array | None = None
    source: tuple[Any, ...] | None = None
    # True where there is an item; None when nothing is missing.
    valid: Array | None = None

    @property
    def is_text(self) -> bool:
        """Whether the items are texts."""
        return self.array is None

    def filtered(self, keep: Array) -> Items:
        """The items whose mark is set."""
        if self.count == 1:
            return self
        if self.array is not None:
            return Items(self.name, int(keep.sum()), array=self.array[keep])
        assert self.source is not None  # texts have a source
        kind, data = self.source[1], self.source[2]
        if kind == "list":
            texts: list[Any] = [item for item, kept in zip(data, keep, strict=True) if kept]
            return Items(self.name, len(texts), source=(self.name, "list", texts))
        if kind == "buffer":
            keys, places = assoc_keys([self.source], 1)[0]
            return from_numpy(self.name, TextKeys(keys).to_numpy()[places[keep]])
        data = np.ascontiguousarray(data[keep])
        return Items(self.name, len(data), source=(self.name, kind, data))


def read_items(name: str, data: Any) -> Items:
    """Reads what was given for the argument `name`.

    Raises `TypeError` for things that are neither text, number nor timestamp, and for mixtures.
    """
    if isinstance(data, (bytes, bytearray)):
        try:
            data = data.decode()
        except UnicodeDecodeError as error:
            raise InvalidArgumentError(f"{name}: the bytes are not UTF-8: {error}") from None
    if isinstance(data, str):
        texts = split_delimited(data)
        return Items(name, len(texts), source=(name, "list", texts))
    if isinstance(data, np.ndarray):
        return from_numpy(name, data)
    if isinstance(data, (TextKeys, NumberKeys)):
        return from_numpy(name, data.to_numpy())
    home = type(data).__module__.partition(".")[0]
    if home == "pyarrow":
        return _from_arrow(name, data)
    if home == "polars":
        load("pyarrow", "polars")
        return _from_arrow(name, data.to_arrow())
    if home == "pandas" and hasattr(data, "to_numpy"):
        return _from_pandas(name, data)
    if data is None or isinstance(data, (bool, int, float, np.generic, dt.date, dt.timedelta)):
        return _from_sequence(name, [data])
    if isinstance(data, Iterable):
        return _from_sequence(name, list(data))
    raise TypeError(f"{name}: {type(data).__name__} is not a list of keys or values")


def _from_sequence(name: str, data: list[Any]) -> Items:
    if not data:
        return Items(name, 0, source=(name, "list", []))
    valid: Array | None = None
    if any(item is None for item in data):
        valid = np.array([item is not None for item in data])
        stand_in = next((item for item in data if item is not None), "")
        data = [stand_in if item is None else item for item in data]
    first = data[0]
    if isinstance(first, (str, bytes)) and not isinstance(first, np.bytes_):
        # The kernel names the first item that is no text.
        return _masked(Items(name, len(data), source=(name, "list", data)), valid)
    if any(isinstance(item, (dt.date, dt.timedelta)) for item in data):
        data = [as_timestamp(item) for item in data]
    try:
        if all(isinstance(item, (np.datetime64, np.timedelta64)) for item in data):
            array = stamped(data, f"{name}: the items")
        else:
            array = np.asarray(data)
    except InexactError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise TypeError(f"{name}: the items are of different kinds: {error}") from None
    _check_integers(name, data, array)
    if array.dtype.kind in "USO" and not isinstance(first, (str, bytes)):
        kinds = sorted({type(item).__name__ for item in data})
        raise TypeError(
            f"{name}: items must be all text, all numbers or all timestamps, not {', '.join(kinds)}"
        )
    return _masked(from_numpy(name, array), valid)


def _check_integers(name: str, data: list[Any], array: Array) -> None:
    """Raises for integers that are not held, or that became floats and changed."""
    if array.dtype.kind not in "fO":
        return
    for item in data:
        if not isinstance(item, (int, np.integer)) or abs(int(item)) <= FLOAT_INTEGERS:
            continue
        if array.dtype.kind == "O":
            raise ArgumentTypeError(f"{name}: the integer {item} is beyond 64 bits; use floats")
        if int(float(item)) != item:
            raise InexactError(
                f"{name}: the integer {item} stands beside floats, and no float holds it (they do "
                "up to 2^53); give integers alone, or make it a float yourself"
            )


def _masked(items: Items, valid: Array | None) -> Items:
    if valid is not None:
        items.valid = valid if items.valid is None else items.valid & valid
    return items


def from_numpy(name: str, array: Array) -> Items:
    """Reads a NumPy array of one dimension, or of none."""
    if array.ndim == 0:
        array = array.reshape(1)
    if array.ndim != 1:
        raise InvalidArgumentError(
            f"{name}: an array of {array.ndim} dimensions is not a list; flatten it first"
        )
    kind = array.dtype.kind
    count = len(array)
    if kind in "US":
        if array.dtype.itemsize == 0 or count == 0:
            return Items(name, count, source=(name, "list", [""] * count))
        unit, form = (np.uint32, "utf32") if kind == "U" else (np.uint8, "fixed")
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        cells = np.ascontiguousarray(native).view(unit).reshape(count, -1)
        return Items(name, count, source=(name, form, cells))
    if kind == "T":
        return _from_sequence(name, _string_dtype_to_list(array))
    if kind == "O":
        return _from_sequence(name, [_plain(item) for item in array])
    if kind == "b":
        return Items(name, count, array=np.ascontiguousarray(array))
    if kind in "iu":
        if array.dtype == np.uint64 and count and array.max() > np.iinfo(np.int64).max:
            raise InvalidArgumentError(f"{name}: integers above 2^63-1 are not held; use floats")
        return Items(name, count, array=np.ascontiguousarray(array, np.int64))
    if kind == "f":
        array = np.ascontiguousarray(array, np.float64)
        gaps = np.isnan(array)
        return Items(name, count, array=array, valid=~gaps if gaps.any() else None)
    if kind in "mM":
        array = np.ascontiguousarray(array)
        if np.datetime_data(array.dtype)[0] == "generic":
            raise InvalidArgumentError(f"{name}: timestamps need a unit, as datetime64[us]")
        gaps = np.isnat(array)
        return Items(name, count, array=array, valid=~gaps if gaps.any() else None)
    raise TypeError(f"{name}: arrays of {array.dtype} are neither text, numbers nor timestamps")


def _plain(item: Any) -> Any:
    # pandas marks gaps in arrays of objects with NaN.
    if isinstance(item, float) and math.isnan(item):
        return None
    return item


def _string_dtype_to_list(array: Array) -> list[Any]:
    return [item if isinstance(item, str) else None for item in array.tolist()]


def _from_arrow(name: str, data: Any) -> Items:
    import pyarrow as pa

    if isinstance(data, pa.ChunkedArray):
        data = data.combine_chunks()
    if isinstance(data, pa.ChunkedArray):
        data = pa.concat_arrays(data.chunks)
    if not isinstance(data, pa.Array):
        raise TypeError(f"{name}: give a column, not a {type(data).__name__}")
    if pa.types.is_dictionary(data.type):
        data = data.dictionary_decode()
    valid = None
    if data.null_count:
        valid = np.asarray(data.is_valid().to_numpy(zero_copy_only=False), bool)
    form = data.type
    if any(
        check(form)
        for check in (
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_string_view,
            pa.types.is_binary,
            pa.types.is_large_binary,
        )
    ):
        if pa.types.is_binary(form) or pa.types.is_large_binary(form):
            data = data.cast(pa.large_binary())
        else:
            data = data.cast(pa.large_string())
        _, offset_buffer, byte_buffer = data.buffers()
        count = len(data)
        offsets = np.zeros(1, np.int64)
        if offset_buffer is not None and offset_buffer.size:
            offsets = np.frombuffer(offset_buffer, np.int64)[data.offset : data.offset + count + 1]
        content = np.frombuffer(byte_buffer or b"", np.uint8)
        return Items(name, count, source=(name, "buffer", content, offsets), valid=valid)
    if pa.types.is_null(form):
        return Items(
            name,
            len(data),
            source=(name, "list", [""] * len(data)),
            valid=np.zeros(len(data), bool),
        )
    if valid is not None:
        data = data.fill_null(data.drop_null()[0]) if data.null_count < len(data) else data
    if data.null_count:
        return Items(
            name,
            len(data),
            source=(name, "list", [""] * len(data)),
            valid=np.zeros(len(data), bool),
        )
    if pa.types.is_date(form):
        data = data.cast(pa.timestamp("us"))
    return _masked(from_numpy(name, data.to_numpy(zero_copy_only=False)), valid)


def _from_pandas(name: str, data: Any) -> Items:
    dtype = data.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return from_numpy(name, data.to_numpy())
    try:
        import pyarrow as pa
    except ImportError:
        return from_numpy(name, data.to_numpy(dtype=object, na_value=None))
    try:
        return _from_arrow(name, pa.array(data, from_pandas=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"{name}: the items are of different kinds: {error}") from None


def resolve(all_items: Sequence[Items]) -> list[tuple[Keys, Array]]:
    """A dictionary of each list, and the position of each item in it."""
    sources = []
    for items in all_items:
        if items.source is not None:
            sources.append(items.source)
        elif items.array is not None and items.array.dtype.kind != "f":
            sources.append((items.name, "numbers", items.array.view(np.int64)))
    built = iter(assoc_keys(sources, threads()))
    resolved: list[tuple[Keys, Array]] = []
    for items in all_items:
        if items.array is None:
            keys, places = next(built)
            resolved.append((TextKeys(keys), places))
        elif items.array.dtype.kind == "f":
            array, inverse = np.unique(items.array, return_inverse=True)
            resolved.append((NumberKeys(array), inverse.astype(np.uint32)))
        else:
            numbers, places = next(built)
            resolved.append((NumberKeys(numbers.view(items.array.dtype)), places))
    return resolved
