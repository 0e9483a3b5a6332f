"""Sums over an axis, degrees, diagonals, patterns, and the array turned round."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon._native import assoc_transpose
from ostrakon.assoc.base import Parts
from ostrakon.assoc.exact import added, total
from ostrakon.assoc.keys import Keys, NumberKeys, TextKeys, inner_map, python_value
from ostrakon.assoc.machine import MISSING, Array
from ostrakon.assoc.matrix import Matrix, matrix_of, restored
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

_ONE = np.zeros(1, np.int64)


class Reductions(Parts):
    """Reductions over rows (axis 0: one row, with key 0) or columns (axis 1: one column, with key
    0)."""

    __slots__ = ()

    def transpose(self) -> Assoc:
        """Rows become columns."""
        matrix = self._matrix
        starts, columns, values = assoc_transpose(matrix.kernel())
        values = restored(values, matrix.values)
        turned = matrix_of(starts, columns, values, matrix.height)
        return self._make(self._col, self._row, self._val, turned)

    @property
    def T(self) -> Assoc:  # noqa: N802  (NumPy's name)
        """The transpose."""
        return self.transpose()

    def sum(self, axis: int | None = None) -> Any:
        """Sum of all values, or of each column (axis 0), or of each row (axis 1). Texts are ones.

        >>> from ostrakon import Assoc
        >>> A = Assoc("a,a,b,", "x,y,x,", [1, 2, 3])
        >>> A.sum(), A.sum(1)
        (6, ('a', 0)  3
        ('b', 0)  3)
        """
        return self._reduced(self._numbers("sum"), np.add, axis, 0)

    def count(self, axis: int | None = None) -> Any:
        """How many entries there are, in all or along an axis."""
        return self._reduced(self._ones(), np.add, axis, 0)

    def min(self, axis: Any = None) -> Any:
        """Smallest value, in all or along an axis. With another Assoc: `minimum`."""
        return self._least(axis, np.minimum)

    def max(self, axis: Any = None) -> Any:
        """Largest value, in all or along an axis. With another Assoc: `maximum`."""
        return self._least(axis, np.maximum)

    def mean(self, axis: int | None = None) -> Any:
        """Sum by count of the entries that are there."""
        if axis is None:
            return self.sum() / len(self._matrix.columns)
        return self.sum(axis) / self.count(axis)

    def reduce(self, function: Callable[[Any, Any], Any], axis: int) -> Any:
        """Folds values along an axis by a function of two values, in key order."""
        from ostrakon.assoc.construction import collision_name, fold

        rows, columns = self._matrix.rows(), self._matrix.columns
        zeros = np.zeros(len(rows), np.uint32)
        one = NumberKeys(_ONE.copy())
        if _axis(axis) == 0:
            triples, row, col = (zeros, columns, self._matrix.values), cast("Keys", one), self._col
        else:
            triples, row, col = (rows, zeros, self._matrix.values), self._row, cast("Keys", one)
        if not len(rows):
            return self
        return self._make(*fold(row, col, self._val, triples, collision_name(function), ""))

    def degree(self, axis: int = 1) -> Assoc:
        """How many entries each row (axis 1: out-degree) or column (axis 0: in-degree) has."""
        return cast("Assoc", self.count(axis))

    def degree_distribution(self, axis: int = 1) -> Assoc:
        """How many rows (or columns) have each degree: row keys are degrees, the column key is 0.

        >>> from ostrakon import Assoc
        >>> Assoc("a,a,b,c,", "x,y,x,x,", 1).degree_distribution()
        (1, 0)  2
        (2, 0)  1
        """
        from ostrakon.assoc.core import Assoc

        degrees = self._degrees(axis)
        return Assoc(degrees, 0, 1, "sum") if len(degrees) else Assoc()

    def binned_degrees(self, base: float = 2.0, axis: int = 1) -> Assoc:
        """The same in logarithmic bins: the row key is the smallest degree of the bin."""
        from ostrakon.assoc.core import Assoc

        degrees = self._degrees(axis)
        if not len(degrees):
            return Assoc()
        if base <= 1:
            raise InvalidArgumentError(f"base: above 1, not {base}")
        bins = np.floor(np.log(degrees) / np.log(base) + 1e-9)
        return Assoc(np.ceil(base**bins - 1e-9).astype(np.int64), 0, 1, "sum")

    def _degrees(self, axis: int) -> Array:
        if _axis(axis) == 1:
            return np.diff(self._matrix.starts.astype(np.int64))
        return np.bincount(self._matrix.columns, minlength=self._matrix.width).astype(np.int64)

    def logical(self) -> Assoc:
        """1 at every entry."""
        return self._make(self._row, self._col, None, self._ones())

    def diag(self) -> Assoc:
        """The entries whose row key is their column key."""
        return self._filtered(self._on_diagonal())

    def nodiag(self) -> Assoc:
        """The other entries. Works for keys of any two sets.

        >>> from ostrakon import Assoc
        >>> Assoc("a,a,b,", "a,b,c,", 1).nodiag()
        ('a', 'b')  1
        ('b', 'c')  1
        """
        return self._filtered(~self._on_diagonal())

    def triu(self, k: int = 0) -> Assoc:
        """The entries whose column key is at or above their row key (above it for `k=1`)."""
        return self._filtered(self._ranks(1) >= self._ranks(0) + (1 if k else 0))

    def tril(self, k: int = 0) -> Assoc:
        """The entries whose column key is at or below their row key (below it for `k=-1`)."""
        return self._filtered(self._ranks(1) <= self._ranks(0) - (1 if k else 0))

    def norow(self) -> Assoc:
        """One row, with key 0, and 1 for each column key."""
        return self._flat(0)

    def nocol(self) -> Assoc:
        """One column, with key 0, and 1 for each row key."""
        return self._flat(1)

    def _flat(self, axis: int) -> Assoc:
        return cast("Assoc", self.count(axis)).logical()

    def _ranks(self, axis: int) -> Array:
        """Place of the key of each entry among the keys of both axes."""
        from ostrakon.assoc.keys import unite

        _, rows, cols = unite(self._row, self._col, "row and column")
        places, keys = (rows, self._matrix.rows()) if axis == 0 else (cols, self._matrix.columns)
        return (keys if places is None else places[keys]).astype(np.int64)

    def _on_diagonal(self) -> Array:
        rows, columns = self._matrix.rows(), self._matrix.columns
        if isinstance(self._row, TextKeys) != isinstance(self._col, TextKeys):
            return np.zeros(len(rows), bool)
        faces = inner_map(self._row, self._col)
        facing = rows if faces is None else faces[rows]
        return cast("Array", (facing == columns) & (facing != MISSING))

    def _least(self, axis: Any, function: np.ufunc) -> Any:
        if isinstance(axis, Reductions):
            name = "minimum" if function is np.minimum else "maximum"
            return getattr(self, name)(axis)
        if axis is None and not len(self._matrix.columns):
            raise ValueError("an empty array has no smallest and no largest value")
        reduced = self._reduced(self._matrix, function, axis, 0, self._val)
        if axis is None and self._val is not None:
            return self._val[int(reduced)]
        return reduced

    def _reduced(
        self,
        matrix: Matrix,
        function: np.ufunc,
        axis: int | None,
        empty: Any,
        val: TextKeys | None = None,
    ) -> Any:
        if axis is None:
            if not len(matrix.values):
                return empty
            adding = function is np.add
            return python_value(total(matrix.values) if adding else function.reduce(matrix.values))
        if not len(matrix.values):
            return self
        one = NumberKeys(_ONE.copy())
        if _axis(axis) == 1:
            sums = _runs(function, matrix.values, matrix.starts)
            starts = np.arange(len(self._row) + 1, dtype=np.uint32)
            columns = np.zeros(len(self._row), np.uint32)
            reduced = matrix_of(starts, columns, sums, 1)
            return self._make(self._row, one, val, reduced)._cleaned()
        starts, _, values = assoc_transpose(matrix.kernel())
        values = restored(values, matrix.values)
        sums = _runs(function, values, starts)
        columns = np.arange(len(self._col), dtype=np.uint32)
        whole = np.array([0, len(columns)], np.uint32)
        reduced = matrix_of(whole, columns, sums, len(columns))
        return self._make(one, self._col, val, reduced)._cleaned()

    def _cleaned(self) -> Assoc:
        """Without zeros and unused texts."""
        values = self._matrix.values
        if self._val is not None or values.dtype.kind in "mM":
            return self._filtered(np.ones(len(values), bool))
        if np.asarray(values != 0).all():
            return cast("Assoc", self)
        return self._filtered(values != 0)


def _runs(function: np.ufunc, values: Array, starts: Array) -> Array:
    firsts = starts[:-1].astype(np.int64)
    return added(values, firsts) if function is np.add else function.reduceat(values, firsts)


def _axis(axis: int) -> int:
    if axis not in (0, 1):
        raise InvalidArgumentError(f"axis: 0 (over rows) or 1 (over columns), not {axis!r}")
    return axis
