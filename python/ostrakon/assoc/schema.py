"""The D4M schema: values into column keys and back, texts into numbers and back, single columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon._native import assoc_join
from ostrakon.assoc.base import with_numbers
from ostrakon.assoc.items import read_items, resolve
from ostrakon.assoc.keys import Keys, TextKeys
from ostrakon.assoc.machine import Array
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


def val2col(array: Assoc, separator: str = "|") -> Assoc:
    """`(r, c, v)` becomes `(r, c|v, 1)`: every value can then be found as a column.

    >>> from ostrakon import Assoc
    >>> Assoc("log1,log1,", "ip,port,", "10.0.0.1,80,").val2col()
    ('log1', 'ip|10.0.0.1')  1
    ('log1', 'port|80')  1
    """
    from ostrakon.assoc.construction import fold, texts_of_numbers

    columns = _as_texts(array._col)
    at = columns.native.first_containing(separator) if separator else 0
    if at is not None:
        raise InvalidArgumentError(
            f"separator: {separator!r} stands in the column key {columns[at]!r}"
            if separator
            else "separator: a text of at least one character is needed"
        )
    matrix = array._matrix
    values = (array._val, matrix.values)
    if array._val is None:
        values = texts_of_numbers(matrix.values)
    joined, places = assoc_join(
        columns.native, matrix.columns, separator, cast("TextKeys", values[0]).native,
        np.ascontiguousarray(values[1], np.uint32),
    )  # fmt: skip
    ones = np.ones(len(places), np.int64)
    triples = (matrix.rows(), places, ones)
    return array._make(*fold(array._row, TextKeys(joined), None, triples, "max", ""))


def col2type(array: Assoc, separator: str = "|", convert: bool = True) -> Assoc:
    """`(r, "c|v", x)` becomes `(r, c, v)`, cut at the first separator. Values become numbers
    when all of them are (`convert`). Where a row has a column twice, the smaller text stays.

    >>> from ostrakon import Assoc
    >>> Assoc("log1,log1,", "ip|10.0.0.1,port|80,", 1).col2type()
    ('log1', 'ip')  '10.0.0.1'
    ('log1', 'port')  '80'
    """
    from ostrakon.assoc.construction import fold

    if not isinstance(array._col, TextKeys):
        if len(array._col) == 0:
            return array
        raise TypeError("col2type: the column keys are not texts")
    left, left_at, right, right_at = array._col.native.split_once(separator, "col2type")
    columns = array._matrix.columns
    triples = (array._matrix.rows(), left_at[columns], right_at[columns])
    made = array._make(*fold(array._row, TextKeys(left), TextKeys(right), triples, "min", ""))
    return made.to_numbers(strict=False) if convert else made


def to_numbers(array: Assoc, strict: bool = True) -> Assoc:
    """Texts as numbers: integers if all of them are, else floats. With `strict` off, the array
    stays as it is if one is not a number.

    >>> from ostrakon import Assoc
    >>> Assoc("a,b,", "x,", "10,2.5,").to_numbers().values.tolist()
    [10.0, 2.5]
    """
    if array._val is None:
        return array
    numbers = parse_numbers(array._val.to_list())
    if numbers is None:
        if not strict:
            return array
        wrong = next(text for text in array._val.to_list() if parse_numbers([text]) is None)
        raise InvalidArgumentError(f"to_numbers: the value {wrong!r} is not a number")
    return with_numbers(array, numbers[array._matrix.values])


def to_text(array: Assoc, format: str | None = None) -> Assoc:  # noqa: A002  (D4M's name)
    """Numbers as texts: whole floats without a point, or by a `format` such as `"%.3g"`.

    >>> from ostrakon import Assoc
    >>> Assoc("a,b,", "x,", [1.0, 0.123456]).to_text("%.3g").values.tolist()
    ['1', '0.123']
    """
    from ostrakon.assoc.construction import texts_of_numbers

    if array._val is not None:
        return array
    if format is not None:
        return _formatted(array, format)
    keys, places = texts_of_numbers(array._matrix.values)
    return array._make(array._row, array._col, keys, array._matrix.with_values(places))


def _formatted(array: Assoc, form: str) -> Assoc:
    distinct, places = np.unique(array._matrix.values, return_inverse=True)
    try:
        texts = [form % value for value in distinct.tolist()]
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"format: {form!r} is for no number: {error}") from None
    items = read_items("format", texts)
    keys, ranks = resolve([items])[0]
    values = np.ascontiguousarray(ranks[places])
    return array._make(
        array._row, array._col, cast("TextKeys", keys), array._matrix.with_values(values)
    )


def val_text(array: Assoc, separator: str = ",") -> str:
    """The distinct texts as a delimiter string; empty where values are numbers, as in D4M."""
    return "" if array._val is None else delimited(array._val, separator, "val")


def astype(array: Assoc, kind: Any) -> Assoc:
    """Values as `int`, `float`, `bool` or `str`."""
    if np.dtype(kind).kind == "U":
        return array.to_text()
    number = array.to_numbers()
    return with_numbers(number, number._matrix.values.astype(_wide(np.dtype(kind))))


def put_row(array: Assoc, row: Any) -> Assoc:
    """All entries with this row key, or with these, one for each present. Collisions: the
    smaller."""
    return _rekeyed(array, row, array._row, 0)


def put_col(array: Assoc, col: Any) -> Assoc:
    """The same for column keys.

    >>> from ostrakon import Assoc
    >>> Assoc("a,b,", "x,y,", [1, 2]).sum(1).put_col("Degree,")
    ('a', 'Degree')  1
    ('b', 'Degree')  2
    """
    return _rekeyed(array, col, array._col, 1)


def put_val(array: Assoc, val: Any) -> Assoc:
    """The same places with one value."""
    from ostrakon.assoc.core import Assoc

    rows, cols, _ = array.find()
    return Assoc(rows, cols, val)


def _rekeyed(array: Assoc, given: Any, keys: Keys, axis: int) -> Assoc:
    from ostrakon.assoc.construction import fold

    name = ("row", "col")[axis]
    items = read_items(name, given)
    if items.count not in (1, len(keys)) or items.valid is not None:
        raise InvalidArgumentError(f"{name}: one key, or {len(keys)}, not {items.count}")
    found, places = resolve([items])[0]
    if len(places) != len(keys):
        places = np.repeat(places, len(keys))
    rows, columns = array._matrix.rows(), array._matrix.columns
    if axis == 0:
        triples, row, col = (places[rows], columns, array._matrix.values), found, array._col
    else:
        triples, row, col = (rows, places[columns], array._matrix.values), array._row, found
    return array._make(*fold(row, col, array._val, triples, "min", ""))


def row_text(array: Assoc, separator: str = ",") -> str:
    """Row keys as a delimiter string. A key that holds the separator is an error."""
    return delimited(_as_texts(array._row), separator, "row")


def col_text(array: Assoc, separator: str = ",") -> str:
    """Column keys as a delimiter string."""
    return delimited(_as_texts(array._col), separator, "col")


def delimited(keys: TextKeys, separator: str, name: str) -> str:
    """Keys as a delimiter string."""
    if len(separator) != 1:
        raise InvalidArgumentError(f"separator: one character, not {separator!r}")
    at = keys.native.first_containing(separator)
    if at is not None:
        raise InvalidArgumentError(f"{name}: the key {keys[at]!r} contains {separator!r}")
    return "".join(key + separator for key in keys.to_list())


def parse_numbers(texts: list[str]) -> Array | None:
    """Integers if all texts are, else floats, else `None`. `nan`, `1_000` and blanks do not count
    as numbers."""
    if any("_" in text or text != text.strip() for text in texts):
        return None
    try:
        return np.array([int(text) for text in texts], np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        numbers = np.array([float(text) for text in texts], np.float64)
    except ValueError:
        return None
    return None if np.isnan(numbers).any() else numbers


def _as_texts(keys: Keys) -> TextKeys:
    if isinstance(keys, TextKeys):
        return keys
    from ostrakon.assoc.construction import texts_of_numbers

    return texts_of_numbers(keys.to_numpy())[0] if len(keys) else TextKeys.of([])


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    kinds = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
    if dtype.kind not in kinds:
        raise TypeError(f"astype: int, float, bool or str, not {dtype}")
    return np.dtype(kinds[dtype.kind])
