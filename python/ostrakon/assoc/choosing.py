"""The largest entries of each row, rows at random, moving sums, words, other matrices under the
same keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon.assoc.base import filtered
from ostrakon.assoc.indexing import selected
from ostrakon.assoc.keys import TextKeys
from ostrakon.assoc.machine import Array
from ostrakon.assoc.memory import is_small, limit_of, too_large
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


def top_col_per_row(array: Assoc, count: int) -> Assoc:
    """The `count` largest entries of each row; of equal ones the first by key.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,a,b,", "x,y,z,x,", [1, 3, 2, 5]).top_col_per_row(2)
    ('a', 'y')  3
    ('a', 'z')  2
    ('b', 'x')  5
    """
    return _top(array, array._matrix.rows(), _count(count))


def top_row_per_col(array: Assoc, count: int) -> Assoc:
    """The `count` largest entries of each column; of equal ones the first by key."""
    return _top(array, array._matrix.columns, _count(count))


def _top(array: Assoc, groups: Array, count: int) -> Assoc:
    values = array._matrix.kernel().values
    # Descending without a sign to turn: the least integer has no positive.
    _, ranks = np.unique(values, return_inverse=True)
    order = np.lexsort((-ranks.astype(np.int64), groups))
    sorted_groups = groups[order]
    begins = np.flatnonzero(np.diff(sorted_groups, prepend=-1) != 0) if len(order) else order
    place = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    marks = np.zeros(len(order), bool)
    marks[order[place < count]] = True
    return filtered(array, marks)


def rand_row(array: Assoc, count: int = 1, seed: int | None = None) -> Assoc:
    """The entries of so many different rows at random; of all rows if there are no more."""
    return _drawn(array, 0, _count(count), seed)


def rand_col(array: Assoc, count: int = 1, seed: int | None = None) -> Assoc:
    """The entries of so many different columns at random.

    >>> from ostrakon import Assoc
    >>> Assoc("a,b,", "x,y,", 1).rand_col(1, seed=4).shape
    (1, 1)
    """
    return _drawn(array, 1, _count(count), seed)


def _drawn(array: Assoc, axis: int, count: int, seed: int | None) -> Assoc:
    size = array.shape[axis]
    if count >= size:
        return array
    drawn = np.random.default_rng(seed).choice(size, count, replace=False, shuffle=False)
    chosen = np.sort(drawn).astype(np.uint32)
    return selected(array, *((chosen, None) if axis == 0 else (None, chosen)))


def conv(array: Assoc, window: Any, origin: int = 0, *, limit_bytes: int | None = None) -> Assoc:
    """Each row convolved with a window, along integer column keys: an entry at column c adds
    `window[k] * value` to column `c + k - origin`.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,", [1, 4], [10, 1]).conv([1, 2, 1], origin=1)
    ('a', 0)  10
    ('a', 1)  20
    ('a', 2)  10
    ('a', 3)  1
    ('a', 4)  2
    ('a', 5)  1
    """
    from ostrakon.assoc.core import Assoc

    weights = np.atleast_1d(np.asarray(window))
    if weights.ndim != 1 or not len(weights) or weights.dtype.kind not in "biuf":
        raise InvalidArgumentError("window: a list of numbers is needed")
    if not -(2**31) <= origin < 2**31:
        raise InvalidArgumentError(f"origin: {origin} is too far from the window")
    if not len(array._matrix.columns):
        return array
    keys = array._col.to_numpy()
    if isinstance(array._col, TextKeys) or keys.dtype.kind != "i":
        raise TypeError("conv: the column keys are not integers")
    least, most = int(keys[0]) - origin, int(keys[-1]) + len(weights) - origin
    if least < -(2**63) or most > 2**63 - 1:
        raise InvalidArgumentError("conv: a column key beyond 64 bits would be made")
    need = 20 * len(keys) * len(weights)
    if not is_small(need, limit_bytes) and need > (limit := limit_of(limit_bytes)):
        what = f"{len(weights):,} weights for {len(keys):,} columns are laid out"
        raise too_large("window", what, need, limit, "convolve some columns at a time")
    # As a product: a band of weights between columns and shifted columns.
    shifts = np.arange(len(weights)) - origin
    band = Assoc(
        np.repeat(keys, len(weights)),
        (keys[:, None] + shifts[None, :]).ravel(),
        np.tile(weights, len(keys)),
        "sum",
    )
    return array.matmul(band, limit_bytes=limit_bytes)


def put_adj(array: Assoc, adj: Any) -> Assoc:
    """Another matrix under the same keys: of values, or where values are texts, of positions
    from 1 in `val`. What keeps no entry goes."""
    from ostrakon.assoc.core import Assoc

    val: Any = 1.0 if array._val is None else array._val
    return Assoc(array._row, array._col, val, adj=adj)


def words(array: Assoc, separator: str | None = None, *, lower: bool = True) -> Assoc:
    """How often each word stands in the texts of each row: word by word as column keys, or
    `column|word` with a `separator`. A word is a run of letters, digits and `_`.

    >>> from ostrakon import Assoc
    >>> Assoc("doc1,doc2,", "text,", ["The cat, the dog.", "A dog"]).words()
    ('doc1', 'cat')  1
    ('doc1', 'dog')  1
    ('doc1', 'the')  2
    ('doc2', 'a')  1
    ('doc2', 'dog')  1
    """
    from ostrakon._native import assoc_join
    from ostrakon.assoc.construction import fold

    if array._val is None:
        if not len(array._matrix.columns):
            return array
        raise TypeError("words: the values are not texts")
    native, places, owners = array._val.native.words(lower)
    found = TextKeys(native)
    # The words of text t are places[starts[t]:starts[t + 1]].
    starts = np.searchsorted(owners, np.arange(len(array._val) + 1))
    counts = np.diff(starts)[array._matrix.values]
    entries = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(entries)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = places[starts[array._matrix.values[entries]] + within]
    if separator is not None:
        columns = _texts_of(array._col)
        native, at = assoc_join(
            columns.native, array._matrix.columns[entries], separator, found.native, at
        )
        found = TextKeys(native)
    ones = np.ones(len(at), np.int64)
    triples = (array._matrix.rows()[entries], at, ones)
    return array._make(*fold(array._row, found, None, triples, "sum", ""))


def _count(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise InvalidArgumentError(f"count: a whole number above 0, not {count!r}")
    return int(count)


def _texts_of(keys: Any) -> TextKeys:
    if isinstance(keys, TextKeys):
        return keys
    raise TypeError("words: with a separator, column keys must be texts")
