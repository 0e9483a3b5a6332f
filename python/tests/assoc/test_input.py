"""What goes in: every kind of list, types that stay, and what is refused."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from ostrakon import Assoc, _native
from ostrakon.assoc import HierAssoc

ROWS = ["b", "a", "é", "b"]


def columns():
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    yield "b,a,é,b,"
    yield "b\na\né\nb\n"
    yield ROWS
    yield tuple(ROWS)
    yield (row for row in ROWS)
    yield [row.encode() for row in ROWS]
    yield np.array(ROWS)
    yield np.array(ROWS)[:, None][:, 0]
    yield np.array(ROWS).astype(">U4")
    yield np.array([row.encode() for row in ROWS])
    yield np.array(ROWS, dtype=object)
    if hasattr(np.dtypes, "StringDType"):
        yield np.array(ROWS, dtype=np.dtypes.StringDType())
    yield pa.array(ROWS)
    yield pa.array(["z", *ROWS])[1:]
    yield pa.array(ROWS, pa.large_string())
    yield pa.array(ROWS, pa.string_view())
    yield pa.array([row.encode() for row in ROWS])
    yield pa.array(ROWS).dictionary_encode()
    yield pa.chunked_array([ROWS[:1], ROWS[1:]])
    yield pd.Series(ROWS)
    yield pd.Series(ROWS, dtype=object)
    yield pd.Series(ROWS, dtype="category")
    yield pd.Index(ROWS)
    yield pl.Series(ROWS)


@pytest.mark.parametrize("at", range(len(list(columns()))))
def test_lists_of_every_kind(at):
    data = list(columns())[at]
    array = Assoc(data, "x,", [1, 2, 3, 4])
    array.check_canonical()
    assert array.to_dict2() == {("a", "x"): 2, ("b", "x"): 1, ("é", "x"): 3}
    data = list(columns())[at]
    assert Assoc("1,2,3,4,", "x,", data).values.tolist() == ROWS


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], np.int64),
        ([1, 2.5], np.float64),
        ([True, True], np.bool_),
        (np.array([1, 2], np.uint8), np.int64),
        (np.array([1, 2], np.float32), np.float64),
        (np.array(["2020-01-01", "1970-01-01"], "datetime64[s]"), "datetime64[s]"),
        (np.array([5, 0], "timedelta64[ms]"), "timedelta64[ms]"),
        ([dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)], "datetime64[us]"),
        (["u", "v"], str),
    ],
)
def test_types_stay(values, dtype):
    array = Assoc("a,b,", "x,", values)
    array.check_canonical()
    assert array.dtype == np.dtype(dtype)
    assert (
        array.values.tolist()
        == np.asarray(values, array.dtype if dtype is not str else None).tolist()
    )
    for same in (array.T.T, array[:, "x"], array[["a", "b"], :], array.min(array)):
        assert same.dtype == array.dtype
        assert same.equals(array)


def test_timestamps_have_no_null():
    stamps = np.array([0, 5], "datetime64[s]")
    array = Assoc("a,b,", "x,", stamps)
    assert len(array) == 2
    assert (array > np.datetime64("1970-01-01T00:00:01")).row.tolist() == ["b"]
    assert array.max(0).values[0] == stamps[1]
    with pytest.raises(TypeError, match="timestamps"):
        array + array
    with pytest.raises(TypeError, match="timestamps cannot be added"):
        Assoc("a,a,", "x,", stamps, "sum")


def test_booleans():
    array = Assoc("a,b,c,", "x,", [True, False, True])
    assert array.to_dict2() == {("a", "x"): True, ("c", "x"): True}
    assert array.sum() == 2
    assert (array + array).values.tolist() == [2, 2]
    assert Assoc("a,a,", "x,", [True, True], "sum").values.tolist() == [2]


def test_delimiters_and_single_keys():
    assert Assoc("alice", "x", 1).row.tolist() == ["alice"]
    assert Assoc("a b", "x|y", 1).col.tolist() == ["x|y"]
    assert Assoc("a,", "x,", "47.0,").values.tolist() == ["47.0"]
    assert Assoc("", "x", 1).row.tolist() == [""]
    assert Assoc("", "", "").is_empty()
    assert Assoc([], [], []).is_empty()
    assert Assoc().is_empty()
    assert Assoc("", "", "").equals(Assoc())
    assert repr(Assoc()) == "Assoc()"
    assert Assoc(["a,"], ["x"], 1).row.tolist() == ["a,"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Assoc("a,b,", "x,y,z,", 1), ValueError, "row has 2 items, col 3, val 1"),
        (lambda: Assoc("a,b,", "x,", [1, 2, 3]), ValueError, "row has 2 items, col 1, val 3"),
        (lambda: Assoc(["a", "b"], [], 1), ValueError, "row has items where another list"),
        (lambda: Assoc(["a", 1], "x", 1), TypeError, "row: the item at position 1 is int"),
        (lambda: Assoc([1, "a"], "x", 1), TypeError, "row: items must be all text, all numbers"),
        (lambda: Assoc("a", [object()], 1), TypeError, "col: items must be"),
        (lambda: Assoc("a", {"x": 1}.items(), 1), TypeError, "col: items must be all text"),
        (lambda: Assoc("a", [True], 1), TypeError, "col: booleans are values, not keys"),
        (lambda: Assoc("a", 1j, 1), TypeError, "col: complex is not a list"),
        (lambda: Assoc("a", len, 1), TypeError, "col: builtin_function_or_method is not a list"),
        (lambda: Assoc([float("nan")], "x", 1), ValueError, "row: .* 0 is missing"),
        (lambda: Assoc("a,b,", "x", [1.0, np.nan]), ValueError, "val: .* 1 is missing"),
        (lambda: Assoc(["a", None], "x", 1), ValueError, "row: .* 1 is missing"),
        (lambda: Assoc("a,b,", "x", ["v", None]), ValueError, "val: .* 1 is missing"),
        (lambda: Assoc("a", "x", np.datetime64("NaT", "s")), ValueError, "val: .* position 0"),
        (lambda: Assoc(b"\xff,", "x", 1), ValueError, "row: the bytes are not UTF-8"),
        (lambda: Assoc("a", [b"ok", b"\xc3"], 1), ValueError, "col: .* 1 is not UTF-8"),
        (lambda: Assoc("a", np.array([b"ok", b"\xc3"]), 1), ValueError, "col: .* position 1"),
        (lambda: Assoc("a", "x", ["\ud800"]), ValueError, "val: the text at position 0"),
        (lambda: Assoc(np.array(["\ud800"]), "x", 1), ValueError, "row: the text at position 0"),
        (lambda: Assoc(np.zeros((2, 2)), "x", 1), ValueError, "row: an array of 2 dimensions"),
        (lambda: Assoc(np.array([1 + 1j]), "x", 1), TypeError, "row: arrays of complex128"),
        (lambda: Assoc([2**63], "x", 1), ValueError, r"row: integers above 2\^63-1"),
        (lambda: Assoc([2**70], "x", 1), TypeError, "row: "),
        (lambda: Assoc("a", "x", 1, "median"), ValueError, "aggregate: 'median' is not one of min"),
        (lambda: Assoc("a,a,", "x", "u,v,", "prod"), TypeError, "aggregate: only numbers"),
        (lambda: Assoc("a,a,", "x", [1, 2], "unique"), ValueError, "aggregate: 'unique' promises"),
        (lambda: Assoc("a,a,", "x", [1, 2], lambda *_: None), ValueError, "aggregate: the f"),
        (lambda: Assoc("a", "x", 1, missing="skip"), ValueError, "missing: 'error' or 'drop'"),
        (lambda: Assoc("a,b", "x|y", "v").val2col("|"), ValueError, r"separator: '\|' stands in"),
        (lambda: Assoc(["a,b"], "x", 1).Row(","), ValueError, "row: the key 'a,b' contains ','"),
        (lambda: Assoc("a", "xy", 1).col2type(), ValueError, r"col2type: the key .xy. holds no"),
        (lambda: Assoc("a", "x", "1,") + 1, TypeError, "would fill the empty places"),
        (lambda: Assoc("a", "x", 1) / 0, ZeroDivisionError, "zero"),
        (lambda: Assoc("a", "x", 1) < "u", TypeError, "<: the values are int64"),
        (lambda: bool(Assoc("a", "x", 1)), TypeError, r"write `\(2 <= A\) <= 9`"),
        (lambda: 2 <= Assoc("a", "x", 1) <= 9, TypeError, "neither true nor false"),
        (lambda: Assoc("a", "x", "u").to_numbers(), ValueError, "the value 'u' is not a number"),
        (lambda: Assoc(1, "x", 1) + Assoc("a", "x", 1), TypeError, "row keys are numbers"),
        (lambda: HierAssoc([4, 2]), ValueError, "cuts: ascending"),
        (lambda: HierAssoc().update("a", "x", "text"), TypeError, "hold numbers"),
    ],
)  # fmt: skip
def test_bad_input_names_the_argument(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_keys_that_hold_the_delimiter():
    left, right = Assoc("a", ["x;"], 1), Assoc(["x;"], "b", 1)
    with pytest.raises(ValueError, match="delimiter: the inner key 'x;' contains ';'"):
        left.CatKeyMul(right)
    assert left.CatKeyMul(right, ",").values.tolist() == ["x;,"]


def test_gaps_may_be_dropped():
    import pandas as pd
    import pyarrow as pa

    for val in ([1.0, np.nan, 3.0], [1, None, 3], pd.Series([1, None, 3]), pa.array([1, None, 3])):
        array = Assoc(np.array(["a", "b", "c"]), "x", val, missing="drop")
        assert array.to_dict2() == {("a", "x"): 1, ("c", "x"): 3}
    for row in (["a", None, "c"], pa.array(["a", None, "c"]), pd.Series(["a", None, "c"])):
        assert Assoc(row, "x", [1, 2, 3], missing="drop").row.tolist() == ["a", "c"]
    assert Assoc([None], "x", 1, missing="drop").is_empty()


def test_adj_as_in_d4m():
    import scipy.sparse

    matrix = scipy.sparse.coo_array(([5.0, 6.0], ([0, 1], [1, 0])))
    assert Assoc("a,b,", "x,y,", 1.0, adj=matrix).to_dict2() == {("a", "y"): 5.0, ("b", "x"): 6.0}
    places = scipy.sparse.coo_array(([2, 1], ([0, 1], [1, 0])))
    texts = Assoc("a,b,", "x,y,", "u,v,", adj=places)
    assert texts.to_dict2() == {("a", "y"): "v", ("b", "x"): "u"}
    again = Assoc(texts.row, texts.col, texts.val, adj=texts.adj)
    assert again.equals(texts)
    with pytest.raises(ValueError, match="row: with adj, keys must ascend"):
        Assoc("b,a,", "x,y,", 1.0, adj=matrix)
    with pytest.raises(ValueError, match="adj: an entry points outside"):
        Assoc("a,b,", "x,y,", ["u"], adj=places)


def test_texts_are_numbers_before_they_are_combined():
    for aggregate, expected in [("min", 9), ("max", 10), ("sum", 19), ("prod", 90)]:
        array = Assoc("a,a,", "x,", "10,9,", aggregate=aggregate, convert_val=True)
        assert array.values.tolist() == [expected], aggregate
        read = Assoc.from_csv("id,x,x\na,10,9\n", convert=True, aggregate=aggregate)
        assert read.values.tolist() == [expected], aggregate
    keys = Assoc.from_csv("id,x\n1,3\n1.0,2\n", convert=True, convert_keys=True, aggregate="sum")
    assert keys.values.tolist() == [5]
    # What is put one after the other is text until then, and so is what is no number.
    joined = Assoc("a,a,", "x,", "10,9,", aggregate="concat", separator="", convert_val=True)
    assert joined.values.tolist() == [109]
    texts = Assoc.from_csv("id,x,x\na,10,b\n", convert=True, aggregate="max")
    assert texts.values.tolist() == ["b"]
    # Empty texts make no entries.
    empty = Assoc(["a", "b", "b"], ["x"] * 3, ["", "7", "8"], aggregate="sum", convert_val=True)
    assert empty.values.tolist() == [15]
    assert Assoc(["a"], ["x"], [""], convert_val=True).nnz == 0


def test_convert_val():
    assert Assoc("a,b,", "x,", "1,2,", convert_val=True).dtype == np.int64
    assert Assoc("a,b,", "x,", "1,2.5,", convert_val=True).dtype == np.float64
    for text in ("nan", "1_000", " 1", "x"):
        with pytest.raises(ValueError, match="is not a number"):
            Assoc("a", "x", [text], convert_val=True)


def test_arrays_never_change():
    array = Assoc("a,b,", "x,", [1, 2])
    before = array.to_dict2()
    with pytest.raises(AttributeError, match="never changes"):
        array.row = 1
    with pytest.raises(ValueError, match="read-only"):
        array.values[0] = 9
    with pytest.raises(ValueError, match="read-only"):
        array.row[0] = "z"
    _ = array @ 2, 2 * array, array / 2, array.divide(2), array.sum(0)
    assert array.to_dict2() == before
    with pytest.raises(TypeError, match="unhashable"):
        hash(array)


def test_the_kernels_refuse_wrong_parts():
    starts = np.array([0, 1], np.uint32)
    ones = np.ones(1)
    with pytest.raises(ValueError, match="matrix: position 5 is outside"):
        _native.assoc_transpose((starts, np.array([5], np.uint32), ones, 2))
    with pytest.raises(ValueError, match=r"no collision function .x."):
        _native.assoc_fold(starts, starts, np.ones(2), (2, 2), "x", True, 1)
