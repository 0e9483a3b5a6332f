"""HiBench's aggregation and join in SQL, beside DuckDB, Spark and SQLite on the same rows.

    python python/benches/sql.py [--visits 10000000] [--repeat 5] [--engines ostrakon,duckdb,sqlite]
        [--dir DIR] [--json]

`--engines ostrakon,duckdb,spark` needs `pip install "pyspark>=4"` and Java 17. Spark runs in one
local process with 4 GiB of memory, and listens on the loopback interface alone.

The tables are those of HiBench's Hive benchmark: `uservisits` with ten columns, and `rankings` with
a page for every eight visits. They are made once, as Parquet files; each engine loads them (DuckDB
and Spark read them where they are) and answers each query several times in one process. The figure
of a query is the median; the first run is not counted. All engines may use the same number of
threads. The answers must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

QUERIES = {
    "aggregation": "SELECT sourceip, SUM(adrevenue) AS revenue FROM uservisits GROUP BY sourceip",
    "join": (
        "SELECT sourceip, sum(adrevenue) AS revenue, avg(pagerank) AS rank FROM rankings r JOIN"
        " (SELECT sourceip, desturl, adrevenue FROM uservisits uv"
        " WHERE uv.visitdate >= '1999-01-01'"
        " AND uv.visitdate <= '2000-01-01') nuv ON r.pageurl = nuv.desturl"
        " GROUP BY sourceip ORDER BY revenue DESC LIMIT 1"
    ),
    "count of a range": "SELECT count(*) AS n FROM uservisits WHERE visit BETWEEN 1000 AND 200000",
}
PART = 1_000_000
THREADS = os.cpu_count() or 1


def words(dice: np.random.Generator, count: int, prefix: str, limit: int) -> pa.Array:
    numbers = pa.array(dice.integers(0, limit, count)).cast(pa.string())
    return pc.binary_join_element_wise(prefix, numbers, "")


def urls(pages: np.ndarray) -> pa.Array:
    """About 60 bytes each."""
    mixed = pa.array(pages.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).cast(pa.string())
    number = pa.array(pages).cast(pa.string())
    return pc.binary_join_element_wise("http://", mixed, ".example.org/pages/about/", number, "")


def visits(dice: np.random.Generator, first: int, count: int, pages: int) -> pa.Table:
    parts = [pa.array(dice.integers(0, 256, count)).cast(pa.string()) for _ in range(4)]
    days = dice.integers(0, 15_461, count).astype("datetime64[D]")
    agent = words(dice, count, "Mozilla/5.0 (compatible; platform ", 9)
    agent = pc.binary_join_element_wise(
        agent, words(dice, count, "; visitor ", 2000), ") engine/537.36", ""
    )
    return pa.table(
        {
            "visit": np.arange(first, first + count),
            "sourceip": pc.binary_join_element_wise(*parts, "."),
            "desturl": urls(dice.integers(0, pages, count)),
            "visitdate": pa.array(np.datetime_as_string(days)),
            # Multiples of 1/1024, so that sums are exact in any order.
            "adrevenue": dice.integers(0, 1 << 20, count) / 1024.0,
            "useragent": agent,
            "countrycode": words(dice, count, "C", 10),
            "languagecode": words(dice, count, "l", 10),
            "searchword": words(dice, count, "word", 1000),
            "duration": dice.integers(1, 11, count),
        }
    )


def make(folder: Path, count: int) -> dict[str, str]:
    dice = np.random.default_rng(1)
    pages = max(count // 8, 1)
    files = {name: str(folder / f"{name}.parquet") for name in ("rankings", "uservisits")}
    order = np.arange(pages)
    rankings = {
        "pageurl": urls(order),
        "pagerank": dice.zipf(1.5, pages).clip(1, 1 << 30),
        "avgduration": dice.integers(1, 100, pages),
    }
    pq.write_table(pa.table(rankings), files["rankings"], compression="zstd")
    writer = None
    for first in range(0, count, PART):
        part = visits(dice, first, min(PART, count - first), pages)
        writer = writer or pq.ParquetWriter(files["uservisits"], part.schema, compression="zstd")
        writer.write_table(part)
    if writer:
        writer.close()
    return files


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


Ask = Callable[[str], pa.Table]


def on_ostrakon(folder: Path, files: dict[str, str]) -> tuple[Ask, int]:
    import ostrakon

    store = ostrakon.open(folder / "store")
    session = store.sql_session(files=True)
    for name, key in (("rankings", "pageurl"), ("uservisits", "visit")):
        session.execute(
            f"CREATE TABLE {name} (PRIMARY KEY ({key})) AS SELECT * FROM '{files[name]}'"
        )
        store.table(name).compact()
    return lambda query: session.execute(query).to_arrow(), size(folder / "store")


def on_duckdb(_: Path, files: dict[str, str]) -> tuple[Ask, int]:
    import duckdb

    session = duckdb.connect(config={"threads": THREADS})
    for name, file in files.items():
        session.execute(f"CREATE VIEW {name} AS SELECT * FROM '{file}'")

    return lambda query: session.sql(query).to_arrow_table(), sum(
        Path(file).stat().st_size for file in files.values()
    )


def on_spark(folder: Path, files: dict[str, str]) -> tuple[Ask, int]:
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        # The default of 200 is for clusters.
        "spark.sql.shuffle.partitions": str(THREADS),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "spark"),
    }
    builder = SparkSession.builder.master(f"local[{THREADS}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for name, file in files.items():
        session.read.parquet(file).createOrReplaceTempView(name)
    return lambda query: session.sql(query).toArrow(), sum(
        Path(file).stat().st_size for file in files.values()
    )


def on_sqlite(folder: Path, files: dict[str, str]) -> tuple[Ask, int]:
    session = sqlite3.connect(folder / "sqlite.db")
    session.execute("PRAGMA journal_mode = WAL")
    session.execute("PRAGMA cache_size = -2000000")
    for name, key in (("rankings", "pageurl"), ("uservisits", "visit")):
        source = pq.ParquetFile(files[name])
        names = source.schema_arrow.names
        columns = ", ".join(f"{one} PRIMARY KEY" if one == key else one for one in names)
        if name == "uservisits":
            columns = columns.replace("visit PRIMARY KEY", "visit INTEGER PRIMARY KEY")
        session.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(names))
        for batch in source.iter_batches(100_000):
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            session.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        session.commit()

    def ask(query: str) -> pa.Table:
        cursor = session.execute(query)
        names = [column[0] for column in cursor.description]
        columns = list(zip(*cursor.fetchall(), strict=True))
        return pa.table(dict(zip(names, map(list, columns), strict=True)))

    return ask, (folder / "sqlite.db").stat().st_size


ENGINES = {
    "ostrakon": on_ostrakon,
    "duckdb": on_duckdb,
    "spark": on_spark,
    "sqlite": on_sqlite,
}


def digest(found: pa.Table) -> tuple[Any, ...]:
    """What answers must have in common: the number of rows, and the sums of their numbers."""
    numbers = [
        name for name in found.column_names if not pa.types.is_large_string(found[name].type)
    ]
    numbers = [name for name in numbers if not pa.types.is_string(found[name].type)]
    numbers = [name for name in numbers if not pa.types.is_string_view(found[name].type)]
    return (found.num_rows, *(round(float(pc.sum(found[name]).as_py()), 3) for name in numbers))


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--visits", type=int, default=10_000_000)
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--engines", default="ostrakon,duckdb,sqlite")
    options.add_argument("--dir")
    options.add_argument("--json", action="store_true")
    asked = options.parse_args()
    answers: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(dir=asked.dir) as folder:
        files = make(Path(folder), asked.visits)
        expected: dict[str, tuple[Any, ...]] = {}
        for engine in asked.engines.split(","):
            begun = time.perf_counter()
            ask, held = ENGINES[engine](Path(folder), files)
            figures: dict[str, Any] = {"load": time.perf_counter() - begun, "bytes": held}
            for name, query in QUERIES.items():
                seconds = []
                for _ in range(asked.repeat + 1):
                    begun = time.perf_counter()
                    found = ask(query)
                    seconds.append(time.perf_counter() - begun)
                answer = digest(found)
                if expected.setdefault(name, answer) != answer:
                    sys.exit(f"{engine} answers {name} otherwise: {answer}, not {expected[name]}")
                figures[name] = statistics.median(seconds[1:])
            answers[engine] = figures
            print(f"{engine} is measured", file=sys.stderr)
    machine = {"machine": platform.processor() or platform.machine(), "threads": THREADS}
    if asked.json:
        print(json.dumps({**machine, "visits": asked.visits, "engines": answers}))
        return
    print(
        f"{asked.visits:,} visits, {machine['machine']}, {THREADS} threads; seconds (ratio to ours)"
    )
    ours = answers.get("ostrakon")
    for name in ("load", *QUERIES, "bytes"):
        cells = []
        for engine, figures in answers.items():
            value = figures[name]
            shown = f"{value / 1e6:,.0f} MB" if name == "bytes" else f"{value:.3f}"
            ratio = f" ({value / ours[name]:.2f})" if ours and engine != "ostrakon" else ""
            cells.append(f"{engine} {shown}{ratio}")
        print(f"{name:<18} " + "   ".join(cells))


if __name__ == "__main__":
    main()
