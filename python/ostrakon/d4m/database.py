"""A store whose tables are bound as associative arrays."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from ostrakon.d4m.pair import AssocPair
from ostrakon.d4m.settings import Settings
from ostrakon.d4m.table import AssocTable
from ostrakon.errors import InvalidArgumentError
from ostrakon.store import Store
from ostrakon.store import open as open_store

if TYPE_CHECKING:
    from ostrakon.d4m.graphs import Adjacency, Incidence, SingleTable
    from ostrakon.d4m.record_batches import Ingested
    from ostrakon.d4m.records import Records


class DB:
    """A store whose tables are read as associative arrays: `db["T"]`, or `db["T", "Tt"]` for a
    table with its transpose. Missing tables are created.

    `source` is an open store, which stays open; or a directory; or nothing, for a store in memory.
    A store that is opened here is closed by `close`, or at the end of a `with` block. `auths` are
    the authorizations of the reader; the other settings are those of `Settings`.

    >>> from ostrakon.d4m import DB
    >>> with DB() as db:
    ...     T = db["Tadj", "TadjT"]
    ...     T.put_triple("alice,bob,", "bob,carl,", [1, 2])
    ...     db.tables(), T[:, "carl,"].triples()
    2
    (['Tadj', 'TadjT'], [('bob', 'carl', 2)])
    """

    __slots__ = ("_owned", "settings", "store")

    def __init__(
        self,
        source: Store | str | PathLike[str] | None = None,
        *,
        auths: Any = None,
        **settings: Any,
    ) -> None:
        self._owned = not isinstance(source, Store)
        self.settings = Settings(auths=auths, **settings)
        self.store = (
            source if isinstance(source, Store) else open_store(source, auths=self.settings.auths)
        )

    @overload
    def __getitem__(self, names: str) -> AssocTable: ...
    @overload
    def __getitem__(self, names: tuple[str, str]) -> AssocPair: ...
    def __getitem__(self, names: str | tuple[str, str]) -> AssocTable | AssocPair:
        if isinstance(names, str):
            return self._table(names)
        if isinstance(names, tuple) and len(names) == 2 and all(isinstance(n, str) for n in names):
            if names[0] == names[1]:
                raise InvalidArgumentError(
                    f"names: a pair is made of two tables, not of {names[0]!r} twice",
                    {"argument": "names"},
                )
            return AssocPair(self._table(names[0]), self._table(names[1]))
        raise InvalidArgumentError(
            f"names: a table's name, or two for a table and its transpose, not {names!r}",
            {"argument": "names"},
        )

    def _table(self, name: str, settings: Settings | None = None) -> AssocTable:
        table = self.store.create_table(name, exist_ok=True)
        return AssocTable(self.store, table, settings or self.settings)

    def tables(self) -> list[str]:
        """The names of all tables, sorted."""
        return self.store.tables()

    def ls(self) -> list[str]:
        """The same as `tables`, by D4M's name."""
        return self.tables()

    def __contains__(self, name: object) -> bool:
        return name in self.store

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables())

    def __len__(self) -> int:
        return len(self.store)

    def drop(self, *names: str) -> None:
        """Deletes tables and everything in them."""
        self.store.drop(*names)

    def records(self, prefix: str = "Tedge", *, separator: str = "|") -> Records:
        """Records in the D4M 2.0 schema: see `Records`."""
        from ostrakon.d4m.records import Records

        return Records(self, prefix, separator=separator)

    def ingest(self, records: Any, prefix: str = "Tedge", **options: Any) -> Ingested:
        """Writes records in the D4M 2.0 schema, in one call: see `Records.ingest`."""
        return self.records(prefix).ingest(records, **options)

    def adjacency(self, prefix: str = "Tadj") -> Adjacency:
        """A graph in adjacency tables: see `Adjacency`."""
        from ostrakon.d4m.graphs import Adjacency

        return Adjacency(self, prefix)

    def incidence(self, prefix: str = "Tedge") -> Incidence:
        """A graph in incidence tables: see `Incidence`."""
        from ostrakon.d4m.graphs import Incidence

        return Incidence(self, prefix)

    def single(self, name: str = "Tsingle", *, separator: str = "|") -> SingleTable:
        """A graph in a single table: see `SingleTable`."""
        from ostrakon.d4m.graphs import SingleTable

        return SingleTable(self, name, separator)

    def close(self) -> None:
        """Closes the store, if it was opened here."""
        if self._owned:
            self.store.close()

    def __enter__(self) -> DB:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ostrakon.d4m.DB of {self.store!r}>"
