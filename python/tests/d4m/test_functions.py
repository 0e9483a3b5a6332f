"""D4M's functions: delimiter strings, CSV in texts, hierarchies, and graph algorithms against
NetworkX and NumPy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrakon import Assoc
from ostrakon.d4m import (
    DB,
    NMF,
    Adj2Edge,
    Adj2OutInRow,
    AdjBFS,
    Assoc2JSONCSV,
    CatStr,
    CSVstr2assoc,
    EdgeBFS,
    FindCSV,
    HierAdd,
    HierAddFinal,
    Jaccard,
    JSONCSV2assoc,
    OutInRow2Adj,
    SplitStr,
    StartsWith,
    StrFileRead,
    StrFileWrite,
    Text2word,
    adj_bfs,
    assoc_equal,
    edge_bfs,
    jaccard,
    k_truss_adj,
    kTrussAdj,
    kTrussEdge,
    nmf,
    parseJSON,
)
from ostrakon.errors import InvalidArgumentError, TooLargeError

VERTEX = st.integers(0, 8).map(lambda at: f"v{at}")
EDGES = st.lists(st.tuples(VERTEX, VERTEX), max_size=30)


def made(edges):
    return Assoc([a for a, _ in edges], [b for _, b in edges], 1) if edges else Assoc()


# Texts.


def test_delimiter_strings():
    assert CatStr("a,b,", "|", "c,d,") == "a|c,b|d,"
    assert CatStr("a;", "|", "c,d,") == "a|c;a|d;"
    assert CatStr("a,b,", "", "c") == "ac,bc,"
    assert CatStr(["a", "b"], "|", np.array(["c", "d"])).tolist() == ["a|c", "b|d"]
    assert SplitStr("a|c,b|d,", "|") == ("a,b,", "c,d,")
    left, right = SplitStr(["a|c|d", "b|"], "|")
    assert (left.tolist(), right.tolist()) == (["a", "b"], ["c|d", ""])
    for call, text in [
        (lambda: CatStr("a,b,", "|", "c,d,e,"), "right: 3 items for 2"),
        (lambda: CatStr("a,b,", ",", "c,"), "left: its delimiter ','"),
        (lambda: SplitStr("a|b,c,", "|"), 'texts: the key "c" holds no'),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="right: texts are needed, not numbers"):
        CatStr("a,", "|", [1])


@given(pairs=st.lists(st.tuples(st.text("abé"), st.text("ab|é")), min_size=1, max_size=6))
def test_joined_texts_come_apart(pairs):
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    one, two = SplitStr(CatStr(left, "|", right), "|")
    assert (one.tolist(), two.tolist()) == (left, right)


def test_files_and_csv(tmp_path):
    StrFileWrite("é\r\nb", tmp_path / "t.txt")
    assert StrFileRead(tmp_path / "t.txt").endswith("b")
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]
    (tmp_path / "t.txt").write_bytes(b"\xff")
    with pytest.raises(InvalidArgumentError, match=r"path: .*t\.txt is not UTF-8"):
        StrFileRead(tmp_path / "t.txt")
    array = Assoc("a,b,", "x,y,", ["1,5", "2"])
    assert JSONCSV2assoc(Assoc2JSONCSV(array)).equals(array)
    assert JSONCSV2assoc(Assoc2JSONCSV(array, col_separator=";")).equals(array)
    for text in ("[]", "{}", '{"CSV": 1}', "{"):
        with pytest.raises(InvalidArgumentError, match="text: "):
            JSONCSV2assoc(text)
    assert parseJSON('{"a": [1]}') == {"a": [1]}
    assert CSVstr2assoc("id;x|a;1|b;2", "|", ";").to_dict2() == {("a", "x"): "1", ("b", "x"): "2"}
    path = tmp_path / "t.tsv"
    path.write_text("id\tx\na\t1\na\t2\n")
    found = [part.tolist() for part in FindCSV(path)]
    assert found == [["a", "a"], ["x", "x"], ["1", "2"]]
    assert assoc_equal(Text2word(Assoc("d", "t", "u u")), Assoc("d", "u", 2))
    assert array[StartsWith("a,"), :].row.tolist() == ["a"]


@given(
    batches=st.lists(EDGES, max_size=8),
    cuts=st.lists(st.integers(0, 9), min_size=1, max_size=3),
)
def test_hierarchies_of_functions(batches, cuts):
    levels = [Assoc()] * (len(cuts) + 1)
    total = Assoc()
    for batch in map(made, batches):
        levels = HierAdd(levels, batch, cuts)
        total = total + batch
        assert len(levels[0]) <= cuts[0]
    assert HierAddFinal(levels).equals(total)
    with pytest.raises(InvalidArgumentError, match="cuts: "):
        HierAdd(levels, Assoc(), [])


# Algorithms.


def judged_bfs(edges, start, steps, degrees, bounds):
    least, most = bounds or (None, None)
    frontier, walked = {start}, set()
    for _ in range(steps):
        kept = {v for v in frontier if least is None or least <= degrees.get(v, -1) <= most}
        walked = {(a, b) for a, b in edges if a in kept}
        frontier = {b for _, b in walked}
    return walked


@settings(deadline=None)
@given(edges=EDGES, start=VERTEX, steps=st.integers(1, 4), bounds=st.none() | st.just((1, 2)))
def test_breadth_first(edges, start, steps, bounds):
    array = made(edges)
    least, most = bounds or (None, None)
    counted = array.sum(1).put_col("OutDeg,") if len(array) else Assoc()
    degrees = {row: value for row, _, value in counted}
    wanted = judged_bfs(set(edges), start, steps, degrees, bounds)
    options = {"degrees": counted, "least": least, "most": most}
    found = adj_bfs(array, start, steps, **options)
    assert {(row, col) for row, col, _ in found} == wanted
    assert AdjBFS(array, counted, "OutDeg,", f"{start},", steps, least, most).equals(found)
    union = adj_bfs(array, start, steps, union=True, **options)
    parts = [adj_bfs(array, start, step, **options) for step in range(1, steps + 1)]
    total = Assoc()
    for part in parts:
        total = total + part
    assert union.equals(total)
    # The same graph by its edges, and in a single table.
    if len(array):
        incidence = Adj2Edge(array, "Out,", "In,", "|")
        count = incidence.sum(0).T.put_col("Degree,")
        result = EdgeBFS(incidence, "Out,", "In,", "|", count, f"{start},", steps, least, most)
        assert result.reached == sorted({b for _, b in wanted})
        assert result.followed == sorted({a for a, _ in wanted})
        assert len(result.edges) == 2 * len(wanted)
        single = Adj2OutInRow(array)
        assert assoc_equal(OutInRow2Adj(single), array)
        again = adj_bfs(single, start, steps, separator="|", **(options | {"degrees": single}))
        assert again.equals(found)


def test_breadth_first_in_tables():
    with DB() as db:
        graph = db.adjacency("Tadj")
        edges = Assoc("a,a,b,c,hub,hub,hub,", "b,hub,c,d,x,y,z,", 1)
        graph.put(edges)
        options = {"degrees": graph.degree_table, "most": 2}
        found = adj_bfs(graph.pair, "a,", 2, **options)
        assert found.to_dict2() == {("b", "c"): 1}
        assert adj_bfs(edges, "a,", 2, **options).equals(found)
        table = db.incidence("Tedge")
        table.put(Adj2Edge(edges))
        degrees = {"degrees": table.degree_table, "most": 2}
        assert edge_bfs(table.pair, "a,", 2, **degrees).reached == ["c"]
        single = db.single("Tone")
        single.put(edges)
        options = {"degrees": single.table, "most": 2, "separator": "|"}
        assert adj_bfs(single.table, "a,", 2, **options).equals(found)


def test_searches_say_what_they_lack():
    array = made([("a", "b")])
    for call, text in [
        (lambda: adj_bfs(array, "a", 1, most=3), "degrees: bounds of the degree need"),
        (lambda: adj_bfs(array, "a", 0), "steps: a whole number above 0"),
        (lambda: adj_bfs(array, "a*", 1), "start: give keys"),
        (lambda: nmf(array, 0), "topics: above 0"),
        (lambda: nmf(Assoc("a", "x", -1), 1), "array: nmf takes no negative values"),
    ]:
        with pytest.raises(InvalidArgumentError, match=text):
            call()
    assert adj_bfs(array, "z", 3).is_empty()
    assert edge_bfs(Adj2Edge(array), "z", 3)[:2] == ([], [])


@given(edges=EDGES)
def test_jaccard(edges):
    graph = nx.Graph([(a, b) for a, b in edges if a != b])
    pairs = [(a, b) for a in graph for b in graph if a < b]
    wanted = {(a, b): value for a, b, value in nx.jaccard_coefficient(graph, pairs) if value}
    found = jaccard(made(edges)).to_dict2()
    assert found == pytest.approx(wanted)
    assert found == Jaccard(made(edges)).to_dict2()


@given(edges=EDGES, k=st.integers(2, 5))
def test_trusses(edges, k):
    array = made(edges)
    graph = nx.Graph([(a, b) for a, b in edges if a != b])
    truss = {tuple(sorted(edge)) for edge in nx.k_truss(graph, k).edges}
    found = kTrussAdj(array, k)
    if k < 3:
        assert found is array
        return
    assert {(a, b) for a, b, _ in found if a < b} == truss
    assert found.equals(found.T)
    # Undirected incidence: a row for each edge, ones at both its ends.
    lines = sorted(tuple(sorted(edge)) for edge in graph.edges)
    names = [f"e{at:02d}" for at in range(len(lines))]
    ends = Assoc(names * 2, [a for a, _ in lines] + [b for _, b in lines], 1) if lines else Assoc()
    kept = kTrussEdge(ends, k)
    assert {lines[int(name[1:])] for name in kept.row.tolist()} == truss
    assert kTrussEdge(ends, 2) is ends


def test_factors():
    random = np.random.default_rng(3)
    left, right = random.random((30, 3)), random.random((3, 20))
    rows = [f"r{at:02d}" for at in range(30)]
    cols = [f"c{at:02d}" for at in range(20)]
    array = Assoc.from_scipy(left @ right, rows, cols)
    w, h = NMF(array, 3, seed=5, most_rounds=500, tolerance=1e-9)
    assert w.col.tolist() == h.row.tolist() == ["01", "02", "03"]
    assert w.values.min() > 0
    assert h.values.min() > 0
    error = np.sqrt((((w @ h) - array).values ** 2).sum())
    assert error < 0.02 * np.sqrt((array.values**2).sum())
    assert nmf(Assoc(), 2)[0].is_empty()
    with pytest.raises(TooLargeError, match="topics: 3 topics for 30 rows and 20 columns"):
        nmf(array, 3, limit_bytes=100)
    with pytest.raises(TooLargeError):
        k_truss_adj(array.sqin(), 3, limit_bytes=10)
