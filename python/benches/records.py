"""How fast records of web requests are loaded and found: 7 columns, 4 of them indexed.

    python python/benches/records.py [--records 5000000] [--format csv] [--dir DIR] [--json]

`--format` is csv, jsonl or parquet. The file is made first, outside of the timer. The time ends
when all records are visible and the store is closed; there is no later compaction. Memory is the
largest of the process. Every figure is of one run in one process.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import ostrakon
from ostrakon.d4m import DB

INDEXED = ["client", "path", "status", "agent"]
_STEP = 500_000


def requests(first: int, count: int) -> pa.RecordBatch:
    """Requests from the number `first` on; clients, paths and agents follow Zipf's law."""
    rng = np.random.default_rng(first)
    client = rng.zipf(1.3, count) % 50_000
    number = np.arange(first, first + count)
    begun = np.datetime64("2024-05-17T00:00:00")
    columns = {
        "id": np.char.add("r", np.char.zfill(number.astype("U8"), 8)),
        "time": np.datetime_as_string(begun + number.astype("timedelta64[s]")),
        "client": np.char.add(
            np.char.add("10.", (client // 256).astype("U6")),
            np.char.add(".0.", (client % 256).astype("U6")),
        ),
        "path": np.char.add("/page/", (rng.zipf(1.4, count) % 20_000).astype("U6")),
        "status": rng.choice(["200", "304", "404", "500"], count, p=[0.8, 0.1, 0.08, 0.02]),
        "bytes": rng.integers(100, 100_000, count),
        "agent": np.char.add("Mozilla/5.0 agent ", (rng.zipf(1.5, count) % 300).astype("U6")),
    }
    return pa.record_batch({name: pa.array(list(column)) for name, column in columns.items()})


def make(path: Path, records: int, form: str) -> None:
    """Writes the file, in a process of its own so that its memory does not count."""
    schema = requests(0, 1).schema
    batches = (requests(at, min(_STEP, records - at)) for at in range(0, records, _STEP))
    if form == "jsonl":
        with path.open("w") as file:
            for batch in batches:
                file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())
        return
    writer: Any = (
        pa.csv.CSVWriter(path, schema) if form == "csv" else pa.parquet.ParquetWriter(path, schema)
    )
    with writer:
        for batch in batches:
            writer.write_batch(batch)


def measure(file: Path, folder: Path) -> dict[str, Any]:
    """Loads the file, and asks for the records of two terms."""
    begun, used = time.perf_counter(), time.process_time()
    with ostrakon.open(folder / "store") as store:
        done = DB(store).ingest(file, id="id", fields=INDEXED)
    figures: dict[str, Any] = {
        "records": done.records,
        "entries": done.entries,
        "seconds": time.perf_counter() - begun,
        "processor_seconds": time.process_time() - used,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    files = (folder / "store").rglob("*")
    figures["disk_bytes"] = sum(path.stat().st_size for path in files if path.is_file())
    with ostrakon.open(folder / "store") as store:
        records = DB(store).records()
        for when in ("first", "again"):
            begun = time.perf_counter()
            figures["found"] = len(records.find(all_of=["status|500", "path|/page/3"]))
            figures[f"find_{when}_seconds"] = time.perf_counter() - begun
    return figures


def main() -> None:
    """Makes the file, loads it and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--format", choices=["csv", "jsonl", "parquet"], default="csv")
    parser.add_argument("--dir", help="where the file and the store are made")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir) as name:
        folder = Path(name)
        file = folder / f"web.{arguments.format}"
        maker = multiprocessing.get_context("spawn").Process(
            target=make, args=(file, arguments.records, arguments.format)
        )
        maker.start()
        maker.join()
        figures = {"machine": platform.processor(), **measure(file, folder)}
    if arguments.json:
        print(json.dumps(figures))
        return
    for key, value in figures.items():
        print(f"{key:24} {value:,.3f}" if isinstance(value, float) else f"{key:24} {value}")


if __name__ == "__main__":
    main()
