"""The class: what an associative array is, and how its parts are reached."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ostrakon.assoc.aliases import D4MNames
from ostrakon.assoc.arithmetic import Arithmetic
from ostrakon.assoc.choosing import Choosing
from ostrakon.assoc.comparison import Comparison
from ostrakon.assoc.construction import build, build_from_matrix
from ostrakon.assoc.conversion import Conversion
from ostrakon.assoc.display import Display
from ostrakon.assoc.files import Files
from ostrakon.assoc.indexing import Indexing
from ostrakon.assoc.keys import Keys, TextKeys, python_value
from ostrakon.assoc.machine import Array
from ostrakon.assoc.markup import Markup
from ostrakon.assoc.mat import MatFiles
from ostrakon.assoc.matrix import Condensed, Matrix, matrix_of, python_list, restored
from ostrakon.assoc.plots import Plots
from ostrakon.assoc.products import Products
from ostrakon.assoc.reductions import Reductions
from ostrakon.assoc.schema import Schema
from ostrakon.assoc.warning import AssocWarning

__all__ = ["Assoc", "AssocWarning"]


class Assoc(
    Indexing,
    Arithmetic,
    Comparison,
    Products,
    Reductions,
    Schema,
    Choosing,
    Files,
    MatFiles,
    Markup,
    Conversion,
    Display,
    Plots,
    D4MNames,
):
    """An associative array: a sparse matrix whose rows and columns have sorted, unique keys.

    Keys are texts, or numbers, or timestamps; values are texts, integers, floats, booleans or
    timestamps, and keep their type. Null values (zero, the empty text, `False`) are not stored.
    Associative arrays are immutable; every operation returns a new one.

    `row`, `col`, `val` are delimiter strings (`"a,b,"`: the last character separates), lists, NumPy
    arrays (`U`, `S`, numbers, `datetime64`, objects), Arrow, pandas or polars columns, or single
    keys, which are repeated. `aggregate` combines several values at one place: `min`
    (the default), `max`, `sum`, `prod`, `first`, `last`, `count`, `concat` (texts with `separator`
    between them), `unique` (there must be none), or a function of two values, which is folded in
    input order. A gap (`None`, NaN) is an error, or with `missing="drop"` leaves its triple out.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,b,", "x,y,x,", [1, 2, 3])
    ('a', 'x')  1
    ('a', 'y')  2
    ('b', 'x')  3
    >>> Assoc("a,a,", "x,x,", "one,two,", aggregate="concat")
    ('a', 'x')  'one;two'
    """

    __slots__ = ("_col", "_matrix", "_row", "_val")
    _row: Keys
    _col: Keys
    _val: TextKeys | None
    _matrix: Matrix

    # NumPy leaves `array * A` and `number < A` to this class.
    __array_ufunc__ = None
    # Comparisons give arrays, not truth.
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        row: Any = (),
        col: Any = (),
        val: Any = 1,
        aggregate: Any = "min",
        *,
        adj: Any = None,
        missing: str = "error",
        separator: str = ";",
        convert_val: bool = False,
    ) -> None:
        if adj is not None:
            parts = build_from_matrix(row, col, val, adj)
        else:
            parts = build(row, col, val, aggregate, missing, separator)
        self._set(*parts)
        if convert_val and self._val is not None:
            other = self.to_numbers()
            self._set(other._row, other._col, other._val, other._matrix)

    def _set(self, row: Keys, col: Keys, val: TextKeys | None, matrix: Matrix) -> None:
        object.__setattr__(self, "_row", row)
        object.__setattr__(self, "_col", col)
        object.__setattr__(self, "_val", val)
        object.__setattr__(self, "_matrix", matrix)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("an Assoc never changes; operations give new ones")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("an Assoc never changes; operations give new ones")

    @classmethod
    def _make(cls, row: Keys, col: Keys, val: TextKeys | None, matrix: Matrix) -> Assoc:
        made = cls.__new__(cls)
        made._set(row, col, val, matrix)
        return made

    @classmethod
    def _condensed(
        cls, row: Keys, col: Keys, val: TextKeys | None, like: Array, result: Condensed
    ) -> Assoc:
        """From the keys a kernel worked with and what it left of them."""
        starts, columns, values, rows, cols = result
        if rows is not None:
            row = row.take(rows)
        if cols is not None:
            col = col.take(cols)
        values = restored(values, like)
        if val is not None:
            val, values = _used_values(val, values)
        return cls._make(row, col, val, matrix_of(starts, columns, values, len(col)))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = tuple(np.array(part) for part in self._matrix[:3])
        return _rebuilt, (self._row, self._col, self._val, *parts)

    def __copy__(self) -> Assoc:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Assoc:
        return self  # it never changes

    def copy(self) -> Assoc:
        """The array itself: it never changes."""
        return self

    @property
    def row(self) -> Array:
        """Row keys, ascending."""
        return self._row.to_numpy()

    @property
    def col(self) -> Array:
        """Column keys, ascending."""
        return self._col.to_numpy()

    @property
    def val(self) -> Array | float:
        """The distinct texts, ascending; 1.0 when values are numbers, as in D4M."""
        return 1.0 if self._val is None else self._val.to_numpy()

    @property
    def adj(self) -> Any:
        """The matrix as `scipy.sparse.csr_array`: values, or 1-based positions in `val`."""
        return self.to_scipy()

    @property
    def values(self) -> Array:
        """The value of each entry, by row, then column."""
        if self._val is None:
            return self._matrix.values
        return self._val.spread(self._matrix.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values: a NumPy number or timestamp, or `str`."""
        return np.dtype(str) if self._val is not None else self._matrix.values.dtype

    @property
    def is_text(self) -> bool:
        """Whether values are texts."""
        return self._val is not None

    @property
    def shape(self) -> tuple[int, int]:
        """How many row keys and column keys there are."""
        return len(self._row), len(self._col)

    def size(self) -> tuple[int, int]:
        """The same as `shape`, by D4M's name."""
        return self.shape

    @property
    def nnz(self) -> EntryCount:
        """How many entries there are. `A.nnz()` gives the same, as D4M writes it."""
        return EntryCount(len(self._matrix.columns))

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        parts = sum(part.nbytes for part in self._matrix[:3])
        values = 0 if self._val is None else self._val.nbytes
        return parts + self._row.nbytes + self._col.nbytes + values

    def __len__(self) -> int:
        return len(self._matrix.columns)

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return len(self) == 0

    def __bool__(self) -> bool:
        raise TypeError(
            "an Assoc is neither true nor false. Python reads `2 <= A <= 9` as "
            "`(2 <= A) and (A <= 9)`: write `(2 <= A) <= 9`. For emptiness use len(A)"
        )

    def __contains__(self, item: object) -> bool:
        """Whether there is a row of this key; for `(row, col)` or `(row, col, value)`, such an
        entry.

        >>> from ostrakon import Assoc
        >>> A = Assoc("a,", "x,", 7)
        >>> "a" in A, "x" in A, ("a", "x") in A, ("a", "x", 8) in A
        (True, False, True, False)
        """
        if not isinstance(item, tuple):
            return self._row.find(item) is not None
        if len(item) not in (2, 3):
            raise TypeError(f"a row key, (row, col) or (row, col, value), not {item!r}")
        there = self.get(*item[:2])
        return there is not None and (len(item) == 2 or bool(there == item[2]))

    def find(self, order: str = "row") -> tuple[Array, Array, Array]:
        """Rows, columns and values of all entries, as arrays of one length.

        `order` is `"row"` (by row, then column) or `"col"`, which is how Matlab's `find` sorts.

        >>> from ostrakon import Assoc
        >>> r, c, v = Assoc("a,b,", "y,x,", [1, 2]).find("col")
        >>> r.tolist(), c.tolist(), v.tolist()
        (['b', 'a'], ['x', 'y'], [2, 1])
        """
        if order not in ("row", "col", 0, 1):
            raise ValueError(f"order is 'row' or 'col', not {order!r}")
        rows = self._row.spread(self._matrix.rows())
        cols = self._col.spread(self._matrix.columns)
        if order in ("row", 0):
            return rows, cols, self.values
        by_column = np.argsort(self._matrix.columns, kind="stable")
        return rows[by_column], cols[by_column], self.values[by_column]

    def triples(self) -> list[tuple[Any, Any, Any]]:
        """All entries as Python tuples, by row, then column."""
        return list(self)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        rows, cols = self._row.to_list(), self._col.to_list()
        values = python_list(self._matrix.values)
        if self._val is not None:
            texts = self._val.to_list()
            values = [texts[value] for value in values]
        places = zip(self._matrix.rows().tolist(), self._matrix.columns.tolist(), strict=True)
        for (row, col), value in zip(places, values, strict=True):
            yield rows[row], cols[col], value

    def get(self, row: Any, col: Any, default: Any = None) -> Any:
        """The value at one place, or `default`.

        >>> from ostrakon import Assoc
        >>> A = Assoc("a,", "x,", 7)
        >>> A.get("a", "x"), A.get("a", "y", 0)
        (7, 0)
        """
        at, place = self._row.find(row), self._col.find(col)
        if at is None or place is None:
            return default
        start, stop = self._matrix.starts[at], self._matrix.starts[at + 1]
        entry = start + np.searchsorted(self._matrix.columns[start:stop], place)
        if entry >= stop or self._matrix.columns[entry] != place:
            return default
        value = self._matrix.values[entry]
        return python_value(value) if self._val is None else self._val[int(value)]

    def get_value(self, row: Any, col: Any) -> Any:
        """The value at one place, or null: 0, or the empty text."""
        return self.get(row, col, "" if self.is_text else 0)

    def equals(self, other: Any) -> bool:
        """Whether both have the same keys at the same places with equal values.

        >>> from ostrakon import Assoc
        >>> Assoc("a,", "x,", 1).equals(Assoc("a,", "x,", 1.0))
        True
        """
        if not isinstance(other, Assoc):
            return False
        mine, theirs = self._matrix, other._matrix
        if not len(mine.columns) and not len(theirs.columns):
            return True
        if (self._val is None) != (other._val is None):
            return False
        if self._val is not None and other._val is not None and not self._val.equals(other._val):
            return False
        same = self._row.equals(other._row) and self._col.equals(other._col)
        return same and all(
            np.array_equal(one, two) for one, two in zip(mine[:3], theirs[:3], strict=True)
        )

    def check_canonical(self) -> None:
        """Raises `AssertionError` where the parts contradict each other; for tests."""
        starts, columns, values, width = self._matrix
        rows = self._matrix.rows()
        for keys in (self._row, self._col, *([] if self._val is None else [self._val])):
            listed = keys.to_list()
            _hold(all(a < b for a, b in itertools.pairwise(listed)), "keys ascend")
        _hold(len(starts) == len(self._row) + 1, "a start for each row key")
        _hold(width == len(self._col), "as wide as there are column keys")
        _hold(bool((np.diff(starts.astype(np.int64)) > 0).all()), "no empty row")
        _hold(np.array_equal(np.unique(columns), np.arange(width)), "no empty column")
        inside = np.diff(columns.astype(np.int64))[np.diff(rows) == 0]
        _hold(bool((inside > 0).all()), "columns ascend in each row")
        _hold(len(values) == len(columns), "a value for each entry")
        if self._val is not None:
            _hold(np.array_equal(np.unique(values), np.arange(len(self._val))), "no unused text")
            _hold(self._val.find("") is None, "no empty text")
        elif values.dtype.kind not in "mM":
            _hold(bool(np.asarray(values != 0).all()), "no zero")


class EntryCount(int):
    """A number of entries that may also be called, since D4M writes `A.nnz()`."""

    def __call__(self) -> int:
        """The number."""
        return int(self)


def _hold(fact: bool, what: str) -> None:
    if not fact:
        raise AssertionError(f"broken associative array: {what}")


def _used_values(val: TextKeys, positions: Array) -> tuple[TextKeys, Array]:
    """Only the texts in use, and the positions among them."""
    used = np.zeros(len(val), bool)
    used[positions] = True
    if used.all():
        return val, positions
    kept = np.flatnonzero(used).astype(np.uint32)
    place = np.zeros(len(val), np.uint32)
    place[kept] = np.arange(len(kept), dtype=np.uint32)
    return val.take(kept), place[positions]


def _rebuilt(
    row: Keys, col: Keys, val: TextKeys | None, starts: Array, columns: Array, values: Array
) -> Assoc:
    return Assoc._make(row, col, val, matrix_of(starts, columns, values, len(col)))
