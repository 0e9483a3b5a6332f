"""Products and sums of tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ostrakon import _native
from ostrakon.arguments import text_of
from ostrakon.graph.calls import (
    Part,
    call,
    collects,
    context_of,
    outcome_of,
    outputs_of,
    part_of,
)
from ostrakon.graph.results import Outcome

if TYPE_CHECKING:
    from ostrakon.ranges import Bytes
    from ostrakon.store import Store


def table_mult(
    store: Store,
    left: str | Part,
    right: str | Part,
    *,
    semiring: str = "plus.times",
    part: str = "all",
    result: str | None = None,
    result_transpose: str | None = None,
    collect: bool | None = None,
    auths: Iterable[Bytes] | None = None,
    visibility: Bytes | None = None,
    memory_bytes: int | None = None,
    threads: int | None = None,
) -> Outcome:
    """Multiplies two tables: result += transpose(left) right, over their common rows.

    `semiring` is two names: plus, min, max or any, then times, plus, min, max, first, second or
    pair. `part` is `all`, `off_diagonal` or `upper`. Without a result table, the product is
    returned.

    >>> import ostrakon
    >>> from ostrakon.graph import put_edges
    >>> with ostrakon.open() as store:
    ...     _ = put_edges(store, "A", ["ann", "ann"], ["x", "y"], [2, 3])
    ...     table_mult(store, "A", "A", part="upper").matrix.triples()
    [('x', 'y', 6.0)]
    """
    context = context_of(auths, visibility, memory_bytes, threads)
    outputs = outputs_of(result, result_transpose, collects(collect, result, result_transpose))
    tables = (part_of(left, "left"), part_of(right, "right"))
    semiring = text_of("semiring", semiring, "two names, such as 'plus.times'")
    part = text_of("part", part, "'all', 'off_diagonal' or 'upper'")
    done = call(_native.graph_multiply, store, context, tables, semiring, part, outputs)
    return Outcome(**outcome_of(done))


def elementwise_product(
    store: Store, left: str | Part, right: str | Part, *, operation: str = "times", **options: Any
) -> Outcome:
    """Combines the entries that are in both tables. Options as in `elementwise_sum`."""
    return _elementwise(store, left, right, False, operation, **options)


def elementwise_sum(
    store: Store, left: str | Part, right: str | Part, *, operation: str = "plus", **options: Any
) -> Outcome:
    """Combines two tables; entries that are in only one of them are kept.

    Options: `result`, `result_transpose`, `collect`, `auths`, `visibility`, `memory_bytes`.
    """
    return _elementwise(store, left, right, True, operation, **options)


def _elementwise(
    store: Store,
    left: str | Part,
    right: str | Part,
    union: bool,
    operation: str,
    *,
    result: str | None = None,
    result_transpose: str | None = None,
    collect: bool | None = None,
    auths: Iterable[Bytes] | None = None,
    visibility: Bytes | None = None,
    memory_bytes: int | None = None,
) -> Outcome:
    context = context_of(auths, visibility, memory_bytes, None)
    outputs = outputs_of(result, result_transpose, collects(collect, result, result_transpose))
    tables = (part_of(left, "left"), part_of(right, "right"))
    operation = text_of("operation", operation, "a function, such as 'plus'")
    done = call(_native.graph_elementwise, store, context, tables, union, operation, outputs)
    return Outcome(**outcome_of(done))
