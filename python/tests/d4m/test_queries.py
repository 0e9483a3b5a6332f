"""Every form of an index, against the same index of the same array in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostrakon
from ostrakon import Assoc
from ostrakon.assoc import contains, matches, startswith
from ostrakon.d4m import DB, AssocPair, AssocTable
from ostrakon.d4m.selection import select

KEYS = ["a", "ab", "abc", "b", "b.c", "ba", "bz", "c", "ä", "äb", "z(", "~", "𝄞x"]

FORMS = [
    slice(None),
    ":",
    ...,
    "a",
    "b,",
    "a,c,zz,",
    "a,:,b,",
    ":,b,",
    "b.c,:,",
    "a,:,abc,b,c,:,z(,",
    "zz,:,",
    ":,A,",
    "c,:,a,",
    "a*",
    "a*,ä*,",
    "*c,",
    "a*c b* ",
    "a*c,*b,c,:,z,",
    "c,:,a,*b,",
    "b*c,äb*,~,",
    "*",
    "nobody",
    ["a", "b.c", "𝄞x"],
    np.array(["a", "~"]),
    [],
    slice("a", "b"),
    slice(None, "b"),
    slice("b", None),
    startswith("a,"),
    startswith(["b.", "z("]),
    contains("b"),
    contains([".", "("]),
    matches("[ab].?c"),
]


def array() -> Assoc:
    random = np.random.default_rng(7)
    size = 80
    return Assoc(
        random.choice(KEYS, size), random.choice(KEYS, size), random.integers(1, 9, size), "sum"
    )


@pytest.mark.parametrize("paired", [False, True])
def test_a_table_answers_every_index_as_an_array_does(db: DB, paired: bool) -> None:
    held = array()
    table: Any = db["T", "Tt"] if paired else db["T"]
    table.put(held)
    for rows in FORMS:
        for cols in FORMS:
            found = table[rows, cols]
            found.check_canonical()
            assert found.equals(held[rows, cols]), (rows, cols)
        assert table[rows].equals(held[rows])


keys = st.text(st.sampled_from("ab.*(\\é𝄞\x7f "), min_size=1, max_size=4)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(keys, keys), min_size=1, max_size=12),
    st.tuples(st.none() | keys, st.none() | keys),
    st.tuples(st.none() | keys, st.none() | keys),
    st.lists(keys, max_size=3),
)
def test_ranges_and_lists_of_any_keys(
    places: list[tuple[str, str]],
    rows: tuple[str | None, str | None],
    cols: tuple[str | None, str | None],
    some: list[str],
) -> None:
    held = Assoc([row for row, _ in places], [col for _, col in places], 1)
    with ostrakon.open(memory_budget_bytes=64 << 20) as store:
        db = DB(store)
        pair = db["T", "Tt"]
        pair.put(held)
        for table in (pair, pair.main):
            between = (slice(*rows), slice(*cols))
            assert table[between].equals(held[between])
            assert table[some, between[1]].equals(held[some, between[1]])
            assert table[between[0], some].equals(held[between[0], some])
            if some:
                prefixes = startswith(some)
                assert table[prefixes, between[1]].equals(held[prefixes, between[1]])
                assert table[between[0], contains(some)].equals(held[between[0], contains(some)])


def test_which_table_of_a_pair_is_asked(db: DB, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = db["T", "Tt"]
    pair.put(array())
    asked: list[str] = []
    from ostrakon.d4m import reading

    start = reading.start

    def watched(table: ostrakon.Table, *rest: Any, **more: Any) -> Any:
        asked.append(table.name)
        return start(table, *rest, **more)

    monkeypatch.setattr(reading, "start", watched)
    for index in [("a,", ":"), (":", "a,"), ("a*", "a,"), ("a,", "a,"), (":", ":"), (":", "*a,")]:
        assert len(pair[index]) >= 0
    assert asked == ["T", "Tt", "Tt", "T", "T", "Tt"]


def test_rows_in_files_and_tablets_are_found_too(db: DB) -> None:
    held = Assoc([f"r{at:05d}" for at in range(3000)], [f"c{at % 7}" for at in range(3000)], 1)
    T = db["T", "Tt"]
    T.put(held)
    T.add_splits(["r01000", "r02000"], ["c3"])
    T.main.table.flush()
    T.transpose.table.compact()
    assert T.get_splits().splits == ["r01000", "r02000"]
    assert T[:, :].equals(held)
    assert T[held.row[::3], :].equals(held[held.row[::3], :])
    assert T[:, "c3,"].equals(held[:, "c3,"])
    assert T[held.row[::2], "c3,:,c5,"].equals(held[held.row[::2], "c3,:,c5,"])


def test_the_plan_reads_no_more_than_it_must() -> None:
    from ostrakon.d4m.reading import plan
    from ostrakon.d4m.settings import Settings

    def planned(rows: Any, cols: Any) -> dict[str, Any]:
        return plan(Settings(), select(rows, "row"), select(cols, "col"))

    # Some rows, some columns: a piece of a row for each.
    pieces = planned("a,b,", "x*,z,")
    assert len(pieces["ranges"]) == 4
    assert not pieces["iterators"]
    # Columns of all rows are filtered in the store.
    assert planned(":", "x,y,")["columns"] == [("", "x"), ("", "y")]
    (spans,) = planned(":", "x*,a,")["iterators"]
    assert spans.options == {"columns": "61:6100,78:79"}
    (pattern,) = planned(":", "x*y,")["iterators"]
    assert pattern.options.keys() == {"colqRegex"}
    assert len(planned("*a,", "x,:,y,")["iterators"]) == 2
    assert planned("a,", ":")["ranges"] == ["a"]
    assert planned("a*,", ":")["iterators"] == []
    # A wildcard further on reads what begins like it.
    inside = planned("log*error,b,", ":")
    assert [(one.start, one.end) for one in inside["ranges"]] == [
        ((b"b",), (b"b\0",)),
        ((b"log",), (b"loh",)),
    ]
    assert inside["iterators"][0].options.keys() == {"rowRegex"}


@pytest.mark.parametrize(
    ("index", "says"),
    [
        (([True, False], ":"), "row: a table has no positions"),
        ((":", np.array([True])), "col: a table has no positions"),
        ((":", slice("a", "b", 2)), "col: a range of keys has no step"),
        ((["a", None], ":"), "row: an index holds no missing key"),
        (("a,:,b,:,c,", ":"), "row: 'b' ends one range"),
        ((1, 2, 3), "rows and columns, not 3"),
        ((len, ":"), "row: .* chooses no keys"),
        ((":", matches("a(?=b)")), "expression"),
    ],
)
def test_an_index_that_means_nothing_is_refused(db: DB, index: Any, says: str) -> None:
    db["T"].put(array())
    with pytest.raises(ostrakon.errors.InvalidArgumentError, match=says):
        db["T"][index]


def test_numbers_come_back_as_numbers(db: DB) -> None:
    cases: list[tuple[list[str], list[Any]]] = [
        (["1", "-2", "30"], [1, -2, 30]),
        (["1", "2.5", "1e300"], [1.0, 2.5, 1e300]),
        (["007", "1", "2"], ["007", "1", "2"]),
        (["1.50", "1", "2"], ["1.50", "1", "2"]),
        (["1_000", "1", "2"], ["1_000", "1", "2"]),
        (["nan", "inf", "2"], ["nan", "inf", "2"]),
        (["9223372036854775807", "1", "2"], [9223372036854775807, 1, 2]),
        (["9223372036854775808", "1", "2"], [9223372036854775808.0, 1.0, 2.0]),
        (["9007199254740993", "0.5", "2"], ["9007199254740993", "0.5", "2"]),
        (["12345678901234567891", "1", "2"], ["12345678901234567891", "1", "2"]),
        (
            ["0.1000000000000000055511151231257827", "1", "2"],
            ["0.1000000000000000055511151231257827", "1", "2"],
        ),
        (["123456789012345678.5", "1", "2"], ["123456789012345678.5", "1", "2"]),
        (["1e-400", "1", "2"], ["1e-400", "1", "2"]),
        (["-0", "1", "2"], ["-0", "1", "2"]),
        (["0.30000000000000004", "5e-324", "-2"], [0.30000000000000004, 5e-324, -2.0]),
        (
            ["123456789012345.25", "1.7976931348623157e+308", "1"],
            [123456789012345.25, 1.7976931348623157e308, 1.0],
        ),
        (["+1", "1", "2"], ["+1", "1", "2"]),
        (["-", "1", "."], ["-", "1", "."]),
    ]
    for at, (stored, expected) in enumerate(cases):
        T = db[f"T{at}"]
        T.put_triple("a,b,c,", "x,", stored)
        values = T[:, :].values.tolist()
        assert values == expected, stored
        assert [type(value) for value in values] == [type(value) for value in expected]
        assert T.using(numbers=False)[:, :].values.tolist() == stored


def test_values_of_several_labels_meet_as_the_table_combines(db: DB) -> None:
    held = ["", "A"]
    for combiner, expected in [(None, 2), ("sum", 7), ("max", 5), ("min", 2)]:
        T = db[f"T{combiner}"].using(auths=["A"])
        if combiner:
            T.add_col_combiner(":", combiner)
        T.put_triple("r,", "c,", [5, 2], visibility=held)
        assert T["r", "c"].triples() == [("r", "c", expected)]
        assert T.using(auths=[])["r", "c"].triples() == [("r", "c", 5)]


def test_families_are_kept_apart(db: DB) -> None:
    T = db["T"]
    T.put_triple("r,", "c,", 1)
    F = T.using(family="f")
    F.put_triple("r,", "d,", 2)
    assert T[:, :].triples() == [("r", "c", 1)]
    assert F[:, :].triples() == [("r", "d", 2)]
    assert F["r", "d*,"].triples() == [("r", "d", 2)]
    assert F[:, "d,"].triples() == [("r", "d", 2)]
    assert (T.nnz(), F.nnz()) == (1, 1)
    assert F.delete_triple("r", "c") == 0


def test_a_result_too_large_for_memory_is_refused(db: DB) -> None:
    T = db["T"].using(limit_bytes=10_000)
    T.put_triple([f"r{at:06d}" for at in range(5000)], "c,", 1)
    with pytest.raises(ostrakon.errors.InvalidArgumentError, match="does not fit into memory"):
        T[:, :]
    assert T["r000001", :].nnz == 1
    assert isinstance(T, AssocTable)
    assert isinstance(db["T", "Tt"], AssocPair)
