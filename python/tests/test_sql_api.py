"""SQL from Python: results, parameters, sessions, labels, and how they end."""

from __future__ import annotations

import datetime as dt
import gc
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ostrakon
from ostrakon import Schema, errors


@pytest.fixture
def people(store: ostrakon.Store) -> ostrakon.Store:
    store.sql(
        "CREATE TABLE people (name VARCHAR, born DATE, height DOUBLE, photo BYTEA, seen TIMESTAMP, "
        "PRIMARY KEY (name))"
    )
    seen = dt.datetime(2024, 5, 17, 12, 30, 1, 250000)
    written = store.sql(
        "INSERT INTO people VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)",
        ["ada", dt.date(1815, 12, 10), 1.65, b"\x00\xff", seen, "bob", None, None, None, None],
    )
    assert (written.count, written.returns_rows, written.columns) == (2, False, [])
    return store


ALL = "SELECT name, born, height, photo FROM people ORDER BY name"


def test_results_come_in_every_shape(people: ostrakon.Store) -> None:
    wanted = [("ada", dt.date(1815, 12, 10), 1.65, b"\x00\xff"), ("bob", None, None, None)]
    result = people.sql(ALL)
    assert result.columns == ["name", "born", "height", "photo"]
    assert [kind.rstrip("View") for kind in result.types] == ["Utf8", "Date32", "Float64", "Binary"]
    assert result.fetchall() == wanted == list(result)
    assert isinstance(result.to_arrow(), pa.Table)
    assert list(result.to_pandas()["name"]) == ["ada", "bob"]
    assert result.to_polars()["height"].to_list() == [1.65, None]
    assert pa.table(result).num_rows == 2
    assert pa.table(people.sql(ALL)).num_rows == 2
    assert pl.DataFrame(people.sql(ALL)).height == 2
    assert list(people.sql(ALL)) == wanted
    assert [batch.num_rows for batch in people.sql(ALL).batches()] == [2]
    shown = people.sql(ALL)._repr_html_()
    assert "<td>ada</td>" in shown
    assert "2 rows" in shown
    assert repr(result).startswith("<ostrakon.SqlResult: name ")
    assert people.sql("SELECT count(*) FROM people").scalar() == 2
    assert people.sql("SELECT name FROM people WHERE false").fetchall() == []


def test_rows_are_read_once_unless_they_are_kept(people: ostrakon.Store) -> None:
    for read in (lambda result: list(result), pa.table):
        result = people.sql(ALL)
        read(result)
        with pytest.raises(errors.ClosedError, match="run the statement again"):
            result.to_arrow()
        with pytest.raises(errors.ClosedError, match="run the statement again"):
            list(result)
        assert "were read already" in result._repr_html_()
    # DuckDB opens one stream for the schema and another one for the rows.
    duckdb = pytest.importorskip("duckdb")
    result = people.sql(ALL)
    assert duckdb.sql("SELECT count(*) FROM result").fetchall() == [(2,)]
    result = people.sql(ALL)
    for_schema = pa.RecordBatchReader.from_stream(result)
    for_rows = pa.RecordBatchReader.from_stream(result)
    assert for_rows.schema == for_schema.schema
    assert for_rows.read_all().num_rows == 2
    with pytest.raises(pa.ArrowException, match="run the statement again"):
        for_schema.read_all()
    with pytest.raises(errors.InvalidArgumentError, match="4 columns, not one of each"):
        people.sql(ALL).scalar()
    deleted = people.sql("DELETE FROM people WHERE name = 'bob'")
    assert repr(deleted) == "<ostrakon.SqlResult: 1 changed record>"
    assert "1 changed record" in deleted._repr_html_()
    with pytest.raises(errors.InvalidArgumentError, match="returned no rows"):
        deleted.to_arrow()
    dropped = people.sql("DROP TABLE people")
    assert (dropped.count, repr(dropped)) == (None, "<ostrakon.SqlResult: no rows>")


def test_parameters_are_values_and_never_text(people: ostrakon.Store) -> None:
    hostile = "x'; DROP TABLE people; --"
    assert people.sql("SELECT ?", [hostile]).scalar() == hostile
    # Equal values, and names without values.
    assert people.sql("SELECT ?, ?", [5, 5]).fetchall() == [(5, 5)]
    assert people.sql("SELECT ?", ["a\0b"]).to_arrow().column_names == ["?1"]
    values = [True, -5, 2.0, "?", b"\x00", None, np.int64(7), 2**63 - 1, -(2**63)]
    marks = ", ".join("?" for _ in values)
    [row] = people.sql(f"SELECT {marks}", values)
    assert list(row) == values
    assert people.sql("SELECT name FROM people WHERE name = $1", ("bob",)).scalar() == "bob"
    assert people.sql("SELECT count(*) FROM people").scalar() == 2
    born = "SELECT name FROM people WHERE born = ?"
    for wrong in ([], ["a", "b"]):
        with pytest.raises(errors.InvalidArgumentError, match="has 1 parameter, but"):
            people.sql(born, wrong)
    for value in (2**63, object(), {"a": 1}, np.timedelta64(1, "s"), np.array([1, 2])):
        with pytest.raises(errors.InvalidArgumentError, match="parameter") as raised:
            people.sql("SELECT ?", [value])
        assert raised.value.context == {"argument": "parameters"}
    for inexact in (
        pd.Timestamp("2024-06-01T10:05:03.123456789"),
        np.datetime64("2024-06-01T10:05:03.123456789"),
        np.datetime64(10**12, "Y"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match="which has microseconds"):
            people.sql("SELECT ?", [inexact])
    exact = people.sql("SELECT ?", [pd.Timestamp("2024-06-01T10:05:03.123456000")]).scalar()
    assert exact == dt.datetime(2024, 6, 1, 10, 5, 3, 123456)
    for given in ("a", {"a": 1}, 7):
        with pytest.raises(errors.InvalidArgumentError, match="a list or a tuple"):
            people.sql("SELECT ?", given)


def test_dates_and_times_are_parameters(people: ostrakon.Store) -> None:
    born = "SELECT name FROM people WHERE born = ?"
    for day in (dt.date(1815, 12, 10), np.datetime64("1815-12-10")):
        assert people.sql(born, [day]).scalar() == "ada"
    zone = dt.timezone(dt.timedelta(hours=2))
    moments = [
        dt.datetime(2024, 5, 17, 12, 30, 1, 250000),
        dt.datetime(2024, 5, 17, 14, 30, 1, 250000, tzinfo=zone),
        pd.Timestamp("2024-05-17T12:30:01.25Z"),
        np.datetime64("2024-05-17T12:30:01.250", "ns"),
    ]
    for moment in moments:
        assert people.sql("SELECT name FROM people WHERE seen = ?", [moment]).scalar() == "ada"
    # Times that are none.
    for none in (pd.NaT, np.datetime64("NaT")):
        assert people.sql("SELECT ? IS NULL", [none]).scalar() is True


def test_a_moment_is_compared_as_a_moment(store: ostrakon.Store) -> None:
    store.sql("CREATE TABLE d (k BIGINT, d DATE, t TIMESTAMP, PRIMARY KEY (k))")
    far = dt.datetime(2500, 1, 1)
    store.sql("INSERT INTO d VALUES (?, ?, ?)", [1, dt.date(2024, 1, 1), far])
    noon = dt.datetime(2024, 1, 1, 12)
    assert store.sql("SELECT k FROM d WHERE d < ?", [noon]).fetchall() == [(1,)]
    assert store.sql("SELECT k FROM d WHERE d = ?", [noon]).fetchall() == []
    assert store.sql("SELECT k FROM d WHERE t IN (?)", [far]).fetchall() == [(1,)]
    assert store.sql("SELECT ?, ?", [noon, noon.date()]).fetchall() == [(noon, noon.date())]
    assert store.sql("SELECT ? + INTERVAL '1 day'", [noon]).scalar() == noon + dt.timedelta(days=1)
    zoned = pd.Timestamp("2024-01-01 13:00", tz="Europe/Berlin")
    assert store.sql("SELECT ?", [zoned]).scalar() == noon
    assert store.sql("SELECT ?", [np.datetime64("2024-01-01T12:00")]).scalar() == noon


def test_large_integers_beside_nulls_stay_exact(store: ostrakon.Store) -> None:
    store.sql("CREATE TABLE s (k BIGINT, v BIGINT, u BIGINT UNSIGNED, PRIMARY KEY (k))")
    large = 2**53 + 1
    store.sql("INSERT INTO s VALUES (1, ?, 18446744073709551615), (2, NULL, NULL)", [large])
    frame = store.sql("SELECT * FROM s").to_pandas()
    assert frame["v"][0] == large
    assert frame["u"][0] == 2**64 - 1
    assert frame["v"].isna().tolist() == [False, True]
    assert frame.dtypes.astype(str).tolist() == ["int64", "Int64", "UInt64"]
    typed = store["s"].typed().scan().to_pandas()
    assert typed["v"][0] == large


def test_what_python_has_no_object_for_is_an_error_of_the_package(store: ostrakon.Store) -> None:
    with pytest.raises(errors.UnsupportedError, match="years 1 to 9999"):
        store.sql("SELECT CAST(2147483647 AS DATE)").fetchall()
    for call in (
        lambda: store.sql("SELECT ?", ["\ud800"]),
        lambda: store.sql("SELECT '\ud800'"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match="surrogate"):
            call()


def test_a_session_sees_what_its_authorizations_allow(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        store.sql("CREATE TABLE t (k BIGINT, v BIGINT, PRIMARY KEY (k))")
        store.sql("INSERT INTO t VALUES (1, 1)")
        store.sql("INSERT INTO t VALUES (2, 2)", label="hr", auths="hr")
        assert store.sql("SELECT sum(v) FROM t", auths="hr").scalar() == 3
        assert store.sql("SELECT sum(v) FROM t", auths=[]).scalar() == 1
        assert store.sql("SELECT sum(v) FROM t").scalar() == 1
        session = store.sql_session(auths="hr")
        session.execute("SET label = 'hr'")
        session.execute("INSERT INTO t VALUES (3, 3)")
        assert session.execute("SELECT count(*) FROM t").scalar() == 3
        assert store.sql("SELECT count(*) FROM t", auths=[]).scalar() == 1
        for text in ("SET auths = 'hr'", "SET authorizations = 'hr'", "SET ROLE hr"):
            with pytest.raises(errors.UnsupportedError):
                store.sql(text)
        with pytest.raises(errors.InvalidArgumentError, match="`label`") as raised:
            store.sql("INSERT INTO t VALUES (4, 4)", label="a&")
        assert raised.value.context["argument"] == "label"
    with ostrakon.open(tmp_path / "db", auths=["it"]) as reader:
        assert reader.sql("SELECT sum(v) FROM t").scalar() == 1
        with pytest.raises(errors.BadAuthorizationsError):
            reader.sql("SELECT sum(v) FROM t", auths="hr")


def test_tables_with_a_schema_are_relations(store: ostrakon.Store) -> None:
    table = store.create_table("days", schema=Schema("int", {"v": "float", "on": "date"})).typed()
    table.put({"row": [1, 2], "v": [0.5, 1.5], "on": [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]})
    rows = store.sql('SELECT v, "on" FROM days ORDER BY v').fetchall()
    assert rows == [(0.5, dt.date(2024, 1, 1)), (1.5, dt.date(2024, 1, 2))]
    assert store.sql("INSERT INTO days VALUES (3, 2.5, DATE '2024-01-03')").count == 1
    assert [row["v"] for row in table.scan().rows(3).head()] == [2.5]


def test_errors_are_those_of_the_package(people: ostrakon.Store, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="not valid SQL"):
        people.sql("SELEC 1 FROM")
    with pytest.raises(errors.TableNotFoundError, match="people"):
        people.sql("SELECT * FROM peple")
    for text in ("SELECT 1; SELECT 2", "", "-- nothing"):
        with pytest.raises(errors.InvalidArgumentError, match="not one statement"):
            people.sql(text)
    with pytest.raises(errors.InvalidArgumentError, match="nested too deeply"):
        people.sql("SELECT " + " + ".join("1" for _ in range(5000)))
    with pytest.raises(errors.InvalidArgumentError, match="out of the range"):
        people.sql("SELECT sum(v) FROM (VALUES (9223372036854775807), (1)) AS t (v)").to_arrow()
    pd.DataFrame({"a": [1, 2]}).to_csv(tmp_path / "x.csv", index=False)
    text = f"SELECT sum(a) FROM '{tmp_path / 'x.csv'}'"
    with pytest.raises(errors.Error):
        people.sql(text)
    assert people.sql(text, files=True).scalar() == 3


def test_deep_expressions_do_not_use_the_stack_of_the_caller(store: ostrakon.Store) -> None:
    store.sql("CREATE TABLE t (k BIGINT, PRIMARY KEY (k))")
    store.sql("INSERT INTO t VALUES (1)")
    text = "SELECT " + " + ".join("k" for _ in range(150)) + " FROM t"
    found = []

    def read() -> None:
        found.append(store.sql(text).scalar())

    # A thread with the smallest stack: neither plans nor queries run on it.
    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=read)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert found == [150]


def test_a_closed_store_refuses_statements_and_rows(people: ostrakon.Store) -> None:
    rows, session, stream = people.sql(ALL), people.sql_session(), people.sql(ALL)
    batches = people.sql(ALL).batches()
    people.close()
    for call in (
        lambda: people.sql("SELECT 1"),
        lambda: session.execute("SELECT 1"),
        rows.to_arrow,
        lambda: list(batches),
        stream.__arrow_c_stream__,
    ):
        with pytest.raises(errors.ClosedError, match=r"ostrakon\.open"):
            call()


def test_a_store_lives_as_long_as_its_sessions_and_results(tmp_path: Path) -> None:
    store = ostrakon.open(tmp_path / "db")
    store.sql("CREATE TABLE t (k BIGINT, PRIMARY KEY (k))")
    store.sql("INSERT INTO t VALUES (1), (2)")
    session, rows = store.sql_session(), store.sql("SELECT k FROM t ORDER BY k")
    del store
    gc.collect()
    assert session.execute("SELECT count(*) FROM t").scalar() == 2
    del session
    gc.collect()
    assert rows.fetchall() == [(1,), (2,)]
    # What to_arrow returned is all that is left, and it does not need the store.
    table = rows.to_arrow()
    del rows
    gc.collect()
    with ostrakon.open(tmp_path / "db", wait=30):
        assert table.num_rows == 2


def test_rows_stream_in_bounded_batches(store: ostrakon.Store) -> None:
    store.create_table("t").put([f"{n:06}" for n in range(50_000)], "q", 1)
    sizes = [batch.num_rows for batch in store.sql("SELECT row FROM t").batches()]
    assert sum(sizes) == 50_000
    assert max(sizes) <= 8192
    query = "SELECT CAST(row AS VARCHAR) FROM t ORDER BY row"
    first = next(iter(store.sql(query)))
    assert first == ("000000",)


def test_what_is_left_of_a_closed_store_does_not_lock_it(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        store.sql("CREATE TABLE t (k BIGINT, PRIMARY KEY (k))")
        store.sql("INSERT INTO t VALUES (1)")
        session, rows = store.sql_session(), store.sql("SELECT k FROM t")
    with ostrakon.open(tmp_path / "db") as store:
        assert store.sql("SELECT k FROM t").scalar() == 1
    for call in (rows.fetchall, lambda: session.execute("SELECT 1")):
        with pytest.raises(errors.ClosedError):
            call()


def test_ctrl_c_ends_a_query(store: ostrakon.Store) -> None:
    result = store.sql(
        "SELECT count(*) FROM generate_series(1, 100000000000) AS t (n) WHERE n % 7 = 8"
    )
    main = threading.get_ident()

    def interrupt() -> None:
        while not result._started:
            time.sleep(0.01)
        time.sleep(0.1)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        result.to_arrow()
    thread.join()
    with pytest.raises(errors.ClosedError, match="run the statement again"):
        result.to_arrow()
    assert store.sql("SELECT 1").scalar() == 1


def test_missing_parameters_of_pandas_are_nulls(store: ostrakon.Store) -> None:
    for missing in (None, pd.NA, pd.NaT, np.datetime64("NaT")):
        assert store.sql("SELECT ? IS NULL", [missing]).scalar() is True


def test_a_time_of_day_is_a_text(store: ostrakon.Store) -> None:
    assert store.sql("SELECT ?", [dt.time(10, 5)]).scalar() == "10:05:00"


def test_parameters_of_another_type_are_type_errors(store: ostrakon.Store) -> None:
    for parameters in (5, [object()], "x", {"a": 1}):
        with pytest.raises(errors.ArgumentTypeError, match="`parameters`"):
            store.sql("SELECT ?", parameters)  # type: ignore[arg-type]


def test_rows_that_were_iterated_cannot_be_fetched(people: ostrakon.Store) -> None:
    result = people.sql("SELECT 1")
    assert list(result) == [(1,)]
    for read in (result.fetchall, result.to_arrow, lambda: list(result)):
        with pytest.raises(errors.ClosedError, match="run the statement again"):
            read()
