"""Graphs in tables, and the forms of a graph as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrakon import Assoc
from ostrakon.d4m import DB, adj_to_edge, adj_to_single, edge_to_adj, single_to_adj
from ostrakon.errors import InvalidArgumentError

edges = st.dictionaries(
    st.tuples(st.sampled_from("abcdé"), st.sampled_from("abcdé")), st.integers(1, 9), max_size=12
)


def of(graph: dict[tuple[str, str], int]) -> Assoc:
    return Assoc.from_dict(graph) if graph else Assoc()


def sums(graph: Assoc) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for source, target, weight in graph:
        for place in ((source, "OutDeg"), (target, "InDeg")):
            found[place] = found.get(place, 0) + weight
    return found


@settings(deadline=None)
@given(edges)
def test_forms_come_back(graph: dict[tuple[str, str], int]) -> None:
    A = of(graph)
    E = adj_to_edge(A)
    E.check_canonical()
    assert E.shape[0] == len(graph)
    assert edge_to_adj(E).equals(A)
    S = adj_to_single(A)
    S.check_canonical()
    assert single_to_adj(S).equals(A)
    assert S[:, "OutDeg,InDeg,"].to_dict2() == sums(A)


def test_edges_of_many_ends_and_parallel_edges() -> None:
    E = Assoc("e,e,e,f,f,", "Out|a,In|b,In|c,Out|a,In|b,", [2, 2, 2, 5, 5])
    assert edge_to_adj(E).triples() == [("a", "b", 7), ("a", "c", 2)]
    named = adj_to_edge(Assoc("a,b,", "b,c,", "x,y,"), edge_prefix="e", width=4, flip=False)
    assert named.row.tolist() == ["e0001", "e0002"]
    assert named["e0002", :].triples() == [("e0002", "In|c", "y"), ("e0002", "Out|b", "y")]
    with pytest.raises(InvalidArgumentError, match="prefixes must differ"):
        adj_to_edge(E, "x", "x")
    with pytest.raises(InvalidArgumentError, match=r"'Out\|a' holds the separator"):
        adj_to_single(Assoc("Out|a,", "b,", 1))
    with pytest.raises(InvalidArgumentError, match="holds no"):
        single_to_adj(Assoc("ab,", "edge,", 1))


@settings(deadline=None, max_examples=25)
@given(edges, edges)
def test_tables_add_up_what_is_put(
    one: dict[tuple[str, str], int], two: dict[tuple[str, str], int]
) -> None:
    total = of(one) + of(two)
    with DB(put_bytes=10_000) as db:
        G, S, E = db.adjacency("A"), db.single("S"), db.incidence("E")
        for graph in (one, two):
            G.put(of(graph))
            S.put(of(graph))
            sources = [source for source, _ in graph]
            E.put_edges(sources, [target for _, target in graph], [*graph.values()])
        assert G[:, :].equals(total)
        assert G.pair.T[:, :].equals(total.transpose())
        assert S[:].equals(total)
        assert E.adjacency().equals(total)
        assert E[:, :].shape[0] == len(one) + len(two)
        assert G.degrees().to_dict2() == S.degrees().to_dict2() == sums(total)
        for vertex in "abx":
            assert G[vertex, :].equals(total[vertex, :])
            assert S[vertex].equals(total[vertex, :])
            assert E.adjacency([vertex]).equals(total[vertex, :])
            assert G.neighbours([vertex], direction="in").equals(total[:, vertex])
            out = sums(total).get((vertex, "OutDeg"), 0)
            assert E.degrees([f"Out|{vertex}"]).sum() == out


def test_degree_limits_keep_away_from_hubs(db: DB) -> None:
    G = db.adjacency()
    G.put(Assoc("hub,hub,hub,a,a,b,", "a,b,c,b,c,hub,", 1))
    assert G.neighbours("hub,a,b,", most=2).row.tolist() == ["a", "b"]
    assert G.neighbours("hub,a,b,", least=2, most=2).row.tolist() == ["a"]
    assert G.neighbours(":", least=3).row.tolist() == ["hub"]
    assert G.neighbours("c,", direction="in", least=2).triples() == [("a", "c", 1), ("hub", "c", 1)]
    assert G.neighbours("nobody,", least=1).is_empty()
    assert G.to_edges().shape[0] == 6
    with pytest.raises(InvalidArgumentError, match="direction"):
        G.neighbours("a,", direction="up")


def test_degrees_are_kept_for_each_label_apart(db: DB) -> None:
    A = Assoc("a,a,b,", "x,y,x,", [1, 2, 4])
    G = db.adjacency()
    G.put(A, visibility=["L", "", "L"])
    assert G.degrees().to_dict2() == {("a", "OutDeg"): 2, ("y", "InDeg"): 2}
    L = DB(db.store, auths="L").adjacency()
    assert L.degrees().to_dict2() == sums(A)
    E = db.incidence()
    E.put(adj_to_edge(A), visibility=lambda row, col, val: "L" if val == 4 else "")
    assert E.degrees().to_dict2() == {
        ("In|x", "Degree"): 1,
        ("In|y", "Degree"): 2,
        ("Out|a", "Degree"): 3,
    }


def test_graphs_that_cannot_be_added_up(db: DB) -> None:
    wrong: list[tuple[Any, str]] = [
        (Assoc("a,", "b,", [0.5]), "whole numbers"),
        (Assoc("a,", "b,", [float("inf")]), "whole numbers"),
        (Assoc("a,", "b,", "text,"), "these are texts"),
        (Assoc("a,", "b,", np.array(["2024"], "datetime64[Y]")), "whole numbers"),
        ("a,b,", "an Assoc, not str"),
    ]
    for array, says in wrong:
        for graph in (db.adjacency("A"), db.single("S"), db.incidence("E")):
            with pytest.raises(InvalidArgumentError, match=says):
                graph.put(array)
    with pytest.raises(InvalidArgumentError, match="begins neither"):
        db.incidence("E").put(Assoc("e,", "Between|a,", 1))
    with pytest.raises(InvalidArgumentError, match="holds the separator"):
        db.single("S").put(Assoc("a|b,", "c,", 1))
    with pytest.raises(InvalidArgumentError, match="separator"):
        db.single("S", separator="")
    with pytest.raises(InvalidArgumentError, match="vertex keys"):
        db.single("S")["a*,"]
    assert [db.store.table(name).scan().count() for name in db.ls()] == [0] * 7
    assert db.incidence("E").put_edges([], []) == 0
    A = Assoc("a,", "b,", [True])
    db.adjacency("A").put(A)
    assert db.adjacency("A")["a", :].triples() == [("a", "b", 1)]
