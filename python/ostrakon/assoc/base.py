"""The common base of the parts of the class `Assoc`. Each part is a class in its own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon._native import assoc_filter
from ostrakon.assoc.keys import Keys, TextKeys
from ostrakon.assoc.machine import Array
from ostrakon.assoc.matrix import Condensed, Matrix

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


class Parts:
    """The fields and makers of `Assoc`."""

    __slots__ = ()

    if TYPE_CHECKING:
        _row: Keys
        _col: Keys
        _val: TextKeys | None
        _matrix: Matrix

        @classmethod
        def _make(cls, row: Keys, col: Keys, val: TextKeys | None, matrix: Matrix) -> Assoc: ...

        @classmethod
        def _condensed(
            cls, row: Keys, col: Keys, val: TextKeys | None, like: Array, result: Condensed
        ) -> Assoc: ...

    def _filtered(self, marks: Array) -> Assoc:
        """The entries whose mark is set."""
        matrix = self._matrix
        result = assoc_filter(matrix.kernel(), np.ascontiguousarray(marks, bool))
        return self._condensed(self._row, self._col, self._val, matrix.values, result)

    def _with_numbers(self, values: Array) -> Assoc:
        """The same places with numbers; zeros go."""
        if values.dtype.kind not in "mM" and not np.asarray(values != 0).all():
            made = self._make(self._row, self._col, None, self._matrix.with_values(values))
            return made._filtered(values != 0)
        return self._make(self._row, self._col, None, self._matrix.with_values(values))

    def _ones(self) -> Matrix:
        """The places with 1 everywhere."""
        return self._matrix.with_values(np.ones(len(self._matrix.columns), np.int64))

    def _numbers(self, what: str) -> Matrix:
        """The matrix as numbers that can be added: texts are ones, booleans 0 and 1."""
        values = self._matrix.values
        if self._val is not None:
            return self._ones()
        if values.dtype.kind in "mM":
            raise TypeError(f"{what} is not defined for timestamps; logical() turns them into ones")
        if values.dtype.kind == "b":
            return self._matrix.with_values(values.astype(np.int64))
        return self._matrix


def is_number(value: Any) -> bool:
    """Whether a scalar can be computed with."""
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def common_numbers(left: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
    """Both with float64 values, unless both are integers."""
    if left.values.dtype == right.values.dtype:
        return left, right
    return (
        left.with_values(left.values.astype(np.float64)),
        right.with_values(right.values.astype(np.float64)),
    )
