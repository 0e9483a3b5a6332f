"""Timestamps of different units, and integers that no float holds, never change silently."""

from __future__ import annotations

import datetime as dt
import operator

import numpy as np
import pytest

from ostrakon import Assoc
from ostrakon.assoc import InexactError, matches
from ostrakon.assoc.exactness import common, compared, exact, rank
from ostrakon.errors import Error

FAR = dt.datetime(9999, 12, 31)
NEAR = np.array(["2024-01-01"], "datetime64[ns]")
FINE = NEAR + np.timedelta64(1, "ns")
BIG = 2**53


def test_keys_of_two_units_meet_in_the_finest_that_holds_all():
    near, far = Assoc(NEAR, "x,", 1), Assoc([FAR], "x,", 1)
    years = ["2024-01-01T00:00:00.000000", "9999-12-31T00:00:00.000000"]
    wanted = np.array(years, "datetime64[us]")
    for made in (far + near, near + far, near | far, near ^ far, near.combine(far, max)):
        assert made.row.tolist() == wanted.tolist()
        assert made.row.dtype == wanted.dtype
    assert (near - far).values.tolist() == [1, -1]
    days = Assoc(np.array(["2024-01-01"], "datetime64[D]"), "x,", 5)
    assert (days + near).triples() == [(NEAR[0], "x", 6)]
    later = Assoc(NEAR + np.timedelta64(1, "h"), "x,", 1)
    assert (days + later).row.dtype == NEAR.dtype


def test_keys_of_two_units_that_no_unit_holds_are_an_error():
    fine, far = Assoc(FINE, "x,", 1), Assoc([FAR], "x,", 1)
    for operation in (operator.add, operator.sub, operator.or_):
        with pytest.raises(InexactError, match=r"row keys .*\[ns\].*\[us\].*no unit") as caught:
            operation(fine, far)
        assert isinstance(caught.value, (Error, OverflowError))
    # What only asks which keys are equal needs no common unit.
    assert (fine * far).is_empty()
    assert fine[far].is_empty()
    assert (fine.T @ far).is_empty()


def test_bounds_beyond_the_unit():
    near = Assoc(NEAR, "x,", 1)
    assert len(near[dt.datetime(2023, 1, 1) : FAR, :]) == 1
    assert len(near[dt.datetime(1, 1, 1) :, :]) == 1
    assert len(near[FAR:, :]) == 0
    assert len(near[: dt.datetime(1, 1, 1), :]) == 0
    assert len(near[[FAR], :]) == 0
    assert near.get(FAR, "x") is None
    assert near.get(dt.datetime(2024, 1, 1), "x") == 1
    days = Assoc(np.array(["2024-01-01", "2024-01-02"], "datetime64[D]"), "x,", [1, 2])
    assert days[dt.datetime(2024, 1, 1, 12) :, :].values.tolist() == [2]
    assert days[: dt.datetime(2024, 1, 1, 12), :].values.tolist() == [1]


def test_comparisons_beyond_the_unit():
    for values in (NEAR, FINE):
        near = Assoc("a,", "x,", values)
        assert [len(near < FAR), len(near <= FAR), len(near != FAR)] == [1, 1, 1]
        assert [len(near > FAR), len(near >= FAR), len(near == FAR)] == [0, 0, 0]
        far = Assoc("a,", "x,", [FAR])
        assert [len(near < far), len(far < near), len(near == far)] == [1, 0, 0]


def test_values_of_two_units():
    near, far = Assoc("a,", "x,", NEAR), Assoc("a,b,", "x,", [FAR, FAR])
    assert near.max(far).values.tolist() == [FAR, FAR]
    assert near.min(far).values.tolist() == [dt.datetime(2024, 1, 1), FAR]
    assert near.combine(far, np.maximum).values.tolist() == [FAR, FAR]
    assert near.combine(far, max).values.tolist() == [FAR, FAR]
    assert near.combine(near, np.subtract).values.dtype.kind == "m"
    with pytest.raises(InexactError, match="the values are"):
        Assoc("a,", "x,", FINE).max(far)


def test_lists_of_two_units():
    pair = [np.datetime64("9999-12-31", "s"), np.datetime64("2024-01-01", "ns")]
    wanted = [dt.datetime(2024, 1, 1), FAR]
    assert Assoc(pair, "x,", 1).row.tolist() == wanted
    assert Assoc([pair[1], FAR], "x,", 1).row.tolist() == wanted
    assert Assoc("a,b,", "x,", pair).values.tolist() == wanted[::-1]
    with pytest.raises(InexactError, match="row: the items"):
        Assoc([pair[0], FINE[0]], "x,", 1)


UNITS = ["Y", "M", "W", "D", "h", "s", "us", "ns", "as", "25s"]


@pytest.mark.parametrize("one", UNITS)
@pytest.mark.parametrize("two", UNITS)
def test_every_pair_of_units_compares_as_integers_do(one, two):
    ticks = [-(2**63) + 1, -(2**40), -13, -1, 0, 1, 12, 54, 2**40, 2**63 - 1]
    left, right = (np.array(ticks, f"datetime64[{unit}]") for unit in (one, two))
    truth = [exact(item) for item in left]
    assert truth == sorted(truth)
    for item in right:
        at = exact(item)
        assert rank(left, item, "left") == sum(key < at for key in truth)
        assert rank(left, item, "right") == sum(key <= at for key in truth)
        assert compared(left, item, operator.lt).tolist() == [key < at for key in truth]
    try:
        here, there = common(left[3:7], right[3:7], "")
    except InexactError:
        return
    assert [exact(item) for item in here] == truth[3:7]
    assert [exact(item) for item in there] == [exact(item) for item in right[3:7]]


@pytest.mark.parametrize("date", [dt.date(1, 1, 1), dt.date(1900, 2, 1), dt.date(2024, 3, 1)])
@pytest.mark.parametrize("unit", ["M", "D", "us"])
def test_dates_of_the_calendar(date, unit):
    days = (date - dt.date(1970, 1, 1)).days
    assert exact(np.datetime64(date, unit)) == days * 86400 * 10**18


def test_durations():
    short, long = np.timedelta64(1, "ns"), dt.timedelta(days=365 * 1000)
    array = Assoc([short], "x,", 1)
    assert len(array[:long, :]) == 1
    with pytest.raises(InexactError):
        array + Assoc([long], "x,", 1)
    with pytest.raises(TypeError, match="durations on the left and timestamps on the right"):
        array + Assoc(NEAR, "x,", 1)
    with pytest.raises(TypeError, match="do not compare"):
        array + Assoc([np.timedelta64(1, "M")], "x,", 1)


def test_integers_that_no_float_holds():
    array = Assoc([BIG + 1, BIG], "x,", [1, 5])
    with pytest.raises(InexactError, match=r"row keys are int64 and float64.*2\^53"):
        array + Assoc([0.5], "x,", 10)
    other = Assoc([float(BIG)], "x,", 10)
    assert array[other].row.tolist() == [BIG]
    assert (array * other).triples() == [(BIG, "x", 50)]
    assert (array.T @ other).triples() == [("x", "x", 50)]
    assert array[float(BIG) :, :].row.tolist() == [BIG, BIG + 1]
    assert array[[0.5, float(BIG)], :].row.tolist() == [BIG]
    assert array.get(float(BIG), "x") == 5
    assert not Assoc([BIG + 1], "x,", 1).equals(Assoc([float(BIG)], "x,", 1))
    with pytest.raises(InexactError, match=f"row: the integer {BIG + 1} stands beside floats"):
        Assoc([BIG + 1, 0.5], "x,", 1)
    assert (Assoc([BIG], "x,", 1) + other).triples() == [(float(BIG), "x", 11)]


def test_values_that_no_float_holds():
    array = Assoc("a,b,", "x,", [BIG + 1, BIG])
    assert (array == float(BIG)).row.tolist() == ["b"]
    assert (array > float(BIG)).row.tolist() == ["a"]
    assert (array == Assoc("a,b,", "x,", float(BIG))).row.tolist() == ["b"]
    assert len(array < 2**70) == 2
    assert len(array < float("inf")) == 2
    nan = float("nan")
    assert len(array == nan) == 0
    assert (array == np.uint64(BIG + 1)).row.tolist() == ["a"]
    with pytest.raises(InexactError, match="the values are"):
        array.max(Assoc("a,", "x,", 0.5))


def test_integers_beyond_64_bits():
    array = Assoc([1, 2], "x,", 1)
    assert len(array[: 2**70, :]) == 2
    with pytest.raises(ValueError, match="row: index: the integer 1180591620717411303424 is be"):
        array[2**70, :]


def test_what_is_no_number_is_no_entry():
    inf = float("inf")
    array, finite = Assoc("a,b,", "x,", [inf, 1.0]), Assoc("b,", "x,", 2.0)
    for made in (
        array - array,
        array / array - finite / finite,
        0 * array,
        array + (-array),
        Assoc("a,a,", "x,", [inf, -inf], "sum"),
        Assoc("a,a,", "x,y,", [inf, -inf]).sum(1),
        Assoc("a,a,", "x,y,", [inf, -inf]) @ Assoc("x,y,", "b,", 1),
    ):
        assert made.is_empty(), made
        made.check_canonical()
    assert (array - Assoc("a,", "x,", inf)).triples() == [("b", "x", 1.0)]
    assert Assoc.from_pandas((array + array).to_pandas()).equals(array + array)


def test_messages():
    with pytest.raises(ValueError, match="an empty array has no mean"):
        Assoc().mean()
    with pytest.raises(TypeError, match=r"==: \['v,'\] is a list.*write A == 'v'"):
        Assoc("a,", "x,", "v,") == ["v,"]  # noqa: B015
    with pytest.raises(ValueError, match=r"pattern: '\(' is not a regular expression"):
        matches("(")
