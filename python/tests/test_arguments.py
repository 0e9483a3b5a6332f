"""Arguments of a wrong type: every error names the argument, what it takes, and what was given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import adbc_driver_manager
import numpy as np
import pandas as pd
import pytest

import ostrakon
from ostrakon import IteratorSetting, Range, adbc, dbapi, errors, graph

# What no error may say: names of the native part and of its language.
INTERNAL = re.compile(
    r"Native|Py[A-Z]|failed to extract|cannot be (converted|cast|interpreted)|object is not|"
    r"Question|Argument\b|Text\b|unsigned|u64|i64|usize|expected .* got|"
    r"must be (real|an integer|str)"
)
OURS = (errors.Error, dbapi.Error, adbc_driver_manager.Error)
# Values of types that few arguments take.
WRONG: tuple[Any, ...] = (object(), 3, -1, 2**70, 1.5, True, "x", b"x", [1], {"a": 1}, (1, 2, 3))


class Case:
    """A call, with one argument replaced by each value."""

    def __init__(self, call: Callable[..., Any], argument: str, **given: Any) -> None:
        self.call, self.argument, self.given = call, argument, given

    def error(self, value: Any) -> Exception | None:
        try:
            self.call(**{**self.given, self.argument: value})
        except Exception as error:
            return error
        return None

    def fault(self, value: Any, error: Exception) -> str | None:
        """What is wrong with an error."""
        said = f"{self.argument} = {value!r}: {type(error).__name__}: {error}"
        named = getattr(self.call, "__qualname__", self.call)
        if not isinstance(error, OURS) or INTERNAL.search(str(error)):
            return f"{named}: {said}"
        if isinstance(error, errors.ArgumentTypeError) and not (
            f"`{self.argument}" in str(error)
            and error.context["argument"].startswith(self.argument)
        ):
            return f"{named} does not name it: {said}"
        return None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ostrakon.Store]:
    with ostrakon.open(tmp_path / "db", memory_budget_bytes=64 << 20) as store:
        yield store


def cases(store: ostrakon.Store, folder: Path) -> Iterator[Case]:
    yield from cases_of_events(store, folder)
    yield from cases_of_stores(store, folder)
    yield from cases_of_tables(store, folder)
    yield from cases_of_graphs(store)


def cases_of_events(store: ostrakon.Store, folder: Path) -> Iterator[Case]:
    log = folder / "web.csv"
    log.write_text("time,host,status\n2024-05-17T10:05:03Z,a,200\n2024-05-17T11:00:00Z,b,404\n")
    web = store.create_events("web", log)
    web.ingest(log)

    def query(**given: Any) -> None:
        web.query(**given).count()

    for name in ("condition", "last", "from_time", "to_time", "now", "fields", "limit", "auths"):
        yield Case(query, name)
    for name in ("path", "then", "resume", "planner"):
        yield Case(query, name)
    for name in ("threshold", "factor", "first_events", "window_events", "window_short", "threads"):

        def planned(_name: str = name, **given: Any) -> None:
            web.query(planner={_name: given["planner"]}).count()

        yield Case(planned, "planner")
    whole = web.query()
    yield Case(whole.histogram, "by")
    yield Case(whole.histogram, "count_by", by="1h")
    yield Case(whole.count, "count_by")
    yield Case(whole.top, "field")
    yield Case(whole.top, "limit", field="host")
    yield Case(whole.top, "count_by", field="host")
    yield Case(whole.explain, "analyze")
    yield Case(whole.page, "events")
    yield Case(whole.head, "events")
    yield Case(whole.limit, "events")
    yield Case(web.age_off, "before")
    yield Case(web.change, "toml")
    yield Case(lambda files: web.ingest(files), "files")
    for name in ("format", "map", "enrich", "batch_events", "rejects", "allow_rejected"):
        if name == "rejects":
            continue  # A text names a file here.
        yield Case(lambda _log=log, **given: web.ingest(_log, **given), name)
    for name in ("visibility", "visibility_field", "keep", "equal_records", "shards", "format"):
        yield Case(store.create_events, name, name="new", file=log)
    for name in ("map", "enrich", "time", "exist_ok"):
        yield Case(store.create_events, name, name="new", file=log)
    yield Case(store.create_events, "name", file=log)
    yield Case(store.create_events, "file", name="new")
    yield Case(store.create_events, "toml", name="new")
    yield Case(store.events, "name")


def cases_of_stores(store: ostrakon.Store, folder: Path) -> Iterator[Case]:
    store.create_table("t").put(["a", "b"], "q", [1, 2])
    for name in ("text", "parameters", "auths", "label", "files"):
        yield Case(store.sql, name, **({} if name == "text" else {"text": "SELECT 1"}))
    yield Case(store.sql_session, "memory_bytes")
    yield Case(store.table, "name")
    for name in ("name", "splits", "properties", "time_type", "versioning", "schema"):
        yield Case(store.create_table, name, **({} if name == "name" else {"name": "t"}))
    yield Case(store.rename_table, "name", to="other")
    yield Case(store.rename_table, "to", name="missing")
    for name in ("name", "to", "flush", "properties"):
        both = {"name": "missing", "to": "other"}
        yield Case(store.clone_table, name, **both)
    yield Case(store.set_online, "name", online=True)
    yield Case(store.set_online, "online", name="t")
    yield Case(store.problems, "table")
    yield Case(store.find_class, "name")
    yield Case(store.find_class, "constraint", name="x")
    for name in ("create_namespace", "delete_namespace"):
        yield Case(getattr(store, name), "name")
    yield Case(store.rename_namespace, "name", to="other")
    yield Case(store.properties, "namespace")
    yield Case(store.set_properties, "changes")
    yield Case(store.restore_file, "file")
    yield Case(store.drop_file, "file")
    yield Case(store.check, "progress")
    for name in ("auths", "create", "read_only", "allow_damage", "accept_log_loss", "wait"):
        yield Case(ostrakon.open, name, path=folder / "db")
    for name in ("memory_budget_bytes", "compaction_threads"):
        yield Case(ostrakon.open, name, path=folder / "db")

    def connect(**given: Any) -> None:
        adbc.connect(**given).close()

    for name in ("auths", "label", "files", "read_only", "memory_bytes"):
        yield Case(connect, name, path=folder / "missing" / "db")
    yield Case(connect, "path")
    for name in ("auths", "label", "files"):
        yield Case(dbapi.connect, name, store=store)
    cursor = dbapi.connect(store).cursor()
    yield Case(cursor.execute, "operation")
    yield Case(cursor.execute, "parameters", operation="SELECT 1")
    yield Case(cursor.executemany, "parameters", operation="DELETE FROM nothing")

    def fetch(**given: Any) -> None:
        cursor.execute("SELECT 1").fetchmany(**given)

    yield Case(fetch, "size")


def cases_of_tables(store: ostrakon.Store, folder: Path) -> Iterator[Case]:
    table = store.table("t")
    for name in ("durability", "batch_bytes", "memory_bytes"):
        yield Case(table.writer, name)
    for name in ("auths", "iterators", "fields", "text", "ordered", "limit", "batch_entries"):
        yield Case(lambda **given: table.scan(**given).count(), name)
    for name in ("ranges", "columns", "timeout"):
        yield Case(lambda **given: table.scan(**given).count(), name)
    yield Case(table.head, "entries")
    for name in ("row", "qualifier", "family", "auths", "text"):
        yield Case(table.get, name, **({} if name == "row" else {"row": "a"}))
    yield Case(table.typed, "schema")
    yield Case(table.set_properties, "changes")
    yield Case(table.attach_iterator, "setting")
    yield Case(table.remove_iterator, "name")
    yield Case(table.remove_iterator, "scopes", name="x")
    yield Case(table.add_splits, "rows")
    for call in (table.merge, table.delete_rows):
        yield Case(call, "start", end="0")
        yield Case(call, "end", start="z")
    yield Case(table.locate, "row")
    for name in ("wait", "timeout"):
        yield Case(table.flush, name)
    for name in ("start", "end", "iterators", "wait", "timeout"):
        yield Case(table.compact, name)
    for name in ("directory", "transfer", "verify", "allow_empty"):
        given = {} if name == "directory" else {"directory": folder / "missing"}
        yield Case(table.import_directory, name, **given)
    yield Case(lambda **given: table.put("a", **given), "progress")
    yield Case(lambda **given: table.put("a", **given), "durability")
    yield Case(table.put_dict, "entries")
    typed = store.create_table("typed", schema=ostrakon.Schema("int", {"v": "int"})).typed()
    frame = {"row": [1], "v": [2]}
    for name in ("visibility", "timestamp", "durability"):
        yield Case(typed.put, name, frame=frame)
    yield Case(typed.put, "frame")
    for name in ("columns", "visibility", "auths", "durability"):
        yield Case(lambda **given: typed.delete(1, **given), name)
    yield Case(typed.head, "rows")
    yield Case(lambda rows: typed.scan().limit(rows).count(), "rows")
    yield Case(table.put_frame, "columns", frame=pd.DataFrame({"row": ["a"]}))
    yield Case(ostrakon.write_sorted_file, "path", row="a")
    for name in ("priority", "class_name", "name", "options"):
        yield Case(IteratorSetting, name, priority=1, class_name="x")
    for name in ("start", "end"):
        yield Case(Range, name)
    yield Case(Range.prefix, "prefix")


def cases_of_graphs(store: ostrakon.Store) -> Iterator[Case]:
    graph.put_edges(store, "edges", ["a", "b"], ["b", "c"])
    for name in ("table", "steps", "form", "auths", "memory_bytes", "result", "collect", "union"):
        given = {"store": store, "table": "edges", "start": "a", "steps": 1}
        yield Case(graph.bfs, name, **given)
    for name in ("left", "semiring", "part", "auths", "visibility", "memory_bytes", "threads"):
        yield Case(graph.table_mult, name, store=store, left="edges", right="edges")
    for name in ("scale", "edges_per_vertex", "seed", "permuted", "part"):
        yield Case(graph.kronecker, name, **({} if name == "scale" else {"scale": 3}))
    for name in ("name", "form", "first_edge", "visibility"):
        given = {"store": store, "name": "more", "rows": "a", "columns": "b"}
        yield Case(graph.put_edges, name, **given)
    for name in ("table", "result", "memory_bytes", "threads"):
        yield Case(graph.jaccard, name, store=store, table="edges")
    yield Case(graph.k_truss, "k", store=store, table="edges")
    for name in ("damping", "tolerance", "rounds_max"):
        yield Case(graph.pagerank, name, store=store, table="edges")


def test_every_error_about_an_argument_names_it_and_what_it_takes(
    store: ostrakon.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    faults, refused = [], 0
    for case in cases(store, tmp_path):
        for value in WRONG:
            error = case.error(value)
            if error is not None:
                refused += 1
                faults.append(case.fault(value, error))
    assert "\n".join(fault for fault in faults if fault) == ""
    assert refused > 500


def test_errors_say_what_is_taken_with_an_example(store: ostrakon.Store, tmp_path: Path) -> None:
    log = tmp_path / "web.csv"
    log.write_text("time,host\n2024-05-17T10:05:03Z,a\n")
    web = store.create_events("web", log)
    said: list[tuple[Callable[[], Any], str]] = [
        (lambda: web.query(from_time=2025), r"`from_time` takes .*'@1715940303', .*2025 \(int\)"),  # type: ignore[arg-type]
        (lambda: web.query(last=3), r"`last` takes .* such as '1h'.*, not 3 \(int\)"),  # type: ignore[arg-type]
        (lambda: web.query(5), r"`condition` takes .*status >= 400.*, not 5"),  # type: ignore[arg-type]
        (lambda: web.query(fields=[1]), r"`fields` takes a list of texts, such as .*, not 1"),  # type: ignore[list-item]
        (lambda: web.query(fields="host"), r"`fields` takes a list of texts.*, not 'host'"),
        (lambda: web.query(then=[1]), r"`then` takes .*dns.client=host.*, not 1"),  # type: ignore[list-item]
        (lambda: web.query(resume=1), r"`resume` takes the `token`"),  # type: ignore[arg-type]
        (
            lambda: web.query(planner={"threads": "x"}),
            r"`planner\['threads'\]` takes a number of threads, not 'x' \(str\)",
        ),
        (lambda: web.query().histogram(60), r"`by` takes a span of time.*'1h'.*, not 60"),  # type: ignore[arg-type]
        (lambda: web.query(path=1), r"`path` takes 'auto', 'index' or 'scan', not 1"),  # type: ignore[arg-type]
        (lambda: store.sql(5), r"`text` takes a statement of SQL, such as 'SELECT 1'"),  # type: ignore[arg-type]
        (lambda: ostrakon.open(5), r"`path` takes a path, such as"),  # type: ignore[arg-type]
    ]
    for call, expected in said:
        with pytest.raises(errors.ArgumentTypeError, match=expected) as raised:
            call()
        # For those who catch either.
        assert isinstance(raised.value, (TypeError, ValueError, ostrakon.Error))


def test_values_of_numpy_and_pandas_are_taken(store: ostrakon.Store, tmp_path: Path) -> None:
    log = tmp_path / "web.csv"
    log.write_text("time,host\n2024-05-17T10:05:03Z,a\n")
    web = store.create_events("web", log)
    web.ingest(log)
    moment = pd.Timestamp("2024-05-17")
    query = web.query(np.str_("host == 'a'"), from_time=moment, limit=np.int64(3))
    assert query.count() == 1
    with pytest.raises(errors.ArgumentTypeError, match="`from_time`"):
        web.query(from_time=pd.NaT)  # type: ignore[arg-type]
    table = store.create_table("t")
    table.put(["a", "b"], "q", "v")
    scan = table.scan(np.array(["a"]), fields=np.array(["row"]), text=np.bool_(False))
    assert scan.head(np.int32(1))[0].row == b"a"


def test_limits_of_memory_that_cannot_work_are_refused(tmp_path: Path) -> None:
    least = "16,777,216 or more"
    with pytest.raises(errors.InvalidArgumentError, match=f"`memory_bytes` is 5.*{least}"):
        adbc.connect(tmp_path / "db", memory_bytes=5)
    with pytest.raises(errors.InvalidArgumentError, match=f"`memory_budget_bytes` is 5.*{least}"):
        ostrakon.open(memory_budget_bytes=5)
    with (
        ostrakon.open() as store,
        pytest.raises(errors.InvalidArgumentError, match=f"`memory_bytes` is 5.*{least}"),
    ):
        store.sql_session(memory_bytes=5)
    assert not (tmp_path / "db").exists()
