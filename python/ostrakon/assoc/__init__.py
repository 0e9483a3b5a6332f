"""Associative arrays, the algebra of D4M: sparse matrices whose rows and columns have names.

>>> from ostrakon import Assoc
>>> A = Assoc("alice,alice,bob,", "bob,carl,alice,", 1)
>>> A["alice,", :]
('alice', 'bob')  1
('alice', 'carl')  1
>>> (A @ A)["alice", "alice"]
('alice', 'alice')  1
"""

from __future__ import annotations

from ostrakon.assoc.core import Assoc, AssocWarning
from ostrakon.assoc.engines import ENGINES, Engine
from ostrakon.assoc.exactness import InexactError
from ostrakon.assoc.hierarchy import HierAssoc
from ostrakon.assoc.selectors import Selector, contains, matches, startswith

__all__ = [
    "ENGINES",
    "Assoc",
    "AssocWarning",
    "Engine",
    "HierAssoc",
    "InexactError",
    "Selector",
    "contains",
    "matches",
    "startswith",
]
