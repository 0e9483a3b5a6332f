"""How long a store lives, who may use it, and what Ctrl-C ends."""

import contextlib
import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import ostrakon
from ostrakon import Assoc, graph
from ostrakon.d4m import DB


def test_a_table_keeps_its_store(tmp_path):
    table = ostrakon.open(tmp_path / "s").create_table("t")
    gc.collect()
    assert table.put(["a", "b"], "x", "v") == 2
    scan = table.scan()
    writer = table.writer()
    del table
    gc.collect()
    assert scan.count() == 2
    writer.put("c", "x", "v")
    writer.close()
    batches = iter(scan)
    del scan, writer
    gc.collect()
    assert sum(len(batch) for batch in batches) == 3
    del batches
    gc.collect()
    # Nobody has it any more, so that another may open it.
    with ostrakon.open(tmp_path / "s") as store:
        assert store.table("t").scan().count() == 3


def test_a_stream_keeps_its_store():
    pyarrow = pytest.importorskip("pyarrow")
    table = ostrakon.open().create_table("t")
    table.put(["a", "b"], "x", "v")
    reader = pyarrow.RecordBatchReader.from_stream(table.scan())
    del table
    gc.collect()
    assert reader.read_all().num_rows == 2


def test_a_closed_store_is_closed_for_its_tables():
    store = ostrakon.open()
    table = store.create_table("t")
    store.close()
    store.close()
    assert store.closed
    for work in (table.flush, lambda: table.put("a"), table.scan().count, store.tables):
        with pytest.raises(ostrakon.errors.ClosedError):
            work()


@pytest.mark.parametrize("auths", [None, ["a"]])
def test_a_closed_store_can_be_opened_again_while_its_tables_live(tmp_path, auths):
    store = ostrakon.open(tmp_path / "s", auths=auths)
    table = store.create_table("t")
    table.put("a", "x", "v")
    scan, running = table.scan(), iter(table.scan())
    next(running)
    store.close()
    with ostrakon.open(tmp_path / "s", auths=auths) as again:
        assert again.table("t").scan().count() == 1
    for work in (scan.count, lambda: table.put("b")):
        with pytest.raises(ostrakon.errors.ClosedError):
            work()


def test_a_child_that_was_forked_is_refused_and_exits_in_order():
    program = """
        import gc, os, ostrakon

        store = ostrakon.open()
        table = store.create_table("t")
        table.put("a", "x", "v")
        writer = table.writer()
        running = iter(table.scan())
        next(running)
        child = os.fork()
        if child == 0:
            works = (
                store.tables, store.close, table.flush, table.compact, table.scan().count,
                lambda: table.put("b"), lambda: writer.put("b"), writer.flush, writer.close,
                lambda: next(running), lambda: table.bulk_import("b"),
            )
            for work in works:
                try:
                    work()
                except ostrakon.errors.UnsupportedError as error:
                    assert "forked" in str(error)
                else:
                    os._exit(3)
            del store, table, writer, running, works, work
            gc.collect()
            try:
                ostrakon.open()
            except ostrakon.errors.UnsupportedError as error:
                assert "forked" in str(error)
            else:
                os._exit(4)
            raise SystemExit(0)
        assert os.waitpid(child, 0)[1] == 0
        writer.put("b")
        writer.close()
        assert table.scan().count() == 2
        store.close()
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr


class Pressed(BaseException):
    """What Ctrl-C raises here."""


def pressed_during(work):
    """Whether a signal that comes while `work` runs ends it."""

    def raise_it(*_):
        raise Pressed

    before = signal.signal(signal.SIGUSR1, raise_it)
    main = threading.main_thread().ident
    begun = threading.Event()

    def press():
        begun.wait()
        time.sleep(0.02)
        signal.pthread_kill(main, signal.SIGUSR1)

    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        begun.set()
        work()
        pressing.join()
    except Pressed:
        return True
    finally:
        pressing.join()
        signal.signal(signal.SIGUSR1, before)
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_signal_ends_long_work():
    # Work that is over before the signal comes is made longer.
    for count in (1 << 18, 1 << 20, 1 << 22):
        keys = np.random.default_rng(1).integers(0, 1 << 60, count).astype("U")
        ended = []

        def build(keys=keys, ended=ended):
            ended.append(Assoc(keys, keys, 1))

        try:
            interrupted = pressed_during(build)
        except Pressed:
            interrupted = True
        if interrupted:
            assert not ended
            return
    pytest.fail("the signal never came in time")


def test_an_interrupted_import_leaves_the_table_whole():
    count = 1 << 17
    rows = np.random.default_rng(1).integers(0, 1 << 60, count).astype("U")
    with ostrakon.open() as store:
        table = store.create_table("t")
        with contextlib.suppress(Pressed):
            pressed_during(lambda: table.bulk_import(rows, "x", "v"))
        assert table.scan().count() in (0, len(set(rows)))
        assert table.put("after", "y", "z") == 1


# Half a second is promised. Machines that test much at once are given more.
PATIENCE = 3.0


# An iterator that looks at each byte of large values many times.
ROWS = 4000
VALUE = "".join(np.random.default_rng(1).choice(["a", "b"], 20_000))
SLOW = ostrakon.IteratorSetting(30, "RegExFilter", "slow", {"valueRegex": "[ab]*a[ab]{100}c"})


def large(store):
    table = store.create_table("large")
    rows = [f"{row:06}" for row in range(ROWS)]
    # A filter looks once at equal values of a batch.
    table.put(rows, "q", [VALUE + row for row in rows], durability="none")
    table.flush()
    return table


def counts(store):
    return large(store).scan().iterators(SLOW).count


def reads(store):
    return large(store).scan().iterators(SLOW).to_arrow


def compacts(store):
    table = large(store)
    return lambda: table.compact(iterators=[SLOW])


def puts(store):
    table = store.create_table("t")
    numbers = np.arange(4_000_000)
    return lambda: table.put(numbers, numbers, numbers, durability="none")


def ingests(store):
    rows = 600_000
    columns = {name: np.arange(rows) * 7919 % (rows - 1) for name in "abcdefgh"}
    records = DB(store).records()
    return lambda: records.ingest(columns)


def reads_types(store):
    schema = ostrakon.Schema({"n": "int"}, {"v": "text"})
    table = store.create_table("typed", schema=schema)
    table.typed().put({"n": np.arange(ROWS), "v": [VALUE] * ROWS}, durability="none")
    table.attach_iterator(SLOW, scopes=["scan"])
    return table.typed().to_arrow


def asks_in_sql(store):
    query = "SELECT count(*) FROM generate_series(1, 100000000000) AS t (n) WHERE n % 7 = 8"
    return store.sql(query).to_arrow


def multiplies(_):
    # Few entries, and many products of them.
    inner, outer = 100, 1_500
    rows = np.repeat(np.arange(outer), inner)
    columns = np.tile(np.arange(inner), outer)
    array = Assoc(rows, columns, np.ones(len(rows)))
    return lambda: array @ array.transpose()


def generates(_):
    return lambda: graph.kronecker(22, 16)


WORK = {
    "count": counts,
    "to_arrow": reads,
    "compact": compacts,
    "put": puts,
    "Records.ingest": ingests,
    "typed": reads_types,
    "sql": asks_in_sql,
    "product": multiplies,
    "kronecker": generates,
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", WORK)
def test_ctrl_c_is_raised_in_time(name):
    with ostrakon.open() as store:
        work = WORK[name](store)
        main = threading.main_thread().ident
        done = threading.Event()
        pressed = []

        def press():
            if not done.wait(0.3):
                pressed.append(time.monotonic())
                signal.pthread_kill(main, signal.SIGINT)

        pressing = threading.Thread(target=press)
        pressing.start()
        try:
            work()
        except KeyboardInterrupt:
            assert time.monotonic() - pressed[0] < PATIENCE
        else:
            pytest.fail("the work was over before the signal")
        finally:
            done.set()
            pressing.join()
