"""Generating graphs, and writing edges and degrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon import _native
from ostrakon.arguments import flag_of, integer_of, number_of, text_of, wrong_type
from ostrakon.errors import InvalidArgumentError
from ostrakon.graph.calls import (
    A_TABLE,
    FORMS,
    U32,
    Part,
    call,
    compute,
    context_of,
    outcome_of,
)
from ostrakon.graph.results import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ostrakon.ranges import Bytes
    from ostrakon.store import Store


def kronecker(
    scale: int,
    edges_per_vertex: float = 8,
    *,
    seed: int = 1,
    permuted: bool = False,
    part: tuple[int, int] = (0, 1),
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The edges of a Kronecker graph (Graph500's R-MAT): rows and columns, numbered from 0.

    The graph has 2**scale vertices and `edges_per_vertex` times as many edges. `permuted` renumbers
    the vertices at random. `part=(p, n)` makes part p of n only: parts are disjoint and together
    the whole graph, in whichever process they are made.

    >>> rows, columns = kronecker(10)
    >>> len(rows), int(rows.max()) < 1024
    (8192, True)
    """
    if not isinstance(part, tuple) or len(part) != 2:
        raise wrong_type("part", "a pair (number of the part, number of parts)", part)
    rows, columns = _native.graph_kronecker(
        integer_of("scale", scale, "a number, such as 10", 0, U32),
        number_of("edges_per_vertex", edges_per_vertex, "a number, such as 8"),
        integer_of("seed", seed, "a number"),
        flag_of("permuted", permuted),
        integer_of("part", part[0], "a pair of numbers", 0, U32),
        integer_of("part", part[1], "a pair of numbers", 0, U32),
    )
    return np.frombuffer(rows, np.uint64), np.frombuffer(columns, np.uint64)


def put_edges(
    store: Store,
    name: str,
    rows: Any,
    columns: Any,
    weights: Any = 1,
    *,
    form: str = "adjacency",
    first_edge: int = 0,
    visibility: Bytes | None = None,
) -> int:
    """Writes edges to the tables of a form, and creates missing tables.

    Returns the number of entries written. `rows`, `columns` and `weights` (integers) are columns of
    any library, or single values. `form` is `adjacency` (tables name, nameT and nameDeg),
    `incidence` (the same; edges are numbered from `first_edge`) or `single` (one table). The
    weights of equal edges are summed, except in the form `incidence`.
    """
    context = context_of(None, visibility, None, None)
    edges = (rows, columns, weights)
    _check_lengths(rows=rows, columns=columns, weights=weights)
    return call(  # type: ignore[no-any-return]
        _native.graph_write,
        store,
        context,
        text_of("form", form, FORMS),
        text_of("name", name, A_TABLE),
        integer_of("first_edge", first_edge, "a number"),
        edges,
    )


def _check_lengths(**columns: Any) -> None:
    lengths: dict[str, int] = {}
    for name, column in columns.items():
        if isinstance(column, (str, bytes)):
            continue  # one value for all edges
        try:
            lengths[name] = len(column)
        except TypeError:
            continue  # one value, or a stream, whose length the writer checks
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"`{name}` has {length}" for name, length in lengths.items())
        raise InvalidArgumentError(
            f"{found} items: give lists of one length, or a single value; nothing was written",
            {"argument": list(lengths)[-1]},
        )


def degree_table(
    store: Store,
    table: str | Part,
    result: str,
    *,
    column: Bytes = "Degree",
    sums: bool = False,
    **where: Any,
) -> Outcome:
    """Adds, for each row, its number of entries (or their sum) to a column of `result`."""
    count = int(flag_of("sums", sums))
    done = compute(store, "degree_table", table, result=result, count=count, column=column, **where)
    return Outcome(**outcome_of({"entries_read": 0, **done}))
