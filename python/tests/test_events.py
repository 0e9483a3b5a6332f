"""Event types from Python: ingest, queries, counts, plots, labels."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ostrakon
from ostrakon import errors

UTC = dt.timezone.utc
LINES = """\
time,host,path,status,seconds,cached,from,label
2024-05-17T10:05:03.25Z,a,/index,200,0.5,true,10.0.0.1,
2024-05-17T10:40:00Z,b,/admin,404,1.25,false,10.0.0.2,hr
2024-05-17T12:00:00Z,a,/admin,500,2.5,true,192.168.0.1,
2024-05-17T12:00:01Z,c,/index,200,0.125,false,::1,
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "web.csv"
    path.write_text(LINES)
    return path


@pytest.fixture
def web(store: ostrakon.Store, log: Path) -> ostrakon.Events:
    web = store.create_events("web", log, visibility="", visibility_field="label")
    report = web.ingest(log)
    assert (report.events, report.duplicates, report.rejected, report.reasons) == (4, 0, 0, [])
    assert report.entries > 4
    assert report.seconds > 0
    return web


def test_events_come_newest_first_as_typed_columns(web: ostrakon.Events) -> None:
    table = web.query(auths="hr").to_arrow()
    assert table.column("host").to_pylist() == ["c", "a", "b", "a"]
    assert table.column("status").to_pylist() == [200, 500, 404, 200]
    assert table.column("visibility").to_pylist() == ["", "", "hr", ""]
    kinds = {field.name: field.type for field in table.schema}
    assert kinds["time"] == pa.timestamp("us", tz="UTC")
    assert (kinds["seconds"], kinds["cached"]) == (pa.float64(), pa.bool_())
    assert pa.types.is_integer(kinds["status"])
    assert (kinds["host"], kinds["from"], kinds["visibility"]) == (pa.string(),) * 3
    first = table.column("time")[3].as_py()
    assert first == dt.datetime(2024, 5, 17, 10, 5, 3, 250000, UTC)
    frame = web.query("host == 'a'", fields=["status"]).to_pandas()
    assert list(frame.columns) == ["time", "status", "visibility"]
    assert frame["status"].tolist() == [500, 200]
    assert str(frame["time"].dtype) == "datetime64[us, UTC]"
    assert web.query("host == 'a'").to_polars()["path"].to_list() == ["/admin", "/index"]
    assert pl.DataFrame(web.query("status >= 500")).height == 1
    assert pa.table(web.query()).num_rows == 3


def test_conditions_times_and_limits_choose_events(web: ostrakon.Events) -> None:
    def hosts(*arguments: object, **more: object) -> list[str]:
        query = web.query(*arguments, **more)
        return query.to_arrow().column("host").to_pylist()

    assert hosts("status == 200 and path startswith '/i'") == ["c", "a"]
    assert hosts("path endswith 'x' and not host contains 'b'") == ["c", "a"]
    assert hosts("from in '192.168.0.0/16' or from == '::1'") == ["c", "a"]
    assert hosts(limit=1) == ["c"]
    assert web.query().limit(2).count() == web.query(limit=2).count() == 2
    assert web.query(limit=9).count() == 3
    noon = dt.datetime(2024, 5, 17, 12, tzinfo=UTC)
    assert hosts(from_time=noon) == ["c", "a"]
    assert hosts(to_time=noon, auths=["hr"]) == ["b", "a"]
    assert hosts(from_time="2024-05-17T12:00:01Z") == ["c"]
    assert hosts("time > @2024", from_time="@2024", limit=1) == ["c"]
    for arguments in ({"from_time": "2024"}, {"now": "2024"}, {"condition": "time > 2024"}):
        with pytest.raises(errors.InvalidArgumentError, match="such as 2024-01-01, or @2024"):
            web.query(**arguments).count()
    assert hosts(from_time=dt.date(2024, 5, 18)) == []
    east = dt.timezone(dt.timedelta(hours=2))
    assert hosts(last="1h", now=dt.datetime(2024, 5, 17, 14, 0, 1, tzinfo=east)) == ["a"]
    assert hosts("time > ago('1s')", now="2024-05-17T12:00:01.5Z") == ["c"]
    assert hosts("host == 'a'", path="scan") == hosts("host == 'a'", path="index") == ["a", "a"]
    assert [event["status"] for event in web.query().head(2)] == [200, 500]
    assert [event["host"] for event in web.query(limit=1).head(2)] == ["c"]
    # Who else was where the errors were?
    assert hosts("status == 500", then=["web.path=path"], auths="hr") == ["a", "b"]
    followed = web.query("status == 500", then=["web.path=path"], auths="hr")
    assert (followed.count(), followed.limit(1).count()) == (2, 1)


def test_counts_agree_whichever_way_they_are_made(web: ostrakon.Events) -> None:
    query = web.query("host == 'a'")
    assert query.count() == 2
    ways = [query.histogram("1h", count_by=way) for way in ("aggregates", "index", "scan", "auto")]
    assert [list(way) for way in ways] == [list(ways[0])] * 4
    histogram = ways[0]
    ten = dt.datetime(2024, 5, 17, 10, tzinfo=UTC)
    hour = dt.timedelta(hours=1)
    assert list(histogram) == [(ten, 1), (ten + hour, 0), (ten + 2 * hour, 1)]
    assert (histogram.by, histogram.total, histogram.counts) == ("1h", 2, [1, 0, 1])
    assert (len(histogram), histogram[2], histogram[:1]) == (3, (ten + 2 * hour, 1), [(ten, 1)])
    top = web.query().top("path", 1)
    assert list(top) == [("/index", 2)]
    assert (top.distinct, top.events) == (2, 3)
    assert top.to_pandas().to_dict("list") == {"path": ["/index"], "events": [2]}
    assert repr(top) == "events  path\n     2  /index"
    assert "2 different values in 3 events" in top._repr_html_()


def test_histograms_are_data_and_plots(web: ostrakon.Events) -> None:
    histogram = web.query().histogram("1h")
    assert repr(histogram) == (
        "2024-05-17T10:00:00Z  1  █████████████████████████\n"
        "2024-05-17T11:00:00Z  0\n"
        f"2024-05-17T12:00:00Z  2  {'█' * 50}"
    )
    frame = histogram.to_pandas()
    assert frame["events"].tolist() == [1, 0, 2]
    assert frame.index[0] == pd.Timestamp("2024-05-17T10:00Z")
    assert histogram.to_polars()["events"].to_list() == [1, 0, 2]
    assert histogram.to_arrow().schema.field("time").type == pa.timestamp("us", tz="UTC")
    page = histogram._repr_html_()
    assert page.count("<rect") == 2
    assert "<title>2024-05-17T12:00:00Z: 2</title>" in page
    assert "web: 3 events, bins of 1h" in page
    # A condition is text of the reader, and not a part of the page.
    hostile = web.query("host != '<script>'").histogram("1h")._repr_html_()
    assert "<script>" not in hostile
    assert "&lt;script&gt;" in hostile
    mpl.use("agg")
    axes = histogram.plot()
    assert [bar.get_height() for bar in axes.patches] == [1, 0, 2]
    assert axes.get_ylabel() == "events per 1h"
    assert histogram.plot(axes) is axes
    mpl.pyplot.close(axes.figure)
    empty = web.query("host == 'z'").histogram("1h")
    assert (len(empty), empty.total, repr(empty)) == (0, 0, "web: host == 'z': no events")
    assert empty.to_pandas().empty
    assert "0 events" in empty._repr_html_()
    # Hundreds of bins are drawn as fewer bars.
    fine = web.query().histogram("1s")
    assert len(fine) == 6899
    assert fine._repr_html_().count("<rect") == 2
    assert len(repr(fine).splitlines()) == 401


def test_a_reader_without_the_label_sees_neither_events_nor_counts(
    web: ostrakon.Events, tmp_path: Path, log: Path
) -> None:
    hidden = web.query("host == 'b'")
    assert hidden.to_arrow().num_rows == 0
    assert hidden.count() == 0
    assert list(hidden.histogram("1h")) == []
    assert [value for value, _ in web.query().top("host", 10)] == ["a", "c"]
    assert web.query().count() == 3
    assert "3 in these times" in web.query().explain()
    seen = web.query("host == 'b'", auths=["hr"])
    assert (seen.count(), seen.to_arrow().num_rows) == (1, 1)
    assert sorted(value for value, _ in web.query(auths=["hr"]).top("host")) == ["a", "b", "c"]
    with ostrakon.open(tmp_path / "db") as store:
        store.create_events("web", log, visibility="", visibility_field="label").ingest(log)
    with ostrakon.open(tmp_path / "db", auths=["it"], read_only=True) as reader:
        assert reader.events("web").query().count() == 3
        with pytest.raises(errors.BadAuthorizationsError):
            reader.events("web").query(auths=["hr"]).count()


def test_types_are_made_changed_listed_and_dropped(store: ostrakon.Store, log: Path) -> None:
    assert store.event_types() == []
    web = store.create_events("web", log, keep="90d", shards=2)
    assert store.event_types() == ["web"]
    fields = {field.name: field.type for field in web.fields}
    assert (fields["status"], fields["from"], fields["seconds"]) == ("u64", "ip", "f64")
    assert 'keep = "90d"' in web.toml
    web.change(web.toml.replace('keep = "90d"', 'keep = "30d"'))
    assert 'keep = "30d"' in store.events("web").toml
    copy = store.create_events("copy", toml=web.toml, visibility="hr")
    assert (copy.name, copy.fields) == ("copy", web.fields)
    assert repr(copy) == "<ostrakon.Events 'copy'>"
    assert "<td>status</td>" in copy._repr_html_()
    web.drop()
    assert store.event_types() == ["copy"]
    for call in (lambda: store.events("web"), web.query().count, web.query().to_arrow):
        with pytest.raises(errors.NotFoundError, match="no such event type"):
            call()
    assert "no such event type" in web.query()._repr_html_()
    assert "no such event type" in web._repr_html_()
    with pytest.raises(errors.AlreadyExistsError, match=r'`db\.events\("copy"\)`.*`exist_ok'):
        store.create_events("copy", log)
    assert store.create_events("copy", log, exist_ok=True).toml == copy.toml
    assert store.create_events("new", log, exist_ok=True).ingest(log).events == 4
    store.events("new").drop()
    for given in ({}, {"file": log, "toml": web}):
        with pytest.raises(errors.InvalidArgumentError, match="`file` or `toml`"):
            store.create_events("x", **given)


def test_the_time_field_may_be_named(store: ostrakon.Store, tmp_path: Path) -> None:
    log = tmp_path / "a.csv"
    lines = [f"2026-01-01T00:00:{second}Z,{second}" for second in range(10, 40)]
    log.write_text("\n".join(["when,n", *lines, "soon,1379288667"]) + "\n")
    with pytest.raises(errors.InvalidArgumentError, match="`when` does in 30 of 31"):
        store.create_events("a", log)
    report = store.create_events("a", log, time="when").ingest(log)
    assert (report.events, report.rejected) == (30, 1)
    with pytest.raises(errors.InvalidArgumentError, match="only with a log file"):
        store.create_events("b", toml="", time="when")


def test_an_event_is_stored_once_and_bad_lines_are_rejected(
    web: ostrakon.Events, log: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "again.csv.gz"
    more = LINES + "not a time,d,/,200,1,true,10.0.0.9,\n2024-05-18T00:00:00Z,d,/,200,1,true,::2,\n"
    packed.write_bytes(gzip.compress(more.encode()))
    report = web.ingest(log, packed)
    assert (report.events, report.duplicates, report.rejected) == (1, 8, 1)
    [(file, line, reason)] = report.reasons
    assert (file, line) == (str(packed), 6)
    assert "time" in reason
    assert web.query("host == 'd'").delete() == 1
    assert web.query("host == 'd'").count() == 0
    with pytest.raises(errors.InvalidArgumentError, match="limit"):
        web.query(limit=1).delete()


def test_rejected_lines_are_kept_in_a_file(web: ostrakon.Events, log: Path, tmp_path: Path) -> None:
    bad, rejects = tmp_path / "bad.csv", tmp_path / "rejects.tsv"
    bad.write_text(LINES + 'noon,"ä\nb",/,200,1,true,10.0.0.9,\n')
    report = web.ingest(bad, rejects=rejects)
    assert (report.events, report.rejected) == (0, 1)
    head, line = rejects.read_text().splitlines()
    assert head.split("\t") == ["file", "line", "reason", "text"]
    file, number, reason, text = line.split("\t")
    assert (file, number) == (str(bad), "6")
    assert "is not a time" in reason
    assert text == 'noon,"\\xc3\\xa4\\x0ab",/,200,1,true,10.0.0.9,'
    assert web.ingest(log, rejects=str(rejects)).rejected == 0
    assert rejects.read_text() == head + "\n"
    other = tmp_path / "notes.txt"
    other.write_text("notes")
    with pytest.raises(ostrakon.errors.InvalidArgumentError, match="not rejected lines"):
        web.ingest(bad, rejects=other)
    assert other.read_text() == "notes"
    with pytest.raises(errors.InvalidArgumentError, match="one of the files"):
        web.ingest(log, rejects=log)
    assert log.read_text() == LINES


def test_equal_records_may_be_kept(store: ostrakon.Store, tmp_path: Path) -> None:
    log = tmp_path / "clicks.csv"
    log.write_text("ts,client\n1400000000,ann\n1400000000,ann\n")
    merged = store.create_events("merged", log).ingest(log)
    assert (merged.events, merged.duplicates, merged.repeated) == (1, 1, 1)
    clicks = store.create_events("clicks", log, equal_records="keep")
    assert 'equal_records = "keep"' in clicks.toml
    assert clicks.ingest(log).events == 2
    again = clicks.ingest(log.rename(tmp_path / "moved.csv"))
    assert (again.events, again.duplicates, again.repeated) == (0, 2, 0)
    with pytest.raises(errors.InvalidArgumentError, match="merge or keep"):
        store.create_events("other", tmp_path / "moved.csv", equal_records="both")


def test_a_log_of_another_type_is_an_error(web: ostrakon.Events, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("when,host\n" + "2024-05-17T10:00:00Z,a\n" * 7)
    with pytest.raises(
        ValueError, match="no line is an event of 'web'.*7 lines.*line 2 of"
    ) as raised:
        web.ingest(wrong)
    context = raised.value.context
    assert (context["type"], context["file"], context["line"]) == ("web", str(wrong), "2")
    report = web.ingest(wrong, allow_rejected=True)
    assert (report.events, report.rejected, len(report.reasons)) == (0, 7, 7)
    assert report.reasons[0][2] in str(raised.value)
    # If some lines are events, new or not, the others are counted.
    assert web.ingest(tmp_path / "web.csv", wrong).rejected == 7
    empty = tmp_path / "empty.csv"
    empty.write_text("time,host\n")
    assert web.ingest(empty).rejected == 0


def test_queries_go_on_where_a_page_ended(web: ostrakon.Events) -> None:
    seen, token = [], None
    while True:
        page = web.query(auths="hr", resume=token, fields=["host"]).page(3)
        seen.append(page.events.column("host").to_pylist())
        token = page.token
        if token is None:
            break
    assert seen[:2] == [["c", "a", "b"], ["a"]]
    with pytest.raises(errors.InvalidArgumentError):
        web.query("host == 'a'", resume=web.query().page(1).token).page(1)
    assert web.query().page(0).events.num_rows == 0
    rest = web.query(auths="hr", resume=web.query(auths="hr").page(3).token)
    assert rest.count() == rest.to_arrow().num_rows == 1
    assert rest.limit(0).count() == 0
    for ask in (lambda: rest.histogram("1h"), lambda: rest.top("host")):
        with pytest.raises(errors.InvalidArgumentError, match="resume"):
            ask()
    with pytest.raises(errors.InvalidArgumentError, match="token"):
        web.query(resume="zz").count()


def test_settings_of_the_planner_choose_the_path(web: ostrakon.Events) -> None:
    query = "host == 'a'"
    for threshold, path in [(0.0, "scan"), (1.0, "index")]:
        asked = web.query(query, planner={"threshold": threshold, "window_short": "10ms"})
        assert asked.explain().startswith(f"path       {path}")
        assert asked.count() == 2
        assert "planner={'threshold'" in repr(asked)
    with pytest.raises(errors.InvalidArgumentError) as raised:
        web.query(planner={"window_long": "x"}).count()
    assert raised.value.context["argument"] == "window_long"


def test_upkeep_of_events(web: ostrakon.Events, store: ostrakon.Store) -> None:
    check = web.check(auths="hr")
    assert (check.events, check.disagreements) == (4, [])
    assert check.index_entries > 4
    assert check.counts > 4
    assert web.repair(auths="hr") == (0, 0, 0, None)
    # Nothing that a table has or inherits removes entries of the index alone.
    nothing = ostrakon.IteratorSetting(90, "GrepIterator", "nothing", {"term": "no such text"})
    properties = nothing.properties(["majc"])
    for change in (
        store["events.web_index"].set_properties,
        lambda changes: store.set_properties(changes, namespace="events"),
        store.set_properties,
    ):
        with pytest.raises(errors.InvalidArgumentError, match="event"):
            change(properties)
    store.set_properties(dict.fromkeys(properties))
    store["events.web_index"].compact()
    assert web.check(auths="hr").disagreements == []
    assert web.query("host == 'a'", path="index").to_arrow().num_rows == 2
    with pytest.raises(errors.InvalidArgumentError, match="`keep`"):
        web.age_off()
    noon = dt.datetime(2024, 5, 17, 12, tzinfo=UTC)
    assert web.age_off(noon + dt.timedelta(minutes=5)) == noon
    assert web.query(auths="hr").count() == 2
    with pytest.raises(errors.InvalidArgumentError, match="10,000"):
        web.calibrate()


def test_an_index_that_lost_a_file_is_repaired(tmp_path: Path, log: Path) -> None:
    path = tmp_path / "db"
    with ostrakon.open(path) as store:
        web = store.create_events("web", log, visibility="", visibility_field="label")
        web.ingest(log)
        for name in ("events.types", "events.web", "events.web_aggregate"):
            store[name].flush()
        before = set((path / "files").iterdir())
        store["events.web_index"].flush()
        lost = set((path / "files").iterdir()) - before
    for file in lost:
        file.unlink()
    with ostrakon.open(path) as store:
        for file in lost:
            store.drop_file(file.name)
        web = store.events("web")
        # What a query finds by the index, it does not find any more.
        wrong = web.check(auths="hr").disagreements
        assert {one.table for one in wrong} == {"index"}
        assert dt.datetime(2024, 5, 17, 12, tzinfo=UTC) in {one.bin for one in wrong}
        assert all(one.expected > one.found == 0 for one in wrong)
        assert web.query("host == 'a'", path="index").to_arrow().num_rows == 0
        assert web.repair(auths="hr").added > 4
        assert web.check(auths="hr").disagreements == []
        assert web.query("host == 'a'", path="index").to_arrow().num_rows == 2


def test_a_reader_does_not_remove_what_it_cannot_see(tmp_path: Path, log: Path) -> None:
    path = tmp_path / "db"
    with ostrakon.open(path) as store:
        store.create_events("web", log, visibility="", visibility_field="label").ingest(log)
    with ostrakon.open(path, auths=[]) as store:
        with pytest.raises(errors.PermissionDeniedError, match="whatever their labels"):
            store.events("web").age_off("2025-01-01")
        assert store.events("web").check().disagreements == []
    with ostrakon.open(path) as store:
        assert store.events("web").query(auths="hr").count() == 4


def test_fields_get_other_names_and_more_fields(store: ostrakon.Store, tmp_path: Path) -> None:
    log, owners = tmp_path / "x.csv", tmp_path / "owners.csv"
    log.write_text("when,host\n2024-05-17T10:00:00Z,a\n2024-05-17T11:00:00Z,b\n")
    owners.write_text("host,owner\na,ann\n")
    said = {"map": {"when": "time"}, "enrich": {"host": owners}, "format": "csv"}
    events = store.create_events("x", log, **said)
    assert events.ingest(log, **said).events == 2
    assert events.query("owner == 'ann'").to_arrow().column("host").to_pylist() == ["a"]


def test_errors_say_what_to_do(web: ostrakon.Events, store: ostrakon.Store, tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="no such field"):
        web.query(fields=["nope"]).to_arrow()
    with pytest.raises(errors.InvalidArgumentError, match="no such field"):
        web.query("nope == 1").count()
    with pytest.raises(errors.InvalidArgumentError):
        web.query("status ==").to_arrow()
    for argument, value in [("from_time", "noon"), ("to_time", "x"), ("now", ""), ("last", "1")]:
        with pytest.raises(errors.InvalidArgumentError) as raised:
            web.query(**{argument: value}).count()
        assert raised.value.context["argument"] == argument
    with pytest.raises(errors.InvalidArgumentError, match="pass one of them"):
        web.query(last="1d", from_time="2024-01-01").count()
    for wrong in ({"fields": "host"}, {"then": "web.path=path"}):
        with pytest.raises(errors.InvalidArgumentError, match="list of texts"):
            web.query(**wrong)
    with pytest.raises(errors.InvalidArgumentError, match="`path` is"):
        web.query(path="x").count()
    with pytest.raises(errors.InvalidArgumentError, match="`count_by` is"):
        web.query().count(count_by="x")
    with pytest.raises(errors.InvalidArgumentError, match="`then`"):
        web.query(then=["web.path=path"]).histogram("1h")
    for call in (lambda query: query.top("host"), lambda query: query.histogram("1h")):
        with pytest.raises(errors.InvalidArgumentError, match=r"limit: .*`\.limit\(None\)`"):
            call(web.query(limit=1))
    with pytest.raises(errors.InvalidArgumentError, match="`planner` has 'treshold'"):
        web.query(planner={"treshold": 1})
    with pytest.raises(errors.NotFoundError, match="log file") as raised:
        web.ingest(tmp_path / "missing.csv")
    assert raised.value.context["file"].endswith("missing.csv")
    unclear = tmp_path / "unclear"
    unclear.write_text("?\n")
    with pytest.raises(errors.InvalidArgumentError, match="pass `format`"):
        web.ingest(unclear)
    with pytest.raises(errors.InvalidArgumentError, match="no such format"):
        web.ingest(unclear, format="xml")
    parquet = tmp_path / "x.parquet"
    parquet.write_bytes(b"PAR1 and more")
    with pytest.raises(errors.UnsupportedError, match="ostrakon events ingest"):
        web.ingest(parquet)
    with pytest.raises(errors.InvalidArgumentError, match="path of a log file"):
        web.ingest()
    store.close()
    for call in (web.query().to_arrow, web.query().count, lambda: web.ingest(unclear)):
        with pytest.raises(errors.ClosedError, match=r"ostrakon\.open"):
            call()


def test_json_lines_are_events(store: ostrakon.Store, tmp_path: Path) -> None:
    log = tmp_path / "conn.json"
    log.write_text(
        '{"ts": 1379288667.5, "id": {"orig_h": "10.0.0.1", "gone": null}, "bytes": 7}\n'
        '{"ts": 1379288668, "id": {"orig_h": "10.0.0.2"}, "bytes": 9}\n'
        "[1]\n"
    )
    conn = store.create_events("conn", log)
    done = conn.ingest(log)
    assert (done.events, done.rejected) == (2, 1)
    assert [(file, line) for file, line, _ in done.reasons] == [(str(log), 3)]
    newest = conn.query("bytes > 7").head()
    assert [(event["id.orig_h"], event["bytes"]) for event in newest] == [("10.0.0.2", 9)]


def test_events_stream_and_queries_can_be_left(store: ostrakon.Store, tmp_path: Path) -> None:
    log = tmp_path / "many.csv"
    begin = dt.datetime(2024, 1, 1, tzinfo=UTC)
    lines = [f"{(begin + dt.timedelta(seconds=n)).isoformat()},{n}" for n in range(20_000)]
    log.write_text("time,n\n" + "\n".join(lines) + "\n")
    many = store.create_events("many", log)
    assert many.ingest(log, batch_events=5_000).events == 20_000
    batches = [batch.column("n").to_pylist() for batch in many.query().batches()]
    assert [n for batch in batches for n in batch] == list(range(19_999, -1, -1))
    assert max(map(len, batches)) <= 8192
    assert len(batches[0]) < 1000
    some = many.query().batches()
    assert next(some).column("n")[0].as_py() == 19_999
    del some
    measured = many.calibrate()
    assert measured.scanned_per_second > 0 < measured.fetched_per_second
    assert 0 < measured.threshold <= 1
    plan = many.query("n == 7", path="index").explain(analyze=True)
    assert plan.startswith("path       index")
    assert "found      1 events" in plan
    assert "fields=['n'], limit=3" in repr(many.query(fields=["n"], limit=3))
    assert "10 events" in many.query()._repr_html_()


def test_sql_and_events_see_the_same(web: ostrakon.Events, store: ostrakon.Store) -> None:
    rows = store.sql("SELECT host, status FROM events.web WHERE status >= 400", auths="hr")
    table = web.query("status >= 400", auths="hr").to_arrow()
    wanted = list(
        zip(*(table.column(name).to_pylist() for name in ("host", "status")), strict=True)
    )
    assert rows.fetchall() == wanted


def test_the_tables_of_events_are_not_changed_one_by_one(
    web: ostrakon.Events, store: ostrakon.Store, log: Path, tmp_path: Path
) -> None:
    found = web.query().count()
    names = [name for name in store.tables() if name.startswith("events.")]
    assert len(names) > 1
    for name in names:
        table = store[name]
        for change in (
            lambda table=table: table.put("a", "b", 1),
            lambda table=table: table.delete("a", "b"),
            lambda table=table: table.delete_rows("a", "b"),
            lambda table=table: table.bulk_import("a", "b", "1"),
            lambda table=table: table.writer(),
            lambda table=table: table.import_directory(tmp_path),
            lambda table=table: table.compact(
                iterators=[ostrakon.IteratorSetting(90, "GrepIterator", "none", {"term": "x"})]
            ),
        ):
            with pytest.raises(errors.InvalidArgumentError, match="event type"):
                change()
    assert web.query().count() == found
    web.ingest(log)
    assert web.check().disagreements == []


def test_what_was_read_before_a_wrong_file_is_stored_and_told(
    store: ostrakon.Store, log: Path, tmp_path: Path
) -> None:
    web = store.create_events("web", log, visibility="")
    bad = tmp_path / "bad.csv"
    bad.write_text("time,time\n1,2\n")
    for stored, duplicates in ((4, 0), (0, 4)):
        with pytest.raises(errors.Error, match="names `time` twice") as raised:
            web.ingest(log, bad)
        context = raised.value.context
        assert context["file"].endswith("bad.csv")
        assert context["complete files before it"] == "1"
        assert (context["events stored"], context["duplicates"]) == (str(stored), str(duplicates))
        assert "ingest all files again" in str(raised.value)
        assert web.query().count() == 4
    with pytest.raises(errors.Error) as raised:
        web.ingest(bad, log)
    assert "events stored" not in raised.value.context


def test_a_log_without_events_says_what_was_read(store: ostrakon.Store, tmp_path: Path) -> None:
    text = tmp_path / "x.log"
    text.write_text("nothing\nhere\n")
    with pytest.raises(errors.InvalidArgumentError, match=r"in Python format=.*lines read: 2"):
        store.create_events("x", text, format="json")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"time='FIELD'.*records read: 1"
    ) as raised:
        store.create_events("x", text, format="csv")
    assert raised.value.context["file"].endswith("x.log")


def test_a_log_of_another_kind_is_told_with_a_condition_that_finds_its_events(
    store: ostrakon.Store, web: ostrakon.Events, tmp_path: Path
) -> None:
    other = tmp_path / "dns.csv"
    other.write_text("time,query,answer,ttl\n2024-05-17T10:05:04Z,a,b,5\n")
    with pytest.warns(UserWarning, match="it may be a log of another kind") as caught:
        assert web.ingest(other).events == 1
    (warning,) = caught
    text = str(warning.message)
    assert "3 of 4 fields" in text
    assert "(answer, query, ttl)" in text
    assert warning.filename == __file__
    condition = text.partition('query("')[2].partition('")')[0]
    assert web.query(condition).to_arrow().num_rows == 1
    assert web.query(condition).delete() == 1
    assert web.query(auths="hr").count() == 4


def test_time_is_the_time_of_the_event_whatever_its_field_is_called(
    store: ostrakon.Store, tmp_path: Path
) -> None:
    log = tmp_path / "web.csv"
    log.write_text("ts,host\n2024-05-17T10:05:03Z,a\n2024-05-17T10:05:03Z,b\n")
    web = store.create_events("web", log)
    web.ingest(log)
    assert list(web.query().top("time")) == list(web.query().top("ts"))
    assert len(list(web.query().top("time"))) == 1


def test_unknown_names_suggest_similar_ones(store: ostrakon.Store, web: ostrakon.Events) -> None:
    with pytest.raises(errors.NotFoundError, match="similar: web"):
        store.events("wbe").query().count()
    with pytest.raises(errors.InvalidArgumentError, match="similar: status"):
        web.query("statuss == 5").count()


def test_spans_are_text_or_timedeltas(web: ostrakon.Events) -> None:
    query = web.query(last=dt.timedelta(hours=1), now=dt.datetime(2024, 5, 17, 12, 30, tzinfo=UTC))
    assert query.count() == 2
    assert repr(query.histogram(dt.timedelta(hours=1))) == repr(query.histogram("1h"))
    with pytest.raises(errors.InvalidArgumentError, match="span of time"):
        web.query(last=dt.timedelta(0)).count()
