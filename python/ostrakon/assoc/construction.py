"""From triples to the parts of an associative array."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ostrakon._native import assoc_concatenate, assoc_filter, assoc_fold, assoc_group
from ostrakon.assoc.exact import LARGEST, largest, wrapped
from ostrakon.assoc.items import Items, read_items, resolve
from ostrakon.assoc.keys import Keys, TextKeys
from ostrakon.assoc.machine import Array, threads
from ostrakon.assoc.matrix import Condensed, Matrix, empty_matrix, matrix_of, restored
from ostrakon.errors import InvalidArgumentError

Parts = tuple[Keys, Keys, "TextKeys | None", Matrix]

# D4M's words for the collision functions, and Python's and NumPy's functions that mean the same.
_NAMES = {
    "min": ("min", "minimum", "minimize", builtins.min, np.minimum, np.min),
    "max": ("max", "maximum", "maximize", builtins.max, np.maximum, np.max),
    "sum": ("sum", "add", "plus", "addition", builtins.sum, np.add, np.sum, operator.add),
    "prod": (
        "prod", "times", "mul", "multiply", "product", "multiplication",
        np.multiply, np.prod, operator.mul,
    ),
    "first": ("first",),
    "last": ("last",),
    "count": ("count", "counting"),
    "concat": ("concat", "catstr", "concatenate", "AssocCatStrFunc"),
    "unique": ("unique",),
}  # fmt: skip
_COLLISIONS: dict[Any, str] = {word: name for name, words in _NAMES.items() for word in words}


def collision_name(aggregate: Any) -> str | Callable[[Any, Any], Any]:
    """The collision function by our name, or the caller's own function."""
    try:
        known = _COLLISIONS.get(aggregate)
    except TypeError:
        known = None
    if known is not None:
        return known
    if callable(aggregate):
        function: Callable[[Any, Any], Any] = aggregate
        return function
    raise InvalidArgumentError(
        f"aggregate: {aggregate!r} is not one of {', '.join(_NAMES)}, nor a function of two values"
    )


def read_triples(row: Any, col: Any, val: Any, missing: str) -> tuple[Items, Items, Items]:
    """The three lists, with single items repeated by meaning and gaps dealt with."""
    if missing not in ("error", "drop"):
        raise InvalidArgumentError(f"missing: 'error' or 'drop', not {missing!r}")
    for name, given in ("row", row), ("col", col), ("val", val):
        _check_list(name, given)
    lists = (read_items("row", row), read_items("col", col), read_items("val", val))
    for items in lists[:2]:
        if items.array is not None and items.array.dtype.kind == "b":
            raise TypeError(f"{items.name}: booleans are values, not keys")
    count = max(items.count for items in lists)
    check_parts(val, lists[2].count, (lists[0].count, lists[1].count))
    if any(items.count not in (1, count) for items in lists) and not any(
        items.count == 0 for items in lists[:2]
    ):
        lengths = ", ".join(f"{items.name} {items.count}" for items in lists[1:])
        raise InvalidArgumentError(
            f"row has {lists[0].count} items, {lengths}: lists need one length, or one item"
        )
    if any(items.count == 0 for items in lists):
        filled = [items.name for items in lists if items.count > 1]
        if filled:
            raise InvalidArgumentError(
                f"{filled[0]} has items where another list of the same call is empty"
            )
        return lists
    if all(items.valid is None for items in lists):
        return lists
    return _without_gaps(lists, count, missing)


def _check_list(name: str, given: Any) -> None:
    """Raises for what can be iterated and is not a list: half of a dictionary would be lost, and
    the items of a set have no order."""
    if isinstance(given, (Mapping, set, frozenset)):
        way_out = (
            "give its keys and its values as two lists, or use Assoc.from_dict"
            if isinstance(given, Mapping)
            else "sort it into a list"
        )
        raise InvalidArgumentError(
            f"{name}: a {type(given).__name__} is not a list of keys or values: {way_out}",
            {"argument": name},
        )


def check_parts(val: Any, count: int, places: tuple[int, int]) -> None:
    """Raises when a text was cut into several values of one place: all but one would be lost."""
    if count > 1 and places == (1, 1) and isinstance(val, (str, bytes, bytearray)):
        end = val[-1:] if isinstance(val, str) else val[-1:].decode()
        raise InvalidArgumentError(
            f"val: the text ends in {end!r}, which makes it a list of {count} values, but there is "
            "one place: for one value that ends so give a list of it, [text]; for several values "
            "of one place a list of them",
            {"argument": "val"},
        )


def _without_gaps(
    lists: tuple[Items, Items, Items], count: int, missing: str
) -> tuple[Items, Items, Items]:
    keep = np.ones(count, bool)
    for items in lists:
        if items.valid is None:
            continue
        if missing == "error":
            at = int(np.flatnonzero(~items.valid)[0])
            raise InvalidArgumentError(
                f"{items.name}: the item at position {at} is missing (None or NaN); "
                'missing="drop" leaves such triples out'
            )
        keep &= items.valid
    row, col, val = (items.filtered(keep) for items in lists)
    if not keep.any():
        none = Items("row", 0, source=("row", "list", []))
        return none, none, none
    return row, col, val


def build(
    row: Any,
    col: Any,
    val: Any,
    aggregate: Any,
    missing: str = "error",
    separator: str = ";",
    convert: bool = False,
) -> Parts:
    """Everything `Assoc(row, col, val, aggregate)` does.

    With `convert`, texts are numbers before values at one place are combined, if all of them are.
    """
    collision = collision_name(aggregate)
    rows, cols, vals = read_triples(row, col, val, missing)
    count = max(rows.count, cols.count, vals.count)
    if min(rows.count, cols.count, vals.count) == 0:
        nothing = resolve([Items("row", 0, source=("row", "list", []))])[0][0]
        return nothing, nothing, None, empty_matrix()
    resolved = resolve([rows, cols, vals] if vals.is_text else [rows, cols])
    (row_keys, row_at), (col_keys, col_at) = resolved[:2]
    row_at, col_at = _repeated(row_at, count), _repeated(col_at, count)
    if vals.is_text:
        texts, values = resolved[2]
        assert isinstance(texts, TextKeys)  # text items give text keys
        dictionary: TextKeys | None = texts
    else:
        dictionary = None
        assert vals.array is not None  # items that are no texts are an array
        values = vals.array
    values = _repeated(values, count)
    # Only texts are put one after the other.
    if convert and dictionary is not None and collision != "concat":
        numbers = _numbers_of(dictionary, values)
        if numbers is not None:
            kept, values = numbers
            row_at, col_at, dictionary = row_at[kept], col_at[kept], None
            if len(values) == 0:
                return build((), (), (), aggregate)
    return fold(row_keys, col_keys, dictionary, (row_at, col_at, values), collision, separator)


def _numbers_of(texts: TextKeys, places: Array) -> tuple[Array, Array] | None:
    """The places that are not empty, and their numbers, if all texts are numbers."""
    from ostrakon.assoc.schema import parse_numbers

    listed = texts.to_list()
    # Texts are sorted, and an empty one makes no entry.
    empty = int(bool(listed) and listed[0] == "")
    numbers = parse_numbers(listed[empty:])
    if numbers is None:
        return None
    kept = np.flatnonzero(places >= empty)
    return kept, np.asarray(numbers)[places[kept] - empty]


def _repeated(array: Array, count: int) -> Array:
    return array if len(array) == count else np.repeat(array, count)


def fold(
    row: Keys,
    col: Keys,
    dictionary: TextKeys | None,
    triples: tuple[Array, Array, Array],
    collision: str | Callable[[Any, Any], Any],
    separator: str,
) -> Parts:
    """Triples of positions to parts: collisions folded, nulls and empty keys removed."""
    rows, cols, values = triples
    shape = (len(row), len(col))
    stamped = values.dtype.kind in "mM"
    if collision == "count":
        values, dictionary, collision = np.ones(len(rows), np.int64), None, "sum"
        stamped = False
    elif collision == "sum" and values.dtype.kind == "b":
        values = values.astype(np.int64)
    elif collision in ("sum", "prod") and stamped and values.dtype.kind == "M":
        raise TypeError("aggregate: timestamps cannot be added or multiplied; min, max, … can")
    elif collision == "prod" and (dictionary is not None or stamped):
        raise TypeError("aggregate: only numbers can be multiplied")
    if dictionary is not None and collision == "sum":
        collision, separator = "concat", ""
    if collision not in ("min", "max", "sum", "prod", "first", "last"):
        return _fold_groups(row, col, dictionary, triples, collision, separator)
    kernel = values.view(np.int64) if stamped else values
    starts, columns, folded, left_rows, left_cols = _folded(
        rows, cols, kernel, shape, collision, not stamped
    )
    row = row if left_rows is None else row.take(left_rows)
    col = col if left_cols is None else col.take(left_cols)
    folded = restored(folded, values) if stamped else folded
    return _settled(row, col, dictionary, matrix_of(starts, columns, folded, len(col)))


def _folded(
    rows: Array,
    cols: Array,
    values: Array,
    shape: tuple[int, int],
    collision: str,
    drop_null: bool,
) -> Condensed:
    """Triples folded by a kernel; sums and products that 64 bits do not hold as floats."""

    def run(values: Array, drop: bool) -> Condensed:
        return assoc_fold(rows, cols, values, shape, collision, drop, threads())

    if collision not in ("sum", "prod"):
        return run(values, drop_null)
    most = largest(values)
    if most <= 1 or (collision == "sum" and most * len(values) <= LARGEST):
        return run(values, drop_null)
    floats = values.astype(np.float64)
    if wrapped(run(values, False)[2], run(floats, False)[2]):
        return run(floats, drop_null)
    return run(values, drop_null)


def _fold_groups(
    row: Keys,
    col: Keys,
    dictionary: TextKeys | None,
    triples: tuple[Array, Array, Array],
    collision: str | Callable[[Any, Any], Any],
    separator: str,
) -> Parts:
    rows, cols, values = triples
    starts, columns, groups, order = assoc_group(rows, cols, (len(row), len(col)), threads())
    values = values[order]
    if collision == "unique":
        if len(columns) != len(order):
            raise InvalidArgumentError(
                f"aggregate: 'unique' promises one value a place, but {len(order)} triples "
                f"fall on {len(columns)} places"
            )
        folded = values
    elif collision == "concat":
        if dictionary is None:
            dictionary, values = texts_of_numbers(values)
        keys, folded = assoc_concatenate(dictionary.native, values, groups, separator)
        dictionary = TextKeys(keys)
    else:
        assert callable(collision)  # names were dealt with
        dictionary, folded = _fold_by_function(dictionary, values, groups, collision)
    matrix = matrix_of(starts, columns, folded, len(col))
    return _settled(row, col, dictionary, matrix)


def _fold_by_function(
    dictionary: TextKeys | None,
    values: Array,
    groups: Array,
    function: Callable[[Any, Any], Any],
) -> tuple[TextKeys | None, Array]:
    if dictionary is None and isinstance(function, np.ufunc) and function.nin == 2:
        return None, _plain_numbers(function.reduceat(values, groups[:-1].astype(np.int64)))
    # The function gets Python numbers and strings, and only where several values are at one place.
    firsts = groups[:-1]
    listed = dictionary.to_list() if dictionary is not None else None
    result: list[Any] = values[firsts].tolist()
    if listed is not None:
        result = [listed[value] for value in result]
    for place in np.flatnonzero(np.diff(groups) > 1).tolist():
        folded = result[place]
        for value in values[groups[place] + 1 : groups[place + 1]].tolist():
            folded = function(folded, value if listed is None else listed[value])
        result[place] = folded
    items = read_items("aggregate", result)
    if items.valid is not None:
        raise InvalidArgumentError("aggregate: the function gave None or NaN")
    if items.is_text:
        keys, places = resolve([items])[0]
        assert isinstance(keys, TextKeys)  # text items give text keys
        return keys, places
    assert items.array is not None  # items that are no texts are an array
    return None, items.array


def _plain_numbers(values: Array) -> Array:
    kind = values.dtype.kind
    return values.astype({"i": np.int64, "u": np.int64, "f": np.float64}.get(kind, values.dtype))


def _settled(row: Keys, col: Keys, dictionary: TextKeys | None, matrix: Matrix) -> Parts:
    """Removes nulls that the fold left, and texts that nothing holds."""
    from ostrakon.assoc.core import Assoc

    made = Assoc._make(row, col, dictionary, matrix)
    values = matrix.values
    if dictionary is not None:
        keep = values != 0 if dictionary.find("") == 0 else np.ones(len(values), bool)
    elif values.dtype.kind in "mM":
        return row, col, dictionary, matrix
    else:
        keep = np.asarray(values != 0)
        if values.dtype.kind == "f":
            keep &= ~np.isnan(values)  # inf - inf, which counts as missing
        if keep.all():
            return row, col, dictionary, matrix
    result = assoc_filter(matrix.kernel(), np.ascontiguousarray(keep))
    made = Assoc._condensed(row, col, dictionary, values, result)
    return made._row, made._col, made._val, made._matrix


def texts_of_numbers(values: Array) -> tuple[TextKeys, Array]:
    """Numbers as texts: integers without a point, floats as Python writes them (5.0 is `5`)."""
    distinct, places = np.unique(values, return_inverse=True)
    listed = [number_text(value) for value in distinct.tolist()]
    if values.dtype.kind in "mM":
        listed = [str(value) for value in distinct]
    keys, ranks = resolve([Items("values", len(listed), source=("values", "list", listed))])[0]
    assert isinstance(keys, TextKeys)  # text items give text keys
    return keys, ranks[places]


def number_text(value: Any) -> str:
    """One number as text; whole floats lose their point.

    >>> number_text(5.0), number_text(0.1), number_text(7)
    ('5', '0.1', '7')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def build_from_matrix(row: Any, col: Any, val: Any, adj: Any) -> Parts:
    """D4M.py's `adj=`: sorted keys beside a sparse matrix of values, or of 1-based text
    positions."""
    import scipy.sparse

    matrix = scipy.sparse.coo_array(adj)
    axes = []
    for name, keys, size in (("row", row, matrix.shape[0]), ("col", col, matrix.shape[1])):
        items = read_items(name, keys)
        found, places = resolve([items])[0]
        if len(found) != items.count or (np.diff(places.astype(np.int64)) != 1).any():
            raise InvalidArgumentError(f"{name}: with adj, keys must ascend without repeats")
        if len(found) < size:
            raise InvalidArgumentError(f"{name}: {len(found)} keys for {size} of the matrix")
        axes.append(found)
    rows, cols = (part.astype(np.uint32) for part in (matrix.row, matrix.col))
    values = matrix.data
    dictionary: TextKeys | None = None
    if isinstance(val, (int, float)) and val == 1:
        array = read_items("adj", values).array
        assert array is not None  # a matrix of numbers
        values = array
    else:
        texts = resolve([read_items("val", val)])[0][0]
        if not isinstance(texts, TextKeys):
            raise InvalidArgumentError("val: with adj, the texts the entries point at, or 1.0")
        values = np.asarray(values).astype(np.int64)
        stored = values != 0
        rows, cols, values = rows[stored], cols[stored], values[stored] - 1
        if len(values) and (values.min() < 0 or values.max() >= len(texts)):
            raise InvalidArgumentError(
                f"adj: an entry points outside the {len(texts)} texts of val"
            )
        values, dictionary = values.astype(np.uint32), texts
    collision = "sum" if dictionary is None else "last"
    return fold(axes[0], axes[1], dictionary, (rows, cols, values), collision, ";")
