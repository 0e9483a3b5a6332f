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

from ostrakon.graph.algorithms import (
    connected_components,
    jaccard,
    k_truss,
    nmf,
    pagerank,
    tfidf,
    triangle_count,
)
from ostrakon.graph.calls import Part
from ostrakon.graph.products import elementwise_product, elementwise_sum, table_mult
from ostrakon.graph.results import Bfs, Components, Factors, Matrix, Outcome, Ranks
from ostrakon.graph.search import bfs
from ostrakon.graph.writing import degree_table, kronecker, put_edges

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
