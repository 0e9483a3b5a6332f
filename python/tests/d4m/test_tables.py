"""Writing, deleting, chunks, combiners, splits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ostrakon
from ostrakon import Assoc
from ostrakon.d4m import DB
from ostrakon.errors import (
    ClosedError,
    InvalidArgumentError,
    PermissionDeniedError,
    UnsupportedError,
)


def entries(table: ostrakon.Table, auths: Any = None) -> list[tuple[Any, ...]]:
    scan = table.scan(auths=auths)
    return [(e.row, e.family, e.qualifier, e.visibility, e.value) for e in scan.entries()]


def test_arrays_of_every_kind_go_in_and_come_back(db: DB) -> None:
    for at, held in enumerate(
        [
            Assoc("a,b,", "x,y,", [1, 2]),
            Assoc("a,b,", "x,y,", [1.5, -2.25]),
            Assoc("a,b,", "x,y,", "one,two words,"),
            Assoc(["a,b", "ünï"], ["x:y", "*"], ["", "kept"], "last"),
            Assoc(["long" * 5000], ["x"], ["v" * 100_000]),
            Assoc(),
        ]
    ):
        T = db[f"T{at}", f"T{at}t"]
        assert T.put(held) == len(held)
        assert T[:, :].equals(held)
        assert T.T[:, :].equals(held.transpose())
        assert T.nnz() == len(held)


def test_whole_floats_are_stored_so_that_combiners_can_add_them(db: DB) -> None:
    T = db["T"]
    T.put(Assoc("a,b,", "x,", [3.0, 4.0]))
    assert [entry[4] for entry in entries(T.table)] == ["3", "4"]


def test_booleans_and_timestamps_become_texts(db: DB) -> None:
    T = db["T"]
    T.put(Assoc("a,", "x,", np.array(["2024-02-03"], "datetime64[D]")))
    T.put(Assoc("b,", "x,", [True]))
    T.put(Assoc(np.array([7, 10]), "x,", 1))
    assert T[:, :].triples() == [
        ("10", "x", "1"),
        ("7", "x", "1"),
        ("a", "x", "2024-02-03"),
        ("b", "x", "true"),
    ]


def test_numbers_as_keys_are_found_under_one_text(db: DB) -> None:
    T = db["T", "Tt"]
    T.put(Assoc(np.array([1.0, 2.5]), np.array([7]), 1))
    T.put_triple([1.0, "3"], [8, 8.0], 2)
    T.put_triple(np.array([2.5, 4.0]), 9.0, 3)
    assert T[:, :].triples() == [
        ("1", "7", 1),
        ("1", "8", 2),
        ("2.5", "7", 1),
        ("2.5", "9", 3),
        ("3", "8", 2),
        ("4", "9", 3),
    ]
    assert T[1.0, :].equals(T[1, :])
    assert T[[1.0, 2.5], [7]].nnz == 2
    assert T["2.5":"4", :].nnz == 4
    for index in (np.s_[2.5:4.0, :], np.s_[:10, :], np.s_[:, 7:], np.s_[np.int64(3) :, :]):
        with pytest.raises(InvalidArgumentError, match="compares keys as texts"):
            T[index]
    assert T.delete_triple(1.0, [7.0, 8]) == 2
    assert T.delete_assoc(Assoc(np.array([2.5]), np.array([7.0]), 1)) == 1
    assert T.nnz() == T.T.nnz() == 3


def test_labels_of_every_form(db: DB) -> None:
    held = Assoc("a,a,b,", "x,y,x,", [1, 2, 3])
    forms: list[Any] = [
        ["A", "B", ""],
        np.array(["A", "B", ""]),
        lambda row, col, val: {1: "A", 2: "B", 3: ""}[val],
        Assoc("a,a,b,", "x,y,x,", ["A", "B", "A|B"]),
    ]
    for at, labels in enumerate(forms):
        T = db[f"T{at}", f"T{at}t"]
        T.put(held, visibility=labels)
        expected = ["A", "B", "A|B" if isinstance(labels, Assoc) else ""]
        assert [entry[3] for entry in entries(T.main.table, ["A", "B"])] == expected
        # By column in the transpose: (x, a), (x, b), (y, a).
        in_transpose = [expected[0], expected[2], expected[1]]
        assert [entry[3] for entry in entries(T.transpose.table, ["A", "B"])] == in_transpose
        assert T.using(auths=["A"])[:, "y,"].nnz == 0
        assert T.using(auths=["B"])[:, "y,"].nnz == 1
    U = db["U"].using(visibility="A&B")
    U += held
    assert {entry[3] for entry in entries(U.table, ["A", "B"])} == {"A&B"}
    assert db["U"][:, :].nnz == 0


def test_triples_in_every_form(db: DB) -> None:
    pa = pytest.importorskip("pyarrow")
    forms: list[tuple[Any, Any, Any]] = [
        ("a,b,", "x,y,", "1,2,"),
        (["a", "b"], ["x", "y"], [1, 2]),
        (np.array(["a", "b"]), np.array([b"x", b"y"]), np.array([1.0, 2.0])),
        (pa.array(["a", "b"]), ("x", "y"), pa.array([1, 2])),
    ]
    for at, (row, col, val) in enumerate(forms):
        T = db[f"T{at}", f"T{at}t"]
        assert T.put_triple(row, col, val) == 2
        assert T[:, :].triples() == [("a", "x", 1), ("b", "y", 2)]
        assert T.T[:, :].triples() == [("x", "a", 1), ("y", "b", 2)]
    T = db["one"]
    assert T.put_triple("a", "x y", "some text") == 1
    assert T[:, :].triples() == [("a", "x y", "some text")]
    assert T.put_triple([], [], []) == 0
    assert T.put_triple("b", [1, 2.5], True) == 2
    assert T["b", :].triples() == [("b", "1", "true"), ("b", "2.5", "true")]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((["a", "b"], ["x", "y", "z"], 1), "row 2, col 3"),
        (("a,b,", "x,", [1, 2, 3]), "row 2, val 3"),
        ((["a", None], "x", 1), "`row` has no value for entry 1"),
        (("a", ["x", "y"], [1.0, float("nan")]), "`value` has no value for entry 1"),
        (("a", "x", object()), "`value` takes"),
        ((["a", "\ud800"], "x", 1), "row"),
        (("a" * (1 << 20), "x", 1), "the key has"),
    ],
)
def test_triples_that_do_not_fit_write_nothing(db: DB, arguments: Any, says: str) -> None:
    T = db["T", "Tt"]
    with pytest.raises(InvalidArgumentError, match=says):
        T.put_triple(*arguments)
    assert T.nnz() == T.T.nnz() == 0


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ("A&", "invalid label"),
        (["A", "B"], "2 labels for 3 entries"),
        (["A", "B|", "C"], "invalid label"),
        (lambda row, col, val: None, "the function gave None"),
        (Assoc("a,", "x,", "A,"), "the array of labels has none for"),
        (17, "a label, a list of labels"),
    ],
)
def test_labels_that_do_not_fit_write_nothing(db: DB, labels: Any, says: str) -> None:
    T = db["T", "Tt"]
    with pytest.raises(InvalidArgumentError, match=says):
        T.put(Assoc("a,a,b,", "x,y,x,", 1), visibility=labels)
    with pytest.raises(InvalidArgumentError):
        T.put_triple("a,a,b,", "x,y,x,", 1, visibility=labels)
    assert T.nnz() == T.T.nnz() == 0


def test_delete_takes_every_label_the_reader_sees(db: DB) -> None:
    T = db["T", "Tt"].using(auths=["A"])
    T.put_triple("r,r,s,", "c,c,d,", [1, 2, 3], visibility=["A", "", "B"])
    assert T.delete_triple("r,", "c,") == 2
    assert T[:, :].nnz == T.T[:, :].nnz == 0
    # What they do not see stays.
    assert T.delete_triple("s,", "d,") == 0
    assert T.using(auths=["B"])[:, :].nnz == 1
    U = T.using(auths=[])
    U.put(Assoc("a,b,c,", "x,y,z,", 1))
    assert U.delete_assoc(Assoc("a,c,q,", "x,z,q,", "whatever")) == 2
    assert U[:, :].triples() == [("b", "y", 1)]
    assert U.T[:, :].triples() == [("y", "b", 1)]
    assert U.deleteTriple("b", "y") == 1


def test_chunks_never_tear_a_row(db: DB) -> None:
    random = np.random.default_rng(3)
    size = 5000
    rows = np.array([f"r{at:03d}" for at in random.zipf(1.3, size).clip(max=400)])
    held = Assoc(rows, [f"c{at:05d}" for at in range(size)], 1)
    T = db["T", "Tt"]
    T.put(held)
    T.main.table.flush()
    listed_rows = held.find()[0].tolist()
    sizes = {row: listed_rows.count(row) for row in set(listed_rows)}
    for most in (1, 7, 100, 4999, 5000, 10**9):
        seen: list[str] = []
        for chunk in T.chunks(most):
            listed = chunk.row.tolist()
            assert len(chunk) == sum(sizes[row] for row in listed)
            last = sizes[listed[-1]]
            assert most <= len(chunk) < most + last or listed[-1] == held.row[-1]
            seen += listed
        assert seen == held.row.tolist()
    some = list(T.chunks(50, "r00*,", "c000*,"))
    assert sum(map(len, some)) == held["r00*,", "c000*,"].nnz
    assert sum(chunk.nnz for chunk in T.T.chunks(10)) == size
    assert list(db["empty"].chunks(5)) == []
    assert list(T.chunks(5, [])) == []
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(InvalidArgumentError, match="entries"):
            T.chunks(wrong)


def test_the_iterator_of_d4m(db: DB) -> None:
    T = db["T"]
    T.put(Assoc("a,a,b,c,", "x,y,x,x,", 1))
    It = T.Iterator(2)
    assert It().is_empty()
    first = It["a,b,", :]
    assert (first.nnz, It().nnz, It().nnz, It().nnz) == (2, 1, 0, 0)
    again = It["c,"]
    assert again.triples() == [("c", "x", 1)]
    assert [chunk.nnz for chunk in It] == []


def test_combiners_are_set_listed_and_revoked(db: DB) -> None:
    T = db["T"]
    T.addColCombiner("n,", "sum")
    T.addColCombiner(["lo w", "m"], "min")
    T.addColCombiner("o,", "sum")
    T.add_col_combiner("hi,", "max")
    expected = {"sum": ["n", "o"], "min": ["lo w", "m"], "max": ["hi"]}
    assert T.listColCombiner() == expected
    for value in (3, 5, 4):
        T.put_triple("r", ["n", "lo w", "hi", "free"], value)
    T.table.compact()
    T.put_triple("r", ["n", "lo w", "hi", "free"], 4)
    assert T["r", :].to_dict()["r"] == {"n": 16, "lo w": 3, "hi": 5, "free": 4}
    T.revokeColCombiner("n,")
    assert T.list_col_combiner() == {**expected, "sum": ["o"]}
    T.revoke_col_combiner(":")
    assert T.list_col_combiner() == {}
    with pytest.raises(InvalidArgumentError, match="one of sum"):
        T.add_col_combiner("a,", "average")
    with pytest.raises(InvalidArgumentError, match="column keys"):
        T.add_col_combiner("a*,", "sum")
    T.add_col_combiner(":", "sum")
    with pytest.raises(InvalidArgumentError, match="'sum' has some"):
        T.add_col_combiner("a,", "max")
    with pytest.raises(InvalidArgumentError, match="revoke ':'"):
        T.revoke_col_combiner("a,")
    pair = db["P", "Pt"]
    with pytest.raises(InvalidArgumentError, match="a pair combines all"):
        pair.add_col_combiner("a,", "sum")
    pair.add_col_combiner(":", "sum")
    pair.put_triple("r,r,", "c,", [1, 2])
    assert pair["r", :].triples() == [("r", "c", 3)]
    assert pair[:, "c"].triples() == [("r", "c", 3)]


def test_decimal_combiners_add_fractions(db: DB) -> None:
    T = db["T"]
    try:
        T.add_col_combiner(":", "sum_decimal")
    except UnsupportedError as error:
        pytest.skip(f"the store is built without it: {error}")
    assert T.list_col_combiner() == {"sum_decimal": ":"}
    T.put_triple("r,r,", "c,", [0.5, 0.25])
    assert T["r", :].triples() == [("r", "c", 0.75)]
    with pytest.raises(InvalidArgumentError, match="all columns"):
        db["U"].add_col_combiner("a,", "sum_decimal")


def test_splits(db: DB) -> None:
    T = db["T"]
    T.put(Assoc("a,b,c,d,", "x,", 1))
    T.addSplits("b,c,")
    T.table.flush()
    splits, counts = T.getSplits()
    assert splits == ["b", "c"]
    assert len(counts) == 3
    T.putSplits(["a", "c"])
    assert T.get_splits().splits == ["a", "c"]
    T.put_splits("d,")
    assert T.get_splits().splits == ["d"]
    T.mergeSplits()
    assert T.get_splits().splits == []
    assert T[:, :].nnz == 4
    with pytest.raises(InvalidArgumentError, match="splits are row keys"):
        T.add_splits("a*,")


def test_random_rows(db: DB) -> None:
    T = db["T"]
    assert T.rand_row(3) == []
    held = Assoc([f"r{at % 50:02d}" for at in range(500)], [f"c{at}" for at in range(500)], 1)
    T.put(held)
    drawn = T.randRow(10, seed=1)
    assert len(set(drawn)) == 10
    assert set(drawn) <= set(held.row.tolist())
    assert drawn == T.rand_row(10, seed=1) != T.rand_row(10, seed=2)
    assert T.rand_row(1000) == held.row.tolist()
    with pytest.raises(InvalidArgumentError, match="count"):
        T.rand_row(0)


def test_databases(tmp_path: Any) -> None:
    with DB(tmp_path / "db", family="f", put_bytes=1000) as db:
        T = db["T", "Tt"]
        T.put(Assoc("a,", "x,", 1))
        assert db.ls() == list(db) == ["T", "Tt"]
        assert ("T" in db, "U" in db, len(db)) == (True, False, 2)
        assert "family" not in repr(db)
    with pytest.raises(ClosedError):
        T[:, :]
    with pytest.raises(ClosedError):
        T.put(Assoc("a,", "x,", 1))
    with pytest.raises(ClosedError):
        db["U"]
    store = ostrakon.open(tmp_path / "db")
    with DB(store) as db:
        assert db["T"].using(family="f")[:, :].nnz == 1
        db["T", "Tt"].deleteForce()
        assert db.ls() == []
        db["gone"]
        db.drop("gone")
    assert not store.closed
    store.close()


def test_authorizations_that_are_not_held(tmp_path: Any) -> None:
    with DB(auths=["A"]) as db:
        T = db["T"]
        T.put_triple("r,", "c,", [1], visibility="A")
        assert T[:, :].nnz == 1
        asking = T.using(auths=["A", "B"])
        for ask in (lambda: asking[:, :], asking.nnz, lambda: asking.delete_triple("r", "c")):
            with pytest.raises(PermissionDeniedError, match="auths"):
                ask()


def test_bindings_that_make_no_sense(db: DB) -> None:
    wrong: Any
    for wrong in [("T", "T"), ("T",), 5, ("a", "b", "c"), ("a", 5)]:
        with pytest.raises(InvalidArgumentError, match="names"):
            db[wrong]
    assert db.ls() == []
    for options, says in [
        ({"family": None}, "family"),
        ({"put_bytes": 0}, "put_bytes"),
    ]:
        with pytest.raises(InvalidArgumentError, match=says):
            db["T"].using(**options)
    with pytest.raises(TypeError):
        db["T"].using(colour="red")
    with pytest.raises(InvalidArgumentError, match="array: an Assoc, not list"):
        db["T"].put([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        db["T"] += [1]  # type: ignore[operator, arg-type]


def test_bytes_that_are_no_text_are_named(db: DB) -> None:
    T = db["T"]
    T.table.put(b"\xff", "c", "v")
    with pytest.raises(ValueError, match=r"row.*UTF-8"):
        T[:, :]
    assert T["a", :].nnz == 0


def test_values_that_a_combiner_cannot_add_are_refused(db: DB) -> None:
    T = db["T"]
    T.add_col_combiner("n,", "sum")
    for wrong in ("x", 1.5, "1.0", "", True):
        with pytest.raises(
            InvalidArgumentError, match="is not an integer of 64 bits, and the column 'n'"
        ):
            T.put_triple("r,s,", "free,n,", ["anything", wrong] if wrong else [1, wrong])
        if wrong:
            with pytest.raises(InvalidArgumentError, match="combined by 'sum'"):
                T.put(Assoc("r,", "n,", [wrong]))
    assert T.nnz() == 0
    T.put(Assoc("r,r,", "free,n,", [0.5, 2.0], "sum")["r", "free"])
    T.put_triple("r,", "n,", ["2"])
    T.put_triple("r", "n", -3)
    assert T["r", :].to_dict()["r"] == {"free": 0.5, "n": -1.0}
    pair = db["P", "Pt"]
    pair.add_col_combiner(":", "max")
    with pytest.raises(InvalidArgumentError, match="combined by 'max'"):
        pair.put(Assoc("r,s,", "c,d,", [1, 2.5]))
    assert pair.nnz() == pair.T.nnz() == 0
    assert pair.put(Assoc("r,s,", "c,d,", [1.0, 2.0])) == 2


def test_a_reader_gets_whole_graphs_or_none(tmp_path: Any) -> None:
    """A reader may create tables, but not change their properties afterwards."""
    with ostrakon.open(tmp_path / "new", auths=["x"]) as store:
        db = DB(store)
        graph, single, records = db.adjacency("A"), db.single("S"), db.records("R")
        assert graph.put(Assoc("a,", "b,", 1)) + graph.put(Assoc("a,", "b,", 2)) == 2
        assert graph.degrees("a,").values.tolist() == [3]
        for table in (graph.pair.main, graph.degree_table, single.table, records.degree_table):
            assert table.list_col_combiner() == {"sum": ":"}
    with ostrakon.open(tmp_path / "old") as store:
        for name in ("ADeg", "S", "RField", "EDeg"):
            store.create_table(name)
        before = store.tables()
    with ostrakon.open(tmp_path / "old", auths=["x"]) as store:
        db = DB(store)
        for call in (
            lambda: db.adjacency("A"), lambda: db.single("S"), lambda: db.records("R"),
            lambda: db.incidence("E"),
        ):  # fmt: skip
            with pytest.raises(PermissionDeniedError):
                call()
        assert store.tables() == before
