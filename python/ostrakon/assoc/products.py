"""Matrix products: `@`, other semirings, correlations, products that list the matching keys.

Products over inner keys: column keys of the left array that are row keys of the right
one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ostrakon._native import (
    assoc_cat,
    assoc_cat_bytes,
    assoc_expand,
    assoc_product_entries,
    assoc_product_size,
)
from ostrakon.assoc.base import (
    common_numbers,
    filtered,
    is_assoc,
    is_number,
    numbers,
    without_nulls,
)
from ostrakon.assoc.engines import ADDITIONS, ENGINES, MULTIPLICATIONS, Engine
from ostrakon.assoc.exact import computed, largest
from ostrakon.assoc.keys import TextKeys, inner_map
from ostrakon.assoc.machine import Array
from ostrakon.assoc.matrix import Matrix, matrix_of, python_list
from ostrakon.assoc.memory import MOST_ENTRIES, is_small, limit_of, too_large
from ostrakon.errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc

# Bytes of an entry of a result: its column and its value.
_ENTRY_BYTES = 4 + 8
# Of a product that stands on its own: its place, and the entries it comes from.
_PRODUCT_BYTES = 16
# Of an entry of text: its column, where its text ends, and its place in the dictionary.
_TEXT_ENTRY_BYTES = 4 + 8 + 4

_ADVICE = (
    "multiply parts of the rows (A[rows, :] @ B), or multiply in tables, which need no memory for "
    "the result (ostrakon.graph.table_mult)"
)


def matmul_operator(array: Assoc, other: Any) -> Assoc:
    """The matrix product, matched by key. Texts count as ones. A number multiplies every entry.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,", "x,y,", [2, 3]) @ Assoc("x,y,", "b,", [5, 7])
    ('a', 'b')  31
    """
    if is_number(other):
        return cast("Assoc", array * other)
    if not is_assoc(other):
        return cast("Assoc", NotImplemented)
    return array.matmul(other)


def rmatmul_operator(array: Assoc, other: Any) -> Assoc:
    """A number times every entry."""
    if is_number(other):
        return cast("Assoc", array * other)
    return cast("Assoc", NotImplemented)


def matmul(
    array: Assoc,
    other: Assoc,
    semiring: str = "plus.times",
    engine: str | Engine = "native",
    *,
    limit_bytes: int | None = None,
) -> Assoc:
    """The product over a named semiring, `"addition.multiplication"`: plus, min, max, any;
    times, plus, min, max, first, second, pair. Null results are not stored.

    `engine` is `"native"`, `"scipy"` (plus.times alone), `"graphblas"`, or an `Engine`.

    The entries of the result are counted before it is built, where they could be many. What
    would need more than `limit_bytes` (by default what the machine has left, or
    `OSTRAKON_MEMORY_BYTES`) is a `TooLargeError`.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,", "x,y,", [2, 3]).matmul(Assoc("x,y,", "b,", [5, 7]), "min.plus")
    ('a', 'b')  7
    """
    return _multiplied(array, other, semiring, engine, limit_bytes, "other")


def _multiplied(
    array: Assoc,
    other: Assoc,
    semiring: str,
    engine: str | Engine,
    limit_bytes: int | None,
    argument: str,
) -> Assoc:
    """`argument` is named in the error about a product that is too large."""
    add, _, multiply = semiring.replace("_", ".", 1).partition(".")
    if add not in ADDITIONS or multiply not in MULTIPLICATIONS:
        raise InvalidArgumentError(
            f"semiring: {semiring!r} is not an addition ({', '.join(ADDITIONS)}), point, "
            f"multiplication ({', '.join(MULTIPLICATIONS)})"
        )
    if isinstance(engine, str):
        if engine not in ENGINES:
            raise InvalidArgumentError(f"engine: {engine!r} is not one of {', '.join(ENGINES)}")
        engine = ENGINES[engine]
    left, right = common_numbers(numbers(array, "@"), numbers(other, "@"))
    inner = inner_map(array._col, other._row)
    _foresee(left, inner, right, _ENTRY_BYTES, limit_bytes, argument)
    one, two = largest(left.values), largest(right.values)
    met = max(len(left.columns), 1) if add == "plus" else 1
    result = computed(
        lambda left, right, _: engine.multiply(left, inner, right, add, multiply),
        left,
        right,
        # A single product is at most the larger of these; a sum has at most one term per entry.
        max(one * two if multiply == "times" else one + two, 1) * met,
    )
    return without_nulls(array._condensed(array._row, other._col, None, left.values, result))


def semiring_prod(
    array: Assoc,
    other: Assoc,
    add: Callable[[Any, Any], Any],
    multiply: Callable[[Any, Any], Any],
    *,
    limit_bytes: int | None = None,
) -> Assoc:
    """The product with any two functions; `add` folds in order of the inner keys, from the
    left. Functions of NumPy (`numpy.minimum`) run on whole arrays, others once for each
    product.

    >>> from ostrakon import Assoc
    >>> A = Assoc("a,a,", "x,y,", "u,v,")
    >>> A.semiring_prod(A.transpose(), lambda p, q: p + "+" + q, lambda p, q: p + q)
    ('a', 'a')  'uu+vv'
    """
    from ostrakon.assoc.construction import collision_name, fold, read_triples
    from ostrakon.assoc.items import resolve

    inner = inner_map(array._col, other._row)
    mine, theirs = array._matrix.kernel(), other._matrix.kernel()
    products = assoc_product_size(mine, inner, theirs)[0]
    need = products * _PRODUCT_BYTES
    if not is_small(need, limit_bytes) or products > MOST_ENTRIES:
        limit = min(limit_of(limit_bytes), MOST_ENTRIES * _PRODUCT_BYTES)
        if need > limit:
            what = f"the product has {products:,} products, which stand side by side here"
            raise too_large("other", what, need, limit, "named semirings (matmul) need none")
    rows, columns, left, right = assoc_expand(mine, inner, theirs, MOST_ENTRIES)
    values: Any
    if isinstance(multiply, np.ufunc) and array._val is None and other._val is None:
        values = multiply(array._matrix.values[left], other._matrix.values[right])
    else:
        listed, others = _listed_values(array), _listed_values(other)
        values = [
            multiply(listed[one], others[two])
            for one, two in zip(left.tolist(), right.tolist(), strict=True)
        ]
    if not len(rows):
        return filtered(array, np.zeros(len(array._matrix.columns), bool))
    items = read_triples(rows, columns, values, "error")[2]
    dictionary: TextKeys | None = None
    if items.is_text:
        keys, values = resolve([items])[0]
        dictionary = cast("TextKeys", keys)
    else:
        values = items.array
    made = array._make(
        *fold(array._row, other._col, dictionary, (rows, columns, values), collision_name(add), "")
    )
    return _uncovered(made)


def _uncovered(array: Assoc) -> Assoc:
    """Without keys that a product left bare."""
    return filtered(array, np.ones(len(array._matrix.columns), bool))


def _listed_values(array: Assoc) -> list[Any]:
    if array._val is None:
        return python_list(array._matrix.values)
    texts = array._val.to_list()
    return [texts[value] for value in array._matrix.values.tolist()]


def sqin(array: Assoc, *, limit_bytes: int | None = None) -> Assoc:
    """`A.transpose() @ A`: how columns correlate."""
    turned = array.transpose()
    return _multiplied(turned, array, "plus.times", "native", limit_bytes, "the array")


def sqout(array: Assoc, *, limit_bytes: int | None = None) -> Assoc:
    """`A @ A.transpose()`: how rows correlate."""
    turned = array.transpose()
    return _multiplied(array, turned, "plus.times", "native", limit_bytes, "the array")


def catkeymul(
    array: Assoc, other: Assoc, delimiter: str = ";", *, limit_bytes: int | None = None
) -> Assoc:
    """The places of `A @ B`; each value is the matching inner keys, each followed by
    `delimiter`.

    >>> from ostrakon import Assoc
    >>> Assoc("a,a,", "x,y,", 1).catkeymul(Assoc("x,y,", "b,", 1))
    ('a', 'b')  'x;y;'
    """
    inner = inner_map(array._col, other._row)
    keys = _text_inner_keys(array)
    _free_of(keys, delimiter, "inner key")
    return _cat(array, other, inner, keys, None, "", delimiter, limit_bytes)


def catvalmul(
    array: Assoc,
    other: Assoc,
    pair_delimiter: str = ",",
    delimiter: str = ";",
    *,
    limit_bytes: int | None = None,
) -> Assoc:
    """The places of `A @ B`; each value is the pairs of matching values: left, pair delimiter,
    right, pair delimiter, delimiter.

    >>> from ostrakon import Assoc
    >>> A = Assoc("a,a,", "x,y,", "u,v,")
    >>> A.catvalmul(A.transpose())
    ('a', 'a')  'u,u,;v,v,;'
    """
    left, right = _as_text(array), _as_text(other)
    inner = inner_map(array._col, other._row)
    mine, theirs = cast("TextKeys", left._val), cast("TextKeys", right._val)
    for texts in (mine, theirs):
        _free_of(texts, pair_delimiter, "value")
        _free_of(texts, delimiter, "value")
    return _cat(left, right, inner, mine, theirs, pair_delimiter, delimiter, limit_bytes)


def catkeysqinnodiag(
    array: Assoc, delimiter: str = ";", *, limit_bytes: int | None = None
) -> Assoc:
    """`catkeymul` of the transpose with the array, without places whose keys are equal."""
    turned = array.transpose()
    product = turned.catkeymul(array, delimiter, limit_bytes=limit_bytes)
    return product.nodiag()


def _text_inner_keys(array: Assoc) -> TextKeys:
    if isinstance(array._col, TextKeys):
        return array._col
    # Numbers are written in their order, so the texts are not sorted: they stand as values do.
    raise UnsupportedError(
        "catkeymul: the inner keys are numbers; write them as texts of one length first"
    )


def _as_text(array: Assoc) -> Assoc:
    from ostrakon.assoc.construction import texts_of_numbers

    if array._val is not None:
        return array
    keys, places = texts_of_numbers(array._matrix.values)
    return array._make(array._row, array._col, keys, array._matrix.with_values(places))


def _cat(
    array: Assoc,
    other: Assoc,
    inner: Any,
    keys: TextKeys,
    right: TextKeys | None,
    pair_delimiter: str,
    delimiter: str,
    limit_bytes: int | None,
) -> Assoc:
    zeros = np.zeros(len(array._matrix.columns), np.uint32)
    mine = array._matrix if right is not None else array._matrix.with_values(zeros)
    zeros = np.zeros(len(other._matrix.columns), np.uint32)
    theirs = other._matrix if right is not None else other._matrix.with_values(zeros)
    texts_of = (keys.native, None if right is None else right.native, pair_delimiter, delimiter)
    written = assoc_cat_bytes(mine, inner, theirs, *texts_of)
    _foresee(mine, inner, theirs, _TEXT_ENTRY_BYTES, limit_bytes, "other", written)
    starts, columns, texts, places = assoc_cat(mine, inner, theirs, *texts_of)
    matrix = matrix_of(starts, columns, places, len(other._col))
    return _uncovered(array._make(array._row, other._col, TextKeys(texts), matrix))


def _foresee(
    left: Matrix,
    inner: Array | None,
    right: Matrix,
    entry_bytes: int,
    limit_bytes: int | None,
    argument: str,
    text_bytes: int = 0,
) -> None:
    """Refuses a product whose result cannot fit. Bounds are asked first, each dearer than the one
    before; only when the limit lies between them are the places counted, which takes as long as
    multiplying."""
    most = min(len(left.columns) * len(right.columns), left.height * right.width)
    if is_small(most * entry_bytes + text_bytes, limit_bytes):
        return
    left, right = left.kernel(), right.kernel()
    products, most, least = assoc_product_size(left, inner, right)
    if most <= MOST_ENTRIES and is_small(most * entry_bytes + text_bytes, limit_bytes):
        return
    limit = limit_of(limit_bytes)
    if most <= MOST_ENTRIES and most * entry_bytes + text_bytes <= limit:
        return
    advice = _ADVICE
    if text_bytes > limit:
        what = f"the texts of {products:,} products are {text_bytes:,} bytes"
        raise too_large(argument, what, text_bytes, limit, advice)
    room = min((limit - text_bytes) // entry_bytes, MOST_ENTRIES)
    entries = least
    if least <= room:
        # The count stops at the first row beyond the limit.
        entries = assoc_product_entries(left, inner, right, room)
    if entries > room:
        what = f"the product has {entries:,} entries or more ({products:,} products)"
        raise too_large(argument, what, entries * entry_bytes + text_bytes, limit, advice)


def _free_of(keys: TextKeys, delimiter: str, what: str) -> None:
    if not delimiter:
        raise InvalidArgumentError("delimiter: a text of at least one character is needed")
    at = keys.native.first_containing(delimiter)
    if at is not None:
        raise InvalidArgumentError(
            f"delimiter: the {what} {keys[at]!r} contains {delimiter!r}; choose another delimiter"
        )
