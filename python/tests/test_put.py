"""Writing: every form a column may have gives the same entries, and bad input writes nothing."""

from __future__ import annotations

import contextlib
import datetime as dt
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ostrakon
from ostrakon import errors

ROWS = ["a", "bé", "", "dddddddddddddddddd"]


def triples(table: ostrakon.Table) -> list[tuple[Any, ...]]:
    return [(e.row, e.qualifier, e.value) for e in table.scan().entries()]


FORMS = {
    "list": lambda values: list(values),
    "tuple": lambda values: tuple(values),
    "bytes": lambda values: [value.encode() for value in values],
    "numpy U": lambda values: np.array(values),
    "numpy U reversed twice": lambda values: np.array(values[::-1])[::-1],
    "numpy U big-endian": lambda values: np.array(values).astype(">U20"),
    "numpy S": lambda values: np.array([value.encode() for value in values]),
    "numpy object": lambda values: np.array(values, dtype=object),
    "numpy strings": lambda values: np.array(values, dtype=np.dtypes.StringDType()),
    "arrow string": lambda values: pa.array(values),
    "arrow slice": lambda values: pa.array(["x", *values, "y"]).slice(1, len(values)),
    "arrow large": lambda values: pa.array(values, pa.large_string()),
    "arrow binary": lambda values: pa.array([value.encode() for value in values], pa.binary()),
    "arrow view": lambda values: pa.array(values, pa.string_view()),
    "arrow binary view": lambda values: pa.array(
        [value.encode() for value in values], pa.binary_view()
    ),
    "arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "arrow chunks": lambda values: pa.chunked_array([values[:1], [], values[1:]], pa.string()),
    "polars": lambda values: pl.Series(values),
    "polars categories": lambda values: pl.Series(values, dtype=pl.Categorical),
    "pandas": lambda values: pd.Series(values),
    "pandas object": lambda values: pd.Series(values, dtype=object),
    "pandas categories": lambda values: pd.Series(values, dtype="category"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_column_gives_the_same_entries(table: ostrakon.Table, form: str) -> None:
    assert table.put(FORMS[form](ROWS), "q", "v") == 4
    assert triples(table) == [(row, "q", "v") for row in sorted(ROWS)]


NUMBERS = {
    "ints": ([1, -2, 300], ["1", "-2", "300"]),
    "floats": ([1.5, -0.25, 1e300], ["1.5", "-0.25", "1e300"]),
    "whole floats": ([1.0, 2.0, 47.0], ["1.0", "2.0", "47.0"]),
    "truths": ([True, False, True], ["true", "false", "true"]),
    "numpy i1": (np.array([1, -2, 3], "i1"), ["1", "-2", "3"]),
    "numpy i8 strided": (np.arange(9)[::3], ["0", "3", "6"]),
    "numpy u4": (np.array([1, 2, 2**32 - 1], "u4"), ["1", "2", "4294967295"]),
    "numpy i4 big-endian": (np.array([1, 2, 3], ">i4"), ["1", "2", "3"]),
    "numpy f4": (np.array([0.1, 2.0, 3.5], "f4"), ["0.1", "2.0", "3.5"]),
    "numpy f8": (np.array([0.1, 2.0, 3.5]), ["0.1", "2.0", "3.5"]),
    "numpy bool": (np.array([True, False, True]), ["true", "false", "true"]),
    "numpy scalars": ([np.int64(1), np.float64(2.5), np.str_("x")], ["1", "2.5", "x"]),
    "arrow i16": (pa.array([1, -2, 3], pa.int16()), ["1", "-2", "3"]),
    "arrow u64": (pa.array([1, 2, 2**64 - 1], pa.uint64()), ["1", "2", "18446744073709551615"]),
    "arrow f8": (pa.array([0.1, 2.0, 3.5]), ["0.1", "2.0", "3.5"]),
    "arrow bool": (pa.array([True, False, True]), ["true", "false", "true"]),
    "arrow fixed": (pa.array([b"xy", b"zz", b"ab"], pa.binary(2)), ["xy", "zz", "ab"]),
    "big ints": ([2**70, 1, 2], [str(2**70), "1", "2"]),
}


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_are_stored_as_text(table: ostrakon.Table, form: str) -> None:
    given, stored = NUMBERS[form]
    table.put(["1", "2", "3"], "q", given)
    assert [value for _, _, value in triples(table)] == stored


def test_one_value_serves_for_all_and_none_for_columns_left_out(table: ostrakon.Table) -> None:
    assert table.put("r", family=b"f", value=3, visibility="", timestamp=7) == 1
    assert list(table.scan().entries()) == [ostrakon.Entry("r", "f", "", "", 7, "3")]
    assert table.put([], [], []) == 0


@pytest.mark.parametrize(
    "stamps",
    [
        [5, 6],
        (5, 6),
        np.array([5, 6]),
        np.array([5, 6], "i4"),
        np.array([5, 6], "M8[ms]"),
        np.array([5000, 6999], "M8[us]"),
        [np.datetime64(5, "ms"), np.datetime64(6_999_999, "ns")],
        [np.datetime64(5, "ms"), 6],
        pa.array([5, 6]),
        pa.array([5, 6], pa.timestamp("ms")),
        pa.array([5_000_000, 6_000_001], pa.timestamp("ns", "UTC")),
        pl.Series([5, 6]),
        pd.Series(np.array([5, 6], "M8[ms]")),
    ],
    ids=lambda stamps: f"{type(stamps).__name__} {getattr(stamps, 'dtype', '')}",
)
def test_timestamps_go_in_and_come_out(table: ostrakon.Table, stamps: Any) -> None:
    table.put(["a", "b"], timestamp=stamps)
    assert [e.timestamp for e in table.scan().entries()] == [5, 6]


def test_labels_go_in_and_come_out(table: ostrakon.Table) -> None:
    table.put(["a", "b", "c"], visibility=["x&y", "", "x"])
    scan = table.scan(auths=["x", "y"])
    assert [(e.row, e.visibility) for e in scan.entries()] == [("a", "x&y"), ("b", ""), ("c", "x")]
    assert [e.row for e in table.scan(auths="x").entries()] == ["b", "c"]


def test_the_last_of_equal_entries_stays(table: ostrakon.Table) -> None:
    table.put(["a", "a"], "q", ["old", "new"])
    assert triples(table) == [("a", "q", "new")]


@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"src": ["a", "b"], "dst": ["x", "y"], "n": [1, 2], "at": [3, 4]}),
        pl.DataFrame({"src": ["a", "b"], "dst": ["x", "y"], "n": [1, 2], "at": [3, 4]}),
        pd.DataFrame({"src": ["a", "b"], "dst": ["x", "y"], "n": [1, 2], "at": [3, 4]}),
    ],
    ids=["arrow", "polars", "pandas"],
)
def test_frames(table: ostrakon.Table, frame: Any) -> None:
    columns = {"row": "src", "qualifier": "dst", "value": "n", "timestamp": "at"}
    assert table.put_frame(frame, columns, family="edge") == 2
    assert list(table.scan().entries()) == [
        ostrakon.Entry("a", "edge", "x", "", 3, "1"),
        ostrakon.Entry("b", "edge", "y", "", 4, "2"),
    ]


def test_a_scan_is_a_frame_for_another_table(store: ostrakon.Store, table: ostrakon.Table) -> None:
    table.put(["a", "b"], "q", ["1", "2"], family="f", timestamp=[3, 4])
    copy = store.create_table("copy")
    assert copy.put_frame(table.scan()) == 2
    assert list(copy.scan().entries()) == list(table.scan().entries())


def test_dictionaries(table: ostrakon.Table) -> None:
    assert table.put_dict({"a": {"x": 1, "y": 2}, "b": {"x": 3}, "c": {}}, family="f") == 3
    assert triples(table) == [("a", "x", "1"), ("a", "y", "2"), ("b", "x", "3")]


def test_deletes(table: ostrakon.Table) -> None:
    table.put(["a", "b", "c"], "q", "v")
    assert table.delete(["a", "c"], "q") == 2
    assert triples(table) == [("b", "q", "v")]


def test_progress_is_told(table: ostrakon.Table) -> None:
    calls: list[tuple[int, int]] = []
    table.put(np.arange(300_000), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(131072, 300_000), (262144, 300_000), (300_000, 300_000)]
    with pytest.raises(ZeroDivisionError):
        table.put(["a"], progress=lambda done, total: 1 / 0)


def test_a_writer_left_by_an_exception_drops_what_it_collected(table: ostrakon.Table) -> None:
    class OurError(Exception):
        pass

    def fail(writer: ostrakon.Writer) -> None:
        writer.put("a", "q", "v")
        raise OurError

    writer = table.writer()
    with pytest.raises(OurError), writer:
        fail(writer)
    assert writer.closed
    assert triples(table) == []
    with pytest.raises(errors.ClosedError, match="writer is closed"):
        writer.put("a")


def test_unknown_durability_is_refused(table: ostrakon.Table) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="none, log, flush, sync"):
        table.put("a", durability="always")
    for level in ("none", "log", "flush", "sync"):
        table.put(level, durability=level)
    assert len(triples(table)) == 4


GOOD = ["a", "b", "c"]
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "uneven": ({"row": GOOD, "value": ["1", "2"]}, "`value` has 2 entries and `row` has 3"),
    "uneven stamps": ({"row": GOOD, "timestamp": [1]}, "`timestamp` has 1 entries"),
    "none": ({"row": ["a", None, "c"]}, "`row` has no value for entry 1"),
    "none alone": ({"row": None}, "`row`"),
    "nan": ({"row": GOOD, "value": [1.0, float("nan"), 2.0]}, "`value` has no value for entry 1"),
    "numpy nan": ({"row": GOOD, "value": np.array([1.0, 2.0, np.nan])}, "for entry 2"),
    "arrow null": ({"row": GOOD, "value": pa.array([None, 1, 2])}, "`value` has no .* entry 0"),
    "arrow nan": ({"row": GOOD, "value": pa.array([1.0, np.nan, 2.0])}, "`value` .* entry 1"),
    "null in a dictionary": (
        {"row": GOOD, "value": pa.array(["x", None, "x"]).dictionary_encode()},
        "`value` has no value for entry 1",
    ),
    "null in a later chunk": (
        {"row": GOOD, "qualifier": pa.chunked_array([["x"], ["y", None]])},
        "`qualifier` has no value for entry 2",
    ),
    "pandas missing": ({"row": GOOD, "value": pd.Series(["x", None, "y"])}, "`value`"),
    "surrogate": ({"row": ["a", "\ud800", "c"]}, "`row` has text for entry 1"),
    "numpy surrogate": ({"row": np.array(["a", "\ud800", "c"])}, "`row` has text for entry 1"),
    "label": ({"row": GOOD, "visibility": ["x", "x&", "y"]}, "`visibility` has an invalid label"),
    "one label": ({"row": GOOD, "visibility": "x|y&z"}, "`visibility` has an invalid label"),
    "long key": ({"row": ["a", "b" * (1 << 20), "c"], "qualifier": "q"}, "entry 1: the key has"),
    "objects": ({"row": ["a", Decimal(1), "c"]}, "`row` takes str, bytes or numbers.*Decimal"),
    "an object": ({"row": object()}, "`row` takes str.*not <object"),
    "two dimensions": ({"row": np.array([["a"], ["b"]])}, "`row` is an array of 2 dimensions"),
    "complex": ({"row": np.array([1j, 2j])}, "`row` is a NumPy array of kind c16"),
    "lists": ({"row": pa.array([[1], [2]])}, "`row` is of Arrow type List"),
    "a table": ({"row": pa.table({"a": [1]})}, "`row` is a table"),
    "stamps": ({"row": GOOD, "timestamp": "now"}, "`timestamp` takes integers"),
    "float stamps": ({"row": GOOD, "timestamp": pa.array([1.0, 2.0, 3.0])}, "`timestamp` is of"),
    "no time": ({"row": ["a"], "timestamp": np.array(["NaT"], "M8[ms]")}, "`timestamp` has no"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_argument_and_writes_nothing(table: ostrakon.Table, case: str) -> None:
    arguments, message = BAD[case]
    if arguments["row"] is None:
        arguments = {**arguments, "row": [None]}
    with table.writer() as writer:
        with pytest.raises(errors.InvalidArgumentError, match=message) as caught:
            writer.put(**arguments)
        assert caught.value.context["argument"] in message or "argument" in caught.value.context
        writer.put("z")
    assert [row for row, _, _ in triples(table)] == ["z"]
    with pytest.raises(errors.InvalidArgumentError, match=message):
        table.bulk_import(**arguments)
    assert [row for row, _, _ in triples(table)] == ["z"]


def test_bad_frames(table: ostrakon.Table) -> None:
    frame = pa.table({"row": ["a"], "n": [1]})
    with pytest.raises(errors.InvalidArgumentError, match='no column "m" for `value`.*row, n'):
        table.put_frame(frame, {"row": "row", "value": "m"})
    with pytest.raises(errors.InvalidArgumentError, match="has 'rwo'"):
        table.put_frame(frame, {"rwo": "row"})
    with pytest.raises(errors.InvalidArgumentError, match="`value` is given twice"):
        table.put_frame(frame, {"row": "row", "value": "n"}, value=1)
    with pytest.raises(errors.InvalidArgumentError, match='no column "row"'):
        table.put_frame(pa.table({"n": [1]}))
    with pytest.raises(errors.InvalidArgumentError, match="no Arrow interface"):
        table.put_frame({"row": ["a"]})
    with pytest.raises(errors.InvalidArgumentError, match="`frame` cannot be read"):
        table.put_frame(pd.DataFrame({"row": ["a", 1]}))
    with pytest.raises(errors.InvalidArgumentError, match="row 'a' has int"):
        table.put_dict({"a": 1})  # type: ignore[dict-item]
    assert triples(table) == []


def test_timestamps_may_be_points_in_time(table: ostrakon.Table) -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    moments = {
        "naive": dt.datetime(2024, 5, 17, 10, 5, 3, 999_999),
        "aware": dt.datetime(2024, 5, 17, 12, 5, 3, 999_999, tzinfo=zone),
        "pandas": pd.Timestamp("2024-05-17 10:05:03.999999"),
    }
    for row, moment in moments.items():
        table.put(row, "q", "v", timestamp=moment)
    many = [dt.datetime(1969, 12, 31, 23, 59, 59, 999_500), dt.datetime(1970, 1, 1)]
    table.put(["x", "y"], "q", "v", timestamp=many)
    table.put_dict({"z": {"q": "v"}}, timestamp=many[1])
    stamps = {entry.row: entry.timestamp for entry in table.scan().entries()}
    assert {stamps.pop(row) for row in moments} == {1715940303999}
    assert stamps == {"x": -1, "y": 0, "z": 0}
    frame = table.scan("naive").to_pandas(datetimes=True)
    assert frame["timestamp"].dt.tz_localize(None).to_numpy().dtype.kind == "M"
    assert frame["timestamp"].iloc[0] == pd.Timestamp("2024-05-17 10:05:03.999", tz="UTC")
    assert table.scan("naive").to_arrow().schema.field("timestamp").type == pa.int64()
    read = table.scan("naive").to_arrow(datetimes=True)
    assert read.schema.field("timestamp").type == pa.timestamp("ms", tz="UTC")
    # And back: what was read as points in time is written as such.
    table.delete("naive", "q", timestamp=moments["naive"])
    assert table.scan("naive").count() == 0
    with pytest.raises(errors.InvalidArgumentError, match="datetime"):
        table.put("a", "q", "v", timestamp=dt.date(2024, 5, 17))


def test_a_put_after_a_delete_in_one_millisecond_stays(table: ostrakon.Table) -> None:
    # Far more than a millisecond has room for: many pairs share their millisecond.
    for number in range(200):
        row = f"{number % 7}"
        table.put(row, "q", f"before {number}", durability="none")
        table.delete(row, "q")
        table.put(row, "q", f"after {number}", durability="none")
        assert table.get(row, "q") == f"after {number}"
    with table.writer() as writer:
        for number in range(2000):
            writer.put("w", "q", number)
            writer.delete("w", "q")
            writer.put("w", "q", number + 1)
    assert table.get("w", "q") == "2000"
    table.compact()
    assert table.get("w", "q") == "2000"
    with table.writer() as writer:
        writer.put("w", "q", "last")
        writer.delete("w", "q")
    assert table.get("w", "q") is None


@pytest.mark.parametrize(
    "stamp",
    [
        np.array([2**62], "M8[s]"),
        np.array([2**60], "M8[h]"),
        np.array([2**62], "M8[Y]"),
        [np.datetime64(2**62, "s")],
        np.datetime64(2**62, "s"),
        np.datetime64(-(2**62), "m"),
        pa.array([2**62], pa.timestamp("s")),
        np.array([2**63], np.uint64),
    ],
    ids=str,
)
def test_timestamps_beyond_milliseconds_are_refused(table: ostrakon.Table, stamp: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="`timestamp` has .*milliseconds of 64"):
        table.put(["a"], "q", "v", timestamp=stamp)
    with pytest.raises(errors.InvalidArgumentError, match="`timestamp`"):
        table.bulk_import(["a"], "q", "v", timestamp=stamp)
    assert table.count() == 0


def test_one_time_of_numpy_is_for_all_entries(table: ostrakon.Table) -> None:
    table.put(["a", "b"], "q", "v", timestamp=np.datetime64("2024-01-01"))
    table.put("c", "q", "v", timestamp=np.datetime64("2024-01-01T00:00:00.000999"))
    assert [entry.timestamp for entry in table.scan().entries()] == [1704067200000] * 3
    for nothing in (np.datetime64("NaT"), [np.datetime64("NaT")], np.array(["NaT"], "M8[D]")):
        with pytest.raises(errors.InvalidArgumentError, match="no value for entry 0"):
            table.put("d", "q", "v", timestamp=nothing)


def test_truth_is_not_a_timestamp(table: ostrakon.Table) -> None:
    for stamp in (True, [True], [1, False], np.True_):
        with pytest.raises(errors.ArgumentTypeError, match="`timestamp` takes integers"):
            table.put(["a"], "q", "v", timestamp=stamp)


def test_a_writer_that_is_dropped_with_entries_warns(table: ostrakon.Table) -> None:
    writer = table.writer()
    writer.put("a", "q", 1)
    with pytest.warns(ResourceWarning, match="not closed, so entries may be lost"):
        del writer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unused, flushed, closed = table.writer(), table.writer(), table.writer()
        flushed.put("b", "q", 1)
        flushed.flush()
        closed.put("c", "q", 1)
        closed.close()
        del unused, flushed, closed
        with contextlib.suppress(KeyError), table.writer() as left:
            left.put("d", "q", 1)
            raise KeyError
        del left
    assert [entry.row for entry in table.scan().entries()] == ["b", "c"]


def test_a_writer_of_a_closed_store_fails_at_once() -> None:
    store = ostrakon.open()
    writer = store.create_table("t").writer()
    writer.put("a", "q", 1)
    store.close()
    with pytest.raises(errors.ClosedError, match="the store is closed"):
        writer.put("b", "q", 1)


def test_errors_about_columns_say_what_to_pass(table: ostrakon.Table) -> None:
    class Other:
        pass

    masked = np.ma.masked_array(["a", "b"], [False, True])
    said = [
        (masked, r"`compressed\(\)` to drop the masked items, or `filled\(\)` to replace them"),
        ((row for row in "ab"), r"a generator, which can be read only once; pass `list\(…\)`"),
        (None, "`row` is None"),
        (Other(), "`row` takes str, bytes or numbers"),
    ]
    for column, expected in said:
        with pytest.raises(errors.ArgumentTypeError, match=expected):
            table.put(column, "q", 1)
    with pytest.raises(errors.ArgumentTypeError, match="`value`"):
        table.put("a", "q", object())
