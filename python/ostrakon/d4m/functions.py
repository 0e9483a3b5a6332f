"""D4M's functions by their own names and with their own order of arguments. Each is a line or two
over the name in Python's style. What is a method of `Assoc` (`A.sqIn()`) is not repeated here.
"""
# ruff: noqa: N802, N803, D103, PLR0917

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ostrakon.assoc import Assoc, startswith
from ostrakon.assoc.files import read_lines
from ostrakon.assoc.selectors import Selector
from ostrakon.d4m.algorithms import (
    EdgeSearch,
    adj_bfs,
    edge_bfs,
    jaccard,
    k_truss_adj,
    k_truss_edge,
    nmf,
)
from ostrakon.d4m.forms import adj_to_edge, adj_to_single, single_to_adj
from ostrakon.d4m.texts import StrPath, cat_str, read_text, split_str, write_text
from ostrakon.errors import InvalidArgumentError

__all__ = [
    "NMF",
    "Adj2Edge",
    "Adj2OutInRow",
    "AdjBFS",
    "Assoc2CSVstr",
    "Assoc2JSONCSV",
    "CSVstr2assoc",
    "CatStr",
    "EdgeBFS",
    "FindCSV",
    "FindCSVsimple",
    "HierAdd",
    "HierAddFinal",
    "JSONCSV2assoc",
    "Jaccard",
    "OutInRow2Adj",
    "SplitStr",
    "StartsWith",
    "StrFileRead",
    "StrFileWrite",
    "Text2word",
    "assoc_equal",
    "kTrussAdj",
    "kTrussEdge",
    "parseJSON",
]

Array = Any


def CatStr(left: Any, separator: str, right: Any) -> Any:
    return cat_str(left, separator, right)


def SplitStr(texts: Any, separator: str) -> tuple[Any, Any]:
    return split_str(texts, separator)


def StartsWith(prefixes: str | list[str]) -> Selector:
    return startswith(prefixes)


def StrFileRead(path: StrPath) -> str:
    return read_text(path)


def StrFileWrite(text: str, path: StrPath) -> None:
    write_text(text, path)


def Text2word(array: Assoc, separator: str | None = None) -> Assoc:
    return array.words(separator)


def assoc_equal(one: Assoc, other: Assoc) -> bool:
    return one.equals(other)


def HierAdd(levels: Sequence[Assoc], array: Assoc, cuts: Sequence[int]) -> list[Assoc]:
    """Adds an array to the first level; each level with more entries than its cut goes on into the
    next. There is one level more than cuts. `ostrakon.HierAssoc` keeps the levels itself.

    >>> levels = HierAdd([Assoc(), Assoc()], Assoc("a,b,", "x,", 1), [1])
    >>> [len(level) for level in levels]
    [0, 2]
    """
    made = list(levels)
    if len(made) != len(cuts) + 1:
        raise InvalidArgumentError(
            f"cuts: {len(cuts)} for {len(made)} levels; there is one level more than cuts",
            {"argument": "cuts"},
        )
    made[0] = made[0] + array
    for at, cut in enumerate(cuts):
        if len(made[at]) <= cut:
            break
        made[at + 1] = made[at + 1] + made[at]
        made[at] = Assoc()
    return made


def HierAddFinal(levels: Sequence[Assoc]) -> Assoc:
    total = Assoc()
    for level in levels:
        total = total + level
    return total


def FindCSV(
    path: StrPath, *, labels: bool = True, triples: bool = False, delimiter: str | None = None
) -> tuple[Array, Array, Array]:
    """Rows, columns and values of a CSV file, as they stand there: places may repeat."""
    tabs = str(path).endswith((".tsv", ".tab"))
    delimiter = delimiter or ("\t" if tabs else ",")
    with Path(path).open(newline="", encoding="utf-8-sig") as lines:
        rows, cols, values = read_lines(str(path), lines, labels, triples, delimiter=delimiter)
    return np.array(rows), np.array(cols), np.array(values)


FindCSVsimple = FindCSV


def CSVstr2assoc(text: str, row_separator: str = "\n", col_separator: str = ",") -> Assoc:
    return Assoc.from_csv(text, delimiter=col_separator, row_separator=row_separator)


def Assoc2CSVstr(array: Assoc, row_separator: str = "\n", col_separator: str = ",") -> str:
    return array.to_csv(delimiter=col_separator, row_separator=row_separator)


def Assoc2JSONCSV(array: Assoc, row_separator: str = "\n", col_separator: str = ",") -> str:
    """A JSON object of a table as CSV and its two separators: `rowSeparator`, `columnSeparator`,
    `CSV`."""
    return json.dumps(
        {
            "rowSeparator": row_separator,
            "columnSeparator": col_separator,
            "CSV": Assoc2CSVstr(array, row_separator, col_separator),
        },
        ensure_ascii=False,
    )


def JSONCSV2assoc(text: str) -> Assoc:
    """Reads what `Assoc2JSONCSV` gives."""
    found = parseJSON(text)
    names = ("CSV", "rowSeparator", "columnSeparator")
    parts = [found.get(name) for name in names] if isinstance(found, dict) else [None]
    if not all(isinstance(part, str) for part in parts):
        raise InvalidArgumentError(
            "text: a JSON object of the texts CSV, rowSeparator and columnSeparator is needed",
            {"argument": "text"},
        )
    return CSVstr2assoc(*parts)


def parseJSON(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"text: no JSON: {error}", {"argument": "text"}) from None


def Adj2Edge(
    array: Assoc,
    start: str = "Out",
    end: str = "In",
    separator: str = "|",
    edge_prefix: str = "",
    zero_pad: int | None = None,
) -> Assoc:
    return adj_to_edge(
        array,
        _prefix(start, separator),
        _prefix(end, separator),
        edge_prefix=edge_prefix,
        width=zero_pad,
    )


def Adj2OutInRow(array: Assoc, separator: str = "|") -> Assoc:
    return adj_to_single(array, separator)


def OutInRow2Adj(array: Assoc, separator: str = "|") -> Assoc:
    return single_to_adj(array, separator)


def AdjBFS(
    A: Any,
    Adeg: Any,
    degree_column: str,
    start: Any,
    steps: int,
    least: float | None = None,
    most: float | None = None,
    union: bool = False,
    *,
    separator: str | None = None,
) -> Assoc:
    return adj_bfs(
        A,
        start,
        steps,
        degrees=Adeg,
        degree_column=_one(degree_column),
        least=least,
        most=most,
        union=union,
        separator=separator,
    )


def EdgeBFS(
    E: Any,
    out: str,
    into: str,
    separator: str,
    Edeg: Any,
    start: Any,
    steps: int,
    least: float | None = None,
    most: float | None = None,
    union: bool = False,
) -> EdgeSearch:
    return edge_bfs(
        E,
        start,
        steps,
        out=_prefix(out, separator),
        into=_prefix(into, separator),
        degrees=Edeg,
        least=least,
        most=most,
        union=union,
    )


def Jaccard(A: Assoc) -> Assoc:
    return jaccard(A)


def kTrussAdj(A: Assoc, k: int) -> Assoc:
    return k_truss_adj(A, k)


def kTrussEdge(E: Assoc, k: int) -> Assoc:
    return k_truss_edge(E, k)


def NMF(A: Assoc, k: int, **options: Any) -> tuple[Assoc, Assoc]:
    return nmf(A, k, **options)


def _one(text: str) -> str:
    """D4M gives single names as lists of one: `'OutDeg,'`."""
    from ostrakon.assoc.items import split_delimited

    return split_delimited(text)[0]


def _prefix(name: str, separator: str) -> str:
    return _one(name) + separator
