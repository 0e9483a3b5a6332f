"""Deleting keeps degrees right; tables that differ are found and repaired."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostrakon
from ostrakon import Assoc
from ostrakon.d4m import DB, AssocTable, adj_to_edge
from ostrakon.d4m.locks import ReadWriteLock
from ostrakon.errors import InvalidArgumentError

VERTEX = st.sampled_from("abcdé")
EDGES = st.dictionaries(st.tuples(VERTEX, VERTEX), st.integers(1, 9), max_size=8)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), EDGES),
        st.tuples(st.just("delete"), st.lists(st.tuples(VERTEX, VERTEX), min_size=1, max_size=6)),
    ),
    max_size=6,
)


def of(graph: dict[tuple[str, str], int]) -> Assoc:
    return Assoc.from_dict(graph) if graph else Assoc()


def degrees_of(graph: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    found: Counter[tuple[str, str]] = Counter()
    for (source, target), weight in graph.items():
        found[source, "OutDeg"] += weight
        found[target, "InDeg"] += weight
    return {place: count for place, count in found.items() if count}


@settings(deadline=None, max_examples=25)
@given(steps=STEPS)
def test_degrees_follow_what_is_put_and_deleted(steps: list[tuple[str, Any]]) -> None:
    with DB() as db:
        G, S = db.adjacency("A"), db.single("S")
        judge: Counter[tuple[str, str]] = Counter()
        for verb, what in steps:
            if verb == "put":
                G.put(of(what))
                S.put(of(what))
                judge.update(what)
                continue
            rows, cols = [row for row, _ in what], [col for _, col in what]
            gone = {place for place in what if judge[place]}
            assert G.delete_triple(rows, cols) == len(gone)
            assert S.deleteTriple(rows, cols) == len(gone)
            for place in what:
                judge.pop(place, None)
            left = {place: weight for place, weight in judge.items() if weight}
            assert G[:, :].to_dict2() == S[:].to_dict2() == left
            assert G.pair.T[:, :].T.to_dict2() == left
            assert G.degrees().to_dict2() == S.degrees().to_dict2() == degrees_of(left)
        assert G.check().sound
        assert S.check().sound


def test_edges_are_deleted_by_their_keys(db: DB) -> None:
    E = db.incidence()
    A = Assoc("a,a,b,", "b,c,c,", [1, 2, 4])
    E.put(adj_to_edge(A))
    ids = E[:, "Out|a,"].row
    assert E.delete_edges(ids) == 4
    assert E.adjacency().to_dict2() == {("b", "c"): 4}
    assert E.degrees().to_dict2() == {("Out|b", "Degree"): 4, ("In|c", "Degree"): 4}
    assert E.check().sound
    assert E.delete_edges(["none"]) == 0
    (edge,) = E[:, :].row.tolist()
    assert E.deleteTriple([edge], ["In|c"]) == 1
    assert E.degrees().to_dict2() == {("Out|b", "Degree"): 4}
    assert E.deleteAssoc(E[:, :]) == 1
    assert E.degrees().is_empty()
    with pytest.raises(InvalidArgumentError, match="edges: give keys"):
        E.delete_edges("a*,")


def test_a_label_keeps_its_own_degrees(db: DB) -> None:
    G = db.adjacency()
    A = Assoc("a,a,", "b,c,", [1, 2])
    G.put(A, visibility="L")
    G.put(A, visibility="")
    L = DB(db.store, auths="L").adjacency()
    assert L.degrees("a,").sum() == 6
    # Who does not see an entry does not delete it, and does not lower its degrees.
    assert G.delete(A) == 2
    assert G.degrees().is_empty()
    assert L.degrees("a,").to_dict2() == {("a", "OutDeg"): 3}
    assert L[:, :].equals(A)
    assert L.delete(A) == 2
    assert L.degrees().is_empty()
    assert L.check().sound


def test_records_are_deleted_from_all_tables(db: DB) -> None:
    R = db.records()
    people = [
        {"name": "ann", "town": "Ulm", "tags": ["x", "y"]},
        {"name": "bea", "town": "Ulm"},
        {"name": "eve", "town": "Bonn", "tags": ["x"]},
    ]
    R.ingest(people, id="name")
    assert R.delete(["ann", "nobody"]) == 4
    assert R.find(all_of="town|Ulm,") == ["bea"]
    assert R.find(all_of="tags|y,") == []
    assert R.degrees().to_dict2() == {
        (key, "Degree"): 1 for key in ("name|bea", "name|eve", "town|Ulm", "town|Bonn", "tags|x")
    }
    assert R.fields() == {"name": 2, "town": 2, "tags": 1}
    assert sorted(R.text()) == ["bea", "eve"]
    assert R.check().sound
    assert R.deleteTriple("eve,", "tags|x,") == 1
    assert R.fields() == {"name": 2, "town": 2}
    assert sorted(R.text()) == ["bea", "eve"]
    # The same record again, after it was deleted.
    R.ingest(people[:1], id="name")
    assert R.find(all_of="town|Ulm,") == ["ann", "bea"]
    assert R.check().sound


def test_a_record_written_twice_counts_twice_until_it_is_repaired(db: DB) -> None:
    R = db.records()
    for _ in range(2):
        R.ingest([{"name": "ann"}], id="name")
    report = R.check()
    assert [(one.row, one.degree, one.counted) for one in report.degrees] == [
        ("name|ann", 2, 1), ("name", 2, 1),
    ]  # fmt: skip
    assert not report.sound
    assert len(R.repair().degrees) == 2
    assert R.check().sound
    assert R.count("name|ann") == 1


def test_labels_of_records(db: DB) -> None:
    R = db.records()
    R.ingest([{"name": "ann", "pay": "9"}], id="name", visibility=lambda f, _: "L" * (f == "pay"))
    L = DB(db.store, auths="L").records()
    assert R.delete("ann,") == 1
    assert L.degrees().to_dict2() == {("pay|9", "Degree"): 1}
    assert sorted(L.text()) == ["ann"]
    assert L.delete("ann,") == 1
    assert L.degrees().is_empty()
    assert L.text() == {}
    assert L.check().sound


def test_what_is_refused_leaves_nothing(db: DB) -> None:
    long = Assoc(["k" * 700_000], ["l" * 700_000], 1)
    for graph in (db.adjacency("A"), db.incidence("E")):
        array = long if graph.pair.main.name == "A" else long.put_col(["In|" + "l" * 700_000])
        with pytest.raises(InvalidArgumentError, match=r"array: a row key .* nothing was written"):
            graph.put(array)
        with pytest.raises(InvalidArgumentError):
            graph.put(Assoc("a,", "In|b,", 1), visibility="bad label(")
    assert [db.store.table(name).scan().count() for name in db.ls()] == [0] * 6


# Pairs.

ENTRIES = st.dictionaries(st.tuples(VERTEX, VERTEX), st.integers(1, 3), max_size=8)


@settings(deadline=None, max_examples=25)
@given(main=ENTRIES, transpose=ENTRIES, summed=st.booleans())
def test_pairs_are_compared_and_repaired(
    main: dict[tuple[str, str], int], transpose: dict[tuple[str, str], int], summed: bool
) -> None:
    with DB() as db:
        T = db["T", "Tt"]
        if summed:
            T.add_col_combiner(":", "sum")
        for place, value in main.items():
            T.main.put_triple(*place, value)
        for (row, col), value in transpose.items():
            T.transpose.put_triple(col, row, value)
        both = main.keys() & transpose.keys()
        report = T.check()
        assert report[:4] == (
            len(main),
            len(main.keys() - transpose.keys()),
            sum(main[place] != transpose[place] for place in both),
            len(transpose.keys() - main.keys()),
        )
        assert report.sound == (main == transpose)
        wrong = report.missing + report.different + report.surplus
        assert len(report.examples) == min(wrong, 10)
        assert len(T.check(examples=1).examples) == min(wrong, 1)
        assert T.repair() == report
        assert T.check() == (len(main), 0, 0, 0, [])
        assert T.main[:, :].equals(of(main))
        assert T.transpose[:, :].T.equals(of(main))
        # What is written later counts as ever.
        T.put(of(main))
        assert T.check().sound
        value = 2 if summed else 1
        assert T.transpose[:, :].T.equals(value * of(main))


def test_a_pair_is_repaired_label_by_label(db: DB) -> None:
    L = DB(db.store, auths="L")["T", "Tt"]
    L.main.put_triple("a,", "x,", 1, visibility="L")
    L.main.put_triple("a,", "x,", 2)
    L.transpose.put_triple("x,", "a,", 2)
    L.transpose.put_triple("x,", "b,", 3, visibility="L")
    report = L.repair()
    assert report[:4] == (2, 1, 0, 1)
    assert report.examples == [("a", "x", "L", "1", None), ("b", "x", "L", None, "3")]
    assert L.check().sound


def test_degrees_are_counted_anew(db: DB) -> None:
    A = Assoc("a,a,b,", "b,c,c,", [1, 2, 4])
    for graph in (db.adjacency("A"), db.single("S"), db.incidence("E")):
        graph.put(adj_to_edge(A) if graph.__class__.__name__ == "Incidence" else A)
        assert graph.check().sound
        table: Any = getattr(graph, "degree_table", None) or db["S"]
        column = "Degree" if graph.__class__.__name__ == "Incidence" else "OutDeg"
        table.put_triple("Out|a,z,", f"{column},", [5, 1])
        report = graph.repair()
        assert {(one.row, one.degree - one.counted) for one in report.degrees} == {
            ("Out|a", 5), ("z", 1),
        }  # fmt: skip
        assert graph.check().sound


def test_values_that_are_no_numbers_are_named(db: DB) -> None:
    R = db.records()
    R.pair.put_triple("r,", "a|b,", "text,")
    with pytest.raises(InvalidArgumentError, match="'Tedge' has values that are not integers"):
        R.check()


def test_what_cannot_be_counted_is_not_deleted(db: DB) -> None:
    G = db.adjacency()
    G.pair.main.revoke_col_combiner(":")
    G.pair.main.put_triple("a,", "b,", "text,")
    with pytest.raises(InvalidArgumentError, match="the value 'text' at .* nothing was deleted"):
        G.delete_triple("a,", "b,")
    assert G.pair.main.nnz() == 1


# Failures between two writes.


@pytest.mark.parametrize("layout", ["adjacency", "incidence", "records"])
@pytest.mark.parametrize("verb", ["put", "delete"])
def test_a_failure_leaves_no_degree_too_low_and_is_repaired(
    db: DB, monkeypatch: pytest.MonkeyPatch, layout: str, verb: str
) -> None:
    A = Assoc("a,a,b,", "b,c,c,", [1, 2, 4])
    people = [{"name": "ann", "town": "Ulm"}, {"name": "bea", "town": "Ulm"}]
    bound: Any = getattr(db, layout)()

    def put() -> None:
        if layout == "records":
            bound.ingest(people, id="name")
        else:
            bound.put(adj_to_edge(A) if layout == "incidence" else A)

    calls = 0
    # Every write begins with a writer: the second, third, … finds the disk full.
    for stop in range(2, 7):
        if verb == "delete":
            put()
            bound.repair()
        calls = 0
        make = AssocTable._writer

        def full(self: AssocTable, stop: int = stop, make: Any = make) -> ostrakon.Writer:
            nonlocal calls
            calls += 1
            if calls == stop:
                raise ostrakon.errors.OutOfSpaceError("the disk is full")
            writer: ostrakon.Writer = make(self)
            return writer

        monkeypatch.setattr(AssocTable, "_writer", full)
        try:
            if verb == "put":
                put()
            elif layout == "records":
                bound.delete("ann,bea,")
            else:
                bound.delete(bound[:, :])
        except ostrakon.errors.OutOfSpaceError:
            pass
        else:
            # So many writers are not made: nothing failed.
            assert calls < stop
        finally:
            monkeypatch.undo()
        report = bound.check()
        assert all(one.degree >= one.counted for one in report.degrees)
        assert report.pair.surplus == 0 or verb == "delete"
        assert report.pair.missing == 0 or verb == "put"
        assert bound.repair() == report
        assert bound.check().sound
        if calls < stop:
            break
    assert calls > 2


# Several at once.


def test_writers_and_deleters_at_once(db: DB) -> None:
    G = db.adjacency()
    names = [f"v{at}" for at in range(6)]
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        import random

        dice = random.Random(seed)
        try:
            for _ in range(25):
                rows, cols = dice.choices(names, k=4), dice.choices(names, k=4)
                if dice.random() < 0.5:
                    G.put(Assoc(rows, cols, 1))
                else:
                    G.delete_triple(rows, cols)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert G.check() == G.repair()
    assert G.check().sound


@pytest.mark.parametrize("what", ["adjacency", "single", "records", "pair"])
def test_a_put_waits_for_a_delete(db: DB, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def put() -> None:
        if what == "records":
            bound.ingest([{"name": "ann"}], id="name")
        elif what == "pair":
            bound.put(Assoc("ann", "name|ann", 1))
        else:
            bound.put(Assoc("ann", "name|ann" if what == "adjacency" else "bea", 1))

    makers = {"adjacency": db.adjacency, "single": db.single, "records": db.records}
    bound: Any = db["T", "Tt"] if what == "pair" else makers[what]()
    put()
    late: list[threading.Thread] = []
    read = AssocTable._entries

    def slow(self: AssocTable, *arguments: Any) -> Any:
        # Between the look at what is there and its end somebody writes the same again.
        found = read(self, *arguments)
        if not late:
            late.append(threading.Thread(target=put))
            late[0].start()
            late[0].join(0.2)
            assert late[0].is_alive()
        return found

    monkeypatch.setattr(AssocTable, "_entries", slow)
    bound.delete_triple("ann", "bea" if what == "single" else "name|ann")
    late[0].join(10)
    monkeypatch.undo()
    assert bound.check().sound
    assert (db["Tsingle"] if what == "single" else bound)[:, :].nnz >= 1


def test_a_lock_is_shared_or_held_alone() -> None:
    lock = ReadWriteLock()
    order: list[str] = []
    with lock.shared(), lock.shared():
        alone = threading.Thread(target=lambda: _pass(lock.alone(), order, "alone"))
        alone.start()
        while not lock._waiting:
            pass
        late = threading.Thread(target=lambda: _pass(lock.shared(), order, "late"))
        late.start()
        order.append("first")
    alone.join(10)
    late.join(10)
    assert order == ["first", "alone", "late"]
    with pytest.raises(ZeroDivisionError), lock.alone():
        _ = 1 // 0
    with lock.shared():
        pass


def _pass(lock: Any, order: list[str], name: str) -> None:
    with lock:
        order.append(name)


def test_each_store_has_its_own_locks() -> None:
    with ostrakon.open() as one, ostrakon.open() as other:
        a, b = DB(one).adjacency(), DB(other).adjacency()
        assert a._lock is DB(one).adjacency()._lock
        assert a._lock is not b._lock
        assert a.pair._lock is a.pair.T._lock
