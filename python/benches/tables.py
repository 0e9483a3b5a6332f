"""How fast triples go into a table and come out as Arrow columns.

    python python/benches/tables.py [--entries 10000000] [--dir DIR] [--durability sync] [--json]

Entries are edges of random vertices: a row and a qualifier of eight digits, a value of one. The
time of putting ends when everything is acknowledged; flush and compaction are not inside it, and go
on beside what follows unless `--compact` lets them end first. Every figure is of one run in one
process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ostrakon


def columns(entries: int, form: str) -> tuple[Any, Any, Any]:
    dice = np.random.default_rng(1)
    made = []
    for _ in range(2):
        numbers = dice.integers(10_000_000, 100_000_000, entries)
        if form == "numpy U":
            made.append(numbers.astype("U8"))
        elif form == "numpy S":
            made.append(numbers.astype("S8"))
        elif form == "numpy object":
            made.append(numbers.astype("U8").astype(object))
        elif form == "list":
            made.append(numbers.astype("U8").tolist())
        else:
            texts = pa.array(numbers.astype("S8"), pa.binary(8))
            kind = {"arrow": pa.string(), "arrow view": pa.string_view()}[form]
            made.append(texts.cast(pa.binary()).cast(pa.string()).cast(kind))
    value = np.ones(entries, "i8")
    return made[0], made[1], pa.array(value) if form.startswith("arrow") else value


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the clock, seconds of processor time, and what the work returned."""
    begun, used = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - begun, time.process_time() - used, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entries", type=int, default=10_000_000)
    parser.add_argument("--dir", type=Path, help="a new directory on the disk to measure")
    parser.add_argument("--durability", default="sync")
    parser.add_argument("--compact", action="store_true", help="compact before reading")
    parser.add_argument("--forms", default="arrow,numpy U")
    parser.add_argument("--bulk", action="store_true", help="measure a bulk import too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures: list[dict[str, Any]] = []

    def record(work: str, form: str, seconds: float, cpu: float) -> None:
        figures.append(
            {
                "work": work,
                "form": form,
                "entries": options.entries,
                "seconds": round(seconds, 3),
                "cpu_seconds": round(cpu, 3),
                "entries_per_second": round(options.entries / seconds),
            }
        )
        if not options.json:
            rate = options.entries / seconds / 1e6
            print(f"{work:24} {form:14} {seconds:8.2f} s {cpu:8.2f} s cpu {rate:8.2f} M entries/s")

    with tempfile.TemporaryDirectory(dir=options.dir) as directory:
        for form in options.forms.split(","):
            row, qualifier, value = columns(options.entries, form)
            path = Path(directory, form.replace(" ", "-"))
            with ostrakon.open(path) as store:
                table = store.create_table("edges")
                seconds, cpu, _ = timed(
                    lambda: table.put(row, qualifier, value, durability=options.durability)  # noqa: B023
                )
                record("put", form, seconds, cpu)
                if options.compact:
                    table.compact()
                seconds, cpu, found = timed(lambda: pa.table(table.scan()))  # noqa: B023
                record("scan, six columns", form, seconds, cpu)
                # Random edges may coincide: a version each stays.
                distinct = found.num_rows
                if not options.entries * 0.999 <= distinct <= options.entries:
                    raise SystemExit(f"put {options.entries} entries and found {distinct}")
                del found
                triples = ["row", "qualifier", "value"]
                seconds, cpu, _ = timed(lambda: pa.table(table.scan(fields=triples)))  # noqa: B023
                record("scan, three columns", form, seconds, cpu)
                seconds, cpu, _ = timed(lambda: table.scan().count())  # noqa: B023
                record("count", form, seconds, cpu)
                if options.bulk:
                    other = store.create_table("bulk")
                    seconds, cpu, _ = timed(lambda: other.bulk_import(row, qualifier, value))  # noqa: B023
                    record("bulk import, unsorted", form, seconds, cpu)

    if options.json:
        conditions = {
            "version": ostrakon.__version__,
            "durability": options.durability,
            "batch_bytes": 1 << 20,
            "flush_and_compaction": "compacted before reading" if options.compact else "beside",
            "entry": "row 8, qualifier 8, value 1 byte",
            "processors": os.cpu_count(),
            "machine": platform.machine(),
            "python": platform.python_version(),
            "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        print(json.dumps({"conditions": conditions, "figures": figures}, indent=2))


if __name__ == "__main__":
    main()
