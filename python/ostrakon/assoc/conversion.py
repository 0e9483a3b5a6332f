"""To and from pandas, polars, Arrow, SciPy, NetworkX, GraphBLAS and dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon.assoc.engines import to_scipy
from ostrakon.assoc.keys import Keys, TextKeys
from ostrakon.assoc.machine import Array
from ostrakon.errors import InvalidArgumentError
from ostrakon.extras import load

if TYPE_CHECKING:
    from ostrakon.assoc.core import Assoc


def to_dict(array: Assoc) -> dict[Any, dict[Any, Any]]:
    """Row key → column key → value."""
    nested: dict[Any, dict[Any, Any]] = {}
    for row, col, value in array:
        nested.setdefault(row, {})[col] = value
    return nested


def to_dict2(array: Assoc) -> dict[tuple[Any, Any], Any]:
    """(Row key, column key) → value."""
    return {(row, col): value for row, col, value in array}


def from_dict(cls: type[Assoc], /, entries: Mapping[Any, Any]) -> Assoc:
    """From either form of `to_dict`.

    >>> from ostrakon import Assoc
    >>> Assoc.from_dict({"a": {"x": 1}, "b": {"y": 2}})
    ('a', 'x')  1
    ('b', 'y')  2
    """
    triples: list[tuple[Any, Any, Any]] = []
    for key, value in entries.items():
        if isinstance(value, Mapping):
            triples.extend((key, col, inner) for col, inner in value.items())
        elif isinstance(key, tuple) and len(key) == 2:
            triples.append((*key, value))
        else:
            raise InvalidArgumentError(
                f"entries: {key!r} is not a pair (row, column), and its value is not a mapping of "
                "columns"
            )
    return _of(cls, *([triple[at] for triple in triples] for at in range(3)))


def _of(cls: type[Assoc], /, row: Any, col: Any, val: Any, **options: Any) -> Assoc:
    return cls(row, col, val, **options)


def to_arrow(array: Assoc) -> Any:
    """A `pyarrow.Table` of the columns row, col, val; texts are dictionary-encoded."""
    pa = load("pyarrow", "arrow")
    matrix = array._matrix
    values = matrix.values
    val = pa.array(values) if array._val is None else _arrow_keys(array._val, values)
    return pa.table(
        {
            "row": _arrow_keys(array._row, matrix.rows()),
            "col": _arrow_keys(array._col, matrix.columns),
            "val": val,
        }
    )


def from_arrow(
    cls: type[Assoc],
    /,
    table: Any,
    row: str = "row",
    col: str = "col",
    val: str = "val",
    **options: Any,
) -> Assoc:
    """From an Arrow table (or anything with the Arrow stream interface) of triples, by the
    names of three columns. Options are those of `Assoc`."""
    pa = load("pyarrow", "arrow")
    if not isinstance(table, pa.Table):
        table = pa.table(table)
    return _of(cls, *_columns(table, table.column_names, row, col, val), **options)


def to_pandas(array: Assoc, wide: bool = False) -> Any:
    """A data frame of the columns row, col, val; or `wide`, rows by columns with gaps."""
    pd = load("pandas", "pandas")
    rows, cols, values = array.find()
    frame = pd.DataFrame({"row": _objects(rows), "col": _objects(cols), "val": _objects(values)})
    if not wide:
        return frame
    return frame.pivot(index="row", columns="col", values="val")


def from_pandas(
    cls: type[Assoc],
    /,
    frame: Any,
    row: str | None = "row",
    col: str = "col",
    val: str = "val",
    **options: Any,
) -> Assoc:
    """From a data frame of triples; with `row=None` from a wide one, whose index has the row
    keys and whose gaps make no entry."""
    if row is not None:
        return _of(cls, *_columns(frame, list(frame.columns), row, col, val), **options)
    rows: list[Any] = []
    cols: list[Any] = []
    values: list[Any] = []
    index = np.asarray(frame.index)
    for name in frame.columns:
        column = frame[name]
        there = np.flatnonzero(column.notna().to_numpy())
        rows.extend(index[there].tolist())
        cols.extend([name] * len(there))
        values.extend(column.iloc[there].tolist())
    if len({isinstance(value, str) for value in values}) > 1:
        values = [value if isinstance(value, str) else str(value) for value in values]
    return _of(cls, rows, cols, values, **options)


def to_polars(array: Assoc) -> Any:
    """A polars data frame of the columns row, col, val."""
    pl, pa = load("polars", "polars"), load("pyarrow", "polars")
    table = array.to_arrow()
    plain = [
        column.cast(pa.large_string()) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pl.from_arrow(pa.table(dict(zip(table.column_names, plain, strict=True))))


def from_polars(
    cls: type[Assoc],
    /,
    frame: Any,
    row: str = "row",
    col: str = "col",
    val: str = "val",
    **options: Any,
) -> Assoc:
    """From a polars data frame of triples."""
    load("pyarrow", "polars")
    return cls.from_arrow(frame.to_arrow(), row, col, val, **options)


def to_scipy_(array: Assoc) -> Any:
    """A `scipy.sparse.csr_array` of the values; texts by their 1-based positions in `val`."""
    values = array._matrix.values
    if array._val is not None:
        values = values.astype(np.int64) + 1
    elif values.dtype.kind in "mM":
        values = values.view(np.int64)
    return to_scipy(array._matrix, values)


def from_scipy(cls: type[Assoc], /, matrix: Any, row: Any = None, col: Any = None) -> Assoc:
    """From a sparse matrix and its keys in order of its rows and columns (not necessarily
    sorted); without keys, from positions."""
    import scipy.sparse

    matrix = scipy.sparse.coo_array(matrix)
    axes = []
    for name, keys, size, places in (
        ("row", row, matrix.shape[0], matrix.row),
        ("col", col, matrix.shape[1], matrix.col),
    ):
        if keys is None:
            axes.append(places.astype(np.int64))
            continue
        axes.append(_key_array(name, keys, size)[places])
    return _of(cls, axes[0], axes[1], matrix.data, aggregate="sum")


def to_networkx(array: Assoc, directed: bool = True) -> Any:
    """A NetworkX graph: an edge from row key to column key for each entry, its value as
    `weight`."""
    nx = load("networkx", "networkx")
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_weighted_edges_from(array)
    return graph


def from_networkx(
    cls: type[Assoc], /, graph: Any, weight: str = "weight", default: Any = 1
) -> Assoc:
    """From a NetworkX graph; an undirected edge is stored both ways. Parallel edges add up."""
    edges = [(one, two, data.get(weight, default)) for one, two, data in graph.edges(data=True)]
    if not graph.is_directed():
        edges += [(two, one, value) for one, two, value in edges if one != two]
    return _of(cls, *([edge[at] for edge in edges] for at in range(3)), aggregate="sum")


def to_graphblas(array: Assoc) -> Any:
    """A `graphblas.Matrix` of the values; keys are left behind in `row` and `col`."""
    gb = load("graphblas", "graphblas")
    return gb.io.from_scipy_sparse(array.to_scipy())


def from_graphblas(cls: type[Assoc], /, matrix: Any, row: Any = None, col: Any = None) -> Assoc:
    """From a `graphblas.Matrix` and its keys, as `from_scipy`."""
    gb = load("graphblas", "graphblas")
    return cls.from_scipy(gb.io.to_scipy_sparse(matrix, "coo"), row, col)


def _key_array(name: str, keys: Any, size: int) -> Array:
    from ostrakon.assoc.items import read_items, resolve

    found, places = resolve([read_items(name, keys)])[0]
    if len(places) != size:
        raise InvalidArgumentError(f"{name}: {len(places)} keys for {size} of the matrix")
    return found.spread(places)


def _arrow_keys(keys: Keys, places: Array) -> Any:
    pa = load("pyarrow", "arrow")
    if not isinstance(keys, TextKeys):
        return pa.array(keys.to_numpy()[places])
    content, offsets = keys.native.to_buffers()
    texts = pa.LargeStringArray.from_buffers(
        len(keys), pa.py_buffer(offsets), pa.py_buffer(content)
    )
    # Other libraries read signed indices only.
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), texts)


def _columns(table: Any, names: list[str], *wanted: str) -> list[Any]:
    for name in wanted:
        if name not in names:
            raise InvalidArgumentError(f"there is no column {name!r}; there are {', '.join(names)}")
    return [table[name] for name in wanted]


def _objects(array: Array) -> Array:
    return array.astype(object) if array.dtype.kind == "U" else array
