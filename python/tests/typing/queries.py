"""SQL, the DB-API and events."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path

import ostrakon
from ostrakon import dbapi

with ostrakon.open() as store:
    store.sql("CREATE TABLE city (name VARCHAR, people BIGINT, PRIMARY KEY (name))")
    written: int | None = store.sql("INSERT INTO city VALUES (?, ?)", ["bern", 134_000]).count
    assert written == 1
    session: ostrakon.SqlSession = store.sql_session(auths="hr", memory_bytes=64 << 20)
    result: ostrakon.SqlResult = session.execute("SELECT name, people FROM city")
    names: list[str] = [name for name, _ in result]
    assert names == ["bern"] == result.columns[:0] + names

    connection = dbapi.connect(store)
    row: tuple[object, ...] | None = connection.cursor().execute("SELECT 1").fetchone()
    assert row == (1,)

    log = Path(tempfile.mkdtemp()) / "web.csv"
    log.write_text("time,host,status\n2024-05-17T10:05:03Z,a,200\n")
    web: ostrakon.Events = store.create_events("web", log, shards=1)
    assert web.ingest(log, str(log)).events == 1
    query: ostrakon.EventQuery = web.query("status == 200", from_time=dt.date(2024, 5, 17))
    total: int = query.count()
    hours: ostrakon.Histogram = query.histogram("1h")
    first: dt.datetime = hours.times[0]
    assert (total, first.hour, sum(count for _, count in hours)) == (1, 10, 1)
    top: list[tuple[str, int]] = list(query.top("host"))
    assert top == [("a", 1)]
