import ostrakon
from ostrakon import graph

with ostrakon.open() as db:
    graph.put_edges(db, "g", ["a", "a", "b"], ["b", "c", "d"])
    levels = graph.bfs(db, "g", "a,", steps=2).levels()
    assert levels == {"a": 0, "b": 1, "c": 1, "d": 2}
    ranks = graph.pagerank(db, "g")
    assert repr(ranks)
