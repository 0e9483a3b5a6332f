"""Queries of polars and DuckDB narrow the scans that they read, and answer the same."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import ostrakon
from ostrakon import Schema, pushdown

duckdb, pl, pa = (pytest.importorskip(name) for name in ("duckdb", "polars", "pyarrow"))


@pytest.fixture
def typed(store: ostrakon.Store) -> ostrakon.TypedTable:
    schema = Schema(
        {"name": "text", "n": "int"}, {"v": "float", "at": "datetime", "day": "date", "ok": "bool"}
    )
    made = store.create_table("typed", schema=schema).typed()
    count = 200
    made.put(
        {
            "name": [f"k{at % 10}" for at in range(count)],
            "n": list(range(count)),
            "v": [None if at % 7 == 0 else (at - 100) / 4 for at in range(count)],
            "at": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=at) for at in range(count)],
            "day": [dt.date(2024, 1, 1) + dt.timedelta(days=at) for at in range(count)],
            "ok": [at % 2 == 0 for at in range(count)],
        }
    )
    return made


@pytest.fixture
def plain(table: ostrakon.Table) -> ostrakon.Table:
    table.put([f"r{at:03d}" for at in range(100)], "q", list(range(100)), timestamp=1)
    return table


def test_polars_answers_as_on_a_frame(typed: ostrakon.TypedTable) -> None:
    frame = typed.to_polars()
    col = pl.col
    for where in (
        col("name") == "k3",
        (col("name") >= "k3") & (col("name") < "k5") & (col("v") > 0),
        (pl.lit(-3) <= col("v")) & (col("n") != 5),
        col("v") >= 0.0,
        col("v") <= -0.0,
        (col("name") == "k1") | (col("v") == 1),
        col("at") <= dt.datetime(2024, 1, 3),
        (col("day") > dt.date(2024, 3, 1)) & col("ok"),
        col("ok") == True,  # noqa: E712
        col("n") > 7.5,
        col("v").is_null(),
        col("name").str.starts_with("k2"),
    ):
        expected = frame.filter(where)
        assert typed.scan().lazy().filter(where).collect().equals(expected), where
        picked = typed.scan().lazy().filter(where).select("v", "n").head(7).collect()
        assert picked.equals(expected.select("v", "n").head(7)), where
        limited = typed.scan().limit(20).lazy().filter(where).collect()
        assert limited.equals(frame.head(20).filter(where)), where


def test_conditions_of_polars_narrow_the_scan(typed: ostrakon.TypedTable) -> None:
    where = (pl.col("name") == "k3") & (pl.col("n") > 5) & (pl.col("v").is_null())
    conditions = pushdown.polars_conditions(where)
    assert conditions == [("name", "==", "k3"), ("n", ">=", 5)]
    narrowed = pushdown.narrowed(typed.scan(), conditions)
    assert narrowed.count() == 19
    assert "narrows what is read" in narrowed.explain()
    assert pushdown.narrowed(typed.scan().limit(3), conditions).count() == 3


def test_duckdb_answers_as_on_a_frame(typed: ostrakon.TypedTable) -> None:
    connection = duckdb.connect()
    connection.register("frame", typed.to_arrow())
    connection.register("stored", typed.scan().dataset())
    for query in (
        "SELECT count(*) FROM {}",
        "SELECT * FROM {} WHERE name = 'k3' ORDER BY n",
        "SELECT n FROM {} WHERE name >= 'k3' AND name < 'k5' AND v > 0 ORDER BY n",
        "SELECT name, sum(v) FROM {} WHERE v >= 0 GROUP BY name ORDER BY name",
        "SELECT n FROM {} WHERE name = 'k1' OR v = 1 ORDER BY n",
        "SELECT n FROM {} WHERE name IN ('k1', 'k2') AND ok ORDER BY n",
        "SELECT n FROM {} WHERE name = 'it''s \"(and)\"'",
        "SELECT n, v FROM {} WHERE \"at\" <= TIMESTAMP '2024-01-03' AND v IS NULL ORDER BY n",
        "SELECT day FROM {} WHERE day > DATE '2024-03-01' AND n < 90 ORDER BY n",
    ):
        answer = connection.sql(query.format("stored")).fetchall()
        assert answer == connection.sql(query.format("frame")).fetchall(), query


def test_conditions_of_duckdb_narrow_the_scan() -> None:
    import pyarrow.compute as pc

    field = pc.field
    where = (
        (field("row") >= "a") & (field("row") < "b c") & (field("n") == 3) & field("v").is_null()
    )
    assert pushdown.arrow_conditions(where) == [
        ("row", ">=", "a"),
        ("row", "<=", "b c"),
        ("n", "==", 3),
    ]
    unknown: list[Any] = [
        (field("row") == "a") | (field("row") == "b"),
        ~(field("row") == "a"),
        field("row") == 'x") and (row == "y',
        field("row") == "back\\slash",
    ]
    assert [pushdown.arrow_conditions(one) for one in unknown] == [[], [], [], []]


def test_plain_scans_are_sources_too(plain: ostrakon.Table) -> None:
    lazy = plain.scan().lazy()
    assert lazy.filter(pl.col("row") == "r007").select("value").collect().item() == "7"
    assert lazy.select("row").head(3).collect()["row"].to_list() == ["r000", "r001", "r002"]
    rows = plain.scan(("r010", "r020")).dataset()
    connection = duckdb.connect()
    connection.register("part_of_it", rows)
    query = "SELECT count(*), min(row) FROM part_of_it WHERE row > 'r012'"
    assert connection.sql(query).fetchall() == [(8, "r013")]
    narrowed = pushdown.narrowed(plain.scan(), [("row", "<=", "r004"), ("value", "==", "1")])
    assert narrowed.count() == 5


def test_conditions_on_bytes_find_their_rows(plain: ostrakon.Table) -> None:
    rows = plain.scan(text=False).dataset()
    found = duckdb.sql("select count(*) from rows where row = 'r007'::BLOB").fetchall()
    assert rows is not None
    assert found == [(1,)]
