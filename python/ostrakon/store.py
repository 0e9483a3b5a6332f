"""Opening a store, and what is done with its tables as a whole."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from types import TracebackType
from typing import Any, NamedTuple

from ostrakon._native import NativeStore
from ostrakon.display import counted, shortened, table_html
from ostrakon.errors import InvalidArgumentError
from ostrakon.progress import Progress, told
from ostrakon.ranges import Bytes
from ostrakon.scan import auths_of
from ostrakon.table import Table

__all__ = [
    "CheckReport",
    "ClassInfo",
    "Problem",
    "RestoredFile",
    "Store",
    "TableInfo",
    "TableProblem",
    "open",
]


class TableInfo(NamedTuple):
    """One table, as listed."""

    name: str
    id: str
    online: bool
    time_type: str


class Problem(NamedTuple):
    """One thing wrong in a store."""

    file: str
    table: str | None
    message: str


class TableProblem(NamedTuple):
    """Something that fails now in one table or tablet, or in the whole store (`table` is `None`).

    `tablet` is the last row of the tablet before and its own; `activity` what fails (`flush`,
    `compaction`, `properties` ...), `kind` and `message` the cause, `way_out` what to do.
    """

    table: str | None
    tablet: tuple[bytes | None, bytes | None] | None
    activity: str
    kind: str
    message: str
    way_out: str
    times: int
    refuses_writes: bool


class ClassInfo(NamedTuple):
    """A class of iterators or constraints that a store can run."""

    name: str
    description: str
    scans_only: bool


class RestoredFile(NamedTuple):
    """A table file that `Store.restore_file` put back."""

    file: str
    bytes: int
    tables: list[str]


class CheckReport(NamedTuple):
    """The outcome of `Store.check`; `problems` is empty for a sound store."""

    files: int
    bytes: int
    entries: int
    problems: list[Problem]


def open(  # noqa: A001 - `ostrakon.open`, as `gzip.open`
    path: str | PathLike[str] | None = None,
    *,
    auths: Bytes | Iterable[Bytes] | None = None,
    create: bool = True,
    read_only: bool = False,
    allow_damage: bool = False,
    wait: float = 0.0,
    memory_budget_bytes: int | None = None,
    compaction_threads: int | None = None,
) -> Store:
    """Opens the store in the directory `path`, making it one if it is empty or absent.

    Without a path the store lives in memory and is gone when closed. `auths` are the authorizations
    held: scans have them by default and may ask for no others, and what could show more than that
    (compactions, clones, properties, tablets, checkpoints) is refused; `None` lets each scan name
    its own and refuses nothing. One process writes a store at a time, or any number read it:
    `read_only` opens it for reading, and `wait` is how many seconds to wait for a store that is in
    use. `allow_damage`, with `read_only`, reads what is left of a store whose log is damaged.
    `memory_budget_bytes` is a quarter of the machine's memory, at most 4 GiB, unless given.

    >>> import ostrakon
    >>> with ostrakon.open() as store:
    ...     table = store.create_table("graph")
    ...     _ = table.put("alice", "bob", 1)
    ...     store.tables(), store["graph"].count()
    (['graph'], 1)
    """
    native = NativeStore(
        path,
        auths=auths_of(auths),
        create=create,
        read_only=read_only,
        allow_damage=allow_damage,
        wait=wait,
        memory_budget_bytes=memory_budget_bytes,
        compaction_threads=compaction_threads,
    )
    return Store(native, path)


class Store:
    """An open store: a directory of tables. Made by `ostrakon.open`, used as a context manager.

    One process writes a store at a time; its threads share it, and every call lets other Python
    threads run while the store works. It lives until it is closed, or as long as one of its tables,
    scans or writers. A process that was forked opens a store of its own.
    """

    __slots__ = ("_gates", "_native", "_path")

    def __init__(self, native: NativeStore, path: str | PathLike[str] | None) -> None:
        self._native = native
        self._path = path
        # Locks of those who keep several tables together, by name: see `ostrakon.d4m.gates`.
        self._gates: dict[tuple[str, ...], Any] = {}

    @property
    def path(self) -> str | PathLike[str] | None:
        """The directory, or `None` for a store in memory."""
        return self._path

    @property
    def instance_id(self) -> str:
        """The id chosen when the store was made."""
        return self._native.instance_id

    @property
    def closed(self) -> bool:
        """Whether the store is closed."""
        return self._native.closed

    def close(self) -> None:
        """Closes the store; closing it again does nothing. Its tables answer no more."""
        self._native.close()

    def tables(self) -> list[str]:
        """The names of all tables, sorted."""
        return [name for name, *_ in self._native.tables()]

    def table_infos(self) -> list[TableInfo]:
        """All tables with their id, whether they are on-line, and their source of timestamps."""
        return [TableInfo(*info) for info in self._native.tables()]

    def table(self, name: str) -> Table:
        """A table there is; `NotFoundError` otherwise. `store[name]` is the same."""
        return Table(self._native.table(name))

    def __getitem__(self, name: str) -> Table:
        if not isinstance(name, str):
            raise InvalidArgumentError(
                f"a store is asked for a table by its name, not by {shortened(name)}; pairs of "
                "tables are for ostrakon.DB",
                {"argument": "name"},
            )
        return self.table(name)

    def create_table(
        self,
        name: str,
        *,
        splits: Iterable[Bytes] = (),
        properties: Mapping[str, str] | None = None,
        time_type: str = "millis",
        versioning: bool = True,
        exist_ok: bool = False,
    ) -> Table:
        """Creates a table, split at rows if given.

        `versioning` keeps the newest version of an entry only (Accumulo's default iterator);
        `time_type` is `millis` or `logical`. With `exist_ok` a table of that name is returned as it
        is.
        """
        if exist_ok and name in self:
            return self.table(name)
        values = {key: str(value) for key, value in (properties or {}).items()}
        self._native.create_table(name, list(splits), values, time_type, versioning)
        return self.table(name)

    def drop(self, *names: str) -> None:
        """Deletes tables and everything in them."""
        for name in names:
            self._native.delete_table(name)

    def delete_table(self, name: str) -> None:
        """The older name of `drop`."""
        older("delete_table", "drop")
        self.drop(name)

    def rename_table(self, name: str, to: str) -> None:
        """Gives a table another name."""
        self._native.rename_table(name, to)

    def clone_table(
        self,
        name: str,
        to: str,
        *,
        flush: bool = True,
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        """Makes `to` a table with the present content of `name`, sharing its files."""
        values = {key: str(value) for key, value in (properties or {}).items()}
        self._native.clone_table(name, to, flush, values)
        return self.table(to)

    def set_online(self, name: str, online: bool) -> None:
        """Takes a table off-line or brings it back."""
        self._native.set_online(name, online)

    def checkpoint(self, directory: str | PathLike[str]) -> None:
        """Copies the whole store to a new directory while it is in use; table files are linked."""
        self._native.checkpoint(directory)

    def problems(self, table: str | None = None) -> list[TableProblem]:
        """What fails now, of one table or of all; empty for a sound store. Other tables work.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     store.problems()
        []
        """
        return [TableProblem(*found) for found in self._native.problems(table)]

    def find_class(self, name: str, *, constraint: bool = False) -> ClassInfo | None:
        """The iterator (or constraint) class of that name, with or without a package; `None` where
        there is none.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     store.find_class("RegExFilter").name
        'org.apache.accumulo.core.iterators.user.RegExFilter'
        """
        found = self._native.find_class(name, constraint)
        return None if found is None else ClassInfo(*found)

    def namespaces(self) -> list[str]:
        """The names of the namespaces; that of tables without one is the empty text."""
        return [name for name, _ in self._native.namespaces()]

    def create_namespace(self, name: str) -> None:
        """Makes a namespace, so that tables `NAMESPACE.NAME` can be created."""
        self._native.create_namespace(name)

    def delete_namespace(self, name: str) -> None:
        """Deletes a namespace that has no tables."""
        self._native.delete_namespace(name)

    def rename_namespace(self, name: str, to: str) -> None:
        """Gives a namespace another name, and with it its tables."""
        self._native.rename_namespace(name, to)

    def properties(self, namespace: str | None = None) -> dict[str, str]:
        """What is set for the tables of a namespace, or of the whole store without one."""
        return self._native.own_properties(namespace)

    def set_properties(
        self, changes: Mapping[str, str | None], namespace: str | None = None
    ) -> None:
        """Sets and removes (`None`) properties that tables inherit, in one step."""
        self._native.change_properties(
            namespace,
            [(name, None if value is None else str(value)) for name, value in changes.items()],
        )

    def restore_file(self, file: str | PathLike[str]) -> RestoredFile:
        """Puts a damaged or missing table file back, from a checkpoint's `files`.

        The file is verified first: it must be sound, and the one the store knows under its name.
        """
        return RestoredFile(*self._native.restore_file(file))

    def check(self, *, progress: Progress = None) -> CheckReport:
        """Verifies every checksum, order and reference."""
        with told(progress, "B") as tell:
            files, size, entries, problems = self._native.check(tell)
        return CheckReport(files, size, entries, [Problem(*problem) for problem in problems])

    def __contains__(self, name: object) -> bool:
        return name in self.tables()

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables())

    def __len__(self) -> int:
        return len(self.tables())

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("an open store cannot be pickled or copied: open it where it is needed")

    def __repr__(self) -> str:
        where = "in memory" if self._path is None else f"in {str(self._path)!r}"
        return f"<ostrakon.Store {where}, {'closed' if self.closed else 'open'}>"

    def _repr_html_(self) -> str:
        infos = [] if self.closed else self.table_infos()
        lines = [(info.name, info.online, info.time_type) for info in infos[:_SHOWN]]
        more = f", {len(infos) - _SHOWN:,} more" if len(infos) > _SHOWN else ""
        note = f"{self!r}: {counted(len(infos), 'table')}{more}"
        return table_html(("table", "on-line", "timestamps"), lines, note)


# Tables that a notebook shows.
_SHOWN = 30


def older(name: str, present: str) -> None:
    """Warns the caller of a method under its older name."""
    warnings.warn(f"`{name}` is now `{present}`", DeprecationWarning, stacklevel=3)
