"""What people see: short texts, HTML, and the same words for the same things."""

import datetime as dt

import numpy as np
import pytest

import ostrakon
from ostrakon import Assoc, Range, graph
from ostrakon.d4m import DB
from ostrakon.errors import InvalidArgumentError, NotFoundError

# Characters that fit on a screen.
SCREEN = 2000


@pytest.fixture
def store():
    with ostrakon.open() as store:
        rows, columns = graph.kronecker(9, 8)
        graph.put_edges(store, "g", rows, columns)
        yield store


def test_results_of_any_size_are_told_in_a_line(store):
    results = [
        graph.bfs(store, "g", "1", steps=3, collect=True),
        graph.pagerank(store, "g"),
        graph.connected_components(store, "g"),
        graph.table_mult(store, "g", "g"),
        graph.table_mult(store, "g", "g").matrix,
        graph.nmf(store, "g", 2, rounds_max=1),
        graph.degree_table(store, "g", "d"),
        store,
        store["g"],
        store["g"].scan(np.arange(100), auths=[f"name{at}" for at in range(100)]),
        next(iter(store["g"].scan())),
    ]
    for result in results:
        assert "\n" not in repr(result)
        assert repr(result).startswith("<ostrakon.")
        assert len(repr(result)) < 400
        if not isinstance(result, ostrakon.Batch):
            assert len(result._repr_html_()) < SCREEN
    assert "vertices in 3 steps" in repr(results[0])
    assert "<td>1</td>" in results[0]._repr_html_() or "step" in results[0]._repr_html_()


def test_long_keys_and_values_are_cut():
    array = Assoc(["r" * 10_000], ["c"], ["v" * 1_000_000])
    assert len(repr(array)) < SCREEN
    with ostrakon.open() as store:
        table = store.create_table("t")
        table.put("<b>", "q", "v" * 1_000_000)
        html = table._repr_html_()
        assert len(html) < SCREEN
        assert "&lt;b&gt;" in html
        assert "<b>" not in html


def test_a_page_shows_what_a_scan_of_the_reader_shows():
    with ostrakon.open() as store:
        store.create_table("t").put(["open", "secret"], "q", "v", visibility=["", "hr"])
        html = store["t"]._repr_html_()
        assert "open" in html
        assert "secret" not in html
        assert "secret" in store["t"].scan(auths=["hr"])._repr_html_()
        store.set_online("t", False)
        assert "off" in store["t"]._repr_html_()


def test_scans_are_narrowed_step_by_step():
    with ostrakon.open() as store:
        table = store.create_table("t", splits=["b"])
        table.put(["a", "a", "b", "c"], ["x", "y", "x", "x"], "v", family="f", visibility="")
        table.put("c", "x", "v", family="g", visibility="hr")
        everything = table.scan()
        assert everything.count() == table.count() == 4
        assert everything.auths("hr").count() == 5
        assert everything.auths("hr", "it").auths().count() == 4
        assert everything.columns("g").auths("hr").count() == 1
        assert everything.columns(("f", "x")).count() == 3
        assert everything.columns("f", ("g", "x")).auths("hr").count() == 5
        assert everything.rows("a").count() == 2
        assert everything.rows("a", "c").count() == 3
        assert everything.rows(("b", None)).count() == 2
        assert everything.rows(Range.prefix("a"), Range.row("b")).count() == 3
        assert everything.rows(np.array(["b", "c"])).limit(1).count() == 1
        assert everything.rows("a").columns(("f", "y")).limit(5).head() == [
            entry for entry in table.scan("a").entries() if entry.qualifier == "y"
        ]
        assert len(table.head(3)) == 3
        assert [entry.row for entry in table.scan(limit=2).head()] == ["a", "a"]
        most = ostrakon.IteratorSetting(30, "GrepIterator", options={"term": "y"})
        assert everything.iterators(most).count() == 1
        # The scan itself is as it was.
        assert everything.count() == 4
        assert table.to_arrow().num_rows == len(table.to_pandas()) == len(table.to_polars()) == 4
        with pytest.raises(InvalidArgumentError, match="list"):
            everything.auths("hr,it")
        with pytest.raises(InvalidArgumentError, match="negative"):
            everything.limit(-1)


def test_a_scan_says_what_it_will_do():
    with ostrakon.open() as store:
        table = store.create_table("t", splits=["b", "d"])
        table.put(["a", "c", "e"], "q", "v")
        table.flush()
        for scan, said in {
            table.scan(): [
                "rows: all",
                "columns: all",
                "3 of 3 tablets, which hold about 3 of 3 entries",
            ],
            table.scan("c"): ["rows: 'c'", "1 of 3 tablets"],
            table.scan(Range("b", "d", False, True)): ["after 'b' to 'd'", "1 of 3"],
            table.scan(["a", "b", "c", "d"]): ["rows: 'a', 'b', 'c', … 1 more"],
            table.scan(np.arange(7)): ["rows: 7 of a column"],
            table.scan(columns=["f", ("f", "q")], auths=["hr"]): ["family 'f', 'f':'q'", "['hr']"],
            table.scan(ordered=False, limit=3, timeout=2): ["any, with", "most 3", "within 2 s"],
        }.items():
            for part in said:
                assert part in scan.explain()
    with ostrakon.open(auths=["hr"]) as store:
        assert "unknown" in store.create_table("t").scan().explain()


def test_tables_have_one_vocabulary():
    with ostrakon.open() as store:
        store.create_table("a")
        store.create_table("b")
        assert store["a"].name == "a"
        with pytest.raises(NotFoundError):
            store["nothing"]
        with pytest.raises(InvalidArgumentError, match="DB"):
            store["a", "b"]
        store.drop("a")
        db = DB(store)
        assert db.tables() == db.ls() == store.tables() == ["b"]
        db.store.create_table("c")
        db.drop("b", "c")
        assert store.tables() == []


def test_pages_show_times_in_the_form_of_iso_8601():
    with ostrakon.open() as store:
        schema = ostrakon.Schema({"at": "datetime"}, {"day": "date", "us": "datetime_us"})
        typed = store.create_table("t", schema=schema).typed()
        at = dt.datetime(2024, 5, 17, 10)
        typed.put({"at": [at], "day": [at.date()], "us": [at.replace(microsecond=5)]})
        html = typed._repr_html_()
        for cell in ("2024-05-17T10:00:00", "2024-05-17", "2024-05-17T10:00:00.000005"):
            assert f"<td>{cell}</td>" in html
        shown = store.sql("SELECT at, day FROM t")._repr_html_()
        assert "<td>2024-05-17T10:00:00</td><td>2024-05-17</td>" in shown
        with pytest.raises(InvalidArgumentError, match="2024-05-17T10:00:00 is not"):
            ostrakon.Schema("int").key(at)
        # The entries of a table whose values are no text.
        entries = store["t"]._repr_html_()
        assert "<td>day</td>" in entries
        assert "b&#x27;" in entries


def test_a_page_of_events_shows_times_and_their_tables_entries(tmp_path):
    log = tmp_path / "web.csv"
    log.write_text("time,host\n2024-05-17T10:05:03Z,a\n")
    with ostrakon.open() as store:
        web = store.create_events("web", log)
        web.ingest(log)
        assert "<td>2024-05-17T10:05:03Z</td>" in web.query()._repr_html_()
        page = store["events.web"]._repr_html_()
        assert "entries shown" in page
        assert "text=False" not in page
