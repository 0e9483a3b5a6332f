"""DB-API 2.0 (PEP 249) for the tables of a store. Queries need pyarrow.

>>> from ostrakon import dbapi
>>> with dbapi.connect() as connection, connection.cursor() as cursor:
...     _ = cursor.execute("CREATE TABLE visits (day BIGINT, pages BIGINT, PRIMARY KEY (day))")
...     _ = cursor.executemany("INSERT INTO visits VALUES (?, ?)", [(1, 10), (2, 20)])
...     cursor.execute("SELECT sum(pages) FROM visits WHERE day <= ?", [2]).fetchone()
(30,)

Each statement is committed by itself, and `rollback` raises `NotSupportedError`. Rows are read as
they are fetched, so that `rowcount` is -1 after a query. The class of an error tells what to do;
its cause (`__cause__`) is the error of `ostrakon.errors`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ostrakon import errors
from ostrakon.arguments import integer_of, text_of, wrong_type
from ostrakon.sql import SqlResult
from ostrakon.store import Store
from ostrakon.store import open as open_store

if TYPE_CHECKING:
    from ostrakon.ranges import Bytes

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
# Threads may share the module, but not connections.
threadsafety = 1
paramstyle = "qmark"

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
DateFromTicks = dt.date.fromtimestamp
TimestampFromTicks = dt.datetime.fromtimestamp
Binary = bytes


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802 - a name of the standard
    """The time of day of a number of seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks).time()


class Warning(Exception):  # noqa: A001, N818 - a name of the standard
    """An important warning."""


class Error(Exception):
    """Any error of this module."""


class InterfaceError(Error):
    """An error of the interface rather than of the database, such as a closed cursor."""


class DatabaseError(Error):
    """An error of the database."""


class DataError(DatabaseError):
    """A value that cannot be processed."""


class OperationalError(DatabaseError):
    """An operation of the database failed: of the disk, for memory, or because of a lock."""


class IntegrityError(DatabaseError):
    """A violated constraint."""


class InternalError(DatabaseError):
    """An error inside the database."""


class ProgrammingError(DatabaseError):
    """A wrong statement, a wrong number of values, or a table that does not exist."""


class NotSupportedError(DatabaseError):
    """Something that the database does not support."""


# The first class of a row that an error belongs to decides.
_CLASSES: tuple[tuple[type[errors.Error], type[Error]], ...] = (
    (errors.MissingExtraError, InterfaceError),
    (errors.ConstraintViolationError, IntegrityError),
    (errors.UnsupportedError, NotSupportedError),
    (errors.InternalError, InternalError),
    (errors.CorruptionError, InternalError),
    (errors.InvalidArgumentError, ProgrammingError),
    (errors.NotFoundError, ProgrammingError),
    (errors.AlreadyExistsError, ProgrammingError),
    (errors.PermissionDeniedError, ProgrammingError),
    (errors.OfflineError, OperationalError),
    (errors.ClosedError, InterfaceError),
)


def _class_of(error: errors.Error) -> type[Error]:
    """The class for an error of the package."""
    # A value that Python or UTF-8 cannot represent.
    if isinstance(error.__cause__, (OverflowError, ValueError)):
        return DataError
    if isinstance(error, errors.InvalidArgumentError):
        if "constraint" in error.context:
            return IntegrityError
        # What the error is about: rows that do not fit in memory, or a value, also one of a file.
        data = error.context.get("data")
        if data is not None:
            return OperationalError if data == "rows" else DataError
    found = (ours for theirs, ours in _CLASSES if isinstance(error, theirs))
    return next(found, OperationalError)


@contextmanager
def _translated() -> Iterator[None]:
    """Raises errors of the package as errors of this module."""
    try:
        yield
    except errors.Error as error:
        raise _class_of(error)(str(error)) from error


@contextmanager
def _values_translated() -> Iterator[None]:
    """Does so, also for values that Python or Arrow cannot represent, such as dates after 9999."""
    try:
        with _translated():
            yield
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(str(error)) from error


class _Type:
    """Equal to the types, as Arrow names them, that begin with one of some names."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __eq__(self, other: object) -> bool:
        return other is self or (isinstance(other, str) and other.startswith(self._names))

    def __hash__(self) -> int:
        return hash(self._names)


STRING = _Type("Utf8", "LargeUtf8")
BINARY = _Type("Binary", "LargeBinary", "FixedSizeBinary")
NUMBER = _Type("Int", "UInt", "Float", "Decimal", "Boolean")
DATETIME = _Type("Date", "Time", "Timestamp")
# A key of several columns is no type of its own, so that this equals no type.
ROWID = _Type()


def connect(
    store: Store | str | PathLike[str] | None = None,
    *,
    auths: Bytes | Iterable[Bytes] | None = None,
    label: Bytes = "",
    files: bool = False,
    **options: Any,
) -> Connection:
    """A connection to an open store, or to the store in a directory, which it opens and closes.

    Queries see what the authorizations `auths` allow, new records get the label `label`, and with
    `files` queries may read files by their path. `options` are those of `ostrakon.open`; without a
    store or a directory, the store is in memory.
    """
    if isinstance(store, Store):
        if options:
            raise ProgrammingError(
                f"{', '.join(options)}: options are for a store that `connect` opens, and this one "
                "is open"
            )
        return Connection(store, False, auths, label, files)
    try:
        with _translated():
            opened = open_store(store, **options)
    except ProgrammingError as error:
        if isinstance(error.__cause__, errors.NotFoundError):
            # PEP 249 names a data source that is not found.
            raise OperationalError(str(error)) from error.__cause__
        raise
    try:
        return Connection(opened, True, auths, label, files)
    except BaseException:
        opened.close()
        raise


class Connection:
    """A connection, made by `connect`. Used as a context manager, it closes itself."""

    # The standard lets programs find the exceptions here, too.
    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(
        self,
        store: Store,
        owned: bool,
        auths: Bytes | Iterable[Bytes] | None,
        label: Bytes,
        files: bool,
    ) -> None:
        self._owned = owned
        self._store: Store | None = store
        with _translated():
            self._session = store.sql_session(auths=auths, label=label, files=files)

    def cursor(self) -> Cursor:
        """A new cursor."""
        self._check()
        return Cursor(self)

    def commit(self) -> None:
        """Does nothing: each statement is committed by itself."""
        self._check()

    def rollback(self) -> None:
        """Raises `NotSupportedError`: each statement is committed by itself."""
        self._check()
        raise NotSupportedError("each statement is committed by itself and cannot be rolled back")

    def close(self) -> None:
        """Closes the connection, and the store if the connection opened it."""
        store, self._store = self._store, None
        if store is not None and self._owned:
            with _translated():
                store.close()

    def _check(self) -> None:
        if self._store is None:
            raise InterfaceError("the connection is closed: open another one with `connect`")

    def _execute(self, operation: str, parameters: Sequence[object]) -> SqlResult:
        with _values_translated():
            text = text_of("operation", operation, "a statement of SQL, such as 'SELECT 1'")
            return self._session.execute(text, parameters)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


_Description = tuple[str, str, None, None, None, None, None]


class Cursor:
    """Runs statements, and returns the rows of the last one."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.rowcount = -1
        self.description: list[_Description] | None = None
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._closed = False

    def execute(self, operation: str, parameters: Sequence[object] = ()) -> Cursor:
        """Runs a statement; the values of `parameters` take the places of `?`. Returns the cursor.

        `rowcount` is the number of records that the statement changed, or -1.
        """
        self._begin()
        result = self.connection._execute(operation, parameters)
        if result.returns_rows:
            pairs = zip(result.columns, result.types, strict=True)
            self.description = [(name, kind, None, None, None, None, None) for name, kind in pairs]
            self._rows = iter(result)
        elif result.count is not None:
            self.rowcount = result.count
        return self

    def executemany(self, operation: str, parameters: Iterable[Sequence[object]]) -> Cursor:
        """Runs a statement that changes a table, once for each sequence of values."""
        self._begin()
        if isinstance(parameters, (str, bytes)) or not isinstance(parameters, Iterable):
            takes = "sequences of values, such as [(1, 'a'), (2, 'b')]"
            with _translated():
                raise wrong_type("parameters", takes, parameters)
        total = 0
        for values in parameters:
            self.execute(operation, values)
            if self._rows is not None:
                self._begin()
                raise ProgrammingError(
                    "executemany is for statements that change a table: use execute for a query"
                )
            total += max(self.rowcount, 0)
        self.rowcount = total
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or `None` at the end."""
        found = self.fetchmany(1)
        return found[0] if found else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, at most `size`, by default `arraysize`."""
        with _translated():
            most = integer_of("size", self.arraysize if size is None else size, "a number of rows")
        return self._fetch(most)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that are left."""
        return self._fetch(None)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def _begin(self) -> None:
        self._check()
        self._rows, self.description, self.rowcount = None, None, -1

    def _fetch(self, most: int | None) -> list[tuple[Any, ...]]:
        self._check()
        rows = self._rows
        if rows is None:
            raise ProgrammingError("the cursor has no rows: execute a query first")
        # Rows that failed half-way have no end that could be mistaken for theirs.
        self._rows = None
        with _values_translated():
            fetched = list(islice(rows, most))
        self._rows = rows
        return fetched

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing, as the standard allows."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing, as the standard allows."""

    def close(self) -> None:
        """Closes the cursor."""
        self._closed = True
        self._rows = None

    def _check(self) -> None:
        self.connection._check()
        if self._closed:
            raise InterfaceError("the cursor is closed: make another one with `cursor`")

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
