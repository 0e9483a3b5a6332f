"""The ADBC driver, through Arrow's driver manager."""

from __future__ import annotations

import datetime as dt
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import adbc_driver_manager
import adbc_driver_manager.dbapi as manager
import polars as pl
import pyarrow as pa
import pytest

import ostrakon
from ostrakon import adbc


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[manager.Connection]:
    with adbc.connect(tmp_path / "db") as connection:
        yield connection


def ask(connection: manager.Connection, query: str, *values: object) -> pa.Table:
    with connection.cursor() as cursor:
        cursor.execute(query, values or None)
        return cursor.fetch_arrow_table()


def change(connection: manager.Connection, statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def fill(connection: manager.Connection, rows: int = 3) -> None:
    change(connection, "CREATE TABLE t (k BIGINT, s VARCHAR, PRIMARY KEY (k))")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"v{n}") for n in range(rows)])
        assert cursor.rowcount == rows


def test_a_statement_has_its_effect_although_its_rows_are_not_read(
    connection: manager.Connection, tmp_path: Path
) -> None:
    fill(connection)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (7, 'seven')")
        assert cursor.fetchall() == []
        cursor.execute("DELETE FROM t WHERE k = 0")
    assert ask(connection, "SELECT k FROM t ORDER BY k").to_pydict() == {"k": [1, 2, 7]}
    connection.close()
    with ostrakon.open(tmp_path / "db") as store:
        assert store.sql("SELECT count(*) AS n FROM t").to_arrow().to_pydict() == {"n": [3]}


def test_values_of_all_kinds_are_parameters(connection: manager.Connection) -> None:
    values = {
        "b": True,
        "i": -(2**63),
        "f": 0.1,
        "s": "it's; --",
        "y": b"\x00\xff",
        "d": dt.date(2024, 2, 29),
        "t": dt.datetime(2024, 2, 29, 1, 2, 3, 456789),
    }
    marks = ", ".join(f"? AS {name}" for name in values)
    assert ask(connection, f"SELECT {marks}", *values.values()).to_pylist() == [values]
    kinds = [
        (pa.array([2**63 - 1], pa.uint64()), 2**63 - 1),
        (pa.array(["x"], pa.large_string()), "x"),
        (pa.array(["x"]).dictionary_encode(), "x"),
        (pa.array([dt.date(1969, 12, 31)], pa.date64()), dt.date(1969, 12, 31)),
        (pa.array([1], pa.timestamp("s", "UTC")), dt.datetime(1970, 1, 1, 0, 0, 1)),
        (pa.array([2000], pa.timestamp("ns")), dt.datetime(1970, 1, 1, 0, 0, 0, 2)),
        (pa.nulls(1), None),
    ]
    for array, expected in kinds:
        with connection.cursor() as cursor:
            cursor.execute("SELECT ? AS v", pa.record_batch({"v": array}))
            assert cursor.fetchall() == [(expected,)]
    for array in [
        pa.array([2**63], pa.uint64()),
        pa.array([[1]]),
        pa.array([2**62], pa.timestamp("s")),
        # What a TIMESTAMP or a DATE cannot hold is not cut.
        pa.array([None, 1000, 1001], pa.timestamp("ns")),
        pa.array([1001], pa.timestamp("ns", "UTC")).dictionary_encode(),
        pa.array([86_400_001], pa.int64()).view(pa.date64()),
    ]:
        with connection.cursor() as cursor, pytest.raises(manager.ProgrammingError, match='"v"'):
            cursor.execute("SELECT ? AS v", pa.record_batch({"v": array}))


def test_large_unsigned_numbers_and_nanoseconds_are_exact(tmp_path: Path) -> None:
    large, moment = 2**64 - 1, 1_717_236_303_123_456_789
    schema = ostrakon.Schema("uint", {"n": "uint"})
    with ostrakon.open(tmp_path / "db") as store:
        store.create_table("u", schema=schema).typed().put({"row": [large], "n": [large - 1]})
    with adbc.connect(tmp_path / "db") as connection:
        found = ask(connection, "SELECT row, n FROM u")
        assert found.to_pylist() == [{"row": large, "n": large - 1}]
        with connection.cursor() as cursor:
            cursor.execute("SELECT row FROM u")
            assert cursor.fetchall() == [(large,)]
        text = "2024-06-01T10:05:03.123456789"
        found = ask(connection, f"SELECT arrow_cast('{text}', 'Timestamp(Nanosecond, None)') AS t")
        assert found.column("t").cast(pa.int64()).to_pylist() == [moment]


def test_options_that_are_wrong_are_named_with_their_value(tmp_path: Path) -> None:
    for option, value, said in [
        ("auths", "hr|audit", '"hr|audit" is an expression'),
        ("auths", "hr,,audit", '"hr,,audit" is none'),
        ("label", "hr&", '"hr&" is none'),
        ("memory_bytes", "5", "at least 16777216"),
        ("files", "yes", '"true" or "false"'),
    ]:
        options = {"uri": str(tmp_path / "db"), f"adbc.ostrakon.{option}": value}
        with pytest.raises(manager.Error, match=re.escape(said)) as raised:
            manager.connect(driver=adbc.driver(), db_kwargs=options, autocommit=True)
        assert f"adbc.ostrakon.{option}" in str(raised.value)
    assert not (tmp_path / "db").exists()


def test_a_store_is_created_as_by_open(tmp_path: Path) -> None:
    ostrakon.open(tmp_path / "a" / "b" / "db").close()
    adbc.connect(tmp_path / "c" / "d" / "db").close()
    assert (tmp_path / "c" / "d" / "db" / "catalog").exists()


def test_a_query_runs_once_for_each_row_of_its_parameters(connection: manager.Connection) -> None:
    fill(connection, 10)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT k, s FROM t WHERE k = ?", pa.record_batch({"k": pa.array([7, 3, 99])})
        )
        assert cursor.fetchall() == [(7, "v7"), (3, "v3")]
        with pytest.raises(manager.ProgrammingError, match="value"):
            cursor.execute("SELECT k FROM t WHERE k = ?")


def test_hidden_cells_stay_hidden(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with adbc.connect(path, label="secret", auths=["secret"]) as connection:
        fill(connection)
        assert ask(connection, "SELECT count(*) AS n FROM t").to_pydict() == {"n": [3]}
    for auths in (None, [], "public"):
        with adbc.connect(path, auths=auths) as connection:
            assert ask(connection, "SELECT count(*) AS n FROM t").to_pydict() == {"n": [0]}
            for option in ("adbc.ostrakon.auths", "adbc.connection.catalog"):
                with pytest.raises(manager.Error):
                    connection.adbc_connection.set_options(**{option: "secret"})
                with pytest.raises(manager.Error):
                    connection.adbc_database.set_options(**{option: "secret"})


def test_a_connection_for_reading_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with adbc.connect(path) as connection:
        fill(connection)
    with adbc.connect(path, read_only=True) as one, adbc.connect(path, read_only=True) as two:
        assert ask(one, "SELECT k FROM t ORDER BY k") == ask(two, "SELECT k FROM t ORDER BY k")
        with pytest.raises(manager.Error, match="reading only"):
            change(one, "DROP TABLE t")
    with adbc.connect(path) as connection:
        with pytest.raises(manager.Error, match="in use"):
            adbc.connect(path)
        assert ask(connection, "SELECT count(*) AS n FROM t").to_pydict() == {"n": [3]}


def test_objects_and_schemas(connection: manager.Connection) -> None:
    fill(connection)
    objects = connection.adbc_get_objects(depth="all").read_all().to_pylist()
    found = {
        (catalog["catalog_name"], schema["db_schema_name"], table["table_name"]): table
        for catalog in objects
        for schema in catalog["catalog_db_schemas"]
        for table in schema["db_schema_tables"]
    }
    table = next(table for place, table in found.items() if place[2] == "t")
    columns = [(one["column_name"], one["ordinal_position"]) for one in table["table_columns"]]
    assert columns[:2] == [("k", 1), ("s", 2)]
    named = connection.adbc_get_objects(depth="tables", table_name_filter="no_such_%").read_all()
    assert all(
        schema["db_schema_tables"] == []
        for catalog in named.to_pylist()
        for schema in catalog["catalog_db_schemas"]
    )
    assert connection.adbc_get_objects(depth="catalogs").read_all().num_rows == len(objects)
    assert connection.adbc_get_table_schema("t").field("k").type == pa.int64()
    with pytest.raises(manager.Error, match="no_such"):
        connection.adbc_get_table_schema("no_such")
    info = connection.adbc_get_info()
    assert info["vendor_name"] == "Ostrakon"
    assert info["driver_name"] == "ADBC Ostrakon Driver"
    assert "BASE TABLE" in connection.adbc_get_table_types()


def test_errors_have_their_classes(connection: manager.Connection) -> None:
    fill(connection)
    # Errors of rows, which Arrow reads, are Arrow's.
    cases: dict[str, type[Exception]] = {
        "SELECT": manager.ProgrammingError,
        "SELECT * FROM no_such": manager.ProgrammingError,
        "SELECT 1; SELECT 2": manager.ProgrammingError,
        "CREATE TABLE t (k BIGINT, PRIMARY KEY (k))": manager.Error,
        "CREATE VIEW v AS SELECT 1": manager.NotSupportedError,
        "SELECT 9223372036854775807 + k FROM t": pa.ArrowInvalid,
    }
    for statement, expected in cases.items():
        with pytest.raises(expected):
            ask(connection, statement)
    assert ask(connection, "SELECT 1 AS n").to_pydict() == {"n": [1]}
    with pytest.raises(manager.Error, match="uri"):
        manager.connect(driver=adbc.driver())
    with pytest.raises(manager.Error, match="no_such"):
        manager.connect(driver=adbc.driver(), db_kwargs={"uri": "x", "no_such": "1"})
    with pytest.warns(Warning, match="autocommit"):
        manager.connect(driver=adbc.driver(), db_kwargs={"uri": str(_memory(connection))}).close()


def _memory(connection: manager.Connection) -> Path:
    """Another directory beside that of the connection."""
    place = Path(connection.adbc_database.get_option("uri"))
    return place.with_name("other")


def test_events_are_read(tmp_path: Path) -> None:
    log = tmp_path / "web.csv"
    log.write_text("time,page\n2024-06-01T10:05:00Z,/\n2024-06-01T10:06:00Z,/a\n")
    with ostrakon.open(tmp_path / "db") as store:
        store.create_events("web", log).ingest(log)
    for read_only in (False, True):
        with adbc.connect(tmp_path / "db", read_only=read_only) as connection:
            found = ask(connection, "SELECT page FROM events.web WHERE page = '/a'")
            assert found.to_pydict() == {"page": ["/a"]}
            counted = ask(connection, "SELECT count(*) AS n FROM events.web")
            assert counted.to_pydict() == {"n": [2]}


def test_rows_that_are_ready_end_when_the_query_is_cancelled(
    connection: manager.Connection,
) -> None:
    rows = "SELECT a.value FROM generate_series(1, 100000) a, generate_series(1, 100000) b"
    with connection.cursor() as cursor:
        cursor.execute(rows)
        reader = cursor.fetch_record_batch()
        reader.read_next_batch()
        cursor.adbc_cancel()
        with pytest.raises(pa.ArrowInvalid, match="cancelled"):
            # What was read ahead may still come.
            reader.read_all()
    fill(connection)
    misses = pa.record_batch({"k": pa.array([1] + [-1] * 200_000)})
    with connection.cursor() as cursor:
        cursor.execute("SELECT k FROM t WHERE k = ?", misses)
        reader = cursor.fetch_record_batch()
        assert reader.read_next_batch().num_rows == 1
        cursor.adbc_cancel()
        begun = time.monotonic()
        with pytest.raises(pa.ArrowInvalid, match="cancelled"):
            reader.read_next_batch()
        assert time.monotonic() - begun < 20


def test_rows_of_parameters_may_be_null(connection: manager.Connection) -> None:
    values = pa.record_batch({"a": pa.array([1, None, 3])})
    with connection.cursor() as cursor:
        cursor.execute("SELECT ? AS a", values)
        assert cursor.fetchall() == [(1,), (None,), (3,)]
        cursor.execute("SELECT ?", pa.record_batch({"a": pa.array(["x", "y"])}))
        assert cursor.fetchall() == [("x",), ("y",)]


def test_no_row_of_parameters_gives_the_columns(connection: manager.Connection) -> None:
    fill(connection)
    none = pa.record_batch({"k": pa.array([], pa.int64())})
    with connection.cursor() as cursor:
        cursor.execute("SELECT k, s FROM t WHERE k = ?", none)
        table = cursor.fetch_arrow_table()
        assert (table.num_rows, table.column_names) == (0, ["k", "s"])


def test_a_connection_becomes_one_for_reading(connection: manager.Connection) -> None:
    fill(connection)
    with connection.cursor() as cursor:
        connection.adbc_connection.set_options(**{"adbc.connection.readonly": "true"})
        with pytest.raises(manager.Error, match="reading only"):
            cursor.execute("DELETE FROM t")
        with pytest.raises(manager.Error, match="reading only"):
            connection.adbc_connection.set_options(**{"adbc.connection.readonly": "false"})
    with pytest.raises(manager.Error, match="name"):
        connection.adbc_get_table_schema("", db_schema_filter="public")


def test_a_query_can_be_cancelled(connection: manager.Connection) -> None:
    endless = "SELECT count(*) FROM generate_series(1, 4000000000) a, generate_series(1, 1000000) b"
    with connection.cursor() as cursor:
        timer = threading.Timer(0.5, cursor.adbc_cancel)
        timer.start()
        begun = time.monotonic()
        cursor.execute(endless)
        with pytest.raises(pa.ArrowInvalid, match="cancelled"):
            cursor.fetchall()
        timer.join()
    assert time.monotonic() - begun < 20
    assert ask(connection, "SELECT 1 AS n").to_pydict() == {"n": [1]}


def test_other_libraries_read_with_it(connection: manager.Connection) -> None:
    fill(connection)
    frame = pl.read_database("SELECT k, s FROM t ORDER BY k", connection)
    assert frame.rows() == [(0, "v0"), (1, "v1"), (2, "v2")]


def test_the_driver_has_the_names_that_managers_look_for() -> None:
    for entry in (None, "AdbcDriverOstrakonInit", "AdbcDriverInit"):
        options = {"driver": adbc.driver(), "uri": "/nowhere", "adbc.ostrakon.read_only": "true"}
        if entry:
            options["entrypoint"] = entry
        with pytest.raises(adbc_driver_manager.Error, match="nowhere"):
            adbc_driver_manager.AdbcDatabase(**options)
