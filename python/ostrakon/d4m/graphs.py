"""Graphs in tables: adjacency, incidence, and all in one table.

Degrees are summed here before they are written, and in the table by a summing combiner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon.assoc import Assoc, startswith
from ostrakon.assoc.keys import TextKeys
from ostrakon.d4m import combiners
from ostrakon.d4m.bindings import places_of
from ostrakon.d4m.forms import adj_to_edge, adj_to_single, edge_to_adj, single_to_adj
from ostrakon.d4m.ids import flipped, new_ids
from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.selection import keys_of, select
from ostrakon.d4m.table import AssocTable, checked
from ostrakon.d4m.table_group import Counts, TableGroup
from ostrakon.d4m.upkeep import DegreesOf, Place, add_up, counted, sums
from ostrakon.d4m.writing import Labels, count_of, labels_of, listed, of_triples
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from ostrakon.d4m.database import DB


def summed(db: DB, *names: str) -> list[AssocTable]:
    """Tables that sum the values at one place; missing ones are created so.

    Existing tables come first: where the caller may not change one of them, nothing is created.
    """
    for name in names:
        if name in db.store:
            _sum(db[name])
    properties = combiners.sums().properties()
    for name in names:
        if name not in db.store:
            db.store.create_table(name, properties=properties, exist_ok=True)
    tables = [db[name] for name in names]
    for table in tables:
        _sum(table)  # for one that another thread has just created
    return tables


def _sum(table: AssocTable) -> None:
    if not table.list_col_combiner():
        table.add_col_combiner(":", "sum")


def by_label(array: Assoc, labels: Labels) -> list[tuple[Any, Assoc]]:
    """The entries of an array, separately for each label: pairs of label and array."""
    visibility = labels_of(labels, array)
    if isinstance(visibility, (str, bytes)):
        return [(visibility, array)]
    rows, cols, values = array.find()
    return [
        (label, Assoc(*(part[visibility == label] for part in (rows, cols, values))))
        for label in sorted({*visibility.tolist()})
    ]


def degrees_by_label(array: Assoc, labels: Labels, axis: int, column: str) -> list[tuple[Any, Any]]:
    """Sums of an array along an axis, separately for each label, so that a sum does not reveal
    hidden entries: pairs of label and array."""
    sums = []
    for label, part in by_label(array, labels):
        if len(part) == 0:
            continue
        total = part.sum(1) if axis == 1 else part.sum(0).transpose()
        sums.append((label, total.put_col(column)))
    return sums


# The store's own bound on a key (row, family, qualifier and label together).
_KEY_BYTES = 1 << 20


def check_keys(array: Assoc, labels: Any, family: str) -> None:
    """Rejects keys that are too long before degrees are written, so that no write is incomplete."""
    label = len(labels) if isinstance(labels, (str, bytes)) else max(map(len, labels), default=0)
    room = _KEY_BYTES - len(family.encode()) - 4 * label
    sides = [
        (keys.native if isinstance(keys, TextKeys) else None, places)
        for keys, places in (
            (array._row, array._matrix.rows()),
            (array._col, array._matrix.columns),
        )
    ]
    # A character has up to four bytes, a number up to thirty characters.
    if sum(120 if keys is None else 4 * keys.longest for keys, _ in sides) <= room:
        return
    sizes = np.zeros(len(array), np.int64)
    for keys, places in sides:
        sizes += 30 if keys is None else np.diff(keys.to_buffers()[1])[places]
    if len(sizes) and sizes.max() > room:
        raise InvalidArgumentError(
            f"array: a row key and a column key are {sizes.max():,} bytes together, a table takes "
            f"{room:,}; nothing was written",
            {"argument": "array"},
        )


class Deleting:
    """D4M's names for deleting, for tables with degrees."""

    __slots__ = ()

    if TYPE_CHECKING:

        def delete_triple(self, row: Any, col: Any) -> int: ...  # noqa: D102

    def delete(self, array: Assoc) -> int:
        """Deletes the entries at the places of an array, whatever their values: see
        `delete_triple`."""
        rows, cols, _ = checked(array).find()
        return self.delete_triple(rows, cols)

    def deleteTriple(self, row: Any, col: Any) -> int:  # noqa: N802, D102
        return self.delete_triple(row, col)

    def deleteAssoc(self, array: Assoc) -> int:  # noqa: N802, D102
        return self.delete(array)


def _whole(array: Assoc) -> Assoc:
    """Weights that a summing combiner can add."""
    if array.is_text:
        raise InvalidArgumentError(
            "array: weights are numbers, these are texts; use logical()", {"argument": "array"}
        )
    if array.dtype.kind == "b":
        return array.logical()
    values = array.values
    whole = array.dtype.kind == "i" or (
        array.dtype.kind == "f"
        and bool(((values == np.rint(values)) & (abs(values) < 2**53)).all())
    )
    if not whole:
        raise InvalidArgumentError(
            "array: weights are whole numbers here, since the tables add them up; for others put "
            "the array into a pair of your own",
            {"argument": "array"},
        )
    return array.astype(int)


class Adjacency(Deleting, TableGroup):
    """A graph in three tables: `Tadj` (row = from, column = to, value = weight), its transpose
    `TadjT`, and `TadjDeg` (row = vertex, columns `OutDeg` and `InDeg`: sums of weights). The
    weights of equal edges are summed.

    >>> from ostrakon.d4m import DB
    >>> with DB() as db:
    ...     G = db.adjacency("Tadj")
    ...     G.put(Assoc("alice,alice,bob,", "bob,carl,carl,", 1))
    ...     print(G["alice", :])
    ...     print(G.degrees("carl,"))
    3
    ('alice', 'bob')  1
    ('alice', 'carl')  1
    ('carl', 'InDeg')  2
    """

    __slots__ = ("degree_table", "pair")

    def __init__(self, db: DB, prefix: str) -> None:
        main, transpose, self.degree_table = summed(db, prefix, f"{prefix}T", f"{prefix}Deg")
        self.pair = AssocPair(main, transpose)

    def put(self, array: Assoc, *, visibility: Labels = None) -> int:
        """Adds the edges of an adjacency array; returns their number."""
        array = _whole(checked(array))
        label = self.pair.settings.visibility if visibility is None else visibility
        label = labels_of(label, array)
        sums = degrees_by_label(array, label, 1, "OutDeg") + degrees_by_label(
            array, label, 0, "InDeg"
        )
        check_keys(array, label, self.pair.settings.family)
        with self._lock.shared():
            # Degrees first, because a degree that is too low would hide edges from queries.
            for name, total in sums:
                self.degree_table.put(total, visibility=name)
            return self.pair.put(array, visibility=label)

    @property
    def _tables(self) -> tuple[AssocPair, AssocTable]:
        return self.pair, self.degree_table

    def delete_triple(self, row: Any, col: Any) -> int:
        """Deletes edges, with every label that the authorizations allow, and subtracts their
        weights from the degrees; returns the number of deleted entries.

        The entries are read first, so that the degrees of each label are lowered by what is
        deleted. Degrees are lowered last: after a failure they are too high rather than too low,
        which `check` finds. A degree of 0 stays as an entry that arrays do not show.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     G = db.adjacency()
        ...     G.put(Assoc("a,a,b,", "b,c,c,", [1, 2, 4]))
        ...     G.delete_triple("a,", "c,")
        ...     print(G.degrees())
        3
        1
        ('a', 'OutDeg')  1
        ('b', 'InDeg')  1
        ('b', 'OutDeg')  4
        ('c', 'InDeg')  4
        """
        rows, cols = places_of(row, col)
        with self._lock.alone():
            return self._gone(self.pair.main._labelled(rows, cols, "value"))

    def _degrees_of(self) -> list[tuple[AssocTable, DegreesOf]]:
        return [(self.degree_table, _ends)]

    def _counts(self) -> list[Counts]:
        found: dict[Place, int] = {}
        for part in counted(self.pair.main):
            add_up(found, "OutDeg", part.sums("row"))
            add_up(found, "InDeg", part.sums("col"))
        return [(self.degree_table, ["InDeg", "OutDeg"], found)]

    def __getitem__(self, index: Any) -> Assoc:
        return self.pair[index]

    def degrees(self, vertices: Any = slice(None)) -> Assoc:
        """`OutDeg` and `InDeg` of vertices."""
        return self.degree_table[vertices, :]

    def neighbours(
        self,
        vertices: Any,
        *,
        least: float | None = None,
        most: float | None = None,
        direction: str = "out",
    ) -> Assoc:
        """The edges that leave (or with `direction="in"` enter) the vertices whose degree is within
        the bounds. The degree table is read first, so that the large row of a hub is not read.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     G = db.adjacency()
        ...     G.put(Assoc("hub,hub,hub,a,", "a,b,c,b,", 1))
        ...     G.neighbours("hub,a,", most=2)
        4
        ('a', 'b')  1
        """
        column = _direction(direction)
        if least is not None or most is not None:
            degrees = self.degree_table[vertices, column]
            if least is not None:
                degrees = degrees >= least
            if most is not None:
                degrees = degrees <= most
            vertices = degrees.row
        if direction == "out":
            return self.pair[vertices, :]
        return self.pair[:, vertices]

    def to_edges(self, **options: Any) -> Assoc:
        """All edges as an incidence array: see `adj_to_edge`."""
        return adj_to_edge(self.pair[:, :], **options)


def _direction(direction: str) -> str:
    if direction not in ("out", "in"):
        raise InvalidArgumentError(
            f"direction: 'out' or 'in', not {direction!r}", {"argument": "direction"}
        )
    return "OutDeg" if direction == "out" else "InDeg"


class Incidence(Deleting, TableGroup):
    """A graph in three tables: `Tedge` (row = edge, columns `Out|v` and `In|w`, value = weight),
    its transpose `TedgeT`, and `TedgeDeg` (row = `Out|v` or `In|w`, column `Degree`: sum of
    weights).

    >>> from ostrakon.d4m import DB
    >>> with DB() as db:
    ...     G = db.incidence("Tedge")
    ...     G.put_edges("alice,alice,", "bob,carl,", [1, 2])
    ...     print(G.adjacency("alice,"))
    2
    ('alice', 'bob')  1
    ('alice', 'carl')  2
    """

    __slots__ = ("degree_table", "end", "pair", "start")

    def __init__(self, db: DB, prefix: str, start: str = "Out|", end: str = "In|") -> None:
        (self.degree_table,) = summed(db, f"{prefix}Deg")
        self.pair: AssocPair = db[prefix, f"{prefix}T"]
        self.start = start
        self.end = end

    def put(self, edges: Assoc, *, visibility: Labels = None) -> int:
        """Adds the rows of an incidence array, with `adj_to_edge` made of an adjacency array. An
        existing edge is replaced, but counted again in the degrees, so number new edges
        consecutively."""
        edges = _whole(checked(edges))
        wrong = [
            key for key in edges.col.tolist() if not str(key).startswith((self.start, self.end))
        ]
        if wrong:
            raise InvalidArgumentError(
                f"edges: the column {wrong[0]!r} begins neither with {self.start!r} nor with "
                f"{self.end!r}",
                {"argument": "edges"},
            )
        label = self.pair.settings.visibility if visibility is None else visibility
        label = labels_of(label, edges)
        sums = degrees_by_label(edges, label, 0, "Degree")
        check_keys(edges, label, self.pair.settings.family)
        with self._lock.shared():
            for name, total in sums:
                self.degree_table.put(total, visibility=name)
            self.pair.put(edges, visibility=label)
        return edges.shape[0]

    @property
    def _tables(self) -> tuple[AssocPair, AssocTable]:
        return self.pair, self.degree_table

    def delete_edges(self, edges: Any) -> int:
        """Deletes edges by their keys, with every label that the authorizations allow, and lowers
        the degrees of their ends; returns the number of deleted entries. See
        `Adjacency.delete_triple`.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     G = db.incidence("Tedge")
        ...     G.put_edges("a,a,", "b,c,", [1, 2], first=1, width=1)
        ...     G.delete_edges("2,")
        ...     print(G.degrees())
        2
        2
        ('In|b', 'Degree')  1
        ('Out|a', 'Degree')  1
        """
        keys = keys_of("edges", edges)
        with self._lock.alone():
            return self._gone(self.pair.main._labelled_rows(keys, "value"))

    def delete_triple(self, row: Any, col: Any) -> int:
        """Deletes single ends of edges: entries at rows (edges) and columns (`Out|v`, `In|w`)."""
        rows, cols = places_of(row, col)
        with self._lock.alone():
            return self._gone(self.pair.main._labelled(rows, cols, "value"))

    def _degrees_of(self) -> list[tuple[AssocTable, DegreesOf]]:
        return [(self.degree_table, lambda _, col, weight: [(col, "Degree", weight)])]

    def _counts(self) -> list[Counts]:
        found: dict[Place, int] = {}
        for part in counted(self.pair.main):
            add_up(found, "Degree", part.sums("col"))
        return [(self.degree_table, ["Degree"], found)]

    def put_edges(
        self,
        source: Any,
        target: Any,
        weight: Any = 1,
        *,
        first: int | None = None,
        width: int = 10,
    ) -> int:
        """Adds edges from one list of vertices to another; returns their number. They are numbered
        from `first` on; by default, their keys are made from the time and are unique."""
        triples = of_triples(source, target, weight, "", None)
        parts = (triples.row, triples.col, triples.val)
        count = next((known for known in map(count_of, parts) if known is not None), 1)
        rows, cols, weights = (listed(part, count) for part in parts)
        if count == 0:
            return 0
        ids = new_ids(count) if first is None else flipped(range(first, first + count), width)
        edges = Assoc(
            ids + ids,
            [f"{self.start}{row}" for row in rows] + [f"{self.end}{col}" for col in cols],
            weights + weights,
        )
        return self.put(edges)

    def __getitem__(self, index: Any) -> Assoc:
        return self.pair[index]

    def degrees(self, columns: Any = slice(None)) -> Assoc:
        """The column `Degree` of `Out|v` and `In|w`."""
        return self.degree_table[columns, :]

    def edges(self, vertices: Any, *, direction: str = "out") -> Assoc:
        """The edges that leave (or enter) vertices, with both their ends."""
        _direction(direction)
        prefix = self.start if direction == "out" else self.end
        chosen = select(vertices, "vertices")
        if not chosen.exact:
            raise InvalidArgumentError("vertices: give vertex keys", {"argument": "vertices"})
        ids = self.pair[:, [prefix + key for key in chosen.keys]].row
        return self.pair[ids, :]

    def adjacency(self, vertices: Any = None) -> Assoc:
        """The edges that leave vertices (by default all edges) as an adjacency array."""
        edges = self.pair[:, :] if vertices is None else self.edges(vertices)
        return edge_to_adj(edges, self.start, self.end)


def _ends(row: str, col: str, weight: int) -> list[tuple[str, str, int]]:
    return [(row, "OutDeg", weight), (col, "InDeg", weight)]


class SingleTable(Deleting, TableGroup):
    """A graph and its degrees in one table: row `v|w`, column `edge`, the weight; row `v`, columns
    `OutDeg` and `InDeg`. The weights of equal edges are summed.

    >>> from ostrakon.d4m import DB
    >>> with DB() as db:
    ...     G = db.single("G")
    ...     G.put(Assoc("alice,alice,", "bob,carl,", [1, 2]))
    ...     print(G["alice"])
    ...     print(G.degrees("alice,"))
    2
    ('alice', 'bob')  1
    ('alice', 'carl')  2
    ('alice', 'OutDeg')  3
    """

    __slots__ = ("separator", "table")

    def __init__(self, db: DB, name: str, separator: str = "|") -> None:
        if len(separator) != 1:
            raise InvalidArgumentError(
                f"separator: one character, not {separator!r}", {"argument": "separator"}
            )
        (self.table,) = summed(db, name)
        self.separator = separator

    def put(self, array: Assoc, *, visibility: Labels = None) -> int:
        """Adds the edges of an adjacency array; returns their number.

        Entries have the labels of the edges; degrees are stored separately for each label.
        """
        array = _whole(checked(array))
        label = self.table.settings.visibility if visibility is None else visibility
        parts = [
            (name, adj_to_single(part, self.separator)) for name, part in by_label(array, label)
        ]
        with self._lock.shared():
            for name, entries in parts:
                self.table.put(entries, visibility=name)
        return len(array)

    @property
    def _tables(self) -> tuple[None, AssocTable]:
        return None, self.table

    def delete_triple(self, row: Any, col: Any) -> int:
        """Deletes edges from vertices to vertices, and lowers the degrees: see
        `Adjacency.delete_triple`."""
        rows, cols = places_of(row, col)
        names = [f"{one}{self.separator}{other}" for one, other in zip(rows, cols, strict=True)]
        with self._lock.alone():
            return self._gone(self.table._labelled(names, ["edge"] * len(names), "value"))

    def _degrees_of(self) -> list[tuple[AssocTable, DegreesOf]]:
        return [(self.table, self._both_ends)]

    def _both_ends(self, row: str, col: str, weight: int) -> list[tuple[str, str, int]]:
        del col
        source, _, target = row.partition(self.separator)
        return _ends(source, target, weight)

    def _counts(self) -> list[Counts]:
        found: dict[Place, int] = {}
        for part in counted(self.table, "edge"):
            left, left_at, right, right_at = part.rows.native.split_once(self.separator, "row")
            for keys, at, column in ((left, left_at, "OutDeg"), (right, right_at, "InDeg")):
                places = at[part.row_at]
                total = sums(TextKeys(keys), places, part.labels, part.label_at, part.values)
                add_up(found, column, total)
        return [(self.table, ["InDeg", "OutDeg"], found)]

    def __getitem__(self, sources: Any) -> Assoc:
        """The edges that leave vertices, as an adjacency array."""
        chosen = select(sources, "vertices")
        if chosen.everything:
            return single_to_adj(self.table[:, "edge"], self.separator)
        if not chosen.exact:
            raise InvalidArgumentError("vertices: give vertex keys", {"argument": "vertices"})
        prefixes = [key + self.separator for key in chosen.keys]
        found = self.table[startswith(prefixes), "edge"] if prefixes else Assoc()
        return single_to_adj(found, self.separator)

    def degrees(self, vertices: Any = slice(None)) -> Assoc:
        """`OutDeg` and `InDeg` of vertices."""
        return self.table[vertices, ["InDeg", "OutDeg"]]
