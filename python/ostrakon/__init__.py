"""Ostrakon: a table store with cell-level security, in one package.

`ostrakon.open` opens a store, and its tables are written with `put` and read with `scan`.

>>> import ostrakon
>>> with ostrakon.open() as store:
...     table = store.create_table("people")
...     _ = table.put("ann", "town", "Ulm")
...     table.get("ann", "town")
'Ulm'
"""

# Names that need NumPy, SciPy or a plotting library are imported on first use, so that
# `import ostrakon` is fast. `_LATE` lists them with their modules.

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ostrakon import errors
from ostrakon._native import __version__
from ostrakon.errors import Error
from ostrakon.events import EventQuery, Events
from ostrakon.histogram import Histogram
from ostrakon.iterators import IteratorSetting
from ostrakon.ranges import Range
from ostrakon.scan import Batch, Entry, Scan
from ostrakon.sorted_file import write_sorted_file, write_sorted_frame
from ostrakon.sql import SqlResult, SqlSession
from ostrakon.store import Store, open  # noqa: A004 - `ostrakon.open`, as `gzip.open`
from ostrakon.table import ImportReport, Table, Tablet
from ostrakon.writer import Writer

if TYPE_CHECKING:
    from ostrakon.assoc import Assoc, HierAssoc
    from ostrakon.d4m import DB
    from ostrakon.schema import Schema
    from ostrakon.typed import TypedScan, TypedTable

__all__ = [
    "DB",
    "Assoc",
    "Batch",
    "Entry",
    "Error",
    "EventQuery",
    "Events",
    "HierAssoc",
    "Histogram",
    "ImportReport",
    "IteratorSetting",
    "Range",
    "Scan",
    "Schema",
    "SqlResult",
    "SqlSession",
    "Store",
    "Table",
    "Tablet",
    "TypedScan",
    "TypedTable",
    "Writer",
    "__version__",
    "errors",
    "open",
    "write_sorted_file",
    "write_sorted_frame",
]

# Public name -> module of the package that defines it. One line per name.
_LATE: dict[str, str] = {
    "DB": "d4m",
    "Assoc": "assoc",
    "HierAssoc": "assoc",
    "Schema": "schema",
    "TypedScan": "typed",
    "TypedTable": "typed",
}


def __getattr__(name: str) -> Any:
    module = _LATE.get(name)
    if module is None:
        raise AttributeError(f"module 'ostrakon' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"ostrakon.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LATE})
