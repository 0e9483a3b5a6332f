"""The algorithms on tables, against NetworkX and SciPy on random graphs."""

from __future__ import annotations

import _thread
import threading
import time

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import ostrakon
from ostrakon import graph
from ostrakon.d4m import DB
from ostrakon.graph import Part

SCALE = 8


@pytest.fixture(params=[1, 2, 3])
def edges(request: pytest.FixtureRequest) -> list[tuple[str, str]]:
    """A Kronecker graph as text, equal edges once."""
    rows, columns = graph.kronecker(SCALE, 4, seed=request.param, permuted=True)
    pairs = sorted(set(zip(rows.tolist(), columns.tolist(), strict=True)))
    return [(f"v{row:03}", f"v{column:03}") for row, column in pairs]


@pytest.fixture
def stored(store: ostrakon.Store, edges: list[tuple[str, str]]) -> ostrakon.Store:
    for form in ("adjacency", "incidence", "single"):
        rows, columns = [row for row, _ in edges], [column for _, column in edges]
        graph.put_edges(store, form, rows, columns, form=form)
    return store


def undirected(edges: list[tuple[str, str]]) -> nx.Graph:
    made = nx.Graph(edges)
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    return made


def test_parts_of_a_kronecker_graph_are_the_whole() -> None:
    whole = graph.kronecker(12)
    parts = [graph.kronecker(12, part=(part, 3)) for part in range(3)]
    for axis in (0, 1):
        assert np.array_equal(np.concatenate([part[axis] for part in parts]), whole[axis])
    assert len(whole[0]) == 8 * 4096
    assert whole[0].max() < 4096
    with pytest.raises(ostrakon.Error, match="scale"):
        graph.kronecker(0)
    with pytest.raises(ostrakon.Error, match="do not fit into memory: make them in parts"):
        graph.kronecker(48, 64)


@pytest.mark.parametrize("form", ["adjacency", "incidence", "single"])
def test_searches_reach_what_networkx_reaches(
    stored: ostrakon.Store, edges: list[tuple[str, str]], form: str
) -> None:
    directed = nx.DiGraph(edges)
    start = edges[0][0]
    transpose = "incidenceT" if form == "incidence" else None
    for steps in (0, 1, 2, 5):
        found = graph.bfs(stored, form, start, steps=steps, form=form, transpose=transpose)
        expected = nx.single_source_shortest_path_length(directed, start, cutoff=steps)
        assert found.levels() == expected
    tables = {"adjacency": "adjacencyDeg", "incidence": "incidenceDeg", "single": "single"}
    found = graph.bfs(
        stored, form, [start], steps=3, form=form, degrees=tables[form], most_degree=0
    )
    assert found.levels() == {start: 0}


def test_edges_of_a_search_are_written_or_returned(
    stored: ostrakon.Store, edges: list[tuple[str, str]]
) -> None:
    start = edges[0][0]
    found = graph.bfs(stored, "adjacency", start, steps=2, result="R", collect=True)
    assert found.matrix is not None
    from_first = {start, *(to for at, to in edges if at == start)}
    expected = [(at, to) for at, to in edges if at in from_first]
    assert [(row, column) for row, column, _ in found.matrix.triples()] == expected
    assert found.entries_written == len(list(stored.table("R").scan().entries())) == len(expected)


def test_products_are_scipys(stored: ostrakon.Store, edges: list[tuple[str, str]]) -> None:
    names = sorted({name for edge in edges for name in edge})
    at = {name: position for position, name in enumerate(names)}
    rows, columns = zip(*((at[row], at[column]) for row, column in edges), strict=True)
    shape = (len(names), len(names))
    dense = sparse.csr_array((np.ones(len(edges)), (rows, columns)), shape=shape)
    expected = (dense.T @ dense).toarray()
    outcome = graph.table_mult(stored, "adjacency", "adjacency")
    assert outcome.matrix is not None
    product = np.zeros(shape)
    for row, column, value in outcome.matrix.triples():
        product[at[str(row)], at[str(column)]] = value
    assert np.array_equal(product, expected)
    assert outcome.counts["partial_products"] == int((dense.sum(axis=1) ** 2).sum())
    assert outcome.matrix.to_scipy().sum() == expected.sum()
    written = graph.table_mult(stored, "adjacency", "adjacency", result="C", memory_bytes=2000)
    assert written.matrix is None
    assert written.counts["collections"] > 1
    assert written.relative_io >= 1
    assert written.result_entries == np.count_nonzero(expected)


def test_elementwise_needs_both_or_either(store: ostrakon.Store) -> None:
    graph.put_edges(store, "A", ["a", "a"], ["x", "y"], [2, 3])
    graph.put_edges(store, "B", ["a", "b"], ["x", "z"], [5, 7])
    product = graph.elementwise_product(store, "A", "B").matrix
    assert product is not None
    assert product.triples() == [("a", "x", 10.0)]
    total = graph.elementwise_sum(store, "A", "B").matrix
    assert total is not None
    assert total.triples() == [("a", "x", 7.0), ("a", "y", 3.0), ("b", "z", 7.0)]
    with pytest.raises(ostrakon.Error, match="operation"):
        graph.elementwise_sum(store, "A", "B", operation="times")


def test_triangles_trusses_and_similarities_are_networkxs(
    stored: ostrakon.Store, edges: list[tuple[str, str]]
) -> None:
    whole = undirected(edges)
    assert graph.triangle_count(stored, "adjacency") == sum(nx.triangles(whole).values()) // 3
    for k in (3, 4, 5):
        expected = {frozenset(edge) for edge in nx.k_truss(whole, k).edges}
        truss = graph.k_truss(stored, "adjacency", k).matrix
        assert truss is not None
        assert {frozenset((row, column)) for row, column, _ in truss.triples()} == expected
        incidence = graph.k_truss(stored, "incidence", k, form="incidence")
        left = sum(frozenset(edge) in expected for edge in edges)
        assert incidence.counts["edges"] == left
    similar = graph.jaccard(stored, "adjacency").matrix
    assert similar is not None
    got = {(row, column): value for row, column, value in similar.triples()}
    pairs = [(a, b) for a in whole for b in whole if a < b]
    for a, b, value in nx.jaccard_coefficient(whole, pairs):
        assert got.get((a, b), 0.0) == pytest.approx(value)


def test_components_and_ranks_are_networkxs(
    stored: ostrakon.Store, edges: list[tuple[str, str]]
) -> None:
    found = graph.connected_components(stored, "adjacency")
    expected = {
        name: min(part) for part in nx.connected_components(nx.Graph(edges)) for name in part
    }
    assert dict(zip(found.vertices, found.representatives, strict=True)) == expected
    ranks = graph.pagerank(stored, "adjacency", tolerance=1e-12, rounds_max=500)
    assert ranks.converged
    theirs = nx.pagerank(nx.DiGraph(edges), tol=1e-12, max_iter=500)
    for name, rank in zip(ranks.vertices, ranks.ranks.tolist(), strict=True):
        assert rank == pytest.approx(theirs[name], abs=1e-9)
    frame = ranks.to_pandas()
    assert list(frame.columns) == ["vertex", "rank"]
    assert frame["rank"].is_monotonic_decreasing
    assert dict(zip(frame["vertex"], frame["rank"], strict=True)) == dict(
        zip(ranks.vertices, ranks.ranks.tolist(), strict=True)
    )


def test_words_topics_and_degrees(store: ostrakon.Store) -> None:
    words = {"d1": "tea cup tea", "d2": "tea pot", "d3": "car road", "d4": "road car car"}
    pairs = [(document, word) for document, text in words.items() for word in text.split()]
    rows, columns = [row for row, _ in pairs], [column for _, column in pairs]
    graph.put_edges(store, "W", rows, columns)
    weights = graph.tfidf(store, "W").matrix
    assert weights is not None
    assert weights.triples()[1] == ("d1", "tea", pytest.approx(2 * np.log(2)))
    factors = graph.nmf(store, "W", 2, tolerance=0, rounds_max=50)
    topics = factors.w.argmax(axis=1).tolist()
    assert topics[0] == topics[1] != topics[2] == topics[3]
    assert factors.w.shape == (4, 2)
    assert factors.h.shape == (2, len(factors.words))
    graph.degree_table(store, "W", "Deg", sums=True)
    degrees = {entry.row: entry.value for entry in store.table("Deg").scan().entries()}
    assert {str(row): float(value) for row, value in degrees.items()}["d1"] == 3


def test_parts_labels_and_bad_input(store: ostrakon.Store) -> None:
    graph.put_edges(store, "A", ["a", "b"], ["x", "y"])
    graph.put_edges(store, "A", "c", "z", visibility="secret")
    assert set(graph.connected_components(store, "A").vertices) == {"a", "b", "x", "y"}
    seen = graph.connected_components(store, "A", auths=["secret"])
    assert "z" in seen.vertices
    part = Part("A", rows="b,:,")
    assert graph.connected_components(store, part).vertices == ["b", "y"]
    for call in (
        lambda: graph.triangle_count(store, "missing"),
        lambda: graph.triangle_count(store, Part("A", rows="b,:,a,")),
        lambda: graph.triangle_count(store, Part("A", values="words")),
        lambda: graph.table_mult(store, "A", "A", semiring="plus"),
        lambda: graph.put_edges(store, "A", ["a"], ["x", "y"]),
        lambda: graph.put_edges(store, "A", ["a"], ["x"], 0.5),
        lambda: graph.k_truss(store, "A", 3, form="single"),
        lambda: graph.nmf(store, "A", 0),
    ):
        with pytest.raises(ostrakon.Error):
            call()
    with pytest.raises(TypeError, match="nonsense"):
        graph.jaccard(store, "A", nonsense=1)
    graph.put_edges(store, "A", b"\xff", b"\xfe")
    assert graph.connected_components(store, "A").vertices[-1] == b"\xff"


def test_an_interrupt_ends_a_computation(stored: ostrakon.Store) -> None:
    begun = time.monotonic()
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        graph.pagerank(stored, "adjacency", tolerance=0.0, rounds_max=100_000_000)
    timer.join()
    assert time.monotonic() - begun < 20
    # The store is as usable as before.
    assert graph.triangle_count(stored, "adjacency") >= 0


def test_messages_name_what_python_has(store: ostrakon.Store) -> None:
    with pytest.raises(TypeError, match=r"`store` takes .*pass `db\.store`"):
        graph.bfs(DB(store), "A", ["a"], steps=1)
    with pytest.raises(TypeError, match=r"pass `db\.store`"):
        graph.pagerank(DB(store), "A")
    with pytest.raises(ValueError, match="`rows` has 2, `columns` has 3 items.*nothing was"):
        graph.put_edges(store, "F", ["a", "c"], ["b", "c", "d"])
    assert store.tables() == []
    DB(store)["T"].put_triple("a,b,", "b,a,", "u,v,")
    with pytest.raises(ValueError, match=r'\(Part\(table, values="ones"\) or values="numbers_or_'):
        graph.pagerank(store, "T")
