"""Tables that speak D4M: a table answers `T[rows, cols]` with an associative array.

>>> from ostrakon import Assoc
>>> from ostrakon.d4m import DB
>>> with DB() as db:
...     T = db["Tadj", "TadjT"]
...     T += Assoc("alice,alice,bob,", "bob,carl,carl,", [1, 2, 3])
...     print(T["alice,", :])
...     print(T[:, "carl,"])
('alice', 'bob')  1
('alice', 'carl')  2
('alice', 'carl')  2
('bob', 'carl')  3

Rows and columns of the array are rows and column qualifiers of the table. Values are stored as
text; numbers come back as numbers.
"""

from __future__ import annotations

from ostrakon.d4m.chunks import ChunkIterator
from ostrakon.d4m.combiners import COMBINERS
from ostrakon.d4m.database import DB
from ostrakon.d4m.forms import adj_to_edge, adj_to_single, edge_to_adj, single_to_adj
from ostrakon.d4m.graphs import Adjacency, Incidence, SingleTable
from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.records import Ingested, Records
from ostrakon.d4m.settings import Settings
from ostrakon.d4m.table import AssocTable, SplitReport

__all__ = [
    "COMBINERS",
    "DB",
    "Adjacency",
    "AssocPair",
    "AssocTable",
    "ChunkIterator",
    "Incidence",
    "Ingested",
    "Records",
    "Settings",
    "SingleTable",
    "SplitReport",
    "adj_to_edge",
    "adj_to_single",
    "edge_to_adj",
    "single_to_adj",
]
