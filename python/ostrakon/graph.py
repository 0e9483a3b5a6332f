"""Graphs in tables: generating and writing them, and computing on them next to the data.

Every function takes an open store and the names of tables. It reads what the authorizations `auths`
allow. What it writes has the label `visibility`, combined with the label of an entry that is
copied. Results computed with authorizations need a label; `b""` makes them public. `relative_io` of
a result is the number of entries written per entry of the result.

>>> import ostrakon
>>> from ostrakon import graph
>>> with ostrakon.open() as store:
...     _ = graph.put_edges(store, "Tadj", ["alice", "alice", "bob"], ["bob", "carl", "dora"])
...     graph.bfs(store, "Tadj", "alice", steps=2).levels()
{'alice': 0, 'bob': 1, 'carl': 1, 'dora': 2}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ostrakon import _native
from ostrakon.arguments import (
    bytes_of,
    flag_of,
    integer_of,
    number_of,
    optional_bytes,
    optional_integer,
    optional_number,
    optional_text,
    text_of,
    wrong_type,
)
from ostrakon.assoc.items import split_delimited
from ostrakon.display import keys_shown, table_html
from ostrakon.errors import InvalidArgumentError, NotFoundError
from ostrakon.extras import load
from ostrakon.ranges import Range
from ostrakon.scan import auths_of

if TYPE_CHECKING:
    import pandas
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from ostrakon.assoc import Assoc
    from ostrakon.ranges import Bytes
    from ostrakon.store import Store
    from ostrakon.table import Table

__all__ = [
    "Bfs",
    "Components",
    "Factors",
    "Matrix",
    "Outcome",
    "Part",
    "Ranks",
    "bfs",
    "connected_components",
    "degree_table",
    "elementwise_product",
    "elementwise_sum",
    "jaccard",
    "k_truss",
    "kronecker",
    "nmf",
    "pagerank",
    "put_edges",
    "table_mult",
    "tfidf",
    "triangle_count",
]

Key: TypeAlias = str | bytes

_A_TABLE = "the name of a table"
_FORMS = "'adjacency', 'incidence' or 'single'"
_U32 = 2**32 - 1
_Parts: TypeAlias = tuple[
    tuple[bytearray, bytearray], tuple[bytearray, bytearray], bytearray, bytearray, bytearray
]


@dataclass(frozen=True)
class Part:
    """A table, or a part of it, as a matrix: rows are rows, qualifiers are columns.

    `rows` and `columns` are lists in D4M's form: each key is followed by a separator. `a,:,b,` is
    an inclusive range, `:,b,` and `a,:,` are unbounded ranges, and `al*,` is a prefix. `least` and
    `most` bound the values. `values` is `numbers`, `numbers_or_one` (text counts as 1) or `ones`.
    """

    table: str
    rows: str = ":"
    columns: str = ":"
    family: Bytes | None = None
    least: float | None = None
    most: float | None = None
    values: str = "numbers"


@dataclass(frozen=True, repr=False)
class Matrix:
    """A sparse matrix with sorted row and column keys."""

    rows: list[Key]
    columns: list[Key]
    offsets: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.indices)

    def to_scipy(self) -> csr_array[Any, Any]:
        """The matrix as a SciPy array in compressed sparse row format."""
        from scipy.sparse import csr_array

        shape = (len(self.rows), len(self.columns))
        return csr_array((self.values, self.indices, self.offsets), shape=shape)

    def triples(self) -> list[tuple[Key, Key, float]]:
        """Row key, column key and value of every entry, in order."""
        rows = np.repeat(np.arange(len(self.rows)), np.diff(self.offsets))
        entries = zip(rows.tolist(), self.indices.tolist(), self.values.tolist(), strict=True)
        return [(self.rows[row], self.columns[column], value) for row, column, value in entries]

    def to_assoc(self) -> Assoc:
        """The matrix as an associative array; keys must be texts."""
        from ostrakon.assoc import Assoc

        return Assoc.from_scipy(self.to_scipy(), self.rows, self.columns)

    def __repr__(self) -> str:
        return (
            f"<ostrakon.graph.Matrix of {len(self):,} entries, {len(self.rows):,} rows by "
            f"{len(self.columns):,} columns>"
        )

    def _repr_html_(self) -> str:
        entries = self._first(_SHOWN)
        return table_html(("row", "column", "value"), entries, repr(self))

    def _first(self, count: int) -> list[tuple[Key, Key, float]]:
        count = min(count, len(self))
        rows = np.searchsorted(self.offsets, np.arange(count), "right") - 1
        columns, values = self.indices[:count].tolist(), self.values[:count].tolist()
        entries = zip(rows.tolist(), columns, values, strict=True)
        return [(self.rows[row], self.columns[column], value) for row, column, value in entries]


# Maximum number of lines of a result that a notebook shows.
_SHOWN = 10


@dataclass(frozen=True, repr=False)
class Outcome:
    """The outcome of an algorithm; `matrix` is set if no result table was named."""

    entries_read: int
    entries_written: int = 0
    result_entries: int = 0
    relative_io: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    matrix: Matrix | None = None

    def _said(self) -> list[str]:
        """The findings of a subclass, as texts."""
        return []

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The header and the first lines of the findings."""
        return ("row", "column", "value"), [] if self.matrix is None else self.matrix._first(_SHOWN)

    def __repr__(self) -> str:
        said = [*self._said(), *(f"{name} {count:,}" for name, count in self.counts.items())]
        if self.matrix is not None:
            said.append(repr(self.matrix))
        said.append(f"{self.entries_read:,} entries read, {self.entries_written:,} written")
        return f"<ostrakon.graph.{type(self).__name__}: {', '.join(said)}>"

    def _repr_html_(self) -> str:
        heads, lines = self._lines()
        return table_html(heads if lines else (), lines, repr(self))


@dataclass(frozen=True, repr=False)
class Bfs(Outcome):
    """The result of a search: sorted vertices, and the step in which each was first reached."""

    vertices: list[Key] = field(default_factory=list)
    steps: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    last: list[Key] = field(default_factory=list)

    def levels(self) -> dict[Key, int]:
        """The step of each vertex."""
        return dict(zip(self.vertices, self.steps.tolist(), strict=True))

    def _said(self) -> list[str]:
        steps = int(self.steps.max()) if len(self.steps) else 0
        return [f"{len(self.vertices):,} vertices in {steps:,} steps"]

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        lines = zip(self.vertices[:_SHOWN], self.steps[:_SHOWN].tolist(), strict=True)
        return ("vertex", "step"), list(lines)


@dataclass(frozen=True, repr=False)
class Components(Outcome):
    """Connected components: sorted vertices, and for each the smallest vertex of its component."""

    vertices: list[Key] = field(default_factory=list)
    representatives: list[Key] = field(default_factory=list)

    def _said(self) -> list[str]:
        return [f"{len(self.vertices):,} vertices"]

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        lines = zip(self.vertices[:_SHOWN], self.representatives[:_SHOWN], strict=True)
        return ("vertex", "component"), list(lines)


@dataclass(frozen=True, repr=False)
class Ranks(Outcome):
    """Sorted vertices and their ranks, which add up to 1."""

    vertices: list[Key] = field(default_factory=list)
    ranks: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    converged: bool = True

    def _said(self) -> list[str]:
        top = keys_shown([self.vertices[at] for at in self._order()])
        said = f"{len(self.vertices):,} vertices, the first {top}"
        return [said if self.converged else f"{said}, not converged"]

    def to_pandas(self) -> pandas.DataFrame:
        """The vertices and ranks as a pandas frame, highest rank first."""
        order = np.argsort(-self.ranks, kind="stable")
        frame: pandas.DataFrame = load("pandas", "pandas").DataFrame(
            {"vertex": [self.vertices[at] for at in order], "rank": self.ranks[order]}
        )
        return frame

    def _order(self) -> list[int]:
        order: list[int] = np.argsort(-self.ranks, kind="stable")[:_SHOWN].tolist()
        return order

    def _lines(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        lines = [(self.vertices[at], float(self.ranks[at])) for at in self._order()]
        return ("vertex", "rank"), lines


@dataclass(frozen=True, repr=False)
class Factors(Outcome):
    """Non-negative factors: W (documents x topics), H (topics x words), the error of each round."""

    documents: list[Key] = field(default_factory=list)
    words: list[Key] = field(default_factory=list)
    w: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    h: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    errors: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def _said(self) -> list[str]:
        error = f", error {self.errors[-1]:.3g}" if len(self.errors) else ""
        topics = self.w.shape[1]
        said = f"{len(self.documents):,} documents, {topics:,} topics, {len(self.words):,} words"
        return [said + error]


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
        integer_of("scale", scale, "a number, such as 10", 0, _U32),
        number_of("edges_per_vertex", edges_per_vertex, "a number, such as 8"),
        integer_of("seed", seed, "a number"),
        flag_of("permuted", permuted),
        integer_of("part", part[0], "a pair of numbers", 0, _U32),
        integer_of("part", part[1], "a pair of numbers", 0, _U32),
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
    context = _context(None, visibility, None, None)
    edges = (rows, columns, weights)
    return _native.graph_write(
        store._native,
        context,
        text_of("form", form, _FORMS),
        text_of("name", name, _A_TABLE),
        integer_of("first_edge", first_edge, "a number"),
        edges,
    )


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
            text_of("degrees", degrees, _A_TABLE),
            column,
            "Out|" if form == "incidence" else "",
            number_of("least_degree", least_degree, "a number"),
            number_of("most_degree", most_degree, "a number"),
        )
    search = {
        "form": text_of("form", form, _FORMS),
        "table": text_of("table", table, _A_TABLE),
        "transpose": optional_text("transpose", transpose, _A_TABLE),
        "steps": integer_of("steps", steps, "a number of steps", 0, _U32),
        "degrees": limits,
        "union": flag_of("union", union),
        "revisit": flag_of("revisit", revisit),
        "outputs": _outputs(result, result_transpose, flag_of("collect", collect)),
    }
    if isinstance(start, str):
        start = split_delimited(start)
    context = _context(auths, visibility, memory_bytes, None)
    _check_vertices(store, (form, table, transpose), start, auths)
    found = _native.graph_search(store._native, context, start, search)
    vertices = _keys(found.pop("vertices"))
    last = np.frombuffer(found.pop("last"), np.uint32)
    return Bfs(
        steps=np.frombuffer(found.pop("levels"), np.uint32),
        last=[vertices[at] for at in last.tolist()],
        vertices=vertices,
        **_outcome(found),
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
    >>> with ostrakon.open() as store:
    ...     _ = put_edges(store, "A", ["ann", "ann"], ["x", "y"], [2, 3])
    ...     table_mult(store, "A", "A", part="upper").matrix.triples()
    [('x', 'y', 6.0)]
    """
    context = _context(auths, visibility, memory_bytes, threads)
    outputs = _outputs(result, result_transpose, _collect(collect, result, result_transpose))
    tables = (_part(left, "left"), _part(right, "right"))
    semiring = text_of("semiring", semiring, "two names, such as 'plus.times'")
    part = text_of("part", part, "'all', 'off_diagonal' or 'upper'")
    done = _native.graph_multiply(store._native, context, tables, semiring, part, outputs)
    return Outcome(**_outcome(done))


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
    context = _context(auths, visibility, memory_bytes, None)
    outputs = _outputs(result, result_transpose, _collect(collect, result, result_transpose))
    tables = (_part(left, "left"), _part(right, "right"))
    operation = text_of("operation", operation, "a function, such as 'plus'")
    done = _native.graph_elementwise(store._native, context, tables, union, operation, outputs)
    return Outcome(**_outcome(done))


def jaccard(store: Store, table: str | Part, *, result: str | None = None, **where: Any) -> Outcome:
    """For each two vertices with common neighbours: common neighbours / neighbours of either.

    The graph is treated as undirected and unweighted. `counts` has `pairs`. Further options, as for
    all functions below: `collect`, `auths`, `visibility`, `memory_bytes`, `threads`.
    """
    return Outcome(**_outcome(_compute(store, "jaccard", table, result=result, **where)))


def k_truss(
    store: Store,
    table: str | Part,
    k: int,
    *,
    form: str = "adjacency",
    result: str | None = None,
    **where: Any,
) -> Outcome:
    """The largest subgraph in which every edge is in at least k - 2 triangles.

    `form` is `adjacency`, or `incidence` for a table of edges with `Out|` and `In|` columns.
    """
    if form not in ("adjacency", "incidence"):
        raise InvalidArgumentError(
            f"`form` must be adjacency or incidence, not {form!r}", {"argument": "form"}
        )
    k = integer_of("k", k, "a number, such as 3", 0, _U32)
    name = "k_truss" if form == "adjacency" else "k_truss_incidence"
    return Outcome(**_outcome(_compute(store, name, table, result=result, count=k, **where)))


def triangle_count(store: Store, table: str | Part, **where: Any) -> int:
    """The number of triangles of the graph, without regard to directions and loops."""
    return int(_compute(store, "triangle_count", table, **where)["triangles"])


def connected_components(
    store: Store, table: str | Part, *, result: str | None = None, **where: Any
) -> Components:
    """The connected components, without regard to directions; `counts` has `components`."""
    found = _compute(store, "connected_components", table, result=result, **where)
    vertices = _keys(found.pop("vertices"))
    smallest = np.frombuffer(found.pop("representatives"), np.uint32)
    return Components(
        representatives=[vertices[at] for at in smallest.tolist()],
        vertices=vertices,
        **_outcome(found),
    )


def pagerank(
    store: Store,
    table: str | Part,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    rounds_max: int = 100,
    result: str | None = None,
    **where: Any,
) -> Ranks:
    """Ranks vertices by PageRank; values are the weights of edges.

    It has converged when the ranks of n vertices change in total by less than n times `tolerance`.
    """
    found = _compute(
        store,
        "pagerank",
        table,
        result=result,
        damping=damping,
        tolerance=tolerance,
        rounds_max=rounds_max,
        **where,
    )
    return Ranks(
        vertices=_keys(found.pop("vertices")),
        ranks=np.frombuffer(found.pop("ranks"), np.float64),
        converged=found.pop("converged"),
        **_outcome(found),
    )


def tfidf(store: Store, table: str | Part, *, result: str | None = None, **where: Any) -> Outcome:
    """Weights of words (columns) in documents (rows): value * ln(documents / documents with it)."""
    return Outcome(**_outcome(_compute(store, "tfidf", table, result=result, **where)))


def nmf(
    store: Store,
    table: str | Part,
    topics: int,
    *,
    rounds_max: int = 20,
    tolerance: float = 0.01,
    seed: int = 1,
    documents_result: str | None = None,
    words_result: str | None = None,
    **where: Any,
) -> Factors:
    """Approximates a table by the product of two smaller non-negative matrices."""
    topics = integer_of("topics", topics, "a number of topics", 0, _U32)
    found = _compute(
        store,
        "nmf",
        table,
        result=documents_result,
        second_result=words_result,
        count=topics,
        rounds_max=rounds_max,
        tolerance=tolerance,
        seed=seed,
        **where,
    )
    w = np.frombuffer(found.pop("document_topics"), np.float64)
    h = np.frombuffer(found.pop("word_topics"), np.float64)
    return Factors(
        documents=_keys(found.pop("documents")),
        words=_keys(found.pop("words")),
        w=w.reshape(-1, topics),
        h=h.reshape(-1, topics).T,
        errors=np.frombuffer(found.pop("errors"), np.float64),
        **_outcome(found),
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
    done = _compute(
        store, "degree_table", table, result=result, count=count, column=column, **where
    )
    return Outcome(**_outcome({"entries_read": 0, **done}))


_DEFAULTS: dict[str, Any] = {
    "result": None,
    "second_result": None,
    "count": 0,
    "rounds_max": 0,
    "tolerance": 0.0,
    "damping": 0.0,
    "seed": 0,
    "column": b"",
}


_OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "result": lambda name, given: optional_text(name, given, _A_TABLE),
    "second_result": lambda name, given: optional_text(name, given, _A_TABLE),
    # Checked under the names that the functions give it.
    "count": lambda _, given: given,
    "rounds_max": lambda name, given: integer_of(name, given, "a number of rounds"),
    "tolerance": lambda name, given: number_of(name, given, "a number, such as 0.01"),
    "damping": lambda name, given: number_of(name, given, "a number, such as 0.85"),
    "seed": lambda name, given: integer_of(name, given, "a number"),
    "column": bytes_of,
}


def _compute(
    store: Store,
    algorithm: str,
    table: str | Part,
    *,
    collect: bool | None = None,
    auths: Iterable[Bytes] | None = None,
    visibility: Bytes | None = None,
    memory_bytes: int | None = None,
    threads: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    unknown = options.keys() - _DEFAULTS.keys()
    if unknown:
        raise TypeError(f"{algorithm}() got an unexpected argument {min(unknown)!r}")
    context = _context(auths, visibility, memory_bytes, threads)
    given = {
        **_DEFAULTS,
        **{name: _OPTIONS[name](name, value) for name, value in options.items()},
        "collect": _collect(collect, options.get("result"), None),
    }
    return _native.graph_compute(store._native, context, algorithm, _part(table), given)


def _context(
    auths: Iterable[Bytes] | None,
    visibility: Bytes | None,
    memory_bytes: int | None,
    threads: int | None,
) -> dict[str, Any]:
    return {
        "auths": auths_of(auths),
        "visibility": optional_bytes("visibility", visibility, "a label, such as 'hr|audit'"),
        "memory_bytes": optional_integer("memory_bytes", memory_bytes, "a number of bytes"),
        "threads": optional_integer("threads", threads, "a number of threads"),
    }


def _part(table: str | Part, argument: str = "table") -> dict[str, Any]:
    if not isinstance(table, Part):
        return vars(Part(text_of(argument, table, f"{_A_TABLE}, or a `Part`")))
    keys = "a list of keys in D4M's form, such as 'a,b,'"
    return {
        "table": text_of("table", table.table, _A_TABLE),
        "rows": text_of("rows", table.rows, keys),
        "columns": text_of("columns", table.columns, keys),
        "family": optional_bytes("family", table.family),
        "least": optional_number("least", table.least, "a number"),
        "most": optional_number("most", table.most, "a number"),
        "values": text_of("values", table.values, "'numbers', 'numbers_or_one' or 'ones'"),
    }


def _outputs(
    result: str | None, transpose: str | None, collect: bool
) -> tuple[str | None, str | None, bool]:
    return (
        optional_text("result", result, _A_TABLE),
        optional_text("result_transpose", transpose, _A_TABLE),
        collect,
    )


def _collect(collect: bool | None, *results: str | None) -> bool:
    if collect is None:
        return all(result is None for result in results)
    return flag_of("collect", collect)


def _keys(parts: tuple[bytearray, bytearray]) -> list[Key]:
    data = bytes(parts[0])
    ends = np.frombuffer(parts[1], np.uint64).tolist()
    starts = [0, *ends[:-1]] if ends else []
    keys = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    try:
        return [key.decode() for key in keys]
    except UnicodeDecodeError:
        # If one key is not text, all keys stay bytes, because a list of one type can be sorted.
        return list(keys)


def _matrix(parts: _Parts | None) -> Matrix | None:
    if parts is None:
        return None
    rows, columns, offsets, indices, values = parts
    return Matrix(
        rows=_keys(rows),
        columns=_keys(columns),
        offsets=np.frombuffer(offsets, np.int64),
        indices=np.frombuffer(indices, np.int32),
        values=np.frombuffer(values, np.float64),
    )


_KNOWN = ("entries_read", "entries_written", "result_entries", "relative_io")


def _outcome(found: Mapping[str, Any]) -> dict[str, Any]:
    rest = dict(found)
    outcome: dict[str, Any] = {name: rest.pop(name) for name in _KNOWN if name in rest}
    outcome["matrix"] = _matrix(rest.pop("matrix", None))
    outcome["counts"] = rest
    return outcome
