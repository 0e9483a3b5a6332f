"""Tables with a schema: what goes in comes out, sorted as the values are."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostrakon
from ostrakon import Schema
from ostrakon.errors import InvalidArgumentError, NotFoundError

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

VALUES: dict[str, Any] = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "uint": st.integers(0, 2**64 - 1),
    "float": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "date": st.dates(),
    "datetime": st.datetimes().map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    ),
    "datetime_us": st.datetimes(),
    "text": st.text(st.characters(codec="utf-8")),
    "bytes": st.binary(),
}

ALL = Schema({"name": "text", "at": "datetime"}, {f"c:{kind}": kind for kind in VALUES})


def columns() -> dict[str, list[Any]]:
    day = dt.date(2024, 2, 29)
    return {
        "name": ["b", "a", "a"],
        "at": [dt.datetime(2024, 1, 1, 12), dt.datetime(1969, 12, 31), dt.datetime(2024, 1, 1)],
        "c:int": [-(2**63), 10, 9],
        "c:uint": [2**64 - 1, 0, 7],
        "c:float": [-0.5, 1e300, 2.0],
        "c:bool": [True, False, True],
        "c:date": [day, dt.date(1, 1, 1), day],
        "c:datetime": [dt.datetime(2024, 1, 1, 0, 0, 0, 5000)] * 3,
        "c:datetime_us": [dt.datetime(2024, 1, 1, 0, 0, 0, 1)] * 3,
        "c:text": ["ü", "", "x\0y"],
        "c:bytes": [b"\xff", b"", b"\0\x01"],
    }


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
@settings(max_examples=30)
def test_encodings_sort_as_the_values_do(kind: str, data: st.DataObject) -> None:
    one, other = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    schema = Schema(kind)
    low, high = schema.key(one), schema.key(other)
    assert (low < high) == (one < other) or (kind == "float" and one == other == 0)
    pair = Schema({"x": kind, "y": kind})
    if low != high:
        assert (pair.key(one, other) < pair.key(other, one)) == (one < other)
    assert pair.key(one, other).startswith(pair.key(one))


def test_encodings_are_those_of_accumulos_lexicoders() -> None:
    assert Schema("uint").key(0) == b"\x00"
    assert Schema("uint").key(1) == b"\x01\x01"
    assert Schema("int").key(1) == b"\x08\x80\0\0\0\0\0\0\x01"
    assert Schema("datetime").key(dt.datetime(1970, 1, 1)) == Schema("int").key(0)
    assert Schema({"a": "text", "b": "bytes"}).key("x\0", b"\x01") == b"x\x01\x01\0\x01\x02"


def forms() -> dict[str, Any]:
    given = columns()
    arrow = pa.table(
        {name: pa.array(column, pa.uint64() if name == "c:uint" else None)
         for name, column in given.items()}
    )  # fmt: skip
    return {
        "lists": given,
        "arrow": arrow,
        "batch": arrow.to_batches()[0],
        "pandas": arrow.to_pandas(),
        "polars": pl.from_arrow(arrow),
    }


@pytest.mark.parametrize("form", ["lists", "arrow", "batch", "pandas", "polars"])
def test_values_of_every_form_come_back_typed(store: ostrakon.Store, form: str) -> None:
    typed = store.create_table("t", schema=ALL).typed()
    assert store["t"].schema == ALL
    assert typed.put(forms()[form]) == 3
    found = typed.to_arrow()
    given = columns()
    expected = [{name: column[at] for name, column in given.items()} for at in (1, 2, 0)]
    assert found.to_pylist() == expected
    assert typed.count() == 3
    frame = typed.to_pandas()
    assert (frame["c:int"].dtype, frame["c:uint"].dtype) == (np.int64, np.uint64)
    assert all(frame[name].dtype.kind == "M" for name in ("at", "c:date", "c:datetime"))
    assert typed.to_polars().schema["c:bool"] == pl.Boolean


def test_rows_and_conditions(store: ostrakon.Store) -> None:
    schema = Schema({"sensor": "text", "day": "int"}, {"celsius": "float", "note": "text"})
    typed = store.create_table("t", schema=schema).typed()
    typed.put(
        {
            "sensor": ["a"] * 12 + ["ab", "b"],
            "day": [*range(-1, 11), 3, 4],
            "celsius": [None if day == 2 else float(day) for day in [*range(-1, 11), 3, 4]],
            "note": [f"n{day}" for day in range(14)],
        }
    )
    scan = typed.scan()

    def days(scan: ostrakon.TypedScan) -> list[int]:
        return [row["day"] for row in scan.columns("day").to_arrow().to_pylist()]

    assert days(scan.rows("a")) == list(range(-1, 11))
    assert days(scan.rows(("a", 9), ("ab", 3))) == [9, 10, 3]
    assert days(scan.rows(("a", 9), "ab")) == [9, 10, 3]
    assert days(scan.rows(("ab", 0), ...)) == [3, 4]
    assert days(scan.rows(None, ("a", 0))) == [-1, 0]
    assert days(scan.rows(("a", 5))) == [5]
    assert days(scan.where("celsius", 9)) == [9, 10]
    assert days(scan.where("celsius", -1.0, 2).where("celsius", 0)) == [0, 1]
    assert days(scan.where("day", 3, 4)) == [3, 4, 3, 4]
    assert days(scan.where("sensor", "ab")) == [3, 4]
    assert days(scan.where("sensor", "ab", "ab").where("day", 4)) == []
    assert days(scan.where("sensor", "b", "a")) == []
    assert days(scan.limit(2)) == [-1, 0]
    assert scan.where("celsius", 0).limit(3).count() == 3
    gap = scan.rows(("a", 2)).head()
    assert gap == [{"sensor": "a", "day": 2, "celsius": None, "note": "n3"}]
    assert scan.columns("note").rows("b").head() == [{"note": "n13"}]
    assert "narrows what is read" in scan.where("sensor", "a").explain()
    assert "compared while reading" in scan.where("day", 1).explain()
    assert "celsius" in scan._repr_html_()
    assert len(repr(scan)) < 200
    plain = store.create_table("plain", schema=Schema("int", {"v": "int"})).typed()
    plain.put({"row": np.arange(-5, 5), "v": np.arange(10)})
    assert [row["row"] for row in plain.scan().rows(-2, 1).head(9)] == [-2, -1, 0, 1]
    assert plain.scan().where("row", 3).count() == 2


def test_labels_hide_cells_of_typed_rows() -> None:
    with ostrakon.open() as store:
        typed = store.create_table("t", schema=Schema("text", {"v": "int"})).typed()
        # With timestamps: the clock may give two puts the same millisecond.
        typed.put({"row": ["a", "b"], "v": [1, 2]}, visibility=["", "hr"], timestamp=1)
        assert typed.count() == 1
        assert [row["v"] for row in typed.scan().auths("hr").head()] == [1, 2]
        typed.put({"row": ["a"], "v": [7]}, visibility="hr", timestamp=2)
        assert [row["v"] for row in typed.scan().auths("hr").head()] == [7, 2]
        assert [row["v"] for row in typed.scan().auths().head()] == [1]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.5), ("int", "1"), ("int", True), ("int", 2**63), ("uint", -1),
        ("uint", np.array([-1])), ("int", np.array([2**63], np.uint64)), ("int", np.array([0.5])),
        ("float", "x"), ("float", 2**53 + 1), ("float", np.array([2**53 + 1])), ("bool", 1),
        ("date", dt.datetime(2024, 1, 1, 12)), ("date", "2024-01-01"),
        ("datetime", dt.datetime(2024, 1, 1, 0, 0, 0, 1)),
        ("datetime", np.array(["2024-01-01T00:00:00.000001"], "M8[us]")),
        ("datetime_us", pd.Timestamp(1)), ("text", b"x"), ("text", 1), ("bytes", "x"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused(store: ostrakon.Store, kind: str, value: Any) -> None:
    typed = store.create_table("t", schema=Schema("text", {"v": kind})).typed()
    column = value if isinstance(value, np.ndarray) else [value]
    with pytest.raises(InvalidArgumentError, match=f"`v` is of type {kind}.*nothing was written"):
        typed.put({"row": ["k"], "v": column})
    assert store["t"].count() == 0


def test_mistakes_with_schemas_are_named(store: ostrakon.Store) -> None:
    with pytest.raises(InvalidArgumentError, match="the types are int, uint"):
        Schema("number")
    with pytest.raises(InvalidArgumentError, match="is a part of the row"):
        Schema({"a": "int"}, {"a": "int"})
    with pytest.raises(InvalidArgumentError, match="has no schema"):
        store.create_table("plain").typed()
    table = store.create_table("t", schema=Schema("text", {"v": "int"}))
    typed = table.typed()
    with pytest.raises(InvalidArgumentError, match="has no 'row'"):
        typed.put({"v": [1]})
    with pytest.raises(InvalidArgumentError, match="has 'w'"):
        typed.put({"row": ["a"], "w": [1]})
    with pytest.raises(InvalidArgumentError, match="different lengths"):
        typed.put({"row": ["a"], "v": [1, 2]})
    with pytest.raises(InvalidArgumentError, match="part of the row; nothing"):
        typed.put({"row": ["a", None], "v": [1, 2]})
    with pytest.raises(InvalidArgumentError, match="no column 'w'"):
        typed.scan().where("w", 1)
    table.put("k", "v", "text")
    with pytest.raises(Exception, match="not of the type that the schema says"):
        typed.to_arrow()
    table.put("k", "v", Schema("int").key(3))
    assert typed.head() == [{"row": "k", "v": 3}]
    with pytest.raises(NotFoundError):
        store["nothing"]


def test_get_reads_one_value(store: ostrakon.Store) -> None:
    table = store.create_table("t")
    table.put("k", "q", "v", family="f", timestamp=1)
    table.put("k", "q", "hidden", family="f", visibility="hr", timestamp=2)
    assert table.get("k", "q", family="f") == "v"
    assert table.get("k", "q", family="f", auths="hr", text=False) == b"hidden"
    assert table.get("k", "q") is None
