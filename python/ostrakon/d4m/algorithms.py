"""D4M's graph algorithms on arrays in memory. Those that follow edges also take a table, because
they only use `A[rows, cols]`. For tables that do not fit in memory, use `ostrakon.graph`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ostrakon.assoc import Assoc, startswith
from ostrakon.assoc.base import numbers, with_numbers
from ostrakon.assoc.memory import is_small, limit_of, too_large
from ostrakon.d4m.forms import single_to_adj
from ostrakon.d4m.selection import keys_of
from ostrakon.errors import InvalidArgumentError


def adj_bfs(
    graph: Any,
    start: Any,
    steps: int,
    *,
    degrees: Any = None,
    degree_column: str = "OutDeg",
    least: float | None = None,
    most: float | None = None,
    union: bool = False,
    separator: str | None = None,
) -> Assoc:
    """Breadth-first search in an adjacency array or table. Each step follows the edges of the
    vertices whose degree is within the bounds; the next step begins at the vertices they reach.

    Degrees are read from the column `degree_column` of `degrees`, which is needed only with bounds.
    `separator` says that the graph is a single table, with edges in rows `v|w`. The result is the
    edges of the last step, or with `union` the sum over all steps, in which an edge that is walked
    twice counts twice, as in D4M.

    >>> A = Assoc("a,b,b,c,", "b,c,d,a,", 1)
    >>> adj_bfs(A, "a,", 2)
    ('b', 'c')  1
    ('b', 'd')  1
    >>> adj_bfs(A, "a,", 3, degrees=A.sum(1).put_col("OutDeg,"), most=1)
    Assoc()
    """
    frontier = _start(start)
    found = Assoc()
    for _ in range(_steps(steps)):
        frontier = _within(degrees, frontier, degree_column, least, most)
        step = _fetched(graph, frontier, separator)
        found = found + step if union else step
        frontier = step.col.tolist()
        if not frontier:
            break
    return found


class EdgeSearch(NamedTuple):
    """What `edge_bfs` finds: the vertices reached by the last step, those whose edges it followed,
    and the edges."""

    reached: list[str]
    followed: list[str]
    edges: Assoc


def edge_bfs(
    edges: Any,
    start: Any,
    steps: int,
    *,
    out: str = "Out|",
    into: str = "In|",
    degrees: Any = None,
    degree_column: str = "Degree",
    least: float | None = None,
    most: float | None = None,
    union: bool = False,
) -> EdgeSearch:
    """Breadth-first search in an incidence array or table: rows are edges, with the columns `Out|v`
    and `In|w`. Degrees are read from the rows `Out|v`. With `union`, the result has the edges of
    all steps, with the smaller value of equal ones.

    >>> from ostrakon.d4m import adj_to_edge
    >>> E = adj_to_edge(Assoc("a,b,b,", "b,c,d,", 1))
    >>> edge_bfs(E, "a,", 2)[:2]
    (['c', 'd'], ['b'])
    """
    reached = _start(start)
    followed: list[str] = []
    found = Assoc()
    for _ in range(_steps(steps)):
        asked = _within(degrees, [out + key for key in reached], degree_column, least, most)
        ids = edges[:, asked].row.tolist() if asked else []
        step = edges[ids, :] if ids else Assoc()
        followed = [key[len(out) :] for key in step[:, asked].col.tolist()] if ids else []
        ends = step[:, startswith([into])].col.tolist()
        reached = [key[len(into) :] for key in ends]
        found = found.min(step) if union else step
        if not reached:
            break
    return EdgeSearch(reached, followed, found)


def jaccard(array: Assoc, *, limit_bytes: int | None = None) -> Assoc:
    """The Jaccard index of every two vertices: common neighbours divided by all neighbours.
    Values and directions of edges are ignored; the result has each pair once, with the smaller key
    as the row.

    >>> jaccard(Assoc("a,a,b,b,", "x,y,x,y,", 1))["a,", "b,"]
    ('a', 'b')  1.0
    """
    graph = _undirected(array)
    upper = graph.triu(1)
    common = (
        upper.matmul(upper, limit_bytes=limit_bytes)
        + upper.sqout(limit_bytes=limit_bytes).triu(1)
        + upper.sqin(limit_bytes=limit_bytes).triu(1)
    )
    if not len(common):
        return common
    counts = np.diff(graph._matrix.starts.astype(np.int64))
    # Every key of the product is a vertex.
    mine = counts[_places(common._row, graph._row)][common._matrix.rows()]
    theirs = counts[_places(common._col, graph._row)][common._matrix.columns]
    shared = common._matrix.values
    return with_numbers(common, shared / (mine + theirs - shared))


def k_truss_adj(array: Assoc, k: int, *, limit_bytes: int | None = None) -> Assoc:
    """The largest part of an undirected graph in which every edge lies in `k - 2` triangles or
    more, as an adjacency array of ones, both directions stored. For `k` below 3, the array is
    returned unchanged.

    >>> A = Assoc("a,b,c,c,", "b,c,a,d,", 1)
    >>> k_truss_adj(A, 3).row.tolist()
    ['a', 'b', 'c']
    """
    if k < 3:
        return array
    graph = _undirected(array)
    while True:
        triangles = graph.matmul(graph, limit_bytes=limit_bytes)
        kept = graph[triangles >= k - 2]
        if len(kept) == len(graph):
            return kept
        graph = kept


def k_truss_edge(edges: Assoc, k: int, *, limit_bytes: int | None = None) -> Assoc:
    """The k-truss of an incidence array without directions: a row for each edge, with ones in the
    columns of its two vertices.

    >>> E = Assoc("1,1,2,2,3,3,4,4,", "a,b,b,c,a,c,c,d,", 1)
    >>> k_truss_edge(E, 3).row.tolist()
    ['1', '2', '3']
    """
    if k < 3:
        return edges
    graph = edges.logical()
    while len(graph):
        near = graph.sqin(limit_bytes=limit_bytes).nodiag()
        # A vertex adjacent to both ends of an edge forms a triangle with it.
        closing = graph.matmul(near, limit_bytes=limit_bytes) == 2
        enough = closing.count(1) >= k - 2 if len(closing) else closing
        kept = graph[enough.row.tolist(), :] if len(enough) else Assoc()
        if len(kept) == len(graph):
            break
        graph = kept
    return graph


def nmf(
    array: Assoc,
    topics: int,
    *,
    most_rounds: int = 20,
    tolerance: float = 0.01,
    seed: int | None = None,
    limit_bytes: int | None = None,
) -> tuple[Assoc, Assoc]:
    """Approximates a non-negative array by `W @ H`, by alternating least squares in which negative
    values become 0: W is rows by topics, H is topics by columns. Topics are named 01, 02, ….

    Starts with random numbers (`seed`), and ends when a round changes the error (the root of
    the sum of squares) by no more than `tolerance`, or after `most_rounds`.

    >>> A = Assoc("a,a,b,b,c,d,", "x,y,x,y,z,z,", 1)
    >>> W, H = nmf(A, 2, seed=1)
    >>> (abs((W @ H) - A) > 0.05).nnz
    0
    """
    if not topics >= 1:
        raise InvalidArgumentError(f"topics: above 0, not {topics}", {"argument": "topics"})
    height, width = array.shape
    need = 8 * topics * (height + width)
    if not is_small(need, limit_bytes) and need > (limit := limit_of(limit_bytes)):
        what = f"{topics:,} topics for {height:,} rows and {width:,} columns are dense"
        raise too_large("topics", what, need, limit, "ask for fewer topics")
    matrix = numbers(array, "nmf").values
    if len(matrix) and matrix.min() < 0:
        raise InvalidArgumentError("array: nmf takes no negative values", {"argument": "array"})
    sparse = array.logical().to_scipy() if array.is_text else array.to_scipy()
    sparse = sparse.astype(np.float64)
    squares = float((sparse.data**2).sum())
    left = np.abs(np.random.default_rng(seed).normal(size=(height, topics)))
    right = np.zeros((topics, width))
    before = np.inf
    for _ in range(most_rounds):
        right = np.maximum(np.linalg.pinv(left.T @ left) @ (sparse.T @ left).T, 0)
        left = np.maximum((np.linalg.pinv(right @ right.T) @ (sparse @ right.T).T).T, 0)
        met = float(((sparse @ right.T) * left).sum())
        whole = float(((left.T @ left) * (right @ right.T)).sum())
        error = np.sqrt(max(squares - 2 * met + whole, 0.0))
        if abs(before - error) <= tolerance:
            break
        before = error
    digits = max(2, len(str(topics)))
    names = [f"{at:0{digits}d}" for at in range(1, topics + 1)]
    return (
        Assoc.from_scipy(left, array.row, names) if len(array) else Assoc(),
        Assoc.from_scipy(right, names, array.col) if len(array) else Assoc(),
    )


def _undirected(array: Assoc) -> Assoc:
    pattern = array.logical().nodiag()
    return pattern | pattern.transpose()


def _places(keys: Any, among: Any) -> Any:
    return keys.positions_in(among)


def _steps(steps: int) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InvalidArgumentError(
            f"steps: a whole number above 0, not {steps!r}", {"argument": "steps"}
        )
    return steps


def _start(start: Any) -> list[str]:
    return keys_of("start", start)


def _within(
    degrees: Any, keys: list[str], column: str, least: float | None, most: float | None
) -> list[str]:
    """The keys whose degree is within the bounds; keys without a degree are left out."""
    if least is None and most is None:
        return keys
    if degrees is None:
        raise InvalidArgumentError(
            "degrees: bounds of the degree need an array or a table of degrees",
            {"argument": "degrees"},
        )
    if not keys:
        return keys
    found = degrees[keys, [column]]
    if found.is_text:
        found = found.to_numbers()
    if least is not None:
        found = found >= least
    if most is not None:
        found = found <= most
    kept: list[str] = found.row.tolist()
    return kept


def _fetched(graph: Any, keys: list[str], separator: str | None) -> Assoc:
    if not keys:
        return Assoc()
    if separator is None:
        step: Assoc = graph[keys, :]
        return step
    return single_to_adj(graph[startswith([key + separator for key in keys]), :], separator)
