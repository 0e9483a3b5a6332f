"""The engines that multiply matrices. The native kernel is the default.

An engine gets two matrices, and `inner`, which maps the columns of the left to the rows of the
right. It returns what the kernels return: starts, columns, values, and which rows and columns are
left.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

import numpy as np

from ostrakon._native import assoc_product, assoc_select
from ostrakon.assoc.machine import MISSING, Array, threads
from ostrakon.assoc.matrix import Condensed, Matrix, matrix_of
from ostrakon.errors import UnsupportedError
from ostrakon.extras import load

ADDITIONS = ("plus", "min", "max", "any")
MULTIPLICATIONS = ("times", "plus", "min", "max", "first", "second", "pair")


class Engine(Protocol):
    """Multiplies matrices over a named semiring."""

    def multiply(
        self, left: Matrix, inner: Array | None, right: Matrix, add: str, multiply: str
    ) -> Condensed:
        """The product. `inner` maps columns of `left` to rows of `right`; `None` is identity."""


class NativeEngine:
    """Our kernel: all named semirings, several threads."""

    def multiply(
        self, left: Matrix, inner: Array | None, right: Matrix, add: str, multiply: str
    ) -> Condensed:
        """The product."""
        return cast("Condensed", assoc_product(left, inner, right, add, multiply, threads()))


class ScipyEngine:
    """`scipy.sparse`: only the ordinary product."""

    def multiply(
        self, left: Matrix, inner: Array | None, right: Matrix, add: str, multiply: str
    ) -> Condensed:
        """The product."""
        if (add, multiply) != ("plus", "times"):
            raise UnsupportedError(f"engine: SciPy has no semiring {add}.{multiply}")
        left, right = _facing(left, inner, right)
        product = to_scipy(left) @ to_scipy(right)
        return from_scipy(product)


class GraphblasEngine:
    """SuiteSparse:GraphBLAS through python-graphblas (extra `graphblas`)."""

    def multiply(
        self, left: Matrix, inner: Array | None, right: Matrix, add: str, multiply: str
    ) -> Condensed:
        """The product."""
        gb = load("graphblas", "graphblas")
        left, right = _facing(left, inner, right)
        semiring = getattr(gb.semiring, f"{add}_{multiply}")
        one, two = (gb.io.from_scipy_sparse(to_scipy(part)) for part in (left, right))
        return from_scipy(gb.io.to_scipy_sparse(semiring(one @ two).new(), "csr"))


ENGINES: dict[str, Engine] = {
    "native": NativeEngine(),
    "scipy": ScipyEngine(),
    "graphblas": GraphblasEngine(),
}


def to_scipy(matrix: Matrix, values: Array | None = None) -> Any:
    """The matrix as `scipy.sparse.csr_array`, sharing its arrays."""
    import scipy.sparse

    shape = (matrix.height, matrix.width)
    limit = np.iinfo(np.int32).max
    kind = np.int32 if max(len(matrix.columns), *shape) <= limit else np.int64
    parts = [
        part.view(np.int32) if kind is np.int32 else part.astype(np.int64)
        for part in (matrix.columns, matrix.starts)
    ]
    data = matrix.values if values is None else values
    return scipy.sparse.csr_array((data, *parts), shape=shape, copy=False)


def from_scipy(product: Any) -> Condensed:
    """A SciPy matrix with sorted rows, without zeros, condensed."""
    product = product.tocsr(copy=True)
    product.sort_indices()
    product.eliminate_zeros()
    values = product.data
    values = values.astype(np.int64 if values.dtype.kind in "iub" else np.float64, copy=False)
    starts, columns = (part.astype(np.uint32) for part in (product.indptr, product.indices))
    matrix = matrix_of(starts, columns, values, product.shape[1])
    # Selecting everything condenses.
    return cast("Condensed", assoc_select(matrix, None, None))


def _facing(left: Matrix, inner: Array | None, right: Matrix) -> tuple[Matrix, Matrix]:
    """Columns of one and rows of the other, cut to the inner keys both have."""
    if inner is None:
        return left, right
    columns = np.flatnonzero(inner != MISSING).astype(np.uint32)
    rows = inner[columns]
    import scipy.sparse

    one = scipy.sparse.csc_array(to_scipy(left))[:, columns].tocsr()
    two = to_scipy(right)[rows]
    return _plain(one), _plain(two)


def _plain(matrix: Any) -> Matrix:
    matrix.sort_indices()
    starts, columns = (part.astype(np.uint32) for part in (matrix.indptr, matrix.indices))
    return Matrix(starts, columns, matrix.data, matrix.shape[1])
