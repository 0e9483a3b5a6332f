"""Stores and their tables as a whole."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import ostrakon
from ostrakon import IteratorSetting, errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_directory_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with ostrakon.open(path) as store:
        store.create_table("t").put(["a", "b"], "q", "v")
        identity = store.instance_id
        assert store.path == path
    with ostrakon.open(str(path)) as store:
        assert store.instance_id == identity
        assert store.table("t").scan().count() == 2
        assert store.check().problems == []
    with ostrakon.open(path, read_only=True) as store:
        assert store.table("t").scan().count() == 2
        with pytest.raises(errors.ReadOnlyError):
            store.table("t").put("c")


def test_a_process_that_is_killed_loses_nothing_acknowledged(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, ostrakon\n"
        "store = ostrakon.open(sys.argv[1])\n"
        "store.create_table('t').put([str(n) for n in range(5000)], 'q', 'v')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "db"
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    with ostrakon.open(path) as store:
        assert store.table("t").scan().count() == 5000


def test_tables_come_and_go(store: ostrakon.Store) -> None:
    table = store.create_table("a", splits=["g", b"p"], properties={"table.durability": "flush"})
    assert table.splits() == [b"g", b"p"]
    assert table.properties()["table.durability"] == "flush"
    table.put(["f", "k", "z"], "q", "v")
    clone = store.clone_table("a", "b")
    table.put("zz")
    assert (table.scan().count(), clone.scan().count()) == (4, 3)
    store.rename_table("a", "c")
    assert (store.tables(), table.name) == (["b", "c"], "c")
    assert "b" in store
    assert list(store) == ["b", "c"]
    assert len(store) == 2
    assert [info.time_type for info in store.table_infos()] == ["millis", "millis"]
    store.drop("c")
    with pytest.raises(errors.NotFoundError):
        table.scan().count()
    with pytest.raises(errors.NotFoundError, match="no such table .*similar: b") as caught:
        store.table("bb")
    assert caught.value.context == {"table": "bb", "similar": "b"}
    with pytest.raises(errors.AlreadyExistsError):
        store.create_table("b")
    assert store.create_table("b", exist_ok=True).scan().count() == 3
    with pytest.raises(errors.InvalidArgumentError, match="logical"):
        store.create_table("d", time_type="lunar")


def test_tablets_are_split_merged_and_emptied(table: ostrakon.Table) -> None:
    table.put([f"{n:03}" for n in range(100)], "q", "v")
    table.add_splits(["025", "050", "075"])
    assert [tablet.end for tablet in table.tablets()] == [b"025", b"050", b"075", None]
    table.merge("025", "075")
    assert table.splits() == [b"025", b"075"]
    table.delete_rows("009", "089")
    assert table.scan().count() == 20
    table.flush()
    table.compact()
    assert sum(tablet.entries for tablet in table.tablets()) == 20
    table.set_properties({"table.split.threshold": "1G"})
    assert table.properties()["table.split.threshold"] == "1G"
    table.set_properties({"table.split.threshold": None})
    with pytest.raises(errors.Error, match="table.splitt"):
        table.set_properties({"table.splitt.threshold": "1G"})


def test_combiners_sum(store: ostrakon.Store) -> None:
    table = store.create_table("degrees", versioning=False)
    summing = IteratorSetting(10, "SummingCombiner", "sum", {"all": "true", "type": "STRING"})
    table.attach_iterator(summing)
    for _ in range(3):
        table.put(["a", "b"], "degree", [1, 10])
    assert [entry.value for entry in table.scan().entries()] == ["3", "30"]


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_bulk_import(table: ostrakon.Table, order: str) -> None:
    names = [f"{n:05}" for n in range(30_000)]
    given = names if order == "sorted" else names[::-7] + [n for n in names if n not in names[::-7]]
    given = given if order == "sorted" else list(dict.fromkeys(given))
    assert table.bulk_import(given, "q", given, family="f", timestamp=5) == 30_000
    assert [e.row for e in table.scan().entries()] == names
    first = next(table.scan().entries())
    assert first == ostrakon.Entry("00000", "f", "q", "", 5, "00000")


def test_the_last_of_equal_entries_of_a_bulk_import_stays(table: ostrakon.Table) -> None:
    table.bulk_import(["b", "a", "a"], "q", ["1", "old", "new"])
    assert [e.value for e in table.scan().entries()] == ["new", "1"]
    assert next(table.scan().entries()).timestamp > 1_600_000_000_000


def test_checkpoints_open(store: ostrakon.Store, tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "one") as first:
        first.create_table("t").put(["a", "b"])
        first.checkpoint(tmp_path / "two")
        first.table("t").put("c")
        with ostrakon.open(tmp_path / "two") as second:
            assert second.table("t").scan().count() == 2
        with pytest.raises(errors.AlreadyExistsError):
            first.checkpoint(tmp_path / "two")


def test_check_finds_damage_and_tells_progress(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        table = store.create_table("t")
        table.put([str(n) for n in range(10_000)], "q", "v")
        table.flush()
        calls: list[tuple[int, int]] = []
        report = store.check(progress=lambda done, total: calls.append((done, total)))
        assert report.entries == 10_000
        assert report.problems == []
        assert calls
        with pytest.raises(KeyError):
            store.check(progress=lambda done, total: {}[done])
    damaged = max((tmp_path / "db" / "files").iterdir(), key=lambda file: file.stat().st_size)
    content = bytearray(damaged.read_bytes())
    content[100] ^= 0xFF
    damaged.write_bytes(content)
    with ostrakon.open(tmp_path / "db") as store:
        assert [problem.table for problem in store.check().problems] == ["t"]
        with pytest.raises(errors.CorruptionError):
            store.table("t").scan().count()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = ostrakon.open(tmp_path / "db")
    table = store.create_table("t")
    table.put([str(n) for n in range(1000)])
    writer = table.writer()
    writer.put("late")
    scan = iter(table.scan(batch_entries=10))
    assert len(next(scan)) == 10
    store.close()
    store.close()
    assert store.closed
    assert "closed" in repr(store)
    for call in (
        store.tables,
        lambda: store.table("t"),
        lambda: store.create_table("u"),
        lambda: store.instance_id,
        lambda: store.check(),
        lambda: table.put("a"),
        lambda: table.scan().count(),
        lambda: table.bulk_import("a"),
        table.flush,
        table.compact,
        table.properties,
        lambda: writer.flush(),
        lambda: list(scan),
    ):
        with pytest.raises(errors.ClosedError):
            call()


def test_a_second_handle_is_told_to_close_the_first(tmp_path: Path) -> None:
    with (
        ostrakon.open(tmp_path / "db"),
        pytest.raises(
            errors.LockedError,
            match=r"this process .*another handle.*close the other handle with its close\(\)",
        ) as raised,
    ):
        ostrakon.open(tmp_path / "db")
    assert "a checkpoint made by the process that has it open" in str(raised.value)


def test_a_second_process_is_told_which_process_has_the_store_open(tmp_path: Path) -> None:
    code = (
        "import sys, ostrakon\n"
        "store = ostrakon.open(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"open\n"
    with pytest.raises(
        errors.LockedError, match=rf"process {holder.pid} .*: close it there, .*`wait=SECONDS`"
    ):
        ostrakon.open(tmp_path / "db")
    holder.communicate()
    ostrakon.open(tmp_path / "db").close()
    with pytest.raises(errors.NotFoundError):
        ostrakon.open(tmp_path / "absent", create=False)


def test_processes_may_read_a_store_together(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        store.create_table("t").put("a", "b", 1)
    with (
        ostrakon.open(tmp_path / "db", read_only=True) as one,
        ostrakon.open(tmp_path / "db", read_only=True) as other,
    ):
        assert one.tables() == other.tables() == ["t"]
        with pytest.raises(errors.LockedError, match="waited"):
            ostrakon.open(tmp_path / "db", wait=0.05)
    with pytest.raises(ValueError, match="seconds"):
        ostrakon.open(tmp_path / "db", wait=-1)


def test_a_checkpoint_of_a_store_in_memory_is_a_directory(tmp_path: Path) -> None:
    with ostrakon.open() as store:
        store.create_table("t").put("a", "b", 1)
        store.checkpoint(tmp_path / "copy")
    with ostrakon.open(tmp_path / "copy") as copy:
        assert copy.tables() == ["t"]


def in_child(work: Callable[[], None]) -> int:
    """The exit code of a forked process that does `work`, within a minute."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_of_a_process_with_an_open_store_is_refused_stores(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        table = store.create_table("t")
        table.put("a", "b", 1)
        table.flush()
        ostrakon.write_sorted_file(tmp_path / "parent.sorted", ["a"], "b", "1")

        def work() -> None:
            # Locks of the library know threads that the child lacks, so nothing is begun there.
            for call in (
                lambda: table.put("c", "d", 1),
                lambda: table.flush(),
                lambda: table.scan().count(),
                lambda: store.create_table("u"),
                lambda: store.close(),
                lambda: ostrakon.open(tmp_path / "db"),
                lambda: ostrakon.open(tmp_path / "own"),
                lambda: ostrakon.write_sorted_file(tmp_path / "c.sorted", ["a"], "b", "1"),
            ):
                with pytest.raises(errors.UnsupportedError, match="fork"):
                    call()
            assert not (tmp_path / "own").exists()
            assert not (tmp_path / "c.sorted").exists()

        assert in_child(work) == 0
        table.put("e", "f", 1)
        assert table.scan().count() == 2


def test_a_second_close_waits_for_the_first(tmp_path: Path) -> None:
    for _ in range(3):
        store = ostrakon.open(tmp_path / "db")
        name = f"t{len(store.tables())}"
        table = store.create_table(name, properties={"table.durability": "none"})
        table.put([f"r{at}" for at in range(20_000)], "c", "v")
        first = threading.Thread(target=store.close)
        first.start()
        while not store.closed:
            pass
        store.close()
        with ostrakon.open(tmp_path / "db", wait=0) as again:
            assert again[name].scan().count() == 20_000
        first.join()


def test_a_process_forked_while_no_store_is_open_works(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        store.create_table("t").put("a", "b", 1)
        ostrakon.write_sorted_file(tmp_path / "parent.sorted", ["a"], "b", "1")

    def work() -> None:
        ostrakon.write_sorted_file(tmp_path / "child.sorted", ["a"], "b", "1")
        for name in ("db", "own"):
            with ostrakon.open(tmp_path / name) as own:
                own.create_table("u").put("a", "b", 1)
                own["u"].flush()
                assert own["u"].scan().count() == 1

    for _ in range(5):
        assert in_child(work) == 0
        with ostrakon.open(tmp_path / "db") as store:
            store.drop("u")
        with ostrakon.open(tmp_path / "own") as store:
            store.drop("u")
        (tmp_path / "child.sorted").unlink()


def test_an_open_store_is_not_pickled(store: ostrakon.Store) -> None:
    with pytest.raises(TypeError, match="open it where it is needed"):
        pickle.dumps(store)


def test_offline_tables_answer_no_more(store: ostrakon.Store, table: ostrakon.Table) -> None:
    table.put("a")
    store.set_online("t", False)
    with pytest.raises(errors.ClosedError):
        table.scan().count()
    store.set_online("t", True)
    assert table.scan().count() == 1


def test_a_table_that_fails_is_a_problem_and_others_work(store: ostrakon.Store) -> None:
    sums = {
        "table.iterator.minc.sum": "10,SummingCombiner",
        "table.iterator.minc.sum.opt.type": "STRING",
        "table.iterator.minc.sum.opt.all": "true",
    }
    table = store.create_table("sums", properties=sums, versioning=False)
    other = store.create_table("other")
    table.put(["secret", "secret"], "q", ["one", "two"])
    assert store.problems() == []
    with pytest.raises(errors.Error):
        table.flush()
    (problem,) = store.problems()
    assert (problem.table, problem.activity) == ("sums", "flush")
    assert store.problems("sums") == [problem]
    assert store.problems("other") == []
    assert "secret" not in problem.message
    other.put("row")
    other.flush()
    table.set_properties({"table.iterator.minc.sum.opt.lossy": "true"})
    table.flush()
    assert store.problems() == []


def test_a_lost_file_is_put_back_from_a_checkpoint(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        table = store.create_table("t")
        table.put(["a", "b"], "q", "v")
        table.flush()
        store.checkpoint(tmp_path / "copy")
    (lost,) = (tmp_path / "db" / "files").iterdir()
    lost.unlink()
    with ostrakon.open(tmp_path / "db") as store:
        with pytest.raises(errors.Error):
            store.table("t").scan().count()
        restored = store.restore_file(tmp_path / "copy" / "files" / lost.name)
        assert restored.tables == ["t"]
        assert store.table("t").scan().count() == 2


def test_a_file_without_a_copy_is_dropped(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        store.create_table("t").put("a", "q", "v")
        store.table("t").flush()
    (lost,) = (tmp_path / "db" / "files").iterdir()
    with ostrakon.open(tmp_path / "db") as store:
        with pytest.raises(ValueError, match="undamaged"):
            store.drop_file(lost)
        assert store.table("t").scan().count() == 1
    lost.write_bytes(lost.read_bytes()[:-1])
    with ostrakon.open(tmp_path / "db") as store:
        dropped = store.drop_file(lost.name)
        assert (dropped.entries, dropped.tables) == (1, ["t"])
        assert dropped.moved_to is not None
        assert (tmp_path / "db" / dropped.moved_to).exists()
        assert store.table("t").scan().count() == 0
        assert store.check().problems == []
    with ostrakon.open(tmp_path / "db", auths="x") as store, pytest.raises(errors.Error):
        store.drop_file(lost.name)


def test_the_loss_of_a_part_of_the_log_can_be_accepted(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        store.create_table("t").put("a", "q", "v")
    (segment,) = (tmp_path / "db" / "wal").iterdir()
    written = bytearray(segment.read_bytes())
    written[-3] ^= 1
    segment.write_bytes(written)
    with pytest.raises(errors.CorruptionError, match="accept the loss"):
        ostrakon.open(tmp_path / "db")
    with ostrakon.open(tmp_path / "db", read_only=True, allow_damage=True) as store:
        assert store.log_losses()[0].tables == ["t"]
    with ostrakon.open(tmp_path / "db", accept_log_loss=True) as store:
        (loss,) = store.log_losses()
        assert loss.file.endswith(segment.name)
        store["t"].put("b", "q", "v")
    with ostrakon.open(tmp_path / "db") as store:
        assert store["t"].count() == 1
        assert store.log_losses() == []


def test_tables_of_events_are_reserved(tmp_path: Path) -> None:
    log = tmp_path / "web.json"
    log.write_text('{"ts":"2026-01-01T00:00:00Z","host":"a"}\n')
    with ostrakon.open(tmp_path / "db") as store:
        events = store.create_events("web", log)
        events.ingest(log)
        with pytest.raises(ValueError, match="event type"):
            store.drop("events.web_index")
        with pytest.raises(ValueError, match="event type"):
            store.rename_table("events.web", "other")
        for name in ("events.web", "events.web_index", "events.web_aggregate", "events.types"):
            table = store[name]
            with pytest.raises(errors.InvalidArgumentError, match="event type"):
                table.attach_iterator(IteratorSetting(30, "AgeOffFilter", options={"ttl": "1"}))
            with pytest.raises(errors.InvalidArgumentError, match="event type"):
                table.set_properties({"table.constraint.1": "DefaultKeySizeConstraint"})
            # These keep all entries.
            table.set_properties({"table.file.max": "20"})
            table.compact()
        iterator = {"table.iterator.majc.age": "30,AgeOffFilter"}
        with pytest.raises(errors.InvalidArgumentError, match="event types"):
            store.set_properties(iterator, namespace="events")
        assert store.events("web").query().count() == 1
        assert store.events("web").check().disagreements == []
    with ostrakon.open(tmp_path / "db", auths="x") as store:
        with pytest.raises(errors.PermissionDeniedError):
            store.table("events.types")
        with pytest.raises(errors.PermissionDeniedError):
            store.table("events.web_aggregate").put("a", "b", "c")
        with pytest.raises(errors.PermissionDeniedError):
            store.drop("events.web")
        with pytest.raises(errors.Error, match="reserved"):
            store.sql("SELECT * FROM cells.events.types").fetchall()
        assert store.events("web").query().count() == 1


def test_rows_are_located_and_classes_found(store: ostrakon.Store) -> None:
    table = store.create_table("t", splits=["g"])
    assert table.locate("a")[:3] == (None, b"g", "local")
    before = table.locate("z")
    assert (before.previous_end, before.end) == (b"g", None)
    table.add_splits(["n"])
    after = table.locate("z")
    assert after.previous_end == b"n"
    assert after.layout > before.layout
    found = store.find_class("VersioningIterator")
    assert found is not None
    assert found.name.endswith(".VersioningIterator")
    assert store.find_class("VisibilityConstraint") is None
    assert store.find_class("VisibilityConstraint", constraint=True) is not None
    assert store.find_class("NoSuchIterator") is None


def test_calls_end_with_their_time(table: ostrakon.Table) -> None:
    table.put("a")
    for call in (table.flush, table.compact):
        with pytest.raises(errors.TimedOutError):
            call(timeout=0)
        with pytest.raises(errors.InvalidArgumentError, match="seconds"):
            call(timeout=-1)
        call(timeout=3600)


def test_tables_inherit_from_namespaces_and_the_store(store: ostrakon.Store) -> None:
    store.create_namespace("people")
    assert store.namespaces() == ["", "accumulo", "people"]
    table = store.create_table("people.a")
    store.set_properties({"table.file.max": "5"})
    store.set_properties({"table.durability": "log"}, namespace="people")
    assert store.properties() == {"table.file.max": "5"}
    assert store.properties("people") == {"table.durability": "log"}
    assert table.properties()["table.file.max"] == "5"
    assert table.properties()["table.durability"] == "log"
    store.set_properties({"table.durability": None, "table.bloom.enabled": None}, "people")
    assert table.properties()["table.durability"] == "sync"
    store.rename_namespace("people", "authors")
    assert store.tables() == ["authors.a"]
    with pytest.raises(errors.NotEmptyError):
        store.delete_namespace("authors")
    store.drop("authors.a")
    store.delete_namespace("authors")
    with pytest.raises(errors.NamespaceNotFoundError, match="create_namespace"):
        store.create_table("authors.a")


def test_an_error_of_damage_names_the_file_and_the_next_step(tmp_path: Path) -> None:
    with ostrakon.open(tmp_path / "db") as store:
        store.create_table("t").put("a", "q", "v")
    (segment,) = (tmp_path / "db" / "wal").iterdir()
    written = segment.read_bytes()
    segment.write_bytes(written[:-3] + bytes([written[-3] ^ 1]) + written[-2:])
    for read_only in (True, False):
        with pytest.raises(errors.CorruptionError) as raised:
            ostrakon.open(tmp_path / "db", read_only=read_only)
        assert raised.value.context["file"].endswith(segment.name)
        assert "read_only=True, allow_damage=True" in str(raised.value)
        assert "accept_log_loss=True" in str(raised.value)
    segment.write_bytes(written)
    for name in ("catalog", "catalog.mirror"):
        path = tmp_path / "db" / name
        damaged = bytearray(path.read_bytes())
        damaged[: len(damaged) // 2] = b"x" * (len(damaged) // 2)
        path.write_bytes(damaged)
    for read_only in (True, False):
        with pytest.raises(errors.CorruptionError, match="open a checkpoint") as raised:
            ostrakon.open(tmp_path / "db", read_only=read_only)
        assert "catalog" in raised.value.context["file"]


def test_paths_that_are_no_directories_are_named(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("x")
    with pytest.raises(errors.InvalidArgumentError, match="the path is a file; a store is a dir"):
        ostrakon.open(file)
    with pytest.raises(errors.InvalidArgumentError, match="`path` is empty"):
        ostrakon.open("")


def test_the_index_of_a_store_is_a_name(store: ostrakon.Store) -> None:
    with pytest.raises(errors.ArgumentTypeError, match="is the `name` of a table, not 5"):
        store[5]  # type: ignore[index]
