"""The sparse matrix between keys, and how it goes to the kernels and comes back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ostrakon._native import assoc_rows
from ostrakon.assoc.machine import Array, frozen


class Matrix(NamedTuple):
    """Compressed rows: `starts` and `columns` are uint32; `values` are numbers, timestamps, or
    uint32 positions in a dictionary of texts. Within a row columns ascend; no row or column is
    empty."""

    starts: Array
    columns: Array
    values: Array
    width: int

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.starts) - 1

    def rows(self) -> Array:
        """Row of each entry."""
        return assoc_rows(self.starts)

    def kernel(self) -> Matrix:
        """The same matrix with values of a kind that kernels know: timestamps as integers."""
        if self.values.dtype.kind in "mM":
            return self._replace(values=self.values.view(np.int64))
        return self

    def with_values(self, values: Array) -> Matrix:
        """The same places with other values."""
        return self._replace(values=frozen(values))


def matrix_of(starts: Array, columns: Array, values: Array, width: int) -> Matrix:
    """A matrix of arrays that nothing else writes to."""
    return Matrix(frozen(starts), frozen(columns), frozen(values), width)


def empty_matrix() -> Matrix:
    """No rows, no columns."""
    return matrix_of(np.zeros(1, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float64), 0)


def restored(values: Array, like: Array) -> Array:
    """Timestamps that went through a kernel as integers."""
    return values.view(like.dtype) if like.dtype.kind in "mM" else values


Condensed = tuple[Array, Array, Array, "Array | None", "Array | None"]


def python_list(values: Array) -> list[Any]:
    """Values as Python numbers; timestamps stay NumPy's, for their unit."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()
