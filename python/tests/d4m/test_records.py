"""The D4M 2.0 schema in one call, and questions that ask the degrees first."""

from __future__ import annotations

import datetime
import gzip
import json
import random
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostrakon
from ostrakon.assoc import startswith
from ostrakon.d4m import DB, reading
from ostrakon.d4m.records import Records
from ostrakon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"name": "ann", "town": "Ulm", "age": 31, "ok": True},
    {"name": "bea", "town": "Bonn", "age": 42, "ok": False},
    {"name": "cid", "town": "Ulm", "age": None, "ok": None},
    {"name": "dee", "town": "", "age": 31},
]

EDGES = {
    "ann": ["age|31", "name|ann", "ok|true", "town|Ulm"],
    "bea": ["age|42", "name|bea", "ok|false", "town|Bonn"],
    "cid": ["name|cid", "town|Ulm"],
    "dee": ["age|31", "name|dee"],
}


@pytest.fixture(autouse=True, params=["writers", "import"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every test runs with writers, and with an import in batches of two records."""
    importing = request.param == "import"
    monkeypatch.setattr(ostrakon.d4m.records, "_IMPORTED", 0 if importing else 10**9)
    monkeypatch.setattr(ostrakon.d4m.records, "BATCH", 2 if importing else 10**9)
    return request.param


def dump(table: ostrakon.Table, auths: Any = None) -> list[tuple[str, str, str, str]]:
    scan = table.scan(auths=auths)
    return [(e.row, e.qualifier, e.visibility, e.value) for e in scan.entries()]


def check_tables(db: DB, prefix: str, edges: dict[str, list[str]]) -> None:
    """All tables of records, but their texts, against the columns each record is to have."""
    expected = sorted(
        (record, column, "", "1") for record, held in edges.items() for column in held
    )
    assert dump(db.store.table(prefix)) == expected
    swapped = sorted((column, record, "", "1") for record, column, _, _ in expected)
    assert dump(db.store.table(f"{prefix}T")) == swapped
    degrees = Counter(column for held in edges.values() for column in held)
    assert dump(db.store.table(f"{prefix}Deg")) == [
        (column, "Degree", "", str(degrees[column])) for column in sorted(degrees)
    ]
    fields = Counter(column.split("|")[0] for held in edges.values() for column in held)
    assert dump(db.store.table(f"{prefix}Field")) == [
        (field, field, "", str(fields[field])) for field in sorted(fields)
    ]


def forms(folder: Path) -> dict[str, Any]:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    names = ["name", "town", "age", "ok"]
    columns = {name: [row.get(name) for row in ROWS] for name in names}
    lines = folder / "people.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    shown = {None: "", True: "true", False: "false"}
    cells = [[shown.get(row.get(name), str(row.get(name))) for name in names] for row in ROWS]
    csv = "\r\n".join(",".join(row) for row in [names, *cells])
    comma = folder / "people.csv"
    comma.write_text("\ufeff" + csv, encoding="utf-8")
    tabs = folder / "people.tsv"
    tabs.write_text(csv.replace(",", "\t"), encoding="utf-8")
    parquet = folder / "people.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), parquet)
    return {
        "dictionaries": ROWS,
        "generator": (dict(row) for row in ROWS),
        "columns": columns,
        "pandas": pd.DataFrame(columns),
        "pandas of rows": pd.DataFrame(ROWS),
        "pandas of arrow": pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
        "batch": pa.record_batch(columns),
        "reader": pa.table(columns).to_reader(),
        "jsonl": lines,
        "csv": comma,
        "tsv": str(tabs),
        "parquet": parquet,
    }


def test_records_of_every_form_become_the_same_tables(db: DB, tmp_path: Path, way: str) -> None:
    for at, (form, records) in enumerate(forms(tmp_path).items()):
        written = db.ingest(records, f"E{at}", id="name")
        check_tables(db, f"E{at}", EDGES)
        assert written.records == 4, form
        assert written.ids.tolist() == ["ann", "bea", "cid", "dee"]
        tables = ["", "T", "Deg", "Field", "Txt"]
        stored = sum(len(dump(db.store.table(f"E{at}{name}"))) for name in tables)
        # Each batch of an import writes its own part of the degrees.
        assert written.entries >= stored if way == "import" else written.entries == stored, form
        texts = db.records(f"E{at}").text()
        assert sorted(texts) == ["ann", "bea", "cid", "dee"]
        assert json.loads(texts["ann"])["town"] == "Ulm"
        if form in ("jsonl", "dictionaries", "generator"):
            assert json.loads(texts["cid"]) == ROWS[2]


def test_lists_and_nested_fields(db: DB) -> None:
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    rows = [
        {"tag": ["x", "y"], "who": {"id": 7, "at": {"town": "Ulm"}}},
        {"tag": []},
        {"tag": ["y"]},
    ]
    expected = {
        "1000000000": ["tag|x", "tag|y", "who.at.town|Ulm", "who.id|7"],
        "3000000000": ["tag|y"],
    }
    db.ingest(rows, "A", start=1)
    check_tables(db, "A", expected)
    tags = [row["tag"] for row in rows]
    just_tags = {key: [c for c in held if c.startswith("tag")] for key, held in expected.items()}
    for at, records in enumerate(
        [{"tag": tags}, pa.table({"tag": tags}), pl.DataFrame({"tag": tags})]
    ):
        db.ingest(records, f"B{at}", start=1)
        check_tables(db, f"B{at}", just_tags)


def test_values_of_any_type_become_texts(db: DB) -> None:
    records = {
        "f": [1.0, 2.5, float("nan")],
        "t": np.array(["2024-01-02T03:04", "NaT", "2024-01-03"], "datetime64[m]"),
        "m": ["a", 1, 2.0],
        "b": [b"x", b"y|z", b""],
        "n": np.array([1, 2, 3], np.uint8),
    }
    R = db.records()
    R.ingest(records, id=["p", "q", "r"])
    R.ingest([{"d": datetime.date(2024, 1, 2), "x": 5.0, "y": np.int64(3)}], id=["s"])
    found: dict[str, list[str]] = {}
    for row, col, _ in R[:, :]:
        found.setdefault(row, []).append(col)
    assert found["p"] == ["b|x", "f|1", "m|a", "n|1", "t|2024-01-02T03:04"]
    assert found["q"] == ["b|y|z", "f|2.5", "m|1", "n|2"]
    assert found["s"] == ["d|2024-01-02", "x|5", "y|3"]
    assert R.fields() == {"b": 2, "d": 1, "f": 2, "m": 3, "n": 3, "t": 2, "x": 1, "y": 1}


def test_degrees_add_up_over_calls_and_ids_differ(db: DB) -> None:
    R = db.records()
    frame = {"town": ["Ulm"] * 1000}
    first, second = R.ingest(frame), R.ingest(frame)
    ids = {*first.ids.tolist(), *second.ids.tolist()}
    assert len(ids) == 2000
    assert R.count("town|Ulm") == 2000
    assert len(R.find("town|Ulm")) == 2000
    # Reversed digits spread neighbours.
    assert len({key[0] for key in ids}) == 10
    numbered = db.ingest(frame, "N", start=1)
    assert numbered.ids[:3].tolist() == ["1000000000", "2000000000", "3000000000"]


def test_only_some_fields_and_no_texts(db: DB) -> None:
    db.ingest(ROWS, "E", id="name", fields=["town"], text=False)
    check_tables(db, "E", {"ann": ["town|Ulm"], "bea": ["town|Bonn"], "cid": ["town|Ulm"]})
    assert dump(db.store.table("ETxt")) == []
    db.ingest(ROWS, "F", id="name", text=["one", "two", "three", "four"])
    assert db.records("F").text("bea,") == {"bea": "two"}


def test_a_text_shows_fields_that_are_not_indexed_and_needs_their_labels(db: DB) -> None:
    def label(field: str, value: str) -> str:
        return "A" if field == "age" else ""

    R = db.records()
    R.ingest(ROWS, id="name", fields=["town"], visibility=label)
    assert R["ann", :].col.tolist() == ["town|Ulm"]
    assert sorted(R.text()) == ["cid"]
    shown = DB(db.store, auths="A").records().text("ann,")
    assert json.loads(shown["ann"]) == ROWS[0]


def test_texts_are_json_with_the_types_of_values(db: DB) -> None:
    R = db.records("C")
    columns = {
        "s": ['a"b', "", "7"],
        "i": [1, 2, 3],
        "f": [0.5, float("nan"), float("-inf")],
        "b": [True, False, True],
        "l": [["x", "y"], [], ["z"]],
    }
    R.ingest(columns, id=["p", "q", "r"])
    assert {key: json.loads(text) for key, text in R.text().items()} == {
        "p": {"s": 'a"b', "i": 1, "f": 0.5, "b": True, "l": ["x", "y"]},
        "q": {"i": 2, "b": False},
        "r": {"s": "7", "i": 3, "f": "-inf", "b": True, "l": ["z"]},
    }
    nested = {"d": datetime.date(2024, 1, 2), "n": {"f": float("nan"), "l": (1, {2.5})}, 3: None}
    db.records("N").ingest([nested], id=["x"])
    assert json.loads(db.records("N").text()["x"]) == {
        "d": "2024-01-02",
        "n": {"f": None, "l": [1, [2.5]]},
        "3": None,
    }


def test_labels_for_all_for_records_and_for_values(db: DB) -> None:
    both = ["A", "B"]
    DB(db.store).records("One").ingest(ROWS, id="name", visibility="A")
    assert {entry[2] for name in db.ls() for entry in dump(db.store.table(name), both)} == {"A"}
    assert db.records("One").find("town|Ulm") == []

    everything = DB(db.store, auths=both).records("Each")
    everything.ingest(ROWS, id="name", visibility=["A", "B", "", "A&B"])
    assert everything.count("town|Ulm") == 2
    assert db.records("Each").count("town|Ulm") == 1
    assert db.records("Each").find("town|Ulm") == ["cid"]
    only_a = DB(db.store, auths=["A"]).records("Each")
    assert (only_a.count("town|Ulm"), only_a.count("age|31")) == (2, 1)
    assert sorted(only_a.text()) == ["ann", "cid"]
    assert only_a.fields() == {"age": 1, "name": 2, "ok": 1, "town": 2}

    by_value = db.records("Value")
    by_value.ingest(
        ROWS, id="name", visibility=lambda field, value: {"age": "A", "ok": "B"}.get(field, "")
    )
    assert by_value["ann", :].col.tolist() == ["name|ann", "town|Ulm"]
    # A text shows every value, so it needs every label.
    assert sorted(by_value.text()) == ["cid"]
    assert sorted(DB(db.store, auths=["A"]).records("Value").text()) == ["cid", "dee"]


@pytest.mark.parametrize(
    ("records", "options", "says"),
    [
        ({"a": [1, 2], "b": [1]}, {}, "different lengths"),
        ([{"a|b": 1}], {}, r"'a\|b' holds the separator"),
        ([{"a": 1}, 7], {}, "record 1 is int"),
        (17, {}, "records: a data frame"),
        ([{"a": object()}], {}, "the field 'a' holds object"),
        ([{"a": b"\xff"}], {}, "not valid UTF-8"),
        ({"a": ["x", "x"]}, {"id": "a"}, "two records have the key 'x'"),
        ({"a": ["x", None]}, {"id": "a"}, "not one value in every record"),
        ({"a": ["x", "y"]}, {"id": "b"}, "no field 'b'"),
        ({"a": ["x", "y"]}, {"id": ["k"]}, "1 keys for 2 records"),
        ({"a": ["x", "y"]}, {"id": ["k", ""]}, "an empty key"),
        ({"a": ["x"]}, {"id": ["k"], "start": 1}, "give one of them"),
        ({"a": ["x"]}, {"start": -1}, "negative"),
        ({"a": ["x"]}, {"fields": ["q"]}, "no field 'q'"),
        ({"a": ["x"]}, {"text": []}, "0 items for 1 records"),
        ({"a": ["x"]}, {"visibility": "A&"}, "invalid label"),
        ({"a": ["x", "y"]}, {"visibility": ["A"]}, "1 labels for 2 records"),
        ({"a": ["x", None], "b": ["x", "y"]}, {"visibility": ["A", "B|"]}, "invalid label"),
        ({"a": ["x"]}, {"visibility": [None]}, "None is not a label"),
        (
            {"a": ["x"] * 999, "b": ["y"] * 999},
            {"visibility": lambda f, v: f"{f}|" * (f == "b")},
            "invalid label",
        ),
        ({"a": ["x"], "b": ["v" * (1 << 20)]}, {}, "the field 'b' makes a key"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    db: DB, records: Any, options: Any, says: str
) -> None:
    # Blocks so small that what is written is submitted at once.
    R = DB(db.store, put_bytes=1).records()
    with pytest.raises(InvalidArgumentError, match=says):
        R.ingest(records, **options)
    assert [dump(db.store.table(name), ["A", "B"]) for name in db.ls()] == [[]] * 5


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.csv", "a,b\n1,2\n3\n", "line 3 of x.csv: the line has 1 fields"),
        ("x.csv", "a,a\n1,2\n", "the header names `a` twice.*line: 1, file: .*x.csv"),
        ("x.csv", 'a,b\n"1,2\n', "line 2 of x.csv"),
        ("x.jsonl", '{"a": 1}\n{"a":\n', "line 2 of x.jsonl: not valid JSON"),
        ("x.jsonl", "[1]\n", "line 1 of x.jsonl: not a JSON object"),
    ],
)
def test_broken_files(db: DB, tmp_path: Path, name: str, content: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=says):
        db.ingest(path)
    assert [dump(db.store.table(name)) for name in db.ls()] == [[]] * 5
    with pytest.raises(FileNotFoundError):
        db.ingest(tmp_path / "absent.csv")


@pytest.mark.parametrize("pack", [None, "gz", "zst"])
def test_files_of_the_formats_of_logs(db: DB, tmp_path: Path, pack: str | None) -> None:
    logs = {
        "conn.log": (
            (
                "#separator \\x09\n#unset_field\t-\n#path\tconn\n"
                "#fields\tts\tuid\tid.resp_p\tservice\n"
                "#types\ttime\tstring\tport\tstring\n1379288667.7\tC1\t80\t-\n1379288668\tC2\t53\tdns\n"
            ),
            [
                "id.resp_p|53",
                "id.resp_p|80",
                "service|dns",
                "ts|1379288667.7",
                "ts|1379288668",
                "uid|C1",
                "uid|C2",
            ],
        ),
        "access.log": (
            '1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 9 "-" "curl"\n',
            ["client|1.2.3.4", "method|GET", "path|/a", "status|200"],
        ),
        "x.tsv": ('a\tb\n"1\t2\n', ['a|"1', "b|2"]),
        "x.csv": ("a,b\n1,\n,2\n", ["a|1", "b|2"]),
        "x.ndjson": ('{"a": 1}\n\n{"b": "2"}\n', ["a|1", "b|2"]),
    }
    for number, (name, (content, columns)) in enumerate(logs.items()):
        data = content.encode()
        if pack == "gz":
            data = gzip.compress(data)
        elif pack == "zst":
            data = pa.compress(data, "zstd", asbytes=True)
        path = tmp_path / (name if pack is None else f"{name}.{pack}")
        path.write_bytes(data)
        R = db.records(f"T{number}")
        R.ingest(path, start=0)
        found = R[:, :].col.tolist()
        assert set(columns) <= set(found), name
        if name != "access.log":
            assert found == columns
    assert list(db.records("T4").text().values()) == ['{"a": 1}', '{"b": "2"}']
    unclear = tmp_path / "people.xls"
    unclear.write_text("Alice\n")
    with pytest.raises(InvalidArgumentError, match='the format of "people.xls" is not clear'):
        db.ingest(unclear)


def test_json_is_read_as_python_reads_it(db: DB, tmp_path: Path) -> None:
    rng = random.Random(1)

    def value(depth: int) -> Any:
        kind = rng.randrange(9 if depth < 3 else 6)
        if kind == 0:
            return rng.choice([None, True, False, ""])
        if kind == 1:
            return rng.choice([0, -1, 7, 2**53, 2**70, -(2**65)])
        if kind == 2:
            return rng.choice(
                [0.0, -0.0, 0.1, 5.0, 1e3, 1e15, 1e16, 1e22, 1.5e300, 1e-4, 1e-5, 12345.678]
            )
        if kind < 6:
            return rng.choice(["x", "é", "a|b", 'q"\\', "tab\t", "\U0001f600", "-0"])
        if kind == 6:
            return [value(depth + 1) for _ in range(rng.randrange(3))]
        return {rng.choice("abcé"): value(depth + 1) for _ in range(rng.randrange(3))}

    rows = [{**{name: value(0) for name in "xyz"}, "id": str(n)} for n in range(500)]
    path = tmp_path / "x.jsonl"
    path.write_text(
        "\n".join(json.dumps(row, ensure_ascii=n % 2 == 0) for n, row in enumerate(rows))
    )
    one, two = db.records("A"), db.records("B")
    assert one.ingest(path, id="id")[:2] == two.ingest(rows, id="id")[:2]
    assert one[:, :].equals(two[:, :])
    assert one.text()["7"] == path.read_text().splitlines()[7]


def test_an_upsert_is_written_batch_by_batch(
    db: DB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrakon.d4m.records.BATCH", 10)
    sizes = []
    whole = Records._put

    def put(self: Records, batch: Any, upsert: bool) -> Any:
        sizes.append(batch.records)
        return whole(self, batch, upsert)

    monkeypatch.setattr(Records, "_put", put)
    R = db.records()
    path = tmp_path / "x.csv"
    for town in ["Ulm", "Bonn"]:
        path.write_text("id,town\n" + "".join(f"{n},{town}\n" for n in range(35)))
        assert R.ingest(path, id="id", upsert=True).records == 35
    assert sizes == [10, 10, 10, 5] * 2
    assert R.degrees("town|*,").to_dict2() == {("town|Bonn", "Degree"): 35}
    with pytest.raises(InvalidArgumentError, match="no field 'age'") as raised:
        R.ingest(path, id="id", upsert=True, fields=["id", "age"])
    assert sys.version_info < (3, 11) or "35 records before were written" in str(
        raised.value.__notes__
    )


def test_nothing_is_ingested_from_nothing(db: DB, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    (tmp_path / "header.csv").write_text("a,b\n", encoding="utf-8")
    empty: list[Any] = [[], {}, {"a": []}, tmp_path / "empty.csv", tmp_path / "header.csv"]
    for records in empty:
        assert db.ingest(records)[:2] == (0, 0)


def test_csv_keeps_cells_as_they_stand(db: DB, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('zip,note\n01234,"a, ""b""\nc"\n1.50,x|y\n', encoding="utf-8")
    R = db.records()
    R.ingest(path, start=0)
    assert R[:, :].col.tolist() == ['note|a, "b"\nc', "note|x|y", "zip|01234", "zip|1.50"]


def test_terms_of_every_form(db: DB) -> None:
    R = db.records()
    R.ingest(ROWS, id="name")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"all_of": "town|Ulm,"}, "ann cid"),
        ({"all_of": "town|Ulm"}, "ann cid"),
        ({"all_of": "town|Ulm,age|31,"}, "ann"),
        ({"all_of": ["town|Ulm", "age|31"]}, "ann"),
        ({"all_of": "age|*,"}, "ann bea dee"),
        ({"all_of": "age|32,:,age|99,"}, "bea"),
        ({"any_of": "town|Bonn,name|dee,"}, "bea dee"),
        ({"any_of": "town|Ulm,age|31,", "none_of": "name|dee,"}, "ann cid"),
        ({"all_of": "age|31", "any_of": "town|Ulm,town|Bonn,"}, "ann"),
        ({"all_of": "name|*,", "none_of": "ok|*,"}, "cid dee"),
        ({"all_of": [startswith("town|U,")]}, "ann cid"),
        ({"all_of": startswith("town|U,")}, "ann cid"),
        ({"all_of": "town|Ulm,town|Rome,"}, ""),
        ({"all_of": ["town|*"]}, ""),
    ]
    for question, expected in cases:
        assert R.find(**question) == expected.split(), question
        assert R.where(**question).row.tolist() == expected.split(), question
    assert R.where("town|Ulm,age|31,").col.tolist() == EDGES["ann"]
    refused: list[dict[str, Any]] = [{}, {"none_of": "a|b,"}, {"all_of": "a|b", "limit": 0}]
    for question in refused:
        with pytest.raises(InvalidArgumentError):
            R.find(**question)


def test_the_rarest_term_is_read_first_and_the_limit_guards(
    db: DB, monkeypatch: pytest.MonkeyPatch
) -> None:
    R = db.records()
    size = 2000
    R.ingest(
        {"common": ["x"] * size, "rare": [str(at % 500) for at in range(size)]},
        id=[f"r{at:05d}" for at in range(size)],
        text=False,
    )
    asked: list[tuple[str, int]] = []
    start, take = reading.start, reading.take

    def watched(table: ostrakon.Table, *rest: Any, **more: Any) -> Any:
        asked.append((table.name, 0))
        return start(table, *rest, **more)

    def counted(*arguments: Any) -> Any:
        columns = take(*arguments)
        asked[-1] = (asked[-1][0], len(columns[0]))
        return columns

    monkeypatch.setattr(reading, "start", watched)
    monkeypatch.setattr(reading, "take", counted)
    assert R.find("common|x,rare|7,") == [f"r{at:05d}" for at in (7, 507, 1007, 1507)]
    # Two degrees, the row of the rare term, and four records looked up: never the common row.
    assert asked == [("TedgeDeg", 2), ("TedgeT", 4), ("Tedge", 4)]
    asked.clear()
    assert R.find("common|x,rare|nobody,") == []
    assert {name for name, _ in asked} == {"TedgeDeg"}
    with pytest.raises(InvalidArgumentError, match="has 2000 entries, 100 may be read"):
        R.find("common|x", limit=100)
    assert len(R.find("common|x,rare|7,", limit=100)) == 4


values = st.sampled_from(["u", "v", "w|x", "ä", ""])
some_records = st.lists(
    st.dictionaries(
        st.sampled_from(["f", "g", "h.i"]), values | st.lists(values, max_size=3, unique=True)
    ),
    max_size=8,
)


@settings(deadline=None, max_examples=40)
@given(some_records, st.lists(st.sampled_from(["f|u", "g|v", "h.i|w|x", "f|*"]), max_size=3))
def test_any_records_against_plain_dictionaries(
    rows: list[dict[str, Any]], terms: list[str]
) -> None:
    edges: dict[str, list[str]] = {}
    for at, row in enumerate(rows):
        held = set()
        for field, value in row.items():
            several = value if isinstance(value, list) else [value]
            held |= {f"{field}|{one}" for one in several if one}
        if held:
            edges[f"r{at}"] = sorted(held)

    def has(held: list[str], term: str) -> bool:
        if term.endswith("*"):
            return any(column.startswith(term[:-1]) for column in held)
        return term in held

    with ostrakon.open(memory_budget_bytes=64 << 20) as store:
        db = DB(store)
        db.ingest(rows, "E", id=[f"r{at}" for at in range(len(rows))])
        check_tables(db, "E", edges)
        if terms:
            expected = [
                record for record, held in edges.items() if all(has(held, term) for term in terms)
            ]
            assert db.records("E").find("".join(f"{term}," for term in terms)) == expected


def everything(db: DB, auths: Any = None) -> dict[str, list[tuple[str, str, str, str]]]:
    return {name: dump(db.store[name], auths) for name in db.tables()}


def test_an_import_writes_what_writers_write(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    count = 200
    frame = pa.table(
        {
            "a": rng.integers(0, 9, count),
            "ab": [None if at % 3 else f'v{at % 7}\n"x' for at in range(count)],
            "t": [[f"x{at % 5}", f"x{at % 3}"] if at % 2 else [] for at in range(count)],
            "f": rng.integers(0, 4, count) / 4,
            "ü": [f"é\u0001\u2028{at % 11}" for at in range(count)],
        }
    )
    ids = [f"r{at * 7919 % count:04d}" for at in range(count)]
    labels: list[Any] = ["", ["A", "B"] * (count // 2), lambda name, value: "A" * (name == "a")]
    for label in labels:
        options: dict[str, Any] = {"id": ids, "visibility": label, "fields": ["a", "ab", "t", "ü"]}
        made = []
        for imported, batch in ((0, 17), (10**9, 10**9)):
            monkeypatch.setattr(ostrakon.d4m.records, "_IMPORTED", imported)
            monkeypatch.setattr(ostrakon.d4m.records, "BATCH", batch)
            with DB() as db:
                written = db.ingest(frame, **options)
                assert written.ids.tolist() == ids
                assert db.records().check().sound
                made.append(everything(db, ["A", "B"]))
        assert made[0] == made[1]


def test_an_error_in_a_later_batch_leaves_nothing(db: DB, tmp_path: Path) -> None:
    file = tmp_path / "people.jsonl"
    file.write_text('{"a": 1}\n{"a": 2}\n{"a": 3}\nnonsense\n')
    with pytest.raises(InvalidArgumentError, match="line 4"):
        db.ingest(file)
    with pytest.raises(InvalidArgumentError, match="two records have the key 'x'"):
        db.ingest({"k": np.array(["x", "y", "z", "x"])}, id="k")
    with pytest.raises(InvalidArgumentError, match="no field 'q'"):
        db.ingest([{"a": 1}] * 5, fields=["q"])
    for keys in (["p", "q", "r"], ["p", "q", "r", "s", "t", "u"]):
        with pytest.raises(InvalidArgumentError, match=f"{len(keys)} keys for"):
            db.ingest(pytest.importorskip("pyarrow").table({"a": [1, 2, 3, 4, 5]}), id=keys)
    assert not any(everything(db).values())
    with pytest.raises(InvalidArgumentError, match="give `id`"):
        db.ingest([{"a": 1}], upsert=True)


def test_upsert_replaces_records_by_key(db: DB) -> None:
    R = db.records()
    first = [{"k": "p", "town": "Ulm", "age": 3}, {"k": "q", "town": "Ulm"}]
    R.ingest(first, id="k")
    R.ingest([{"k": "p", "town": "Bonn"}, {"k": "r", "town": "Ulm"}], id="k", upsert=True)
    assert R.find("town|Bonn,") == ["p"]
    assert R.find("town|Ulm,") == ["q", "r"]
    assert R.find("age|3,") == []
    assert R["p", :].col.tolist() == ["k|p", "town|Bonn"]
    assert json.loads(R.text("p,")["p"]) == {"k": "p", "town": "Bonn"}
    assert (R.count("town|Ulm,"), R.count("k|p,")) == (2, 1)
    assert R.check().sound
