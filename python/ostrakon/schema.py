"""Schemas: the types of a table's rows and columns."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostrakon._native import lexicode, lexicode_parts
from ostrakon.arguments import is_missing, wrong_type
from ostrakon.display import shown
from ostrakon.errors import ArgumentTypeError, InvalidArgumentError
from ostrakon.table import SCHEMA
from ostrakon.times import in_unit, list_in_unit

__all__ = ["Schema"]

Array = NDArray[Any]

# Type -> the type of NumPy from which it is encoded.
_ENCODED = {
    "int": "int64",
    "uint": "uint64",
    "float": "float64",
    "bool": "bool",
    "date": "datetime64[D]",
    "datetime": "datetime64[ms]",
    "datetime_us": "datetime64[us]",
}
TYPES = (*_ENCODED, "text", "bytes")


@dataclass(frozen=True)
class Column:
    """A column of a table with a schema."""

    name: str
    family: str
    qualifier: str
    type: str


class Schema:
    """The types of a table's rows and columns, stored as a property of the table.

    `row` is the type of the rows, or the names and types of what they consist of. `columns` maps
    names to types; the name of a column is its qualifier, or `family:qualifier`. The types are
    `int` and `uint` (64 bits), `float`, `bool`, `date`, `datetime` (milliseconds), `datetime_us`
    (microseconds), `text` and `bytes`. Values are stored so that their bytes sort as the values do,
    in the encodings of Accumulo's lexicoders; rows of several parts as its `ListLexicoder`. Dates
    and times are in UTC; those with a time zone are converted. -0.0 is read as 0.0, which is equal
    to it; in a row both are one row.

    >>> schema = Schema({"sensor": "text", "at": "datetime"}, {"celsius": "float", "ok": "bool"})
    >>> schema
    Schema({'sensor': 'text', 'at': 'datetime'}, {'celsius': 'float', 'ok': 'bool'})
    >>> Schema("int").key(2) < Schema("int").key(10)
    True
    """

    __slots__ = ("columns", "keys")

    def __init__(
        self, row: str | Mapping[str, str] = "text", columns: Mapping[str, str] | None = None
    ) -> None:
        for argument, given in (("row", row), ("columns", columns)):
            if not isinstance(given, (str if argument == "row" else type(None), Mapping)):
                form = "a type, or a dictionary" if argument == "row" else "a dictionary"
                takes = f"{form} of names and types, as {{'name': 'text'}}"
                raise wrong_type(argument, takes, given)
        keys = {"row": row} if isinstance(row, str) else dict(row)
        if not keys:
            raise InvalidArgumentError(
                "`row` names no type and no part of the row", {"argument": "row"}
            )
        self.keys: dict[str, str] = {name: _known("row", name, kind) for name, kind in keys.items()}
        self.columns: dict[str, Column] = {}
        for name, given_kind in (columns or {}).items():
            kind = _known("columns", name, given_kind)
            if name in self.keys:
                raise InvalidArgumentError(
                    f"`columns` has {name!r}, which is a part of the row; give it another name",
                    {"argument": "columns"},
                )
            family, _, qualifier = name.rpartition(":")
            self.columns[name] = Column(name, family, qualifier, kind)

    def type_of(self, name: str) -> str:
        """The type of a part of the row or a column."""
        if name in self.keys:
            return self.keys[name]
        if name in self.columns:
            return self.columns[name].type
        raise InvalidArgumentError(
            f"the schema has no column {name!r}; it has {', '.join(self.names)}",
            {"argument": name},
        )

    @property
    def names(self) -> list[str]:
        """The names of the parts of the row, then of the columns."""
        return [*self.keys, *self.columns]

    def encode(self, name: str, value: Any) -> bytes:
        """One value in its encoding, as it is stored."""
        return _one(name, self.type_of(name), value)

    def key(self, *values: Any) -> bytes:
        """The row with these values; of a row of several parts also the first ones, as the
        beginning of rows."""
        if not 1 <= len(values) <= len(self.keys):
            raise InvalidArgumentError(
                f"`values`: {len(values)} for a row of {', '.join(self.keys)}",
                {"argument": "values"},
            )
        parts = [
            _one(name, kind, value, is_key=True)
            for (name, kind), value in zip(self.keys.items(), values, strict=False)
        ]
        return parts[0] if len(self.keys) == 1 else lexicode_parts(list(parts)).get(0)

    def keys_of(self, keys: Sequence[tuple[Any, ...]]) -> list[bytes]:
        """`key` of each tuple; all have equally many values. Quicker than one by one."""
        if len(keys) == 1 or not 1 <= len(keys[0]) <= len(self.keys):
            return [self.key(*values) for values in keys]
        parts = []
        for (name, kind), column in zip(self.keys.items(), zip(*keys, strict=True), strict=False):
            if kind in ("text", "bytes"):
                parts.append([_one(name, kind, value) for value in column])
                continue
            encoded, valid = _encoded_part(name, kind, list(column))
            if not valid.all():
                at = int(np.argmin(valid))
                raise _wrong(name, kind, column[at], at)
            parts.append(encoded)
        rows = parts[0] if len(self.keys) == 1 else lexicode_parts(parts)
        return rows if isinstance(rows, list) else [rows.get(at) for at in range(len(keys))]

    def rows_of(self, columns: Mapping[str, Any]) -> Any:
        """The encoded rows of columns."""
        parts = []
        for name, kind in self.keys.items():
            encoded, valid = _encoded_part(name, kind, columns[name])
            if not valid.all():
                raise InvalidArgumentError(
                    f"`{name}` has no value for entry {int(np.argmin(valid))}, but is a part of "
                    "the row",
                    {"argument": name},
                )
            parts.append(encoded)
        return parts[0] if len(parts) == 1 else lexicode_parts(parts)

    def to_json(self) -> str:
        """The text of the property."""
        columns = {column.name: column.type for column in self.columns.values()}
        return json.dumps({"row": self.keys, "columns": columns}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """The schema in the text of the property."""
        try:
            read = json.loads(text)
            return cls(read["row"], read["columns"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidArgumentError(
                f"the property {SCHEMA} is not a schema: {error}", {"property": SCHEMA}
            ) from None

    def is_like(self, other: Schema | None) -> bool:
        """Whether the other schema has the same parts of the row, in their order, and the same
        columns, in any order."""
        if other is None or list(self.keys.items()) != list(other.keys.items()):
            return False
        return self.columns == other.columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        columns = {column.name: column.type for column in self.columns.values()}
        if list(self.keys) == ["row"]:
            return f"Schema({self.keys['row']!r}, {columns})"
        return f"Schema({self.keys}, {columns})"


def _known(argument: str, name: str, kind: str) -> str:
    takes = "a dictionary of names and types, as {'name': 'text'}"
    if not isinstance(name, str):
        raise wrong_type(argument, takes, name)
    if not name:
        raise InvalidArgumentError("'' is not the name of a column", {"argument": argument})
    if isinstance(kind, str) and kind in TYPES:
        return kind
    text = f"the type of {name!r} is {shown(kind)}; the types are {', '.join(TYPES)}, as text"
    made = InvalidArgumentError if isinstance(kind, str) else ArgumentTypeError
    raise made(f"`{argument}`: {text}", {"argument": argument})


def _one(name: str, kind: str, value: Any, *, is_key: bool = False) -> bytes:
    if kind == "text" and isinstance(value, str):
        return value.encode()
    if kind in ("text", "bytes") and isinstance(value, bytes):
        return value
    if kind in ("text", "bytes"):
        raise _wrong(name, kind, value, None)
    array, valid = _of_list(name, kind, [value], single=True)
    if not valid[0]:
        raise _wrong(name, kind, value, None)
    one: bytes = _encoded(kind, _without_negative_zero(kind, array) if is_key else array).get(0)
    return one


def _wrong(name: str, kind: str, value: Any, at: int | None) -> InvalidArgumentError:
    what = f", which {shown(value)} is not" if at is None else f", and entry {at} is {shown(value)}"
    advice = _advice_of_type(kind, value)
    return InvalidArgumentError(
        f"`{name}` is of type {kind}{what}{f': {advice}' if advice else ''}", {"argument": name}
    )


def _advice_of_type(kind: str, value: Any) -> str:
    """What to do with a value of another type, if there is something to say."""
    if kind in ("int", "uint", "float") and isinstance(value, (Decimal, Fraction)):
        exact = "int(…)" if kind != "float" else "float(…)"
        return f"convert it with {exact}, or use the type text and str(…) to keep all its digits"
    if kind in ("int", "uint") and isinstance(value, (float, np.floating)):
        if _EXACT < abs(float(value)) < float("inf"):
            return "floats do not have all integers of this size: pass an int"
        return "round it or use the type float"
    if kind == "text" and isinstance(value, (bool, int, float, Decimal, Fraction)):
        return "convert it with str(…)"
    return ""


def _of_entry(at: int | None) -> str:
    return "" if at is None else f" of entry {at}"


def encoded_column(name: str, kind: str, column: Any) -> tuple[Any, Array]:
    """A column in its encoding, and which entries have a value; the others have any."""
    array, valid = _values(name, kind, column)
    return _encoded(kind, array), valid


def _encoded_part(name: str, kind: str, column: Any) -> tuple[Any, Array]:
    """`encoded_column` of a part of the row."""
    array, valid = _values(name, kind, column)
    return _encoded(kind, _without_negative_zero(kind, array)), valid


def _without_negative_zero(kind: str, array: Any) -> Any:
    """The same values, of which equal ones are the same row."""
    # A sum with 0.0 keeps every number but -0.0.
    return array + 0.0 if kind == "float" else array


def _encoded(kind: str, array: Any) -> Any:
    if kind in ("text", "bytes"):
        return array
    if kind == "uint":
        array = array.view(np.int64)
    elif kind == "date":
        array = array.astype("datetime64[ms]").view(np.int64)
    elif kind in ("datetime", "datetime_us"):
        array = array.view(np.int64)
    return lexicode(kind, np.ascontiguousarray(array))


def _values(name: str, kind: str, column: Any) -> tuple[Array, Array]:
    """The values as an array of the type from which they are encoded; lists for text."""
    if hasattr(column, "to_arrow"):
        column = column.to_arrow()
    if hasattr(column, "to_pylist") and hasattr(column, "null_count"):
        column = _of_arrow(name, kind, column)
    elif hasattr(column, "array") and hasattr(column, "to_numpy"):
        column = (
            column.to_numpy(dtype=object, na_value=None)
            if column.hasnans
            else (
                column.dt.tz_convert(None).to_numpy()
                if getattr(column.dtype, "tz", None) is not None
                else column.to_numpy()
            )
        )
    array = column if isinstance(column, np.ndarray) else None
    if array is None or array.dtype.kind == "O":
        return _of_list(name, kind, list(column))
    valid = np.ones(len(array), bool)
    if array.dtype.kind == "M":
        valid = ~np.isnat(array)
    elif array.dtype.kind == "f":
        valid = ~np.isnan(array)
    return _converted(name, kind, array, valid), valid


def _of_arrow(name: str, kind: str, column: Any) -> Any:
    is_time = kind in _UNITS and str(column.type).startswith(("timestamp", "date"))
    if (column.null_count and not is_time) or kind in ("text", "bytes"):
        return column.to_pylist()
    array = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(False)
    if array.dtype.kind == "M" and np.count_nonzero(np.isnat(array)) > column.null_count:
        # Arrow's earliest time is NumPy's mark of a missing one.
        nulls = np.asarray(column.is_null())
        at = int(np.argmax(np.isnat(array) & ~nulls))
        raise _not_held(name, kind, f"the earliest time of {column.type}", at, array.dtype)
    return array


def _of_list(name: str, kind: str, values: list[Any], *, single: bool = False) -> tuple[Any, Array]:
    missing = [is_missing(value) for value in values]
    valid = ~np.array(missing, bool) if values else np.ones(0, bool)
    filled: list[Any] = []
    if kind in ("text", "bytes"):
        wanted = str if kind == "text" else bytes
        filled = ["" if gap else value for value, gap in zip(values, missing, strict=True)]
        for at, value in enumerate(filled):
            if value != "" and not isinstance(value, wanted):
                raise _wrong(name, kind, value, at)
        return filled, valid
    allowed = _PYTHON[kind]
    for at, (given, gap) in enumerate(zip(values, missing, strict=True)):
        value = _whole(given) if kind in ("int", "uint") and not gap else given
        if not gap and (
            not isinstance(value, allowed)
            or (isinstance(value, (bool, np.bool_)) and kind != "bool")
        ):
            raise _wrong(name, kind, value, None if single else at)
        filled.append(_EMPTY[kind] if gap else _plain(name, kind, value, None if single else at))
    if kind in _UNITS:
        ticks, fits = list_in_unit(filled, _UNITS[kind][0])
        return _times(name, kind, ticks, fits | ~valid, filled, single=single), valid
    dtype = _ENCODED[kind]
    try:
        array = np.array(filled, dtype)
    except (OverflowError, ValueError, TypeError):
        at = next((at for at, value in enumerate(filled) if not _fits(value, dtype)), 0)
        raise InvalidArgumentError(
            f"`{name}` is of type {kind}; {shown(values[at])}"
            f"{_of_entry(None if single else at)} is out of range",
            {"argument": name},
        ) from None
    return _converted(name, kind, array, valid, single=single), valid


def _fits(value: Any, dtype: str) -> bool:
    try:
        np.array([value], dtype)
    except (OverflowError, ValueError, TypeError):
        return False
    return True


# Floats of 64 bits have all whole numbers up to this one.
_EXACT = 2**53


def _whole(value: Any) -> Any:
    """A float that is a whole number as one; anything else as it is."""
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if abs(number) <= _EXACT and number.is_integer():
            return int(number)
    return value


def _plain(name: str, kind: str, value: Any, at: int | None) -> Any:
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
        # Timestamps of pandas have nanoseconds.
        return value.to_datetime64() if hasattr(value, "to_datetime64") else np.datetime64(value)
    if isinstance(value, dt.date):
        return np.datetime64(value)
    if kind == "float" and isinstance(value, int) and not _exact(value):
        raise _wrong(name, kind, value, at)
    return value


def _exact(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


_PYTHON: dict[str, tuple[type, ...]] = {
    "int": (int, np.integer),
    "uint": (int, np.integer),
    "float": (int, float, np.integer, np.floating),
    "bool": (bool, np.bool_),
    "date": (dt.date, np.datetime64),
    "datetime": (dt.date, np.datetime64),
    "datetime_us": (dt.date, np.datetime64),
}
_EMPTY: dict[str, Any] = {
    "int": 0,
    "uint": 0,
    "float": 0.0,
    "bool": False,
    "date": np.datetime64(0, "D"),
    "datetime": np.datetime64(0, "D"),
    "datetime_us": np.datetime64(0, "D"),
}
# Kinds of NumPy's types that a type takes.
_TAKES = {
    "int": "iuf",
    "uint": "iuf",
    "float": "iuf",
    "bool": "b",
    "date": "M",
    "datetime": "M",
    "datetime_us": "M",
    "text": "U",
    "bytes": "S",
}


def _converted(name: str, kind: str, array: Array, valid: Array, *, single: bool = False) -> Array:
    """The array in the type of the encoding; raises if a value would change."""
    if array.dtype.kind not in _TAKES[kind]:
        raise InvalidArgumentError(
            f"`{name}` is of type {kind} and cannot take an array of {array.dtype}",
            {"argument": name},
        )
    if kind in ("text", "bytes"):
        return array
    if kind in _UNITS:
        ticks, fits = in_unit(array, _UNITS[kind][0])
        return _times(name, kind, ticks, fits | ~valid, array, single=single)
    filled = np.where(valid, array, np.zeros(1, array.dtype))
    with np.errstate(invalid="ignore"):
        made = filled.astype(_ENCODED[kind])
    changed = np.asarray(made != filled)
    if array.dtype.kind == "f" and kind in ("int", "uint"):
        # Whole numbers beside missing ones come as floats. A larger one may have been another one.
        changed |= np.abs(filled) > _EXACT
    if array.dtype.kind in "iu" and kind in ("int", "uint"):
        changed = (made < 0) != (filled < 0)
    if array.dtype.kind in "iu" and kind == "float":
        changed = (np.abs(made) >= 2.0**53) & (made.astype(array.dtype) != filled)
    if changed.any() and not (kind == "float" and array.dtype.kind == "f"):
        at = int(np.argmax(changed))
        raise _not_held(name, kind, filled[at], None if single else at, array.dtype)
    return made


# Type of times -> the unit in which it counts them, and what it is called.
_UNITS = {
    "date": ("D", ""),
    "datetime": ("ms", " (milliseconds)"),
    "datetime_us": ("us", " (microseconds)"),
}
# Dates are read, also by SQL, as days of 32 bits.
_DAYS = 2**31 - 1


def _times(name: str, kind: str, ticks: Array, fits: Array, given: Any, *, single: bool) -> Array:
    """Ticks of times as an array of the type from which they are encoded."""
    if kind == "date":
        fits = fits & (ticks >= -_DAYS - 1) & (ticks <= _DAYS)
    if not fits.all():
        at = int(np.argmin(fits))
        raise _not_held(name, kind, given[at], None if single else at, given[at].dtype)
    return ticks.view(_ENCODED[kind])


def _not_held(
    name: str, kind: str, value: Any, at: int | None, dtype: np.dtype[Any]
) -> InvalidArgumentError:
    """The error for a value of the right kind that a type does not have."""
    held = _UNITS[kind][1] if kind in _UNITS else ""
    return InvalidArgumentError(
        f"`{name}` is of type {kind}{held}, which cannot hold {value}{_of_entry(at)}: "
        f"{_advice(kind, value, dtype)}",
        {"argument": name},
    )


def _advice(kind: str, value: Any, given: np.dtype[Any]) -> str:
    """What to do with a value that a type cannot hold."""
    if kind in _UNITS:
        unit = _UNITS[kind][0]
        rounds = isinstance(value, np.datetime64) and bool(
            in_unit(np.array([value]), unit, exact=False)[1][0]
        )
        days = in_unit(np.array([value]), "D", exact=False)[0][0] if rounds else 0
        if not rounds or (kind == "date" and not -_DAYS - 1 <= days <= _DAYS):
            return "it lies outside the times that the type has"
    if kind == "datetime":
        return "round it, or give the column the type `datetime_us` (microseconds)"
    if kind in ("int", "uint") and given.kind == "f":
        return "round it, or pass integers with gaps as pandas' Int64, Arrow or None"
    return "round it, or use another type"
