"""Tables with D4M's interface: `T[rows, cols]` returns an associative array.

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

from ostrakon.d4m.algorithms import (
    EdgeSearch,
    adj_bfs,
    edge_bfs,
    jaccard,
    k_truss_adj,
    k_truss_edge,
    nmf,
)
from ostrakon.d4m.chunks import ChunkIterator
from ostrakon.d4m.combiners import COMBINERS
from ostrakon.d4m.database import DB
from ostrakon.d4m.forms import adj_to_edge, adj_to_single, edge_to_adj, single_to_adj
from ostrakon.d4m.functions import (
    NMF,
    Adj2Edge,
    Adj2OutInRow,
    AdjBFS,
    Assoc2CSVstr,
    Assoc2JSONCSV,
    CatStr,
    CSVstr2assoc,
    EdgeBFS,
    FindCSV,
    FindCSVsimple,
    HierAdd,
    HierAddFinal,
    Jaccard,
    JSONCSV2assoc,
    OutInRow2Adj,
    SplitStr,
    StartsWith,
    StrFileRead,
    StrFileWrite,
    Text2word,
    assoc_equal,
    kTrussAdj,
    kTrussEdge,
    parseJSON,
)
from ostrakon.d4m.graphs import Adjacency, Incidence, SingleTable
from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.record_batches import Ingested
from ostrakon.d4m.records import Records
from ostrakon.d4m.settings import Settings
from ostrakon.d4m.table import AssocTable, SplitReport
from ostrakon.d4m.texts import cat_str, split_str
from ostrakon.d4m.upkeep import DegreeError, PairReport, UpkeepReport

__all__ = [
    "COMBINERS",
    "DB",
    "NMF",
    "Adj2Edge",
    "Adj2OutInRow",
    "AdjBFS",
    "Adjacency",
    "Assoc2CSVstr",
    "Assoc2JSONCSV",
    "AssocPair",
    "AssocTable",
    "CSVstr2assoc",
    "CatStr",
    "ChunkIterator",
    "DegreeError",
    "EdgeBFS",
    "EdgeSearch",
    "FindCSV",
    "FindCSVsimple",
    "HierAdd",
    "HierAddFinal",
    "Incidence",
    "Ingested",
    "JSONCSV2assoc",
    "Jaccard",
    "OutInRow2Adj",
    "PairReport",
    "Records",
    "Settings",
    "SingleTable",
    "SplitReport",
    "SplitStr",
    "StartsWith",
    "StrFileRead",
    "StrFileWrite",
    "Text2word",
    "UpkeepReport",
    "adj_bfs",
    "adj_to_edge",
    "adj_to_single",
    "assoc_equal",
    "cat_str",
    "edge_bfs",
    "edge_to_adj",
    "jaccard",
    "kTrussAdj",
    "kTrussEdge",
    "k_truss_adj",
    "k_truss_edge",
    "nmf",
    "parseJSON",
    "single_to_adj",
    "split_str",
]
