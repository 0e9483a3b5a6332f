"""Tables with a schema: what goes in comes out, sorted as the values are."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostrakon
from ostrakon import Schema, errors
from ostrakon.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError

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
    assert days(scan.range(("a", 9), ("ab", 3))) == [9, 10, 3]
    assert days(scan.range(("a", 9), "ab")) == [9, 10, 3]
    assert days(scan.range(("ab", 0), ...)) == [3, 4]
    assert days(scan.range(("ab", 0), None)) == [3, 4]
    assert days(scan.range(None, ("a", 0))) == days(scan.range(..., ("a", 0))) == [-1, 0]
    assert days(scan.rows(("a", 5))) == [5]
    assert days(scan.where("celsius", 9, ...)) == [9, 10]
    assert days(scan.where("celsius", ..., 1)) == days(scan.where("celsius", None, 1)) == [-1, 0, 1]
    assert days(scan.where("celsius", -1.0, 2).where("celsius", 0, ...)) == [0, 1]
    assert days(scan.where("day", 3, 4)) == [3, 4, 3, 4]
    assert days(scan.where("sensor", "ab", ...)) == [3, 4]
    assert days(scan.where("sensor", "ab").where("day", 4)) == []
    assert days(scan.where("sensor", "b", "a")) == []
    assert days(scan.limit(2)) == [-1, 0]
    assert scan.where("celsius", 0, ...).limit(3).count() == 3
    gap = scan.rows(("a", 2)).head()
    assert gap == [{"sensor": "a", "day": 2, "celsius": None, "note": "n3"}]
    assert scan.columns("note").rows("b").head() == [{"note": "n13"}]
    assert "narrows what is read" in scan.where("sensor", "a").explain()
    assert "compared while reading" in scan.where("day", 1).explain()
    assert "celsius" in scan._repr_html_()
    assert len(repr(scan)) < 200
    plain = store.create_table("plain", schema=Schema("int", {"v": "int"})).typed()
    plain.put({"row": np.arange(-5, 5), "v": np.arange(10)})
    assert [row["row"] for row in plain.scan().range(-2, 1).head(9)] == [-2, -1, 0, 1]
    assert plain.scan().where("row", 3, ...).count() == 2


def test_one_value_of_a_condition_means_equality(store: ostrakon.Store) -> None:
    schema = Schema({"id": "int"}, {"v": "float", "w": "text"})
    typed = store.create_table("t", schema=schema).typed()
    typed.put(
        {
            "id": [1, 2, 3, 4],
            "v": [0.0, -0.0, 1.5, None],
            "w": ["", "b", None, "b"],
        }
    )
    scan = typed.scan()

    def ids(scan: ostrakon.TypedScan) -> list[int]:
        return [row["id"] for row in scan.head(9)]

    assert ids(scan.where("v", 0)) == [1, 2]
    assert ids(scan.where("v", 1.5)) == [3]
    assert ids(scan.where("w", "")) == [1]
    assert ids(scan.where("id", 2)) == [2]
    assert ids(scan.where("w", "b").where("v", ..., ...)) == [2]
    # Both ends open: all rows that have a value.
    assert ids(scan.where("v", None, None)) == [1, 2, 3]
    assert ids(scan.where("w", ..., "")) == [1]
    assert ids(scan.where("id", None, None)) == [1, 2, 3, 4]
    for open_end in (None, ...):
        with pytest.raises(InvalidArgumentError, match="names no value"):
            scan.where("v", open_end)


def test_a_put_after_a_delete_is_seen(store: ostrakon.Store) -> None:
    people = store.create_table("people", schema=Schema("text", {"age": "int"})).typed()
    for turn in range(200):
        people.put({"row": ["ann"], "age": [turn]}, durability="none")
        people.delete("ann", durability="none")
        people.put({"row": ["ann"], "age": [turn + 1]}, durability="none")
        assert people.head() == [{"row": "ann", "age": turn + 1}], turn


def test_rows_are_several_keys_in_plain_and_typed_scans(store: ostrakon.Store) -> None:
    table = store.create_table("plain")
    typed = store.create_table("t", schema=Schema("text", {"v": "int"})).typed()
    names = ["aa", "ab", "ac", "b"]
    table.put(names, "v", 1)
    typed.put({"row": names, "v": [1, 2, 3, 4]})

    def rows(scan: Any) -> list[str]:
        return scan.to_arrow().column("row").to_pylist()

    for keys in (
        ("aa", "ac"), ("ac", "aa"), (["aa", "ac"],), (np.array(["aa", "ac"]),), ("aa", "ac", "aa"),
        (pa.array(["aa", "ac"]),), (pl.Series(["aa", "ac"]),), (pd.Series(["aa", "ac"]),),
    ):  # fmt: skip
        assert rows(typed.scan().rows(*keys)) == rows(table.scan().rows(*keys)) == ["aa", "ac"]
    for ends in (("aa", "ac"), ("aa", ...), (None, "ac"), (None, None)):
        assert rows(typed.scan().range(*ends)) == rows(table.scan().range(*ends))
    for scan in (typed.scan(), table.scan()):
        with pytest.raises(InvalidArgumentError, match="range"):
            rows(scan.range("ac", "aa"))
    assert rows(typed.scan().range("ab", ...)) == ["ab", "ac", "b"]
    assert rows(typed.scan().rows([])) == rows(table.scan().rows([])) == []
    pairs = store.create_table("p", schema=Schema({"x": "text", "y": "int"}, {"v": "int"})).typed()
    pairs.put({"x": ["a", "a", "b", "c"], "y": [1, 2, 1, 1], "v": [1, 2, 3, 4]})
    found = pairs.scan().rows("c", ("a", 2), "a").columns("v").to_arrow()
    assert found.column("v").to_pylist() == [1, 2, 4]
    many = pairs.scan().rows(list(zip("cbaaa", [1, 2, 2, 1, 3], strict=True))).columns("v")
    assert many.to_arrow().column("v").to_pylist() == [1, 2, 4]
    for wrong, message in [(("a", "b"), "entry 1 is 'b'"), (("a", 1, 2), "3 for a row of")]:
        with pytest.raises(InvalidArgumentError, match=message):
            pairs.scan().rows(("a", 1), wrong, ("a", 1, 2))
    for no_key in (..., None, ostrakon.Range("a", "b")):
        with pytest.raises(InvalidArgumentError, match=r"`range\(first, last\)`"):
            typed.scan().rows("a", no_key)


def test_authorizations_are_names_and_not_lists_in_a_text(store: ostrakon.Store) -> None:
    typed = store.create_table("t", schema=Schema("text", {"v": "int"})).typed()
    typed.put({"row": ["a", "b"], "v": [1, 2]}, visibility=["mil&ops", ""])
    for names in (("mil", "ops"), (["mil", "ops"],), ((b"mil", "ops"),)):
        assert typed.scan().auths(*names).count() == 2
        assert store["t"].scan().auths(*names).count() == 2
    for scan in (typed.scan(), store["t"].scan()):
        with pytest.raises(InvalidArgumentError, match=r"use a list of names, \['mil', 'ops'\]"):
            scan.auths("mil,ops")


def test_a_put_stores_what_it_says(store: ostrakon.Store) -> None:
    typed = store.create_table("t", schema=Schema("text", {"v": "int", "w": "int"})).typed()
    assert typed.put({"row": ["a", "b", "c"], "v": [1, None, None], "w": [1, 2, None]}) == 2
    assert typed.count() == 2
    with pytest.raises(InvalidArgumentError, match="a row without a value is not stored.* v, w"):
        typed.put({"row": ["d"]})
    for single in (3, "text", np.int64(3), None, 1.5):
        with pytest.raises(InvalidArgumentError, match=r"for 'v', which is not a column: write \["):
            typed.put({"row": ["d"], "v": single})
    with pytest.raises(InvalidArgumentError, match="for 'row', which is not a column: make a list"):
        typed.put({"row": {"d"}, "v": [1]})


def test_rows_and_cells_are_deleted_by_key(store: ostrakon.Store) -> None:
    schema = Schema({"sensor": "text", "day": "int"}, {"celsius": "float", "c:note": "text"})
    table = store.create_table("t", schema=schema)
    typed = table.typed()
    frame = {
        "sensor": ["a", "a", "ab", "b"],
        "day": [1, 2, 1, 1],
        "celsius": [1.0, 2.0, 3.0, 4.0],
        "c:note": ["x", None, "y", "z"],
    }
    typed.put(frame)
    assert typed.delete(("a", 1)) == 2
    assert typed.delete(("a", 1)) == 0
    assert typed.delete() == typed.delete([]) == typed.delete("b", columns=[]) == 0
    assert typed.delete("ab", ("b", 1), columns=["c:note"]) == 2
    assert typed.delete("a", "ab") == 2
    assert typed.head() == [{"sensor": "b", "day": 1, "celsius": 4.0, "c:note": None}]
    # What was deleted can be written again at once, in the same millisecond.
    for _ in range(20):
        typed.put(frame)
        time.sleep(0.002)
        assert typed.delete("b") == 2
        typed.put(frame)
        assert typed.scan().rows("b").count() == 1
    with pytest.raises(InvalidArgumentError, match="list of texts"):
        typed.delete("a", columns="celsius")
    with pytest.raises(InvalidArgumentError, match="no column 'day'"):
        typed.delete("a", columns=["day"])


def test_deletes_take_the_cells_that_the_reader_sees() -> None:
    with ostrakon.open() as store:
        typed = store.create_table("t", schema=Schema("text", {"v": "int"})).typed()
        typed.put({"row": ["a"], "v": [1]}, timestamp=1)
        # Another label is another cell.
        typed.put({"row": ["a"], "v": [2]}, visibility="hr", timestamp=2)
        assert [row["v"] for row in typed.head()] == [1]
        assert typed.delete("a", visibility="it", auths=["hr", "it"]) == 0
        assert typed.delete("a", visibility="") == 1
        assert typed.delete("a") == 0
        assert [row["v"] for row in typed.scan().auths("hr").head()] == [2]
        assert typed.delete("a", auths=["hr"]) == 1
        assert typed.scan().auths("hr").count() == 0


def test_plain_values_are_refused_in_a_table_with_a_schema(store: ostrakon.Store) -> None:
    table = store.create_table("t", schema=Schema("text", {"v": "int"}))
    frame = pa.table({"row": ["a"], "qualifier": ["v"], "value": ["1"]})
    for call in (
        lambda: table.put("a", "v", 1),
        lambda: table.put_dict({"a": {"v": 1}}),
        lambda: table.put_frame(frame),
        lambda: table.bulk_import("a", "v", 1),
        lambda: table.bulk_import_frame(frame),
        lambda: table.delete("a", "v"),
        table.writer,
    ):
        with pytest.raises(
            InvalidArgumentError, match=r"has a schema, .*`typed\(\)\.put`"
        ) as raised:
            call()
        assert raised.value.context == {"table": "t"}
    table.typed().put({"row": ["a"], "v": [1]})
    assert table.typed().count() == table.count() == 1
    # A schema may come later.
    other = store.create_table("other")
    other.put("a", "v", 1)
    other.set_properties({ostrakon.table.SCHEMA: table.properties()[ostrakon.table.SCHEMA]})
    with pytest.raises(InvalidArgumentError, match="has a schema"):
        other.put("a", "v", 1)
    other.set_properties({ostrakon.table.SCHEMA: None})
    other.put("a", "v", 1)


def test_a_table_that_exists_with_another_schema_is_an_error(store: ostrakon.Store) -> None:
    schema = Schema({"a": "int", "b": "int"}, {"x": "int", "y": "text"})
    store.create_table("t", schema=schema)
    store.create_table("plain")
    again = Schema({"a": "int", "b": "int"}, {"y": "text", "x": "int"})
    assert store.create_table("t", schema=again, exist_ok=True).schema == schema
    assert store.create_table("t", exist_ok=True).schema == schema
    for name, other in [
        ("t", Schema({"b": "int", "a": "int"}, {"x": "int", "y": "text"})),
        ("t", Schema({"a": "int", "b": "int"}, {"x": "int", "y": "int"})),
        ("t", Schema({"a": "int", "b": "int"}, {"x": "int"})),
        ("plain", schema),
    ]:
        with pytest.raises(AlreadyExistsError, match="with another schema") as raised:
            store.create_table(name, schema=other, exist_ok=True)
        assert raised.value.context == {"table": name}


@pytest.mark.parametrize("kind", ["int", "uint"])
def test_whole_floats_are_integers(store: ostrakon.Store, kind: str) -> None:
    typed = store.create_table("t", schema=Schema("int", {"v": kind})).typed()
    frame = pd.DataFrame({"row": [1, 2, 3], "v": [10, None, 30]})
    assert frame["v"].dtype == np.float64
    assert typed.put(frame) == 2
    assert typed.to_arrow().column("v").to_pylist() == [10, 30]
    for column in ([1.0, None, 2], np.array([1.0, np.nan, 2.0]), pd.Series([1.0, 2.0, 3.0])):
        typed.put({"row": [4, 5, 6], "v": column})
    assert typed.scan().rows(4, 5, 6).to_arrow().column("v").to_pylist() == [1, 2, 3]
    for column in ([1.0, 1.5, 2], np.array([1, 1.5]), pd.Series([None, 1.5])):
        with pytest.raises(InvalidArgumentError, match="1.5 of entry 1|entry 1 is 1.5"):
            typed.put({"row": list(range(len(column))), "v": column})
    # Floats do not have all integers of this size.
    for column in ([1.0, 2.0**60], np.array([1, 2.0**60]), [1.0, float("inf")]):
        with pytest.raises(InvalidArgumentError, match="entry 1"):
            typed.put({"row": [0, 1], "v": column})
    with pytest.raises(InvalidArgumentError, match=f"{2**64} of entry 1 is out of range"):
        typed.put({"row": [0, 1], "v": [1, 2**64]})


def test_times_that_do_not_fit_name_the_finer_type(store: ostrakon.Store) -> None:
    typed = store.create_table("t", schema=Schema("int", {"at": "datetime"})).typed()
    fine = dt.datetime(2024, 1, 1, 12, 0, 0, 123456)
    for value in (fine, pd.Timestamp(fine), np.datetime64(fine)):
        with pytest.raises(
            InvalidArgumentError, match="2024-01-01T12:00:00.123456.*of entry 0: .*`datetime_us`"
        ):
            typed.put({"row": [1], "at": [value]})


def test_messages_of_reads_do_not_speak_of_writing(store: ostrakon.Store) -> None:
    schema = Schema({"name": "text", "at": "datetime"}, {"v": "int"})
    typed = store.create_table("t", schema=schema).typed()
    scan = typed.scan()
    for call in (
        lambda: scan.where("v", "x"),
        lambda: scan.where("v", 1.5),
        lambda: scan.where("at", dt.datetime(2024, 1, 1, 0, 0, 0, 1)),
        lambda: scan.where("v", 2**70),
        lambda: scan.rows(1),
        lambda: schema.key("a", dt.time(1)),
        lambda: store["t"].scan([None, "a"]).head(),
        lambda: store["t"].scan(np.ma.masked_array(["a"], [True])).head(),
    ):
        with pytest.raises(InvalidArgumentError) as raised:
            call()
        assert "written" not in str(raised.value)
        assert "of entry" not in str(raised.value)
        assert "datetime." not in str(raised.value)


def test_wrong_forms_of_schemas_are_named() -> None:
    for row, columns in [(["a"], None), ({"a": "int"}, ["b"]), (None, None), ("int", "v")]:
        with pytest.raises(InvalidArgumentError, match="of names and types"):
            Schema(row, columns)
    with pytest.raises(InvalidArgumentError, match="the types are int"):
        Schema({"a": ["int"]})


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
    plain = store.create_table("values")
    typed = plain.typed(Schema("text", {"v": "int"}))
    plain.put("k", "v", "text")
    with pytest.raises(Exception, match="not of the type that the schema says"):
        typed.to_arrow()
    plain.put("k", "v", Schema("int").key(3))
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


def test_a_negative_zero_is_the_same_row_as_zero(store: ostrakon.Store) -> None:
    """As in SQL, whose keys they are."""
    single = store.create_table("single", schema=Schema("float", {"v": "int"})).typed()
    pair = store.create_table(
        "pair", schema=Schema({"at": "float", "n": "int"}, {"v": "int"})
    ).typed()
    for zeros in ([-0.0], np.array([-0.0]), pd.Series([-0.0]), pa.array([-0.0])):
        assert single.put({"row": zeros, "v": [1]}) == 1
        assert pair.put({"at": zeros, "n": [1], "v": [1]}) == 1
    assert single.put({"row": [0.0], "v": [2]}) == pair.put({"at": [0], "n": [1], "v": [2]}) == 1
    assert single.head() == [{"row": 0.0, "v": 2}]
    assert pair.head() == [{"at": 0.0, "n": 1, "v": 2}]
    assert not np.signbit(single.to_arrow().column("row")[0].as_py())
    assert single.scan().rows(-0.0).count() == single.scan().rows([0.0, 1.0]).count() == 1
    assert single.scan().range(-0.0, -0.0).count() == pair.scan().rows((-0.0, 1)).count() == 1
    store.sql("INSERT INTO single VALUES (?, 3)", [-0.0])
    assert store.sql("SELECT count(*), max(v) FROM single").fetchall() == [(1, 3)]
    assert single.delete(-0.0) == 1
    assert single.count() == 0


FAR = {
    "s": np.array([2**62], "M8[s]"),
    "hours": np.array([2**60], "M8[h]"),
    "days": np.array([2**50], "M8[D]"),
    "years": np.array([2**62], "M8[Y]"),
    "multiples": np.array([2**62], "M8[25s]"),
    "list": [np.datetime64(2**62, "s")],
    "mixed list": [np.datetime64(2**50, "D")],
    "arrow": pa.array([2**63 - 1], pa.timestamp("s")),
    "arrow in chunks": pa.chunked_array([pa.array([2**63 - 1], pa.timestamp("s"))]),
    "earliest of arrow": pa.array([-(2**63)], pa.timestamp("s")),
    "pandas": pd.Series(np.array([2**60], "M8[s]")),
}


@pytest.mark.parametrize("form", FAR)
@pytest.mark.parametrize("kind", ["date", "datetime", "datetime_us"])
def test_times_that_no_type_has_are_refused(store: ostrakon.Store, kind: str, form: str) -> None:
    """NumPy wraps around when a unit cannot hold a time."""
    typed = store.create_table("t", schema=Schema({"at": kind}, {"v": kind, "n": "int"})).typed()
    epoch = np.array([0], "M8[D]")
    for frame in ({"at": FAR[form], "n": [1]}, {"at": epoch, "v": FAR[form]}):
        with pytest.raises(InvalidArgumentError, match="outside the times.*nothing was written"):
            typed.put(frame)
    assert store["t"].count() == 0


def test_times_outside_a_type_match_no_row(store: ostrakon.Store) -> None:
    schema = Schema("datetime", {"v": "int"})
    typed = store.create_table("t", schema=schema).typed()
    typed.put({"row": [dt.datetime(1970, 1, 1)], "v": [1]})
    far = np.datetime64(2**62, "s")
    for call in (
        lambda: typed.scan().where("row", far, ...),
        lambda: typed.scan().rows(far, far),
        lambda: typed.scan().range(far, ...),
        lambda: typed.delete(far),
        lambda: schema.key(far),
        lambda: schema.encode("row", far),
    ):
        with pytest.raises(InvalidArgumentError, match="cannot hold 146138514283-06-19"):
            call()
    assert typed.count() == 1


def test_microseconds_hold_fewer_years(store: ostrakon.Store) -> None:
    schema = Schema("int", {"at": "datetime", "fine": "datetime_us"})
    typed = store.create_table("t", schema=schema).typed()
    for column in (
        pl.Series([2**62]).cast(pl.Datetime("ms")),
        pa.array([2**62], pa.timestamp("ms")),
        np.array([2**53], "M8[s]"),
    ):
        assert typed.put({"row": [1], "at": column}) == 1
        with pytest.raises(InvalidArgumentError, match="outside the times"):
            typed.put({"row": [1], "fine": column})
    assert typed.to_arrow().column("at").cast(pa.int64()).to_pylist() == [2**53 * 1000]


def test_dates_are_those_that_can_be_read(store: ostrakon.Store) -> None:
    typed = store.create_table("t", schema=Schema("int", {"d": "date"})).typed()
    ends = np.array([-(2**31), 2**31 - 1], "M8[D]")
    assert typed.put({"row": [1, 2], "d": ends}) == 2
    for beyond in (2**31, -(2**31) - 1, 2**40):
        with pytest.raises(InvalidArgumentError, match="`d` is of type date.*of entry 0: it lies"):
            typed.put({"row": [3, 4], "d": np.array([beyond, 0], "M8[D]")})
    assert typed.to_arrow().column("d").cast(pa.int32()).to_pylist() == [-(2**31), 2**31 - 1]
    assert store.sql("SELECT max(d) FROM t").to_arrow().num_rows == 1
    with pytest.raises(errors.UnsupportedError, match="years 1 to 9999"):
        typed.head()


def test_times_with_gaps_keep_their_unit(store: ostrakon.Store) -> None:
    typed = store.create_table("t", schema=Schema("int", {"at": "datetime_us"})).typed()
    arrow = pa.array([None, 5], pa.timestamp("s", "UTC"))
    listed = [None, np.datetime64(5, "s"), dt.datetime(1970, 1, 1), pd.NaT, pd.NA]
    assert typed.put({"row": [1, 2], "at": arrow}) == 1
    assert typed.put({"row": [3, 4, 5, 6, 7], "at": listed}) == 2
    found = typed.to_arrow().column("at").cast(pa.int64()).to_pylist()
    assert found == [5_000_000, 5_000_000, 0]
    with pytest.raises(InvalidArgumentError, match="of entry 1: round it"):
        typed.put({"row": [1, 2], "at": pa.array([None, 1], pa.timestamp("ns"))})


def test_na_of_pandas_is_a_missing_value(store: ostrakon.Store) -> None:
    schema = Schema("int", {"i": "int", "f": "float", "t": "text", "b": "bool"})
    typed = store.create_table("t", schema=schema).typed()
    for name, value in {"i": 1, "f": 1.5, "t": "x", "b": True}.items():
        assert typed.put({"row": [1, 2], name: [value, pd.NA]}) == 1
    assert typed.head() == [{"row": 1, "i": 1, "f": 1.5, "t": "x", "b": True}]
    with pytest.raises(InvalidArgumentError, match="has no value for entry 0"):
        typed.put({"row": [pd.NA], "i": [1]})


def test_columns_are_names_or_a_list(store: ostrakon.Store) -> None:
    typed = store.create_table("t", schema=Schema("int", {"v": "int"})).typed()
    typed.put({"row": [1], "v": [2]})
    for columns in (("v", "row"), (["v", "row"],), (("v", "row"),), (np.array(["v", "row"]),)):
        assert list(typed.scan().columns(*columns).head()[0]) == ["v", "row"]
    with pytest.raises(errors.ArgumentTypeError, match="`columns` takes a list of texts.*not 5"):
        typed.scan().columns(5)  # type: ignore[arg-type]


def test_errors_of_types_say_what_to_do(store: ostrakon.Store) -> None:
    schema = Schema("int", {"v": "int", "f": "float", "t": "text"})
    typed = store.create_table("t", schema=schema).typed()
    said = {
        ("v", 1.5): "`v` is of type int, and entry 0 is 1.5: round it or use the type float; noth",
        ("v", 2.0**60): "pass an int",
        ("v", Decimal(1)): r"int\(…\), or use the type text and str\(…\)",
        ("f", Decimal(1)): r"float\(…\), or use the type text and str\(…\)",
        ("t", 5): r"convert it with str\(…\)",
    }
    for (name, value), expected in said.items():
        with pytest.raises(InvalidArgumentError, match=expected):
            typed.put({"row": [1], name: [value]})
    with pytest.raises(InvalidArgumentError, match="range starts after its end: 5 is after 2"):
        typed.scan().range(5, 2)


def test_ranges_of_first_parts_are_not_inverted(store: ostrakon.Store) -> None:
    schema = Schema({"a": "text", "n": "int"}, {"v": "int"})
    typed = store.create_table("t", schema=schema).typed()
    typed.put({"a": ["x", "x", "y"], "n": [1, 2, 1], "v": [1, 2, 3]})
    assert typed.scan().range(("x", 2), "x").count() == 1
    assert typed.scan().range("x", ("x", 1)).count() == 1
    with pytest.raises(InvalidArgumentError, match="'y' is after 'x'"):
        typed.scan().range("y", "x")


def test_arguments_of_another_type_are_type_errors(store: ostrakon.Store) -> None:
    typed = store.create_table("t", schema=Schema("int", {"v": "int"})).typed()
    for call in (
        lambda: typed.put([{"row": 1}]),
        lambda: Schema({"a": int}),  # type: ignore[dict-item]
        lambda: Schema("int", {"a": int}),  # type: ignore[dict-item]
        lambda: Schema({5: "int"}),  # type: ignore[dict-item]
        lambda: Schema(5),  # type: ignore[arg-type]
    ):
        with pytest.raises(errors.ArgumentTypeError):
            call()


def test_a_negative_zero_is_read_as_zero(store: ostrakon.Store) -> None:
    typed = store.create_table("t", schema=Schema("int", {"v": "float"})).typed()
    typed.put({"row": [1], "v": [-0.0]})
    assert not np.signbit(typed.to_arrow().column("v")[0].as_py())
    assert typed.scan().where("v", 0).count() == typed.scan().where("v", -0.0).count() == 1
