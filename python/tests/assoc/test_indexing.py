"""Every form of index, against plain Python over the keys."""

from __future__ import annotations

import datetime as dt
import fnmatch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrakon import Assoc
from ostrakon.assoc import contains, matches, startswith

NAMES = ["a", "aa", "ab", "abc", "b", "ba", "c", "é"]
A = Assoc(NAMES * 2, ["x"] * 8 + ["y"] * 8, list(range(1, 17)))


def rows(index):
    part = A[index, :]
    part.check_canonical()
    assert A.T[:, index].equals(part.T)
    return part.row.tolist()


@pytest.mark.parametrize(
    ("index", "wanted"),
    [
        (":", NAMES),
        (slice(None), NAMES),
        ("a", ["a"]),
        ("a,", ["a"]),
        ("a,nobody,c,", ["a", "c"]),
        ("c;a;c;", ["a", "c"]),
        ("c\na\n", ["a", "c"]),
        ("nobody", []),
        (["c", "a"], ["a", "c"]),
        (["a,"], []),
        ([":"], []),
        (np.array(["c", "a"]), ["a", "c"]),
        (np.array(["c", "a"], dtype="S"), ["a", "c"]),
        (np.array(["c", "a"], dtype=object), ["a", "c"]),
        ([], []),
        ("aa,:,b,", ["aa", "ab", "abc", "b"]),
        ("aab,:,bz,", ["ab", "abc", "b", "ba"]),
        ("b,:,aa,", []),
        ("b,:,", ["b", "ba", "c", "é"]),
        (":,ab,", ["a", "aa", "ab"]),
        ("zzz,:,", ["é"]),
        ("ü,:,", []),
        ("a,:,aa,b,:,ba,", ["a", "aa", "b", "ba"]),
        ("a,:,aa,c,b,:,ba,", ["a", "aa", "b", "ba", "c"]),
        (":,a,ab,abc,:,b,c,:,", ["a", "ab", "abc", "b", "c", "é"]),
        (":,:,", NAMES),
        ("a*", ["a", "aa", "ab", "abc"]),
        ("a*c,", ["abc"]),
        ("*a,", ["a", "aa", "ba"]),
        ("ab*,c,", ["ab", "abc", "c"]),
        ("*", NAMES),
        (slice("aa", "b"), ["aa", "ab", "abc", "b"]),
        (slice("b", None), ["b", "ba", "c", "é"]),
        (slice(None, "aa"), ["a", "aa"]),
        (startswith("ab,b,"), ["ab", "abc", "b", "ba"]),
        (startswith(["a,"]), []),
        (contains("b,"), ["ab", "abc", "b", "ba"]),
        (matches("a.?"), ["a", "aa", "ab"]),
        ([True] + [False] * 6 + [True], ["a", "é"]),
        (np.array([False] * 8), []),
    ],
)
def test_row_indices(index, wanted):
    assert rows(index) == wanted


@given(pattern=st.text("ab*", max_size=5))
def test_wildcards(pattern):
    if "*" in pattern:
        assert rows(pattern) == [name for name in NAMES if fnmatch.fnmatchcase(name, pattern)]


def test_both_axes_condense():
    part = A["a,b,", "y,z,"]
    assert part.to_dict2() == {("a", "y"): 9, ("b", "y"): 13}
    assert part.shape == (2, 1)
    assert A["a"].equals(A["a", :])
    assert Assoc()["a,", :].equals(Assoc())


def test_positions_need_iloc():
    with pytest.raises(TypeError, match=r"row: the keys are text.*\.iloc"):
        A[0, :]
    assert A.iloc[0].row.tolist() == ["a"]
    assert A.iloc[-2:, 0].row.tolist() == ["c", "é"]
    assert A.iloc[[7, 0, 0], :].row.tolist() == ["a", "é"]
    assert A.iloc[::-3].row.tolist() == ["aa", "b", "é"]
    assert A.iloc[np.arange(8) > 5].row.tolist() == ["c", "é"]
    assert A.iloc[[]].is_empty()
    with pytest.raises(IndexError, match="position 8 is outside the 8 keys"):
        A.iloc[8]
    with pytest.raises(TypeError, match="iloc takes integers"):
        A.iloc["a"]


def test_number_keys():
    numbers = Assoc([30, 10, 20], [0.5, 1.5, 2.5], 1)
    assert numbers[[10, 30], :].row.tolist() == [10, 30]
    assert numbers[10, :].row.tolist() == [10]
    assert numbers[15:30, :].row.tolist() == [20, 30]
    assert numbers[:, 1.0:].col.tolist() == [1.5, 2.5]
    assert numbers[":", 0.5].col.tolist() == [0.5]
    assert numbers.iloc[0].row.tolist() == [10]
    with pytest.raises(TypeError, match="row: the keys are numbers, not text"):
        numbers["10", :]


def test_timestamp_keys():
    days = np.array(["2020-01-03", "2020-01-01", "2020-01-02"], "datetime64[D]")
    array = Assoc(days, "x", [3, 1, 2])
    assert array[days[1] : np.datetime64("2020-01-02"), :].values.tolist() == [1, 2]
    assert array[dt.date(2020, 1, 2) :, :].values.tolist() == [2, 3]
    assert array[[dt.datetime(2020, 1, 3)], :].values.tolist() == [3]


def test_masks_by_another_array():
    mask = Assoc("a,b,q,", "y,x,x,", "any,value,here,")
    assert A[mask].to_dict2() == {("a", "y"): 9, ("b", "x"): 5}
    assert A[Assoc()].is_empty()


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (("a", "b", "c"), ValueError, "not 3 axes"),
        ((slice("a", "b", 2), ":"), ValueError, "row: a range of keys has no step"),
        (("a,:,b,:,c,", ":"), ValueError, "row: 'b' ends one range and begins another"),
        (([True], ":"), ValueError, "row: the mask has 1 item, but there are 8 keys"),
        ((":", [None]), ValueError, "col: an index holds no missing key"),
        ((slice(1, 2), ":"), TypeError, "row: the keys are text, the bound 1 is not"),
        ((len, ":"), TypeError, "row: <built-in function len> chooses no keys"),
        ((b"\xff", ":"), ValueError, "row: index: the bytes are not UTF-8"),
    ],
)
def test_wrong_indices(index, error, text):
    with pytest.raises(error, match=text):
        A[index]
