"""Turns associative arrays and triples into columns for a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostrakon._native import NativeColumn
from ostrakon.assoc import Assoc
from ostrakon.assoc.construction import check_parts, number_text, texts_of_numbers
from ostrakon.assoc.items import split_delimited
from ostrakon.assoc.keys import Keys, TextKeys
from ostrakon.errors import InvalidArgumentError

Array = NDArray[Any]
Labels = Any
"""A label for all, a list of one for each triple, an Assoc of labels, or a function of a triple."""


def coded(keys: TextKeys, positions: Array) -> NativeColumn:
    """Texts by their positions among keys, without a copy of each."""
    content, offsets = keys.native.to_buffers()
    places = np.ascontiguousarray(positions, np.uint32)
    return NativeColumn(places.tobytes(), content.tobytes(), offsets.tobytes())


def key_column(keys: Keys, positions: Array) -> Any:
    """Keys of an array as a column."""
    if isinstance(keys, TextKeys):
        return coded(keys, positions)
    # Key by key: 1.0 is `1`, whatever stands beside it.
    texts, ranks = texts_of_numbers(keys.to_numpy())
    return coded(texts, np.asarray(ranks, np.uint32)[positions])


def plain_numbers(values: Array) -> Array:
    """Numbers in the form in which tables hold them: whole floats as integers, timestamps as
    text."""
    if values.dtype.kind in "mM":
        return values.astype("U")
    if values.dtype.kind == "f" and len(values):
        with np.errstate(invalid="ignore"):
            whole = bool((np.abs(values) < 2**53).all()) and bool((values == np.rint(values)).all())
        if whole:
            return values.astype(np.int64)
    return values


class Triples:
    """What to write: columns of equal length, or single values for all."""

    __slots__ = ("array", "col", "row", "timestamp", "val", "visibility")

    def __init__(
        self,
        row: Any,
        col: Any,
        val: Any,
        visibility: Any,
        timestamp: Any,
        *,
        array: Assoc | None = None,
    ) -> None:
        self.row = row
        self.col = col
        self.val = val
        self.visibility = visibility
        self.timestamp = timestamp
        # The array that holds the same triples, if they come from one.
        self.array = array

    def transposed(self) -> Triples:
        """Rows and columns exchanged."""
        array = None if self.array is None else self.array.transpose()
        return Triples(self.col, self.row, self.val, self.visibility, self.timestamp, array=array)

    def objects(self) -> tuple[list[Any], list[Any]]:
        """Columns and values as Python objects, for the rare look at each."""
        if self.array is not None:
            _, cols, values = self.array.find()
            return cols.tolist(), plain_numbers(values).tolist()
        counts = (count_of(self.row), count_of(self.col), count_of(self.val))
        count = next((known for known in counts if known is not None), 1)
        return listed(self.col, count), listed(self.val, count)


def of_assoc(array: Assoc, labels: Labels, timestamp: Any, *, by_column: bool = False) -> Triples:
    """The entries of an array; `by_column` in the order of columns, which suits a transpose."""
    matrix = array._matrix
    rows, cols, values = matrix.rows(), matrix.columns, matrix.values
    visibility = labels_of(labels, array)
    if by_column:
        order = np.argsort(cols, kind="stable")
        rows, cols, values = rows[order], cols[order], values[order]
        if not isinstance(visibility, (str, bytes)):
            visibility = _sequence("visibility", visibility)[order]
        if isinstance(timestamp, (list, tuple, np.ndarray)):
            timestamp = np.asarray(timestamp)[order]
    val = plain_numbers(values) if array._val is None else coded(array._val, values)
    row, col = key_column(array._row, rows), key_column(array._col, cols)
    return Triples(row, col, val, visibility, timestamp, array=array)


def labels_of(labels: Labels, array: Assoc) -> Any:
    """The label of each entry of an array, or one for all."""
    if isinstance(labels, (str, bytes)):
        return labels
    if isinstance(labels, Assoc):
        return _by_place(labels, array)
    if callable(labels):
        return _by_function(labels, iter(array))
    given = _sequence("visibility", labels)
    if len(given) != len(array):
        raise InvalidArgumentError(
            f"visibility: {len(given)} labels for {len(array)} entries; give one for each entry in "
            "the order of find(), or one for all",
            {"argument": "visibility"},
        )
    return given


def _by_place(labels: Assoc, array: Assoc) -> Array:
    known = labels.to_dict2()
    made = [known.get((row, col)) for row, col, _ in array]
    for label, (row, col, _) in zip(made, array, strict=True):
        if label is None:
            raise InvalidArgumentError(
                f"visibility: the array of labels has none for ({row!r}, {col!r})",
                {"argument": "visibility"},
            )
    return np.array(made, dtype=object)


def _by_function(function: Callable[[Any, Any, Any], Any], triples: Any) -> Array:
    made = []
    for row, col, val in triples:
        label = function(row, col, val)
        if not isinstance(label, (str, bytes)):
            raise InvalidArgumentError(
                f"visibility: the function gave {label!r} for ({row!r}, {col!r}), which is not "
                "a label",
                {"argument": "visibility"},
            )
        made.append(label)
    return np.array(made, dtype=object)


def _sequence(name: str, given: Any) -> Array:
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise InvalidArgumentError(
            f"{name}: a label, a list of labels, an Assoc of labels, or a function of row, column "
            f"and value, not {type(given).__name__}",
            {"argument": name},
        )
    return given if isinstance(given, np.ndarray) else np.array(given, dtype=object)


def part(name: str, given: Any) -> Any:
    """Rows, columns or values as `Assoc` takes them: a column of an item each, or one for all."""
    if name != "val":
        given = _without_floats(given)
    if isinstance(given, str):
        listed: Any = split_delimited(given)
    elif isinstance(given, np.ndarray) and given.ndim > 0:
        listed = plain_numbers(given)
    elif isinstance(given, (list, tuple)):
        listed = list(given)
    elif hasattr(given, "__len__") and not isinstance(given, bytes):
        listed = given
    else:
        return given
    try:
        return listed[0] if len(listed) == 1 and isinstance(listed, list) else listed
    except TypeError:
        raise InvalidArgumentError(f"{name}: {given!r} is not a list", {"argument": name}) from None


def _without_floats(keys: Any) -> Any:
    """Floats among keys as the texts they are found under: 1.0 is `1`."""
    if isinstance(keys, np.ndarray) and keys.dtype.kind == "f":
        keys = keys.tolist()
    if isinstance(keys, float):
        return _float_key(keys)
    if isinstance(keys, (list, tuple)) and any(isinstance(key, float) for key in keys):
        return [_float_key(key) if isinstance(key, float) else key for key in keys]
    return keys


def _float_key(key: float) -> Any:
    # NaN is left to be refused where it is written.
    return key if math.isnan(key) else number_text(key)


def of_triples(row: Any, col: Any, val: Any, labels: Labels, timestamp: Any) -> Triples:
    """Lists of triples; places may repeat, and each triple is written."""
    parts = {"row": part("row", row), "col": part("col", col), "val": part("val", val)}
    counts = {name: count_of(given) for name, given in parts.items()}
    check_parts(val, counts["val"] or 1, (counts["row"] or 1, counts["col"] or 1))
    lengths = {name: count for name, count in counts.items() if count is not None}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {count}" for name, count in lengths.items())
        raise InvalidArgumentError(
            f"the lists have different lengths ({told}): give one length, or one item for all; "
            "nothing was written",
            {"argument": next(iter(lengths))},
        )
    count = next(iter(lengths.values()), 1)
    if callable(labels):
        columns = [listed(given, count) for given in parts.values()]
        labels = _by_function(labels, zip(*columns, strict=True))
    elif not isinstance(labels, (str, bytes)):
        labels = _sequence("visibility", labels)
        if len(labels) != count:
            raise InvalidArgumentError(
                f"visibility: {len(labels)} labels for {count} triples; nothing was written",
                {"argument": "visibility"},
            )
    return Triples(parts["row"], parts["col"], parts["val"], labels, timestamp)


def count_of(given: Any) -> int | None:
    """Items of a list; `None` for a single one."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        return None
    return len(given)


def listed(given: Any, count: int) -> list[Any]:
    """A part as a list of Python objects."""
    if count_of(given) is None:
        return [given] * count
    if hasattr(given, "to_pylist"):
        return list(given.to_pylist())
    return list(given.tolist() if hasattr(given, "tolist") else given)
