"""The DB-API 2.0 (PEP 249)."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ostrakon
from ostrakon import dbapi, errors


@pytest.fixture
def connection(tmp_path: Path) -> dbapi.Connection:
    connection = dbapi.connect(tmp_path / "db")
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE t (k BIGINT, v VARCHAR, PRIMARY KEY (k))")
    assert (cursor.description, cursor.rowcount) == (None, -1)
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"v{n}") for n in range(5)])
    assert cursor.rowcount == 5
    return connection


def test_a_module_of_the_standard() -> None:
    assert (dbapi.apilevel, dbapi.paramstyle, dbapi.threadsafety) == ("2.0", "qmark", 1)
    assert issubclass(dbapi.Error, Exception)
    assert issubclass(dbapi.Warning, Exception)
    for name in ("Data", "Operational", "Integrity", "Internal", "Programming", "NotSupported"):
        assert issubclass(getattr(dbapi, f"{name}Error"), dbapi.DatabaseError)
        assert getattr(dbapi.Connection, f"{name}Error") is getattr(dbapi, f"{name}Error")
    assert dbapi.Date(2024, 1, 2) == dt.date(2024, 1, 2)
    assert dbapi.TimestampFromTicks(0.5) - dbapi.TimestampFromTicks(0) == dt.timedelta(seconds=0.5)
    assert isinstance(dbapi.TimeFromTicks(0), dt.time)
    assert dbapi.Binary(b"a") == b"a"
    assert dbapi.STRING not in (dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.ROWID)


def test_rows_are_fetched_as_the_standard_says(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert cursor.execute("SELECT k, v FROM t WHERE k >= ? ORDER BY k", [1]) is cursor
    assert cursor.rowcount == -1
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["k", "v"]
    assert [column[1] == dbapi.NUMBER for column in cursor.description] == [True, False]
    assert [column[1] == dbapi.STRING for column in cursor.description] == [False, True]
    assert cursor.fetchone() == (1, "v1")
    assert cursor.fetchmany() == [(2, "v2")]
    assert cursor.fetchmany(0) == []
    assert cursor.fetchmany(2) == [(3, "v3"), (4, "v4")]
    assert cursor.fetchall() == []
    assert cursor.fetchone() is None
    assert list(cursor.execute("SELECT k FROM t ORDER BY k DESC LIMIT 2")) == [(4,), (3,)]
    kinds = cursor.execute("SELECT TIMESTAMP '2024-01-02 03:04:05', DATE '2024-01-02', X'00'")
    assert kinds.description is not None
    assert [column[1] == dbapi.DATETIME for column in kinds.description] == [True, True, False]
    assert kinds.description[2][1] == dbapi.BINARY
    cursor.execute("DELETE FROM t WHERE k < 2")
    assert (cursor.rowcount, cursor.description) == (2, None)
    with pytest.raises(dbapi.ProgrammingError, match="no rows"):
        cursor.fetchone()
    connection.commit()
    cursor.setinputsizes([1])
    cursor.setoutputsize(1)


def test_pandas_reads_from_a_connection(connection: dbapi.Connection) -> None:
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        frame = pd.read_sql("SELECT k FROM t WHERE k > ? ORDER BY k", connection, params=[2])
    assert frame["k"].tolist() == [3, 4]


def test_errors_have_the_classes_of_the_standard(
    connection: dbapi.Connection, tmp_path: Path
) -> None:
    cursor = connection.cursor()
    for text, error in [
        ("SELEC", dbapi.ProgrammingError),
        ("SELECT * FROM nowhere", dbapi.ProgrammingError),
        ("SELECT ?", dbapi.ProgrammingError),
        ("CREATE VIEW v AS SELECT 1", dbapi.NotSupportedError),
        ("CREATE TABLE t (k BIGINT, PRIMARY KEY (k))", dbapi.ProgrammingError),
        ("INSERT INTO t VALUES (NULL, 'x')", dbapi.IntegrityError),
        ("INSERT INTO t VALUES ('x', 'x')", dbapi.DataError),
        ("INSERT INTO t VALUES (1.5, 'x')", dbapi.DataError),
        ("INSERT INTO t SELECT k + 9223372036854775807, v FROM t", dbapi.DataError),
    ]:
        with pytest.raises(error) as raised:
            cursor.execute(text)
        assert isinstance(raised.value.__cause__, errors.Error)
    with pytest.raises(dbapi.ProgrammingError, match="no rows"):
        cursor.fetchall()
    with pytest.raises(dbapi.ProgrammingError, match="execute for a query"):
        cursor.executemany("SELECT ?", [[1]])
    # What fails while it is read has no end that looks like that of its rows.
    cursor.execute("SELECT sum(v) FROM (VALUES (9223372036854775807), (1)) AS o (v)")
    with pytest.raises(dbapi.DataError, match="out of the range"):
        cursor.fetchone()
    with pytest.raises(dbapi.ProgrammingError, match="no rows"):
        cursor.fetchone()
    with pytest.raises(dbapi.NotSupportedError, match="rolled back"):
        connection.rollback()
    with pytest.raises(dbapi.OperationalError):
        dbapi.connect(tmp_path / "db")
    with pytest.raises(dbapi.OperationalError):
        dbapi.connect(tmp_path / "nowhere", read_only=True)
    with pytest.raises(dbapi.ProgrammingError, match="label"):
        dbapi.connect(label="a&")


def test_closed_cursors_and_connections_refuse_calls(
    connection: dbapi.Connection, tmp_path: Path
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    with pytest.raises(dbapi.InterfaceError, match="cursor is closed"):
        cursor.execute("SELECT 1")
    cursor = connection.cursor()
    cursor.execute("SELECT k FROM t")
    connection.close()
    connection.close()
    for call in (cursor.fetchall, connection.cursor, connection.commit, connection.rollback):
        with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
            call()
    # Its store is closed, and one that is open already stays open.
    with ostrakon.open(tmp_path / "db") as store:
        with dbapi.connect(store) as second:
            assert second.cursor().execute("SELECT max(k) FROM t").fetchone() == (4,)
        assert not store.closed
        with pytest.raises(dbapi.ProgrammingError, match="read_only"):
            dbapi.connect(store, read_only=True)


def test_a_connection_sees_what_its_authorizations_allow(tmp_path: Path) -> None:
    with dbapi.connect(tmp_path / "db", auths=["hr"], label="hr") as connection:
        # The store itself was opened without authorizations of its own.
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE t (k BIGINT, v BIGINT, PRIMARY KEY (k))")
        cursor.execute("INSERT INTO t VALUES (1, 1)")
        assert cursor.execute("SELECT count(*) FROM t").fetchall() == [(1,)]
    with dbapi.connect(tmp_path / "db") as connection:
        assert connection.cursor().execute("SELECT count(*) FROM t").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("statement", "parameters"),
    [
        ("SELECT ?", ["\ud800"]),
        ("SELECT arrow_cast(3000000, 'Date32')", []),
    ],
)
def test_values_without_a_form_are_data_errors(
    connection: dbapi.Connection, statement: str, parameters: list[object]
) -> None:
    with connection.cursor() as cursor, pytest.raises(dbapi.DataError):
        cursor.execute(statement, parameters).fetchall()


@pytest.mark.parametrize(
    "value", [dt.time(10, tzinfo=dt.timezone.utc), np.longdouble(1.5)], ids=["time", "longdouble"]
)
def test_values_that_would_change_are_refused(connection: dbapi.Connection, value: object) -> None:
    with connection.cursor() as cursor, pytest.raises(dbapi.ProgrammingError):
        cursor.execute("SELECT ?", [value])
