"""Algorithms over whole graphs, and over documents and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ostrakon.arguments import integer_of
from ostrakon.errors import InvalidArgumentError
from ostrakon.graph.calls import U32, Part, compute, keys_of, outcome_of
from ostrakon.graph.results import Components, Factors, Outcome, Ranks

if TYPE_CHECKING:
    from ostrakon.store import Store


def jaccard(store: Store, table: str | Part, *, result: str | None = None, **where: Any) -> Outcome:
    """For each two vertices with common neighbours: common neighbours / neighbours of either.

    The graph is treated as undirected and unweighted. `counts` has `pairs`. Further options, as for
    all functions below: `collect`, `auths`, `visibility`, `memory_bytes`, `threads`.
    """
    return Outcome(**outcome_of(compute(store, "jaccard", table, result=result, **where)))


def k_truss(
    store: Store,
    table: str | Part,
    k: int,
    *,
    form: str = "adjacency",
    result: str | None = None,
    **where: Any,
) -> Outcome:
    """The largest subgraph in which every edge is in at least k - 2 triangles.

    `form` is `adjacency`, or `incidence` for a table of edges with `Out|` and `In|` columns.
    """
    if form not in ("adjacency", "incidence"):
        raise InvalidArgumentError(
            f"`form` must be adjacency or incidence, not {form!r}", {"argument": "form"}
        )
    k = integer_of("k", k, "a number, such as 3", 0, U32)
    name = "k_truss" if form == "adjacency" else "k_truss_incidence"
    return Outcome(**outcome_of(compute(store, name, table, result=result, count=k, **where)))


def triangle_count(store: Store, table: str | Part, **where: Any) -> int:
    """The number of triangles of the graph. Directions and loops are ignored."""
    return int(compute(store, "triangle_count", table, **where)["triangles"])


def connected_components(
    store: Store, table: str | Part, *, result: str | None = None, **where: Any
) -> Components:
    """The connected components, without regard to directions; `counts` has `components`."""
    found = compute(store, "connected_components", table, result=result, **where)
    vertices = keys_of(found.pop("vertices"))
    smallest = np.frombuffer(found.pop("representatives"), np.uint32)
    return Components(
        representatives=[vertices[at] for at in smallest.tolist()],
        vertices=vertices,
        **outcome_of(found),
    )


def pagerank(
    store: Store,
    table: str | Part,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    rounds_max: int = 100,
    result: str | None = None,
    **where: Any,
) -> Ranks:
    """Ranks vertices by PageRank; values are the weights of edges.

    It has converged when the ranks of n vertices change in total by less than n times `tolerance`.
    """
    found = compute(
        store,
        "pagerank",
        table,
        result=result,
        damping=damping,
        tolerance=tolerance,
        rounds_max=rounds_max,
        **where,
    )
    return Ranks(
        vertices=keys_of(found.pop("vertices")),
        ranks=np.frombuffer(found.pop("ranks"), np.float64),
        converged=found.pop("converged"),
        **outcome_of(found),
    )


def tfidf(store: Store, table: str | Part, *, result: str | None = None, **where: Any) -> Outcome:
    """Weights of words (columns) in documents (rows): value * ln(documents / documents with it)."""
    return Outcome(**outcome_of(compute(store, "tfidf", table, result=result, **where)))


def nmf(
    store: Store,
    table: str | Part,
    topics: int,
    *,
    rounds_max: int = 20,
    tolerance: float = 0.01,
    seed: int = 1,
    documents_result: str | None = None,
    words_result: str | None = None,
    **where: Any,
) -> Factors:
    """Approximates a table by the product of two smaller non-negative matrices."""
    topics = integer_of("topics", topics, "a number of topics", 0, U32)
    found = compute(
        store,
        "nmf",
        table,
        result=documents_result,
        second_result=words_result,
        count=topics,
        rounds_max=rounds_max,
        tolerance=tolerance,
        seed=seed,
        **where,
    )
    w = np.frombuffer(found.pop("document_topics"), np.float64)
    h = np.frombuffer(found.pop("word_topics"), np.float64)
    return Factors(
        documents=keys_of(found.pop("documents")),
        words=keys_of(found.pop("words")),
        w=w.reshape(-1, topics),
        h=h.reshape(-1, topics).T,
        errors=np.frombuffer(found.pop("errors"), np.float64),
        **outcome_of(found),
    )
