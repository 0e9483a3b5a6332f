"""Reading: ranges, columns, authorizations, iterators, limits, and what comes out."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ostrakon
from ostrakon import IteratorSetting, Range, errors


@pytest.fixture
def letters(table: ostrakon.Table) -> ostrakon.Table:
    """Rows a to h, each with columns f:x and g:y."""
    rows = [row for row in "abcdefgh" for _ in range(2)]
    table.put(rows, ["x", "y"] * 8, np.arange(16), family=["f", "g"] * 8, timestamp=1)
    return table


def rows(scan: ostrakon.Scan) -> str:
    return "".join(dict.fromkeys(entry.row for entry in scan.entries()))


@pytest.mark.parametrize(
    ("ranges", "found"),
    [
        (None, "abcdefgh"),
        ("b", "b"),
        (b"b", "b"),
        (("b", "d"), "bcd"),
        (("f", None), "fgh"),
        ((None, "b"), "ab"),
        (Range("b", "d", False, False), "c"),
        (Range.prefix("c"), "c"),
        (Range.prefix(""), "abcdefgh"),
        (Range.row("c", "f", "x"), "c"),
        (Range.all(), "abcdefgh"),
        (["h", "a", "zz", "a"], "ah"),
        (["a", ("c", "d"), Range("g", None)], "acdgh"),
        ([], ""),
        (np.array(["c", "a"]), "ac"),
        (pa.array(["c", "a"]), "ac"),
        (pl.Series(["c", "a"]), "ac"),
    ],
    ids=str,
)
def test_ranges(letters: ostrakon.Table, ranges: Any, found: str) -> None:
    assert rows(letters.scan(ranges)) == found


@pytest.mark.parametrize(
    ("start", "end", "inclusive", "found"),
    [
        (("c", "f"), ("c", "f"), (True, True), ["cf"]),
        (("c", "f"), ("d", "f"), (False, True), ["cg", "df"]),
        (("c", "f", "x"), ("d", "g", "y"), (False, False), ["cg", "df"]),
        (("c", "f", "a"), "d", (True, False), ["cf", "cg"]),
    ],
)
def test_bounds_within_a_row(
    letters: ostrakon.Table, start: Any, end: Any, inclusive: tuple[bool, bool], found: list[str]
) -> None:
    scan = letters.scan(Range(start, end, *inclusive))
    assert [e.row + e.family for e in scan.entries()] == found


def test_thousands_of_rows_at_once(table: ostrakon.Table) -> None:
    names = np.char.add("r", np.arange(20_000).astype(str))
    table.put(names, "q", np.arange(20_000))
    table.flush()
    wanted = names[::3]
    for ordered in (True, False):
        found = pa.table(table.scan(wanted, ordered=ordered, fields=["row"]))["row"].to_pylist()
        assert sorted(found) == sorted(wanted.tolist())
    assert table.scan([Range.row(name) for name in wanted]).count() == len(wanted)


def test_columns(letters: ostrakon.Table) -> None:
    assert letters.scan("a", "f").count() == 1
    assert letters.scan("a", ["f", "g"]).count() == 2
    assert letters.scan("a", [("g", "y")]).count() == 1
    assert letters.scan("a", [("g", "x")]).count() == 0
    with pytest.raises(errors.InvalidArgumentError, match="`columns` takes families"):
        letters.scan("a", [("g", "x", "z")])


def test_limits(letters: ostrakon.Table) -> None:
    assert letters.scan(limit=3).count() == 3
    assert pa.table(letters.scan(limit=3)).num_rows == 3
    assert pa.table(letters.scan(limit=0)).num_rows == 0
    assert letters.scan(limit=99).count() == 16
    with pytest.raises(errors.InvalidArgumentError, match="`limit` must not be negative"):
        letters.scan(limit=-1)


def test_iterators(letters: ostrakon.Table) -> None:
    grep = IteratorSetting(50, "GrepIterator", "grep", {"term": "15"})
    assert rows(letters.scan(iterators=[grep])) == "h"
    letters.attach_iterator(grep, ["scan"])
    assert rows(letters.scan()) == "h"
    letters.remove_iterator("grep")
    assert rows(letters.scan()) == "abcdefgh"
    with pytest.raises(errors.Error, match="NoSuchIterator"):
        letters.scan(iterators=[IteratorSetting(50, "NoSuchIterator")]).count()


def test_authorizations_that_are_not_held_are_refused() -> None:
    with ostrakon.open(auths=["a", "b"]) as store:
        table = store.create_table("t")
        table.put(["1", "2", "3"], visibility=["a", "b", "c"])
        assert rows(table.scan()) == "12"
        assert rows(table.scan(auths="b")) == "2"
        assert rows(table.scan(auths=[])) == ""
        with pytest.raises(errors.PermissionDeniedError, match="`auths`.*unknown: c") as caught:
            table.scan(auths=["a", "c"]).count()
        assert caught.value.context["argument"] == "auths"
    with pytest.raises(errors.InvalidArgumentError, match="`auths`"):
        ostrakon.open(auths=[""])


def test_arrow_batches(letters: ostrakon.Table) -> None:
    batches = [pa.record_batch(batch) for batch in letters.scan(batch_entries=5)]
    assert [batch.num_rows for batch in batches] == [5, 5, 5, 1]
    whole = pa.Table.from_batches(batches)
    assert whole.equals(pa.table(letters.scan()))
    assert whole.schema.names == ["row", "family", "qualifier", "visibility", "timestamp", "value"]
    assert pa.schema(letters.scan()) == whole.schema
    assert whole["value"].to_pylist() == [str(number) for number in range(16)]
    assert set(whole["visibility"].to_pylist()) == {""}


def test_fields(letters: ostrakon.Table) -> None:
    scan = letters.scan("a", fields=["value", "row"])
    assert pa.table(scan).to_pydict() == {"value": ["0", "1"], "row": ["a", "a"]}
    assert next(iter(scan)).fields == ["value", "row"]
    assert pa.table(letters.scan(fields=[])).num_columns == 0
    with pytest.raises(errors.InvalidArgumentError, match="`fields` has 'rows'"):
        letters.scan(fields=["rows"])


def test_frames_come_out(letters: ostrakon.Table) -> None:
    scan = letters.scan(("a", "b"), fields=["row", "value", "visibility"])
    values = {"row": ["a", "a", "b", "b"], "value": ["0", "1", "2", "3"]}
    assert scan.to_arrow().select(["row", "value"]).to_pydict() == values
    frame = scan.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame[["row", "value"]].to_dict("list") == values
    assert scan.to_polars().select("row", "value").to_dict(as_series=False) == values
    # The same scan may be read again, and by anything that knows the protocol.
    assert pl.DataFrame(scan).height == scan.count() == 4


def test_bytes_that_are_no_text(table: ostrakon.Table) -> None:
    table.put([b"a", b"\xff\xfe"], "q", "v")
    assert [e.row for e in table.scan(text=False).entries()] == [b"a", b"\xff\xfe"]
    with pytest.raises(errors.InvalidArgumentError, match="`row` holds bytes .* text=False"):
        list(table.scan().entries())
    with pytest.raises(pa.ArrowException, match="text=False"):
        pa.table(table.scan())
    assert table.scan().count() == 2


def test_labels_of_many_batches_share_a_dictionary(table: ostrakon.Table) -> None:
    labels = [f"l{number % 50}" for number in range(10_000)]
    names = [f"{number:05}" for number in range(10_000)]
    table.put(names, visibility=labels)
    found = pa.table(table.scan(auths=sorted(set(labels)), batch_entries=3000))
    assert found["visibility"].to_pylist() == labels
    assert all(len(chunk.dictionary) <= 51 for chunk in found["visibility"].chunks)


def test_ranges_and_settings_survive_pickling() -> None:
    for value in (Range("a", ("b", "f"), False), IteratorSetting(3, "x.Y", options={"a": "b"})):
        assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)
    assert len({Range.row("a"), Range("a", "a")}) == 1


def test_bad_ranges(letters: ostrakon.Table) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="starts after its end"):
        letters.scan(("b", "a")).count()
    with pytest.raises(errors.InvalidArgumentError, match="`ranges` takes rows"):
        letters.scan(3)
    with pytest.raises(errors.InvalidArgumentError, match="`start` of a range"):
        Range(("a", "b", "c", "d"))


def test_the_interpreter_runs_while_the_store_works(table: ostrakon.Table) -> None:
    """A call that kept the lock would leave the other thread no turn between two of its checks."""
    turns = 0
    done = threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1

    other = threading.Thread(target=count)
    names = np.char.add("row", np.arange(200_000).astype(str))
    other.start()
    try:
        before = turns
        table.put(names, "q", names)
        written = turns
        table.scan().count()
        read = turns
    finally:
        done.set()
        other.join()
    assert before < written < read


def test_a_reader_administers_nothing(tmp_path: Path) -> None:
    with ostrakon.open(auths=["a"]) as store:
        table = store.create_table("t")
        table.put("r", "q", 1, visibility="a")
        scan = pa.table(table.scan())
        assert scan.num_rows == 1
        for refused in (
            table.compact,
            table.flush,
            table.tablets,
            lambda: table.add_splits(["m"]),
            lambda: table.set_properties({"table.bloom.enabled": "true"}),
            lambda: store.clone_table("t", "u"),
            lambda: store.checkpoint(tmp_path / "copy"),
            store.check,
        ):
            with pytest.raises(ostrakon.errors.PermissionDeniedError, match="administrators"):
                refused()


def test_no_label_of_a_hidden_entry_goes_out() -> None:
    with ostrakon.open() as store:
        table = store.create_table("t")
        for at, label in enumerate(["", "a", "secret", "a&secret"]):
            table.put(f"r{at}", "q", 1, visibility=label)
        for auths, labels in (([], [""]), (["a"], ["", "a"])):
            column = pa.table(table.scan(auths=auths)).column("visibility")
            found = [label for chunk in column.chunks for label in chunk.dictionary.to_pylist()]
            assert found == labels


def test_rows_of_another_type_are_type_errors(letters: ostrakon.Table) -> None:
    for call in (
        lambda: letters.scan(5),
        lambda: letters.scan([None]),
        lambda: letters.scan().rows(5),
        lambda: letters.scan(columns=[5]),  # type: ignore[list-item]
    ):
        with pytest.raises(errors.ArgumentTypeError):
            call()
    with pytest.raises(errors.ArgumentTypeError, match="`rows` takes rows, pairs"):
        letters.scan().rows(5)


def test_an_iterator_that_is_not_there_cannot_be_removed(letters: ostrakon.Table) -> None:
    with pytest.raises(errors.NotFoundError, match="no iterator 'nope' for scan, minc, majc"):
        letters.remove_iterator("nope")
    letters.attach_iterator(IteratorSetting(30, "GrepIterator", "grep", {"term": "x"}), ["scan"])
    with pytest.raises(errors.NotFoundError, match="no iterator 'grep' for majc"):
        letters.remove_iterator("grep", ["majc"])
    letters.remove_iterator("grep")
    assert letters.count() > 0


def test_what_belongs_to_an_open_store_is_not_pickled(letters: ostrakon.Table) -> None:
    for thing in (letters, letters.scan()):
        with pytest.raises(TypeError, match="of an open store cannot be pickled: open the store"):
            pickle.dumps(thing)
        assert copy.copy(thing).count() == letters.count()
