"""Ingest of stacked graphs: one program in many processes, with associative arrays.

The program of a published benchmark, written from the paper's description (J. Kepner and others:
Achieving 100,000,000 database inserts per second using Accumulo and D4M, 2014). Each process

1. reads the split points from a file and picks the tablets that are its own, by its number;
2. makes one Graph500 graph, and an associative array of it with rows and columns as text;
3. for each of its tablets: moves the rows to the tablet, and puts the array.

    python spmd_ingest.py STORE
    python -m ostrakon.spmd launch -n 2 spmd_ingest.py STORE

The paper's servers take puts of many processes. Here a store belongs to one process at a time: a
process alone puts through a batch writer, and several sort their parts into files, which one import
takes over at its end.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import ostrakon
from ostrakon import Assoc, spmd
from ostrakon.d4m import DB
from ostrakon.graph import kronecker

DIGITS = 10


def text(numbers: np.ndarray) -> list[str]:
    """Numbers as text of one length, so that they sort as numbers do."""
    return [f"{number:0{DIGITS}}" for number in numbers.tolist()]


def graph(scale: int, process: int) -> Assoc:
    """The process's own graph; the value is how often an edge was generated."""
    rows, columns = kronecker(scale, edges_per_vertex=8, seed=process + 1)
    return Assoc(text(rows), text(columns), 1, "sum")


def moved(array: Assoc, first_row: int) -> Assoc:
    """The same array with its rows behind `first_row`."""
    rows, columns, values = array.find()
    return Assoc(text(np.asarray(rows).astype(np.int64) + first_row), columns, values)


def main() -> None:
    """Ingests the graphs, and prints how long it took."""
    parser = argparse.ArgumentParser(description="Ingest of stacked graphs by all processes")
    parser.add_argument("store", type=Path, help="directory of the store")
    parser.add_argument("--scale", type=int, default=12, help="a graph has 2**scale vertices")
    parser.add_argument("--tablets", type=int, default=32, help="tablets per process")
    options = parser.parse_args()

    # The leader makes the table, its tablets, and the file of split points.
    vertices, count = 2**options.scale, spmd.Np * options.tablets
    shared = Path(spmd.on_leader(lambda: tempfile.mkdtemp(dir=options.store.absolute().parent)))

    def prepare() -> None:
        with ostrakon.open(options.store) as store:
            table = store.create_table("Tgraph")
            table.add_splits(text(np.arange(1, count) * vertices))
        (shared / "splits").write_text("\n".join(text(np.arange(count) * vertices)))

    spmd.on_leader(prepare)
    began = time.perf_counter()

    # Each process: its tablets, its graph, a put for each tablet.
    firsts = spmd.part([int(line) for line in (shared / "splits").read_text().split()])
    array = graph(options.scale, spmd.Pid)
    if spmd.Np == 1:
        with DB(options.store) as db:
            table = db["Tgraph"]
            stored = sum(table.put(moved(array, first)) for first in firsts)
    else:
        parts = shared / "parts"
        parts.mkdir(exist_ok=True)
        stored = 0
        for first in firsts:
            rows, columns, values = moved(array, first).find()
            stored += ostrakon.write_sorted_file(parts / f"{first}.sorted", rows, columns, values)
        spmd.barrier()

        def take_over() -> None:
            with ostrakon.open(options.store) as store:
                store["Tgraph"].import_directory(parts)

        spmd.on_leader(take_over)

    stored = spmd.gagg(stored)
    spmd.on_leader(shutil.rmtree, shared)
    seconds = time.perf_counter() - began
    if spmd.is_leader():
        edges = 8 * vertices * count
        print(
            f"{spmd.Np} processes, {count} tablets: {edges:,} edges generated, "
            f"{stored:,} entries stored in {seconds:.2f} s: "
            f"{edges / seconds:,.0f} edges/s, {stored / seconds:,.0f} entries/s"
        )


if __name__ == "__main__":
    main()
