"""Graphs as arrays: from adjacency to incidence and to a single table, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostrakon.assoc import Assoc, startswith
from ostrakon.d4m.ids import flipped
from ostrakon.errors import InvalidArgumentError


def adj_to_edge(
    array: Assoc,
    start: str = "Out|",
    end: str = "In|",
    *,
    edge_prefix: str = "",
    first: int = 1,
    width: int | None = None,
    flip: bool = True,
) -> Assoc:
    """An adjacency array as an incidence array: a row for each edge, with columns `Out|v` and
    `In|w` and the weight as the value of both. Edges are numbered from `first` on, in the order of
    `find()`.

    >>> adj_to_edge(Assoc("a,", "b,", 3))
    ('1', 'In|b')  3
    ('1', 'Out|a')  3
    """
    if start == end:
        raise InvalidArgumentError(
            "start and end: prefixes must differ, or an edge has no direction", {"argument": "end"}
        )
    rows, cols, values = array.to_text().find() if array.is_text else array.find()
    if len(rows) == 0:
        return Assoc()
    numbers = range(first, first + len(rows))
    width = max(width or 0, len(str(numbers[-1])))
    names = flipped(numbers, width) if flip else [f"{number:0{width}d}" for number in numbers]
    ids = np.array([edge_prefix + name for name in names])
    return Assoc(
        np.concatenate([ids, ids]),
        np.concatenate([_prefixed(start, rows), _prefixed(end, cols)]),
        np.concatenate([values, values]),
    )


def edge_to_adj(edges: Assoc, start: str = "Out|", end: str = "In|") -> Assoc:
    """An incidence array as an adjacency array: an edge of several ends becomes one of each to
    each; parallel edges add up their weights. The weight is that of the column `Out|v`.

    >>> edge_to_adj(adj_to_edge(Assoc("a,b,", "b,c,", [3, 1])))
    ('a', 'b')  3
    ('b', 'c')  1
    """
    out = _stripped(edges[:, startswith([start])], start)
    into = _stripped(edges[:, startswith([end])], end)
    return out.transpose() @ into.logical()


def adj_to_single(array: Assoc, separator: str = "|", column: str = "edge") -> Assoc:
    """An adjacency array as a single-table graph: rows `v|w` with the weight in the column `edge`,
    and rows `v` with the columns `OutDeg` and `InDeg`, sums of weights.

    >>> adj_to_single(Assoc("a,", "b,", 3))
    ('a', 'OutDeg')  3
    ('a|b', 'edge')  3
    ('b', 'InDeg')  3
    """
    for name, keys in (("row", array.row), ("col", array.col)):
        held = [key for key in keys.tolist() if separator in str(key)]
        if held:
            raise InvalidArgumentError(
                f"{name}: the key {held[0]!r} holds the separator {separator!r}: choose "
                "another one",
                {"argument": "separator"},
            )
    if len(array) == 0:
        return Assoc()
    rows, cols, values = array.find()
    names = np.char.add(np.char.add(rows.astype("U"), separator), cols.astype("U"))
    edges = Assoc(names, column, values)
    out: Assoc = array.sum(1).put_col("OutDeg")
    into: Assoc = array.sum(0).transpose().put_col("InDeg")
    return edges + out + into


def single_to_adj(array: Assoc, separator: str = "|", column: str = "edge") -> Assoc:
    """The edges of a single-table graph as an adjacency array.

    >>> single_to_adj(adj_to_single(Assoc("a,", "b,", 3)))
    ('a', 'b')  3
    """
    edges = array[:, column]
    if len(edges) == 0:
        return edges
    rows, _, values = edges.find()
    pairs = [row.split(separator, 1) for row in rows.tolist()]
    wrong = next((row for row, pair in zip(rows, pairs, strict=True) if len(pair) != 2), None)
    if wrong is not None:
        raise InvalidArgumentError(
            f"array: the row {wrong!r} of an edge holds no {separator!r}", {"argument": "array"}
        )
    return Assoc([pair[0] for pair in pairs], [pair[1] for pair in pairs], values, "sum")


def _prefixed(prefix: str, keys: Any) -> Any:
    return np.char.add(prefix, keys.astype("U"))


def _stripped(array: Assoc, prefix: str) -> Assoc:
    if len(array) == 0:
        return array
    return array.put_col([key[len(prefix) :] for key in array.col.tolist()])
