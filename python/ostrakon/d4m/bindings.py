"""The common base of tables and pairs of tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, TypeVar

from ostrakon.assoc import Assoc
from ostrakon.assoc.construction import number_text
from ostrakon.d4m.aliases import D4MTableNames
from ostrakon.d4m.chunks import ChunkIterator
from ostrakon.d4m.selection import ALL, Selection, select
from ostrakon.d4m.settings import Settings
from ostrakon.d4m.writing import Labels, Triples, count_of, listed, of_triples
from ostrakon.errors import InvalidArgumentError

# `typing.Self` is younger than the oldest Python.
AnyBinding = TypeVar("AnyBinding", bound="Binding")


class Binding(D4MTableNames, ABC):
    """A table, or a pair of tables, that is read and written as an associative array."""

    __slots__ = ()

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """How it reads and writes."""

    @abstractmethod
    def using(self, **changes: Any) -> Binding:
        """The same tables with other settings: see `Settings`."""

    @abstractmethod
    def _read(self, rows: Selection, cols: Selection) -> Assoc: ...

    @abstractmethod
    def put(self, array: Assoc, *, visibility: Labels = None, timestamp: Any = None) -> int:
        """Writes an array; returns the number of its entries."""

    @abstractmethod
    def _put_triples(self, triples: Triples) -> int: ...

    @abstractmethod
    def _delete_places(self, rows: list[str], cols: list[str]) -> int: ...

    @abstractmethod
    def chunks(self, entries: int, rows: Any = ALL, cols: Any = ALL) -> Iterator[Assoc]:
        """The table in chunks: arrays of whole rows."""

    def __getitem__(self, index: Any) -> Assoc:
        """The entries in some rows and columns, as an array. Missing keys are ignored.

        Each side is what an Assoc takes, except masks: `:`; a key; a delimiter string `"a,b,"`,
        with ranges `"a,:,c,"`, unbounded ranges and wildcards `al*`; a list or array of keys (used
        literally); a slice `"a":"c"`; `startswith`, `contains`, `matches` (a regular expression in
        the syntax that Java and Python share).

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     T = db["T"]
        ...     T.put_triple("alan,alice,bob,", "x,y,y,", [1, 2.5, 3])
        ...     print(T["al*", :])
        ...     print(T["alice,:,", "y"].sum())
        3
        ('alan', 'x')  1.0
        ('alice', 'y')  2.5
        5.5
        """
        if not isinstance(index, tuple):
            index = (index, ALL)
        if len(index) != 2:
            raise InvalidArgumentError(f"a table has rows and columns, not {len(index)} axes")
        return self._read(select(index[0], "row"), select(index[1], "col"))

    def put_triple(
        self, row: Any, col: Any, val: Any, *, visibility: Labels = None, timestamp: Any = None
    ) -> int:
        """Writes triples, including those with equal places; returns their number.

        Rows, columns and values are delimiter strings, lists, arrays, Arrow columns, or one item
        for all. `visibility` is a label, a list with one per triple, or a function of row,
        column and value. All arguments are checked before anything is written.

        >>> from ostrakon.d4m import DB
        >>> with DB(auths="hr") as db:
        ...     T = db["people"]
        ...     T.put_triple("ann,", ["mail", "town"], ["a@b.c", "Ulm"], visibility=["hr", ""])
        ...     T["ann", :].nnz, T.using(auths=[])["ann", :].nnz
        2
        (2, 1)
        """
        label = self.settings.visibility if visibility is None else visibility
        return self._put_triples(of_triples(row, col, val, label, timestamp))

    def __iadd__(self: AnyBinding, array: Assoc) -> AnyBinding:  # noqa: PYI019
        """`T += A` puts `A`."""
        if not isinstance(array, Assoc):
            return NotImplemented
        self.put(array)
        return self

    def delete_triple(self, row: Any, col: Any) -> int:
        """Deletes the entries at places, with every label that the authorizations allow; returns
        their number.

        >>> from ostrakon.d4m import DB
        >>> with DB() as db:
        ...     T = db["T", "Tt"]
        ...     T.put_triple("a,b,", "x,y,", 1)
        ...     T.delete_triple("a,", "x,"), T.nnz()
        2
        (1, 1)
        """
        return self._delete_places(*places_of(row, col))

    def delete_assoc(self, array: Assoc) -> int:
        """Deletes the entries at the places of an array, whatever their values."""
        rows, cols, _ = array.find()
        return self._delete_places(
            [_text(key) for key in rows.tolist()], [_text(key) for key in cols.tolist()]
        )

    def iterator(self, entries: int = 100_000) -> ChunkIterator:
        """D4M's iterator: see `ChunkIterator`. In Python, use `chunks`."""
        return ChunkIterator(self, entries)


def places_of(row: Any, col: Any) -> tuple[list[str], list[str]]:
    """Rows and columns, of equal length, as texts."""
    triples = of_triples(row, col, 1, "", None)
    counts = [count_of(part) for part in (triples.row, triples.col)]
    count = next((known for known in counts if known is not None), 1)
    places = (listed(triples.row, count), listed(triples.col, count))
    rows, cols = ([_text(key) for key in keys] for keys in places)
    return rows, cols


def _text(key: Any) -> str:
    if isinstance(key, float):
        return number_text(key)
    return key if isinstance(key, str) else key.decode() if isinstance(key, bytes) else str(key)
