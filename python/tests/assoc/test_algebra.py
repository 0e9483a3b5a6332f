"""The algebra against a dictionary from (row, column) to value, on arrays that hypothesis makes
up."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrakon import Assoc
from ostrakon.assoc import AssocWarning

# Few keys, so that they meet; some beyond ASCII, some longer than a word, some ending in NUL.
KEYS = st.sampled_from(["a", "b", "ba", "é", "long-key-1", "long-key-2", "b\0"])
NUMBERS = st.lists(st.tuples(KEYS, KEYS, st.integers(-3, 4)), max_size=12)
FLOATS = st.lists(st.tuples(KEYS, KEYS, st.sampled_from([-1.5, 0.0, 0.25, 3.0])), max_size=12)
TEXTS = st.lists(st.tuples(KEYS, KEYS, st.sampled_from(["", "u", "v", "vé", "w;"])), max_size=12)
ANY = st.one_of(NUMBERS, FLOATS, TEXTS)


def null(value):
    return value in (0, "")


def judged(triples, fold):
    """The dictionary of triples."""
    places = {}
    for row, col, value in triples:
        places[row, col] = fold(places[row, col], value) if (row, col) in places else value
    return {place: value for place, value in places.items() if not null(value)}


def made(triples, aggregate="min"):
    array = Assoc(*([triple[at] for triple in triples] for at in range(3)), aggregate)
    array.check_canonical()
    return array


def pair(triples):
    return made(triples), judged(triples, min)


def same(array, judge):
    array.check_canonical()
    judge = {place: value for place, value in judge.items() if not null(value)}
    assert array.to_dict2() == judge
    assert sorted(judge) == [(row, col) for row, col, _ in array]


@pytest.mark.parametrize(
    ("name", "fold"),
    [
        ("min", min), ("max", max), ("sum", operator.add), ("first", lambda a, _: a),
        ("last", lambda _, b: b), (lambda a, b: a + b + a, lambda a, b: a + b + a),
    ],
)  # fmt: skip
@given(triples=ANY)
def test_collisions(name, fold, triples):
    same(made(triples, name), judged(triples, fold))


@given(triples=NUMBERS)
def test_products_and_counts_on_collisions(triples):
    same(made(triples, "prod"), judged(triples, operator.mul))
    same(made(triples, np.multiply), judged(triples, operator.mul))
    same(made(triples, np.bitwise_or), judged(triples, operator.or_))
    same(made(triples, "count"), judged([(r, c, 1) for r, c, _ in triples], operator.add))


@given(triples=TEXTS)
def test_texts_are_put_end_to_end(triples):
    same(made(triples, "concat"), judged(triples, lambda a, b: f"{a};{b}"))


@given(one=NUMBERS, two=st.one_of(NUMBERS, FLOATS))
def test_numbers_place_by_place(one, two):
    (a, x), (b, y) = pair(one), pair(two)
    places = x.keys() | y.keys()
    same(a + b, {p: x.get(p, 0) + y.get(p, 0) for p in places})
    same(a - b, {p: x.get(p, 0) - y.get(p, 0) for p in places})
    same(a * b, {p: x[p] * y[p] for p in x.keys() & y.keys()})
    same(a / b, {p: x[p] / y[p] for p in x.keys() & y.keys()})
    same(a & b, dict.fromkeys(x.keys() & y.keys(), 1))
    same(a | b, dict.fromkeys(places, 1))
    same(a ^ b, dict.fromkeys(x.keys() ^ y.keys(), 1))
    same(a.min(b), {p: min(x.get(p, y.get(p)), y.get(p, x.get(p))) for p in places})
    same(a.max(b), {p: max(x.get(p, y.get(p)), y.get(p, x.get(p))) for p in places})
    same(a * 3, {p: 3 * value for p, value in x.items()})
    same(-a, {p: -value for p, value in x.items()})
    same(abs(a), {p: abs(value) for p, value in x.items()})


@given(one=TEXTS, two=TEXTS)
def test_texts_place_by_place(one, two):
    (a, x), (b, y) = pair(one), pair(two)
    places = x.keys() | y.keys()
    same(a + b, {p: x.get(p, "") + y.get(p, "") for p in places})
    same(a - b, {p: x[p] for p in x.keys() - y.keys()})
    same(a * b, {p: x[p] for p in x.keys() & y.keys()})
    same(a & b, dict.fromkeys(x.keys() & y.keys(), 1))
    same(a.min(b), {p: min(x.get(p, y.get(p)), y.get(p, x.get(p))) for p in places})
    same(a.max(b), {p: max(x.get(p, y.get(p)), y.get(p, x.get(p))) for p in places})
    same(a[b], {p: x[p] for p in x.keys() & y.keys()})


@given(one=TEXTS, two=NUMBERS)
def test_texts_beside_numbers_are_ones(one, two):
    (a, x), (b, y) = pair(one), pair(two)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        total = a + b
    assert [w.category for w in caught] == [AssocWarning] * bool(x and y)
    if x and y:
        same(total, {p: (p in x) + y.get(p, 0) for p in x.keys() | y.keys()})
    same(a * b, {p: x[p] for p in x.keys() & y.keys()})
    same(b * a, {p: y[p] for p in x.keys() & y.keys()})


@given(one=ANY, two=ANY, function=st.sampled_from([operator.add, max]))
def test_combine_takes_any_function(one, two, function):
    (a, x), (b, y) = pair(one), pair(two)
    if a.is_text != b.is_text:
        return
    same(
        a.combine(b, function),
        {
            p: function(x[p], y[p]) if p in x and p in y else x.get(p, y.get(p))
            for p in x.keys() | y.keys()
        },
    )


@given(one=NUMBERS, two=NUMBERS)
def test_combine_with_numpy_and_defaults(one, two):
    (a, x), (b, y) = pair(one), pair(two)
    places = x.keys() | y.keys()
    for function, plain in ((np.subtract, operator.sub), (np.maximum, max)):
        same(a.combine(b, function, 0, 0), {p: plain(x.get(p, 0), y.get(p, 0)) for p in places})
        same(a.combine(b, plain, 5, 7), {p: plain(x.get(p, 5), y.get(p, 7)) for p in places})


SEMIRINGS = {
    "plus.times": (operator.add, operator.mul),
    "min.plus": (min, operator.add),
    "max.plus": (max, operator.add),
    "max.min": (max, min),
    "min.first": (min, lambda a, _: a),
    "plus.second": (operator.add, lambda _, b: b),
    "plus.pair": (operator.add, lambda _a, _b: 1),
}


def multiplied(x, y, add, multiply):
    met = {}
    for (row, inner), left in sorted(x.items()):
        for (inner2, col), right in sorted(y.items()):
            if inner == inner2:
                value = multiply(left, right)
                met[row, col] = add(met[row, col], value) if (row, col) in met else value
    return met


@given(one=NUMBERS, two=st.one_of(NUMBERS, FLOATS), semiring=st.sampled_from(sorted(SEMIRINGS)))
def test_matrix_products(one, two, semiring):
    (a, x), (b, y) = pair(one), pair(two)
    add, multiply = SEMIRINGS[semiring]
    judge = multiplied(x, y, add, multiply)
    same(a.matmul(b, semiring), judge)
    same(a.semiring_prod(b, add, multiply), judge)
    if semiring == "plus.times":
        same(a @ b, judge)
        same(a.matmul(b, engine="scipy"), judge)
        same(a.sqIn(), multiplied(a.transpose().to_dict2(), x, add, multiply))
        same(a.sqOut(), multiplied(x, a.transpose().to_dict2(), add, multiply))
        same(a.semiring_prod(b, np.add, np.multiply), judge)


@settings(deadline=None, max_examples=20)
@given(one=NUMBERS, two=NUMBERS, semiring=st.sampled_from(sorted(SEMIRINGS)))
def test_graphblas_multiplies_alike(one, two, semiring):
    pytest.importorskip("graphblas")
    (a, x), (b, y) = pair(one), pair(two)
    same(a.matmul(b, semiring, engine="graphblas"), multiplied(x, y, *SEMIRINGS[semiring]))


@given(one=TEXTS, two=TEXTS)
def test_products_that_tell_what_met(one, two):
    clean = str.maketrans({";": "!"})
    (a, x), (b, y) = (pair([(r, c, v.translate(clean)) for r, c, v in t]) for t in (one, two))
    keys, values = {}, {}
    for (row, inner), left in sorted(x.items()):
        for (inner2, col), right in sorted(y.items()):
            if inner == inner2:
                keys[row, col] = keys.get((row, col), "") + f"{inner};"
                values[row, col] = values.get((row, col), "") + f"{left},{right},;"
    same(a.CatKeyMul(b), keys)
    same(a.CatValMul(b), values)
    same(a @ b, multiplied(x, y, operator.add, lambda _a, _b: 1))


@given(triples=ANY)
def test_reductions(triples):
    a, x = pair(triples)
    numbers = dict.fromkeys(x, 1) if a.is_text else x
    assert a.sum() == sum(numbers.values())
    assert a.count() == len(a) == a.nnz == a.nnz() == len(x)
    for axis in (0, 1):
        groups = {}
        for place, value in x.items():
            key = (0, place[1]) if axis == 0 else (place[0], 0)
            groups.setdefault(key, []).append((place, value))
        totals = {key: sum(numbers[place] for place, _ in met) for key, met in groups.items()}
        same(a.sum(axis), totals)
        same(a.count(axis), {key: len(met) for key, met in groups.items()})
        same(a.min(axis), {key: min(value for _, value in met) for key, met in groups.items()})
        same(a.max(axis), {key: max(value for _, value in met) for key, met in groups.items()})
        degrees = [len(met) for met in groups.values()]
        spread = {(degree, 0): degrees.count(degree) for degree in degrees}
        same(a.degree_distribution(axis), spread)
    if x:
        assert (a.min(), a.max()) == (min(x.values()), max(x.values()))


@given(triples=ANY)
def test_shapes_and_patterns(triples):
    a, x = pair(triples)
    same(a.transpose(), {(c, r): v for (r, c), v in x.items()})
    same(a.T.T, x)
    same(a.logical(), dict.fromkeys(x, 1))
    same(a.diag(), {(r, c): v for (r, c), v in x.items() if r == c})
    same(a.NoDiag(), {(r, c): v for (r, c), v in x.items() if r != c})
    same(a.triu(1), {(r, c): v for (r, c), v in x.items() if c > r})
    same(a.tril(), {(r, c): v for (r, c), v in x.items() if c <= r})
    for twin in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        same(twin, x)
        assert twin.equals(a)


@given(one=ANY, two=ANY, value=st.sampled_from([-1, 0, 1, 3.0]))
@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.ge])
def test_comparisons_keep_entries(compare, one, two, value):
    (a, x), (b, y) = pair(one), pair(two)
    if a.is_text:
        for text in ("u", "v,", "zz"):
            same(compare(a, text), {p: v for p, v in x.items() if compare(v, text.rstrip(","))})
    else:
        same(compare(a, value), {p: v for p, v in x.items() if compare(v, value)})
    if a.is_text == b.is_text:
        empty = "" if a.is_text else 0
        same(compare(a, b), {p: v for p, v in x.items() if compare(v, y.get(p, empty))})


@given(triples=NUMBERS, low=st.integers(-2, 2), high=st.integers(0, 4))
def test_comparisons_chain(triples, low, high):
    a, x = pair(triples)
    same((low <= a) <= high, {p: v for p, v in x.items() if low <= v <= high})


@given(triples=TEXTS)
def test_values_become_columns_and_return(triples):
    a, x = pair([(r, c.replace("|", ""), v) for r, c, v in triples])
    same(a.val2col(), {(r, f"{c}|{v}"): 1 for (r, c), v in x.items()})
    same(a.val2col().col2type(convert=False), x)


@given(triples=ANY)
def test_any_fold_along_an_axis(triples):
    a, x = pair(triples)
    for axis in (0, 1):
        for fold in (max, lambda p, q: p + q + p):
            folded = {}
            for place, value in sorted(x.items()):
                key = (0, place[1]) if axis == 0 else (place[0], 0)
                folded[key] = fold(folded[key], value) if key in folded else value
            same(a.reduce(fold, axis), folded)


def test_bins_of_degrees():
    # Degrees 1, 2, 3, 4 and 9.
    rows = [str(degree) for degree in (1, 2, 3, 4, 9) for _ in range(degree)]
    cols = [col for degree in (1, 2, 3, 4, 9) for col in range(degree)]
    array = Assoc(rows, cols, 1)
    assert array.BinDegree().to_dict2() == {(1, 0): 1, (2, 0): 2, (4, 0): 1, (8, 0): 1}
    assert array.binned_degrees(3).to_dict2() == {(1, 0): 2, (3, 0): 2, (9, 0): 1}
    assert array.degree().to_dict2()["9", 0] == 9
