"""Nothing that a caller hands over or asks for disappears without a word."""

import math

import numpy as np
import pytest

import ostrakon
from ostrakon import Assoc, graph
from ostrakon.d4m import DB
from ostrakon.errors import InvalidArgumentError


@pytest.fixture
def table():
    with ostrakon.open() as store:
        yield store.create_table("t")


NO_COLUMNS = {
    "dict": lambda: {"lat": 1, "lon": 2},
    "set": lambda: {1, 2},
    "frozenset": lambda: frozenset((1, 2)),
    "generator": lambda: (value for value in (1, 2)),
    "list_iterator": lambda: iter([1, 2]),
    "None": lambda: None,
}


@pytest.mark.parametrize("argument", ["row", "qualifier", "value", "family", "visibility"])
@pytest.mark.parametrize("kind", NO_COLUMNS)
def test_what_is_not_a_column_is_refused_by_name(table, argument, kind):
    arguments = {"row": "k", argument: NO_COLUMNS[kind]()}
    for write in (table.put, table.bulk_import):
        with pytest.raises(InvalidArgumentError, match=f"`{argument}` is (a )?{kind}"):
            write(**arguments)
    with pytest.raises(InvalidArgumentError, match="no value for entry 1"):
        table.put("k", ["a", "b"], ["v", None])
    assert table.scan().count() == 0


@pytest.mark.parametrize("kind", ["dict", "set", "frozenset"])
def test_what_is_not_a_list_makes_no_array(kind):
    for at, name in enumerate(("row", "col", "val")):
        arguments = ["r", "c", 1]
        arguments[at] = NO_COLUMNS[kind]()
        with pytest.raises(InvalidArgumentError, match=f"{name}: a {kind} is not a list"):
            Assoc(*arguments)


def test_views_of_a_dictionary_are_columns(table):
    cells = {"lat": 1, "lon": 2}
    assert table.put("k", cells.keys(), cells.values()) == 2
    assert [entry.value for entry in table.scan().entries()] == ["1", "2"]


def test_a_text_that_was_cut_into_values_of_one_place_is_refused():
    for text in ("first\nsecond\n", "a,b,", "two words ", b"a;b;"):
        with pytest.raises(InvalidArgumentError, match="one place"):
            Assoc("log1,", "msg,", text)
        if isinstance(text, str):
            with DB() as db:
                with pytest.raises(InvalidArgumentError, match="one place"):
                    db["T"].put_triple("log1,", "msg,", text)
                assert len(db["T"][:, :]) == 0
    assert Assoc("log1,", "msg,", ["first\nsecond\n"]).get("log1", "msg") == "first\nsecond\n"
    assert Assoc("r,", "a,b,", "first\nsecond\n").get("r", "b") == "second"
    assert Assoc("r,", "a,", [1, 2], "sum").get("r", "a") == 3
    with DB() as db:
        db["T"].put_triple("log1,", "msg,", ["first\nsecond\n"])
        assert db["T"][:, :].get("log1", "msg") == "first\nsecond\n"


BIG = 2**62


def test_whole_numbers_that_do_not_fit_become_floats():
    array = Assoc("a,b,", "x,", [BIG, 3])
    least = Assoc("a,", "x,", [-(2**63)])
    for made, place, value in [
        (array * 4, "a", 2.0**64),
        (4 * array, "b", 12.0),
        (array * -4, "a", -(2.0**64)),
        (array * 2**70, "b", 3 * 2.0**70),
        (array + array, "a", 2.0**63),
        (array - (-array - array), "a", 3 * 2.0**62),
        (array * array, "a", 2.0**124),
        (array.transpose() @ array, None, 2.0**124),
        (-least, "a", 2.0**63),
        (abs(least), "a", 2.0**63),
        ((array + Assoc("a,", "y,", BIG)).sum(1), "a", 2.0**63),
        (Assoc("a,a,", "x,x,", [BIG, BIG], "sum"), "a", 2.0**63),
        (Assoc("a,a,", "x,x,", [BIG, 4], "prod"), "a", 2.0**64),
        (Assoc("a,a,", "x,x,", [BIG, BIG], sum), "a", 2.0**63),
    ]:
        row, col, values = made.find()
        assert values.dtype == np.float64
        assert (
            values[0] == value
            if place is None
            else dict(zip(row, values, strict=True))[place] == value
        )
        assert len(col)


def test_whole_numbers_that_fit_stay_whole():
    array = Assoc("a,b,", "x,", [BIG, 3])
    other = Assoc("b,", "x,", [BIG + 1])
    for made, value in [
        (array + other, BIG + 4),
        (array * 1, 3),
        (array * -2, -6),
        ((array + Assoc("b,", "y,", 1)).sum(1), 4),
        ((array - Assoc("a,", "x,", BIG - 1)), 3),
        (array.minimum(other), 3),
        (Assoc("b,b,b,", "x,x,x,", [BIG, BIG, -BIG], "sum"), BIG),
    ]:
        assert made.dtype == np.int64
        assert made.row.tolist()[-1] == "b"
        assert made.find()[2][-1] == value


def test_a_total_is_exact_however_large():
    array = Assoc("a,b,c,", "x,", [BIG, BIG, BIG + 1])
    assert array.sum() == 3 * BIG + 1
    assert array.mean() == (3 * BIG + 1) / 3
    assert math.isclose(array.mean(0).find()[2][0], BIG)


def test_combiners_take_all_whole_numbers_of_64_bits():
    with DB() as db:
        table = db["T"]
        table.add_col_combiner(":", "sum")
        table.put_triple("a,b,c,", "x,", [str(2**60), str(2**63 - 1), str(-(2**63))])
        table.put_triple("a,", "x,", str(2**60))
        assert table[:, :].triples() == [
            ("a", "x", 2**61),
            ("b", "x", 2**63 - 1),
            ("c", "x", -(2**63)),
        ]
        with pytest.raises(InvalidArgumentError, match="64 bits"):
            table.put_triple("a,", "x,", str(2**63))


def test_a_row_a_place_and_an_entry_are_in_an_array():
    array = Assoc("a,b,", "x,y,", ["u", "v"])
    assert "a" in array
    assert "x" not in array
    assert 1 not in array
    assert ("a", "x") in array
    assert ("a", "y") not in array
    assert ("a", "x", "u") in array
    assert ("a", "x", "v") not in array
    assert all(triple in array for triple in array)
    with pytest.raises(TypeError, match="row key"):
        assert ("a",) in array


@pytest.mark.parametrize("auths", ["hr,it", "hr it", "hr|it", "hr&it", b"hr,it"])
def test_names_of_authorizations_in_one_text_are_refused(table, auths):
    with pytest.raises(InvalidArgumentError, match="list"):
        table.scan(auths=auths)
    with pytest.raises(InvalidArgumentError, match="list"):
        ostrakon.open(auths=auths)
    with pytest.raises(InvalidArgumentError, match="list"):
        DB(auths=auths)
    # An odd name is a name, as a list of one.
    table.put("k", "q", visibility='"hr,it"')
    assert table.scan(auths=["hr,it"]).count() == 1


def test_two_columns_and_one_column_are_told_apart(table):
    table.put("k", ["x", "y"], "v", family=["edge", "x"])
    with pytest.raises(InvalidArgumentError, match=r"\[\('edge', 'x'\)\]"):
        table.scan(columns=("edge", "x"))
    assert table.scan(columns=["edge", "x"]).count() == 2
    assert table.scan(columns=[("edge", "x")]).count() == 1
    assert table.scan(columns=("edge",)).count() == 1
    assert table.scan(columns="edge").count() == 1


def test_a_search_starts_from_vertices_of_the_graph():
    with ostrakon.open() as store:
        graph.put_edges(store, "g", ["a", "a", "b"], ["b", "c", "d"])
        assert graph.bfs(store, "g", "a,", steps=1).levels() == {"a": 0, "b": 1, "c": 1}
        assert graph.bfs(store, "g", "b,c,", steps=1).levels() == {"b": 0, "c": 0, "d": 1}
        assert graph.bfs(store, "g", "d", steps=1).levels() == {"d": 0}
        for start in ("zed", ["a", "zed"], "a,zed,"):
            with pytest.raises(ostrakon.errors.NotFoundError, match="zed"):
                graph.bfs(store, "g", start, steps=1)
        graph.put_edges(store, "s", ["a", "a", "b"], ["b", "c", "d"], form="single")
        assert graph.bfs(store, "s", "d", steps=1, form="single").levels() == {"d": 0}
        with pytest.raises(ostrakon.errors.NotFoundError, match="zed"):
            graph.bfs(store, "s", "zed", steps=1, form="single")
        graph.put_edges(store, "e", ["a", "a"], ["b", "c"], form="incidence")
        search = {"form": "incidence", "transpose": "eT", "steps": 1}
        assert graph.bfs(store, "e", "a", **search).levels() == {"a": 0, "b": 1, "c": 1}
        assert graph.bfs(store, "e", "c", **search).levels() == {"c": 0}
        with pytest.raises(ostrakon.errors.NotFoundError, match="zed"):
            graph.bfs(store, "e", "zed", **search)
