"""Breadth-first search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon import _native
from ostrakon.arguments import (
    flag_of,
    integer_of,
    number_of,
    optional_bytes,
    optional_text,
    text_of,
)
from ostrakon.assoc.items import split_delimited
from ostrakon.errors import NotFoundError
from ostrakon.graph.calls import (
    A_TABLE,
    FORMS,
    U32,
    call,
    check_store,
    context_of,
    keys_of,
    outcome_of,
    outputs_of,
)
from ostrakon.graph.results import Bfs
from ostrakon.ranges import Range

if TYPE_CHECKING:
    from ostrakon.ranges import Bytes
    from ostrakon.store import Store
    from ostrakon.table import Table


def bfs(
    store: Store,
    table: str,
    start: Any,
    *,
    steps: int,
    form: str = "adjacency",
    transpose: str | None = None,
    degrees: str | None = None,
    degree_column: Bytes | None = None,
    least_degree: float = 0,
    most_degree: float = float("inf"),
    union: bool = True,
    revisit: bool = False,
    result: str | None = None,
    result_transpose: str | None = None,
    collect: bool = False,
    auths: Iterable[Bytes] | None = None,
    visibility: Bytes | None = None,
    memory_bytes: int | None = None,
) -> Bfs:
    """Searches breadth first, `steps` steps from the vertices `start`.

    `start` is a vertex, a list or array of vertices, or a delimiter string (`"a,b,"`). A vertex
    that the graph does not have raises `NotFoundError`; this is checked only if there is a
    transposed table (`transpose`, or the name followed by T). With the degree table `degrees`, a
    step continues only from vertices with a degree within the limits. With `revisit`, it also
    continues from vertices that were reached before, as in D4M. The edges of all steps (`union`),
    or of the last one, are added to `result`, or returned with `collect`.
    """
    limits = None
    if degrees is not None:
        column = optional_bytes("degree_column", degree_column)
        column = column or ("Degree" if form == "incidence" else "OutDeg")
        limits = (
            text_of("degrees", degrees, A_TABLE),
            column,
            "Out|" if form == "incidence" else "",
            number_of("least_degree", least_degree, "a number"),
            number_of("most_degree", most_degree, "a number"),
        )
    search = {
        "form": text_of("form", form, FORMS),
        "table": text_of("table", table, A_TABLE),
        "transpose": optional_text("transpose", transpose, A_TABLE),
        "steps": integer_of("steps", steps, "a number of steps", 0, U32),
        "degrees": limits,
        "union": flag_of("union", union),
        "revisit": flag_of("revisit", revisit),
        "outputs": outputs_of(result, result_transpose, flag_of("collect", collect)),
    }
    if isinstance(start, str):
        start = split_delimited(start)
    context = context_of(auths, visibility, memory_bytes, None)
    _check_vertices(check_store(store), (form, table, transpose), start, auths)
    found = call(_native.graph_search, store, context, start, search)
    vertices = keys_of(found.pop("vertices"))
    last = np.frombuffer(found.pop("last"), np.uint32)
    return Bfs(
        steps=np.frombuffer(found.pop("levels"), np.uint32),
        last=[vertices[at] for at in last.tolist()],
        vertices=vertices,
        **outcome_of(found),
    )


def _check_vertices(
    store: Store, graph: tuple[str, str, str | None], vertices: Any, auths: Any
) -> None:
    """Raises for vertices that are not in an edge, if that can be looked up."""
    form, name, transpose = graph
    if name not in store:
        return  # The search raises the error.
    table = store.table(name)
    transpose = transpose or f"{name}T"
    turned = store.table(transpose) if transpose in store else None
    if form != "single" and turned is None:
        return

    def rows(where: Table, names: list[bytes]) -> set[bytes]:
        found = where.scan(names, auths=auths, fields=["row"], text=False)
        return {row for batch in found for (row,) in batch.tuples()}

    left = {key if isinstance(key, bytes) else str(key).encode() for key in _listed(vertices)}
    if form == "single":
        # A row of degrees or of an edge.
        left -= rows(table, sorted(left))
        left = {
            key
            for key in left
            if not table.scan(Range.prefix(key + b"|"), auths=auths, limit=1).count()
        }
    elif form == "incidence" and turned is not None:
        for prefix in (b"Out|", b"In|"):
            found = rows(turned, sorted(prefix + key for key in left))
            left -= {row[len(prefix) :] for row in found}
    elif turned is not None:
        left -= rows(table, sorted(left))
        left -= rows(turned, sorted(left)) if left else set()
    if left:
        named = ", ".join(key.decode(errors="replace") for key in sorted(left)[:5])
        raise NotFoundError(
            f"`start`: the graph {name!r} has no vertex {named}: no visible edge begins or "
            "ends there",
            {"argument": "start", "table": name},
        )


def _listed(vertices: Any) -> list[Any]:
    if isinstance(vertices, (str, bytes, int, float)):
        return [vertices]
    for method in ("tolist", "to_pylist", "to_list"):
        if hasattr(vertices, method):
            listed = getattr(vertices, method)()
            return listed if isinstance(listed, list) else [listed]
    return list(vertices)
