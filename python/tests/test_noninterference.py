"""Does anything that is hidden show? Pairs of stores, one of them with hidden cells besides.

Every output for a reader must be the same. `OSTRAKON_MODEL_RUNS=N` tries N new seeds,
`OSTRAKON_MODEL_SEED=N` that one. The same is done for scans and errors of the store in
`crates/testkit`, and for the program in `crates/cli/tests`.
"""

from __future__ import annotations

import io
import logging
import os
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import ostrakon
from ostrakon import Assoc, graph
from ostrakon.d4m import DB

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HELD = ["A", "B"]
VISIBLE = ["", "", "A", "A&B", "A|C"]
SECRET = ["hidden", "A&hidden", "hidden|C"]
FIELDS = ("row", "family", "qualifier", "visibility", "timestamp", "value")


def seeds(few: int) -> list[int]:
    """`few` seeds from 1 on, or those that the environment wants."""
    if seed := os.environ.get("OSTRAKON_MODEL_SEED"):
        return [int(seed)]
    if runs := os.environ.get("OSTRAKON_MODEL_RUNS"):
        first = random.SystemRandom().randrange(1 << 40)
        return list(range(first, first + int(runs)))
    return list(range(1, few + 1))


def name(dice: random.Random) -> str:
    return f"{dice.choice('abcd')}{dice.randrange(10)}"


def edges(dice: random.Random, count: int, labels: list[str]) -> list[tuple[str, str, str]]:
    """Edges with their label, no two of them between the same vertices."""
    found = {(name(dice), name(dice)): dice.choice(labels) for _ in range(count)}
    return [(start, end, label) for (start, end), label in sorted(found.items()) if start != end]


def put_graphs(db: DB, found: list[tuple[str, str, str]]) -> None:
    """The same edges in every layout, label by label."""
    for label in sorted({label for _, _, label in found}):
        some = [(start, end) for start, end, own in found if own == label]
        array = Assoc([start for start, _ in some], [end for _, end in some], 1)
        db.adjacency("Adj").put(array, visibility=label)
        db.single("Single").put(array, visibility=label)
        graph.put_edges(
            db.store, "G", [s for s, _ in some], [e for _, e in some], visibility=label or None
        )


def put_cells(table: ostrakon.Table, dice: random.Random, count: int, labels: list[str]) -> None:
    """Cells, versions and deletes, at times of their own."""
    for _ in range(count):
        row, column = name(dice), f"q{dice.randrange(4)}"
        label, at = dice.choice(labels), dice.randrange(1000)
        if dice.randrange(8) == 0:
            table.delete(row, column, visibility=label, timestamp=at)
        else:
            value = dice.choice(["7", "12", "word", "v" * dice.randrange(3000)])
            table.put(row, column, value, visibility=label, timestamp=at)


def put_records(db: DB, dice: random.Random, first: int, labels: list[str]) -> None:
    for at in range(first, first + 12):
        record = {"id": f"r{at}", "town": name(dice), "age": dice.randrange(5)}
        db.ingest([record], "Rec", id="id", visibility=dice.choice(labels))


def make(path: Path, seed: int, *, hidden: bool) -> None:
    """A store of a seed, with hidden entries in every table or without."""
    dice, other = random.Random(seed), random.Random(seed + 1)
    with DB(path) as db:
        table = db.store.create_table("t")
        found = edges(dice, 40, VISIBLE)
        put_graphs(db, found)
        put_cells(table, dice, 150, VISIBLE)
        put_records(db, dice, 0, VISIBLE)
        if hidden:
            # Some between the same vertices as visible ones.
            same = [(s, e, "hidden") for s, e, _ in found if other.randrange(4) == 0]
            put_graphs(db, edges(other, 30, SECRET))
            put_graphs(db, same)
            put_cells(table, other, 300, SECRET)
            put_records(db, other, 100, SECRET)
            table.add_splits([name(other) for _ in range(3)])
            for tables in db.ls():
                if other.randrange(2):
                    db.store.table(tables).compact()


def streamed(scan: Any) -> bytes:
    """What goes into a file of Arrow's."""
    sink = io.BytesIO()
    reader = pa.RecordBatchReader.from_stream(scan)
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return sink.getvalue()


def triples(array: Assoc) -> list[Any]:
    return list(array.triples())


def asks(store: ostrakon.Store, dice: random.Random) -> list[tuple[str, Callable[[], Any]]]:
    """What a reader may ask, with a name for each."""
    db, table = DB(store, auths=HELD), store.table("t")
    table_of_edges, adjacency = db["Adj"], db.adjacency("Adj")
    records, start = db.records("Rec"), name(dice)
    limit = dice.choice([1, 7, 100, 100_000])
    summing = ostrakon.IteratorSetting(
        30, "sum", "SummingCombiner", {"type": "STRING", "all": "true"}
    )
    lossy = ostrakon.IteratorSetting(
        30, "max", "MaxCombiner", {"type": "STRING", "all": "true", "lossy": "true"}
    )
    found: list[tuple[str, Callable[[], Any]]] = [
        ("scan", lambda: streamed(table.scan(fields=FIELDS))),
        ("small batches", lambda: streamed(table.scan(fields=FIELDS, batch_entries=limit))),
        ("fewer auths", lambda: streamed(table.scan(fields=FIELDS, auths=[]))),
        ("no order", lambda: streamed(table.scan(fields=FIELDS, ordered=False))),
        ("combined", lambda: streamed(table.scan(fields=FIELDS, iterators=[lossy]))),
        ("failing", lambda: streamed(table.scan(fields=FIELDS, iterators=[summing]))),
        ("count", lambda: table.scan().count()),
        ("more auths", lambda: table.scan(auths=["hidden"]).count()),
        ("tablets", table.tablets),
        ("compact", table.compact),
        ("all", lambda: triples(table_of_edges[:, :])),
        ("rows", lambda: triples(table_of_edges[f"{start},:,", :])),
        ("columns", lambda: triples(table_of_edges[:, "a*,"])),
        ("chunks", lambda: [triples(chunk) for chunk in table_of_edges.chunks(limit)]),
        ("degrees", lambda: triples(adjacency.degrees())),
        ("neighbours", lambda: triples(adjacency.neighbours(f"{start},", least=1, most=3))),
        ("single", lambda: triples(db.single("Single").degrees())),
        ("sources", lambda: triples(db.single("Single")[f"{start},"])),
        ("upkeep", adjacency.check),
        ("text", records.text),
        ("fields", records.fields),
        ("towns", lambda: triples(records[:, "town|a*,"])),
        ("search", lambda: graph.bfs(store, "G", [start], steps=2)),
        ("part", lambda: graph.table_mult(store, "G", "G").matrix),
        ("product", lambda: graph.table_mult(store, "G", "G", result="P", visibility="A")),
        (
            "product's table",
            lambda: [e._replace(timestamp=0) for e in store.table("P").scan().entries()],
        ),
        ("jaccard", lambda: graph.jaccard(store, "Adj")),
        ("truss", lambda: graph.k_truss(store, "Adj", 3)),
        ("triangles", lambda: graph.triangle_count(store, "Adj")),
        ("components", lambda: graph.connected_components(store, "G")),
        ("ranks", lambda: graph.pagerank(store, "G")),
        ("weights", lambda: graph.tfidf(store, "G")),
        ("factors", lambda: graph.nmf(store, "G", 2, rounds_max=3)),
        ("no such table", lambda: graph.pagerank(store, "missing")),
    ]
    return found


def plain(answer: Any) -> str:
    """An answer as text: dataclasses hold arrays and matrices."""
    if hasattr(answer, "triples"):
        return repr(triples(answer))
    if hasattr(answer, "__dataclass_fields__"):
        parts = {part: plain(getattr(answer, part)) for part in answer.__dataclass_fields__}
        parts.pop("seconds", None)
        return repr(parts)
    return repr(answer.tolist() if hasattr(answer, "tolist") else answer)


def transcript(path: Path, seed: int) -> list[tuple[str, str]]:
    """What a reader of a store is told."""
    told = []
    with ostrakon.open(path, auths=HELD) as store:
        for ask, answer in asks(store, random.Random(seed)):
            try:
                said = plain(answer())
            except ostrakon.Error as error:
                said = f"{type(error).__name__}: {error} {error.context}"
            told.append((ask, said))
    return told


def test_a_reader_is_told_the_same_with_and_without_hidden_cells(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for seed in seeds(3):
        both = []
        for hidden in (False, True):
            path = tmp_path / f"{seed}{hidden}"
            make(path, seed, hidden=hidden)
            caplog.clear()
            told = transcript(path, seed)
            told.append(("log", repr([record.getMessage() for record in caplog.records])))
            both.append(told)
        for (ask, without), (_, beside) in zip(*both, strict=True):
            assert without == beside, f"OSTRAKON_MODEL_SEED={seed}: {ask}"
            assert "hidden" not in beside or ask == "more auths", f"seed {seed}: {ask}"
        answers = dict(both[0])
        # Most were answered, and with something.
        refused = [ask for ask, said in both[0] if "Error" in said]
        assert len(refused) <= 6, [answers[ask] for ask in refused]
        assert len(answers["scan"]) > 1000
        # What is hidden is there, and the comparison would find it.
        with ostrakon.open(tmp_path / f"{seed}True", auths=[*HELD, "hidden"]) as store:
            assert plain(streamed(store.table("t").scan())) != answers["scan"]
            assert plain(graph.connected_components(store, "G")) != answers["components"]
