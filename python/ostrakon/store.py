"""Opening a store, and administering its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from ostrakon._native import NativeEvents, NativeSql, NativeStore
from ostrakon.arguments import (
    LEAST_MEMORY,
    bytes_list,
    bytes_of,
    flag_of,
    mapping_of,
    one_of,
    optional_integer,
    optional_path,
    optional_text,
    path_of,
    seconds_of,
    text_of,
    wrong_type,
)
from ostrakon.display import counted, shortened, table_html
from ostrakon.errors import AlreadyExistsError, ArgumentTypeError, InvalidArgumentError
from ostrakon.events import Events
from ostrakon.events.arguments import files_of
from ostrakon.progress import Progress, reporting
from ostrakon.ranges import Bytes
from ostrakon.scan import auths_of
from ostrakon.sql import SqlResult, SqlSession
from ostrakon.table import SCHEMA, Table, changes_of

if TYPE_CHECKING:
    from ostrakon.schema import Schema

__all__ = [
    "CheckReport",
    "ClassInfo",
    "DroppedFile",
    "LogLoss",
    "Problem",
    "RestoredFile",
    "Store",
    "TableInfo",
    "TableProblem",
    "open",
]


class TableInfo(NamedTuple):
    """A table in the list of tables."""

    name: str
    id: str
    online: bool
    time_type: str


class Problem(NamedTuple):
    """A problem found by `Store.check`."""

    file: str
    table: str | None
    message: str


class TableProblem(NamedTuple):
    """Work that currently fails in a table or tablet, or in the whole store (`table` is `None`).

    `tablet` holds the last row of the previous tablet and the last row of this one. `activity` is
    the work that fails (`flush`, `compaction`, `properties` ...), `kind` and `message` describe the
    cause, and `way_out` says what to do.
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


class DroppedFile(NamedTuple):
    """A table file that `Store.drop_file` dropped."""

    file: str
    moved_to: str | None
    bytes: int
    entries: int
    tables: list[str]


class LogLoss(NamedTuple):
    """A damaged part of the log."""

    file: str
    message: str
    tables: list[str]


class RestoredFile(NamedTuple):
    """A table file that `Store.restore_file` restored."""

    file: str
    bytes: int
    tables: list[str]


class CheckReport(NamedTuple):
    """The result of `Store.check`; `problems` is empty if the store is undamaged."""

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
    accept_log_loss: bool = False,
    wait: float = 0.0,
    memory_budget_bytes: int | None = None,
    compaction_threads: int | None = None,
) -> Store:
    """Opens the store in the directory `path`; creates it if the directory is empty or missing,
    with the directories above it.

    Without a path, the store is in memory, and its data are lost when it is closed.

    With `auths`, scans have these authorizations by default and cannot use others. Operations that
    could reveal more data (compactions, clones, properties, tablets, checkpoints) are rejected.
    With `None`, each scan chooses its authorizations, and every operation is allowed.

    A store is open in one process that writes, or in any number of processes that read:
    `read_only` opens it for reading. `wait` is the number of seconds to wait for a store that is in
    use. `allow_damage`, together with `read_only`, opens a store whose log is damaged, and reads
    what is left; `accept_log_loss` opens it for writing, and gives up the rest for good.
    `Store.log_losses` says what is lost. `memory_budget_bytes` is by default a quarter of the
    machine's memory, from 64 MiB to 4 GiB; the minimum is 16 MiB.

    >>> import ostrakon
    >>> with ostrakon.open() as store:
    ...     table = store.create_table("graph")
    ...     _ = table.put("alice", "bob", 1)
    ...     store.tables(), store["graph"].count()
    (['graph'], 1)
    """
    native = NativeStore(
        _directory(path),
        auths=auths_of(auths),
        create=flag_of("create", create),
        read_only=flag_of("read_only", read_only),
        allow_damage=flag_of("allow_damage", allow_damage),
        accept_log_loss=flag_of("accept_log_loss", accept_log_loss),
        wait=seconds_of("wait", wait),
        memory_budget_bytes=optional_integer(
            "memory_budget_bytes", memory_budget_bytes, "a number of bytes", LEAST_MEMORY
        ),
        compaction_threads=optional_integer(
            "compaction_threads", compaction_threads, "a number of threads"
        ),
    )
    return Store(native, path)


class Store:
    """An open store: a directory of tables. Opened by `ostrakon.open`, used as a context manager.

    Threads can share a store, and other Python threads run while the store works. A store stays
    open until `close`, or until the store and all its tables, scans, writers, sessions and results
    are deleted. A process that was forked while a store was open cannot open any: use the start
    method `spawn`.
    """

    __slots__ = ("_locks", "_native", "_path")

    def __init__(self, native: NativeStore, path: str | PathLike[str] | None) -> None:
        self._native = native
        self._path = path
        # Locks of groups of related tables, by name: see `ostrakon.d4m.locks`.
        self._locks: dict[tuple[str, ...], Any] = {}

    @property
    def path(self) -> str | PathLike[str] | None:
        """The directory, or `None` for a store in memory."""
        return self._path

    @property
    def instance_id(self) -> str:
        """The id that was chosen when the store was created."""
        return self._native.instance_id

    @property
    def closed(self) -> bool:
        """Whether the store is closed."""
        return self._native.closed

    def close(self) -> None:
        """Closes the store, whose tables then reject all calls. A second call does nothing."""
        self._native.close()

    def tables(self) -> list[str]:
        """The names of all tables, sorted."""
        return [name for name, *_ in self._native.tables()]

    def table_infos(self) -> list[TableInfo]:
        """All tables, each with its id, whether it is online, and its time type."""
        return [TableInfo(*info) for info in self._native.tables()]

    def table(self, name: str) -> Table:
        """Returns a table, like `store[name]`; raises `NotFoundError` if it does not exist."""
        return Table(self._native.table(_name(name)), self._native)

    def __getitem__(self, name: str) -> Table:
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"the index of a store is the `name` of a table, not {shortened(name)}; use "
                "ostrakon.DB for pairs of tables",
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
        schema: Schema | None = None,
        exist_ok: bool = False,
    ) -> Table:
        """Creates a table, which is split at the rows of `splits`.

        `versioning` keeps only the newest version of an entry (Accumulo's default iterator).
        `time_type` is `millis` or `logical`. `schema` gives its rows and columns types: see
        `Schema` and `Table.typed`. With `exist_ok`, an existing table of that name is
        returned unchanged; if `schema` is given and the table has another one or none, this raises
        `AlreadyExistsError`.
        """
        name, exist_ok = _name(name), flag_of("exist_ok", exist_ok)
        if schema is not None and not hasattr(schema, "to_json"):
            raise wrong_type("schema", "an `ostrakon.Schema`, or None", schema)
        if exist_ok and name in self:
            table = self.table(name)
            if schema is not None and not schema.is_like(table.schema):
                raise AlreadyExistsError(
                    f"the table {name!r} exists with another schema, {table.schema!r}: leave out "
                    "`schema`, or choose another name",
                    {"table": name},
                )
            return table
        values = _properties_of(properties)
        if schema is not None:
            values[SCHEMA] = schema.to_json()
        self._native.create_table(
            name,
            bytes_list("splits", splits, "['g', 'n']"),
            values,
            one_of("time_type", time_type, ("millis", "logical")),
            flag_of("versioning", versioning),
        )
        return self.table(name)

    def drop(self, *names: str) -> None:
        """Deletes tables and everything in them."""
        for name in names:
            self._native.delete_table(_name(name))

    def rename_table(self, name: str, to: str) -> None:
        """Renames a table."""
        self._native.rename_table(_name(name), _name(to, "to"))

    def clone_table(
        self,
        name: str,
        to: str,
        *,
        flush: bool = True,
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        """Creates the table `to` as a copy of `name` that shares its files."""
        values = _properties_of(properties)
        self._native.clone_table(_name(name), _name(to, "to"), flag_of("flush", flush), values)
        return self.table(to)

    def set_online(self, name: str, online: bool) -> None:
        """Takes a table offline, or brings it back online."""
        self._native.set_online(_name(name), flag_of("online", online))

    def checkpoint(self, directory: str | PathLike[str]) -> None:
        """Copies the whole store to a new directory while it is in use. Table files are linked."""
        self._native.checkpoint(path_of("directory", directory))

    def sql(
        self,
        text: str,
        parameters: Sequence[object] = (),
        *,
        auths: Bytes | Iterable[Bytes] | None = None,
        label: Bytes = "",
        files: bool = False,
    ) -> SqlResult:
        """Runs a statement of SQL; the values of `parameters` take the places of `?`.

        Queries see what the authorizations `auths` allow, by default those that the store was
        opened with. New records get the label `label`. With `files`, queries may read files by
        their path: `SELECT … FROM 'visits.parquet'`. See `SqlResult` for the methods that need
        pyarrow.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     _ = store.sql("CREATE TABLE visits (day BIGINT, pages BIGINT, PRIMARY KEY (day))")
        ...     store.sql("INSERT INTO visits VALUES (?, ?), (?, ?)", [1, 10, 2, 20]).count
        ...     store.sql("SELECT day, pages FROM visits WHERE day < ?", [2]).fetchall()
        2
        [(1, 10)]
        """
        return self.sql_session(auths=auths, label=label, files=files).execute(text, parameters)

    def sql_session(
        self,
        *,
        auths: Bytes | Iterable[Bytes] | None = None,
        label: Bytes = "",
        files: bool = False,
        memory_bytes: int | None = None,
    ) -> SqlSession:
        """A session of SQL, for many statements; see `sql`.

        `memory_bytes`, at least 16 MiB, limits what sorts, joins and groups hold in memory; what is
        more goes to temporary files. The default is an eighth of the machine's memory, from
        256 MiB to 2 GiB.
        """
        return SqlSession(
            NativeSql(
                self._native,
                auths_of(auths),
                bytes_of("label", label, "an expression of labels as text, such as 'hr|audit'"),
                flag_of("files", files),
                optional_integer("memory_bytes", memory_bytes, "a number of bytes", LEAST_MEMORY),
            )
        )

    def event_types(self) -> list[str]:
        """The names of the event types, sorted."""
        return NativeEvents(self._native).types()

    def events(self, name: str) -> Events:
        """The events of a type; raises `NotFoundError` if there is no such type."""
        name = _name(name, of="an event type")
        events = Events(NativeEvents(self._native), name)
        events._native.toml(name)
        return events

    def create_events(
        self,
        name: str,
        file: str | PathLike[str] | None = None,
        *,
        toml: str | None = None,
        visibility: str | None = None,
        visibility_field: str | None = None,
        keep: str | None = None,
        equal_records: str | None = None,
        shards: int | None = None,
        format: str | None = None,  # noqa: A002 - the word of `ostrakon events create`
        map: Mapping[str, str] | None = None,  # noqa: A002 - likewise
        enrich: Mapping[str, str | PathLike[str]] | None = None,
        time: str | None = None,
        exist_ok: bool = False,
        adopt: bool = False,
    ) -> Events:
        """Creates an event type, with the fields of a log file's first lines, or from a definition.

        All events get the label `visibility`, or the one in their field `visibility_field`. `keep`
        is the age above which `Events.age_off` removes events (`90d`); nothing is removed
        automatically. `shards` is the number of parts into which events are divided.
        Records that are equal in all fields are one event, or with `equal_records="keep"` one each.
        `Events.ingest` explains `format`, `map` and `enrich`. `time` names the field of the file
        with the time of events; without it, the field is found by its name and its values. With
        `exist_ok`, an existing type of that name is returned unchanged, whatever its definition.

        With `adopt`, the tables of the type are there and its definition was lost: `toml` is that
        definition, and the events are kept. Call `Events.check` and `Events.repair` afterwards.
        """
        name = _name(name, of="an event type")
        exist_ok, adopt = flag_of("exist_ok", exist_ok), flag_of("adopt", adopt)
        field = "the name of a field"
        time = optional_text("time", time, field)
        more = {
            "visibility": optional_text("visibility", visibility, "a label, such as 'hr|audit'"),
            "visibility_field": optional_text("visibility_field", visibility_field, field),
            "keep": optional_text("keep", keep, "a span of time as text, such as '90d'"),
            "equal_records": optional_text("equal_records", equal_records, "'merge' or 'keep'"),
            "shards": optional_integer("shards", shards, "a number of shards", 1, _SHARDS),
        }
        if (file is None) == (toml is None):
            raise InvalidArgumentError(
                "an event type is made from a log file or from a definition: pass `file` or `toml`",
                {},
            )
        toml = optional_text("toml", toml, "a definition as TOML text")
        if adopt and toml is None:
            raise InvalidArgumentError(
                "tables are adopted with the definition that they had: pass `toml`", {}
            )
        if time is not None and file is None:
            raise InvalidArgumentError(
                "a definition names its time field: pass `time` only with a log file", {}
            )
        native = NativeEvents(self._native)
        if exist_ok and name in native.types():
            return Events(native, name)
        if file is not None:
            files = files_of(format, map, enrich)
            toml = native.infer(name, path_of("file", file), files, more, time)
        try:
            native.create(name, toml or "", more, adopt)
        except AlreadyExistsError as error:
            if name not in native.types():
                raise
            raise AlreadyExistsError(
                f'{error}; `db.events("{name}")` returns it, and so does this call with '
                "`exist_ok=True`",
                error.context,
            ) from None
        return Events(native, name)

    def problems(self, table: str | None = None) -> list[TableProblem]:
        """What currently fails in one table or in all; empty if nothing fails.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     store.problems()
        []
        """
        return [
            TableProblem(*found)
            for found in self._native.problems(optional_text("table", table, _A_TABLE))
        ]

    def find_class(self, name: str, *, constraint: bool = False) -> ClassInfo | None:
        """Looks up an iterator (or constraint) class by its name, with or without the package.

        Returns `None` if there is no such class.

        >>> import ostrakon
        >>> with ostrakon.open() as store:
        ...     store.find_class("RegExFilter").name
        'org.apache.accumulo.core.iterators.user.RegExFilter'
        """
        name = text_of("name", name, "a class, such as 'RegExFilter'")
        found = self._native.find_class(name, flag_of("constraint", constraint))
        return None if found is None else ClassInfo(*found)

    def namespaces(self) -> list[str]:
        """The names of all namespaces; that of the default namespace is empty."""
        return [name for name, _ in self._native.namespaces()]

    def create_namespace(self, name: str) -> None:
        """Creates a namespace, so that tables `NAMESPACE.NAME` can be created."""
        self._native.create_namespace(_name(name, of="a namespace"))

    def delete_namespace(self, name: str) -> None:
        """Deletes an empty namespace."""
        self._native.delete_namespace(_name(name, of="a namespace"))

    def rename_namespace(self, name: str, to: str) -> None:
        """Renames a namespace, and with it its tables."""
        self._native.rename_namespace(
            _name(name, of="a namespace"), _name(to, "to", of="a namespace")
        )

    def properties(self, namespace: str | None = None) -> dict[str, str]:
        """The properties set for a namespace, or for the whole store if none is given."""
        return self._native.own_properties(
            optional_text("namespace", namespace, "the name of a namespace")
        )

    def set_properties(
        self, changes: Mapping[str, str | None], namespace: str | None = None
    ) -> None:
        """Sets or removes (`None`) properties that tables inherit, atomically."""
        self._native.change_properties(
            optional_text("namespace", namespace, "the name of a namespace"),
            changes_of(changes),
        )

    def restore_file(self, file: str | PathLike[str]) -> RestoredFile:
        """Restores a damaged or missing table file from the directory `files` of a checkpoint.

        The file is verified first. It must be undamaged, and be the file that the store has under
        that name.
        """
        return RestoredFile(*self._native.restore_file(path_of("file", file)))

    def drop_file(self, file: str | PathLike[str]) -> DroppedFile:
        """Drops a damaged or missing table file that has no copy, and loses its entries.

        Older versions of their cells, and entries that a delete marker in it hid, can be read
        again. What is left of the file is moved to the directory `lost`.
        """
        return DroppedFile(*self._native.drop_file(path_of("file", file)))

    def log_losses(self) -> list[LogLoss]:
        """What a damaged log lost; empty unless `allow_damage` or `accept_log_loss` was used.

        Not for a store that was opened with `auths`.
        """
        losses = self._native.log_losses()
        return [LogLoss(str(file), message, tables) for file, message, tables in losses]

    def check(self, *, progress: Progress = None) -> CheckReport:
        """Verifies every checksum, sort order and reference of the store."""
        with reporting(progress, "B") as report:
            files, size, entries, problems = self._native.check(report)
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
        return table_html(("table", "online", "timestamps"), lines, note)


# Maximum number of tables that a notebook shows.
_SHOWN = 30
_A_TABLE = "the name of a table"
# As many shards as two bytes can number.
_SHARDS = 2**16 - 1


def _directory(path: Any) -> str | None:
    """The path of a store; the native part would name files within it."""
    given = optional_path("path", path)
    if given == "":
        raise InvalidArgumentError(
            "`path` is empty: name a directory, or leave it out for a store in memory",
            {"argument": "path"},
        )
    if given is not None and Path(given).is_file():
        raise InvalidArgumentError(
            f"the path is a file; a store is a directory: choose another `path` than {given!r}",
            {"argument": "path", "file": given},
        )
    return given


def _name(given: Any, argument: str = "name", of: str = "a table") -> str:
    return text_of(argument, given, f"the name of {of}")


def _properties_of(properties: Any) -> dict[str, str]:
    """Properties of a new table; values may be numbers and booleans."""
    example = "{'table.durability': 'log'}"
    for value in mapping_of("properties", properties, example).values():
        if value is None:
            raise wrong_type("properties", f"a dictionary of values, such as {example}", value)
    return {name: str(value) for name, value in changes_of(properties, "properties")}
