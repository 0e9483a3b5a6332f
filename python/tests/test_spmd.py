"""Processes that share work: alone in this process, and two of them over MPI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import ostrakon
from ostrakon import spmd
from ostrakon.spmd import processes

InvalidArgument = ostrakon.errors.InvalidArgumentError


def run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ostrakon.spmd", *arguments[:-1], str(script), arguments[-1]],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )


def write(folder: Path, text: str) -> Path:
    script = folder / "script.py"
    script.write_text(textwrap.dedent(text))
    return script


@pytest.mark.parametrize("dist", ["b", "c", "bc"])
@pytest.mark.parametrize(("length", "count"), [(0, 3), (1, 3), (7, 3), (9, 3), (10, 4), (5, 1)])
def test_every_index_has_one_owner(dist: str, length: int, count: int) -> None:
    where = spmd.Map(grid=(count,), dist=dist, block=2)
    owned = [where.indices(length, pid=pid) for pid in range(count)]
    assert sorted(np.concatenate(owned).tolist()) == list(range(length))
    for pid, indices in enumerate(owned):
        assert indices.tolist() == sorted(indices.tolist())
        assert all(where.owner(length, int(index)) == pid for index in indices)
    if dist == "b":
        ends = [where.block_range(length, pid=pid) for pid in range(count)]
        assert [end - begin for begin, end in ends] == [len(indices) for indices in owned]
        assert max(len(indices) for indices in owned) - min(len(i) for i in owned) <= 1


def test_a_grid_is_filled_column_by_column() -> None:
    where = spmd.Map(grid=(2, 2), dist=("b", "c"), pids=(3, 2, 1, 0))
    assert [where.place(pid) for pid in (3, 2, 1, 0)] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert where.place(9) is None
    assert where.indices(5, dim=0, pid=2).tolist() == [3, 4]
    assert where.indices(5, dim=1, pid=2).tolist() == [0, 2, 4]
    assert where.indices(5, dim=1, pid=9).tolist() == []


def test_wrong_maps_say_which_argument() -> None:
    for make, names in [
        (lambda: spmd.Map(grid=(0,)), "grid"),
        (lambda: spmd.Map(grid=(2,), dist="x"), "dist"),
        (lambda: spmd.Map(grid=(2,), dist=("b", "c")), "dist"),
        (lambda: spmd.Map(grid=(2,), pids=(1, 1)), "pids"),
        (lambda: spmd.Map(grid=(2,), block=0), "block"),
        (lambda: spmd.Map(grid=(2,)).indices(4, dim=1), "dimension 1"),
        (lambda: spmd.Map(grid=(2,)).owner(4, 4), "index 4"),
        (lambda: spmd.Map(grid=(2,), dist="c").block_range(9, pid=0), "cyclic"),
        (lambda: spmd.part([1], pid=2, np=2), "process 2"),
        (lambda: spmd.zeros((4, 4), spmd.Map(grid=(2,))), "grid"),
        (lambda: spmd.zeros((4, 4), spmd.Map(grid=(2, 1))), "process 1"),
        (lambda: spmd.put_local(spmd.zeros(3), [1, 2]), "shape"),
        (lambda: spmd.global_ind(spmd.zeros(3), dim=2), "dimension 2"),
        (lambda: spmd.send(1, to=1), "process 1"),
    ]:
        with pytest.raises(InvalidArgument, match=names):
            make()


def test_a_process_alone_has_everything() -> None:
    assert (spmd.Np, spmd.Pid, spmd.node_np(), spmd.node_pid()) == (1, 0, 1, 0)
    assert spmd.is_leader()
    array = spmd.zeros((4, 3), dtype=np.int64)
    assert array.local_shape() == (4, 3)
    assert spmd.global_ind(array, 1).tolist() == [0, 1, 2]
    assert spmd.global_block_range(array) == (0, 4)
    assert spmd.global_block_ranges(array) == {0: (0, 4)}
    assert spmd.owner(array, 3, 2) == 0
    filled = np.arange(12).reshape(4, 3)
    assert spmd.local(spmd.put_local(array, filled)).dtype == np.int64
    assert np.array_equal(spmd.agg(array), filled)
    assert np.array_equal(spmd.agg_all(spmd.from_local(filled, (4, 3), array.map)), filled)
    assert spmd.ones(2).local.tolist() == [[1.0], [1.0]]
    assert (spmd.gather("a"), spmd.allgather("a"), spmd.bcast("a")) == (["a"], ["a"], "a")
    assert (spmd.agg(5), spmd.agg_all(5), spmd.gagg([1])) == (5, 5, [1])
    spmd.barrier()
    spmd.send("hello", to=0, tag=4)
    assert spmd.probe(0, 4)
    assert not spmd.probe(0, 5)
    assert spmd.recv(0, 4) == "hello"
    with pytest.raises(ostrakon.errors.UnavailableError, match="tag 4"):
        spmd.recv(0, 4)
    with pytest.raises(ZeroDivisionError):
        spmd.on_leader(lambda: 1 // 0)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = spmd.nonsense


def test_several_processes_without_mpi_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if four processes had been started and mpi4py was not there: each would do all the work.
    monkeypatch.setenv("PMI_SIZE", "4")
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ostrakon.errors.UnsupportedError, match="one of 4 processes"):
        processes.world.__wrapped__()
    monkeypatch.setenv("PMI_SIZE", "1")
    assert processes.world.__wrapped__().size == 1


def test_two_processes_share_work_over_mpi(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import sys
        import numpy as np
        from ostrakon import spmd

        assert sys.argv[1:] == ["given"]
        assert spmd.Np == 2 and spmd.node_np() == 2 and spmd.node_pid() == spmd.Pid
        for dist, owned in [("b", [[0, 1, 2], [3, 4]]), ("c", [[0, 2, 4], [1, 3]])]:
            array = spmd.zeros(5, spmd.Map(grid=(2, 1), dist=dist))
            assert spmd.global_ind(array).tolist() == owned[spmd.Pid]
            array.local = spmd.global_ind(array)[:, None] * 10
            whole = spmd.agg(array)
            assert (whole is None) == (spmd.Pid == 1)
            assert spmd.agg_all(array).ravel().tolist() == [0, 10, 20, 30, 40]
            if spmd.is_leader():
                assert whole.ravel().tolist() == [0, 10, 20, 30, 40]
        # Rows of a map that names one process: the other has nothing.
        alone = spmd.zeros(3, spmd.Map(grid=(1, 1), pids=(1,)))
        assert alone.local.size == (3 if spmd.Pid == 1 else 0)
        alone.local = alone.local + 7
        assert spmd.agg_all(alone).ravel().tolist() == [7, 7, 7]
        assert spmd.gather(spmd.Pid, root=1) == (None, [0, 1])[spmd.Pid]
        assert spmd.allgather(spmd.Pid) == [0, 1]
        assert spmd.bcast(spmd.Pid, root=1) == 1
        # Not commutative: the lower process is on the left.
        assert spmd.gagg([spmd.Pid]) == [0, 1]
        assert spmd.agg([spmd.Pid]) == ([0, 1], None)[spmd.Pid]
        summed = spmd.world().reduce([spmd.Pid], lambda a, b: a + b, root=1)
        assert summed == (None, [0, 1])[spmd.Pid]
        # A message larger than any buffer of the library, both ways at once.
        other = 1 - spmd.Pid
        if spmd.Pid == 0:
            spmd.send(np.arange(1_000_000), to=other, tag=3)
        assert spmd.Pid == 0 or spmd.recv(other, tag=3)[-1] == 999_999
        spmd.send("self", to=spmd.Pid)
        assert spmd.recv(spmd.Pid) == "self"
        assert spmd.on_leader(lambda: spmd.Pid) == 0
        try:
            spmd.on_leader(lambda: 1 // 0)
        except ZeroDivisionError:
            pass
        else:
            raise AssertionError("the leader's failure was lost")
        assert spmd.part("abcde", "c") == (["a", "c", "e"], ["b", "d"])[spmd.Pid]
        spmd.barrier()
        if spmd.is_leader():
            print("done")
        """,
    )
    ran = run(script, "launch", "-n", "2", "given")
    assert (ran.returncode, ran.stdout.strip()) == (0, "done"), ran.stderr


def test_associative_arrays_are_summed_and_gathered_over_mpi(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        import numpy as np
        from ostrakon import Assoc, spmd
        from ostrakon.d4m import DB

        assert spmd.Np == 2
        me = spmd.Pid

        # Numbers meet and add up; each process has keys the other lacks.
        mine = Assoc(["both", f"only{me}"], "x", [me + 1, 10])
        total = spmd.gagg(mine)
        total.check_canonical()
        assert total.to_dict2() == {("both", "x"): 3, ("only0", "x"): 10, ("only1", "x"): 10}
        assert total.dtype == np.int64
        summed = spmd.agg(mine)
        assert (summed is None) if me else summed.equals(total)

        # Texts are put end to end, the lower process first.
        texts = spmd.gagg(Assoc("a,é,", "x,", [f"from{me}", f"{me}"]))
        assert texts.to_dict2() == {("a", "x"): "from0from1", ("é", "x"): "01"}

        # One process has nothing.
        part = Assoc("a,", "x,", 7) if me else Assoc()
        assert spmd.gagg(part).to_dict2() == {("a", "x"): 7}
        assert spmd.gagg(Assoc()).is_empty()

        # Every type of value and key survives the way.
        stamps = np.array([0, 5], "datetime64[us]")
        for array in (
            Assoc([3, 1], [2.5, 0.5], [1, 2]), Assoc("a,b,", "x,", stamps),
            Assoc("a,b,", "x,", [True, True]), Assoc(["b\\0", ""], "x", "u,v,"), Assoc(),
        ):
            for back in spmd.allgather(array):
                back.check_canonical()
                assert back.equals(array) and back.dtype == array.dtype
        gathered = spmd.gather(mine)
        if spmd.is_leader():
            assert [one.row.tolist() for one in gathered] == [["both", "only0"], ["both", "only1"]]
        else:
            assert gathered is None
        assert spmd.bcast(mine if me == 0 else None).row.tolist() == ["both", "only0"]

        # Larger than any buffer of the library: 400,000 entries each, half of the keys shared.
        at = np.arange(400_000) + 200_000 * me
        large = spmd.gagg(Assoc(at, at % 1000, 1))
        assert len(large) == 600_000 and large.sum() == 800_000

        # D4M's pipeline: each process counts its share, the sum of all is put by the leader.
        files = [[("a", "b"), ("a", "c")], [("b", "c")], [("a", "b")]]
        share = Assoc()
        for edges in spmd.part(files, "c"):
            share = share + Assoc([a for a, _ in edges], [b for _, b in edges], 1, "sum")
        graph = spmd.gagg(share)

        def put():
            with DB() as db:
                db.adjacency().put(graph)
                return db.adjacency().degrees("a,")

        degrees = spmd.on_leader(put)
        assert degrees.to_dict2() == {("a", "OutDeg"): 3}
        spmd.barrier()
        if spmd.is_leader():
            print("done")
        """,
    )
    ran = run(script, "launch", "-n", "2", "-")
    assert (ran.returncode, ran.stdout.strip()) == (0, "done"), ran.stderr


def test_an_exception_in_one_process_ends_all(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """
        from ostrakon import spmd
        if spmd.Pid == 1:
            raise ValueError("only here")
        spmd.barrier()  # would wait for ever
        """,
    )
    ran = run(script, "launch", "-n", "2", "-")
    assert ran.returncode != 0
    assert "ValueError: only here" in ran.stderr
    assert "process 1 of 2 failed" in ran.stderr


def test_the_exit_code_of_a_script_is_passed_on(tmp_path: Path) -> None:
    script = write(tmp_path, "import sys; sys.exit(7)")
    assert run(script, "run", "-").returncode == 7
    script = write(tmp_path, "from ostrakon import spmd; print(spmd.Np)")
    ran = run(script, "launch", "-n", "1", "-")
    assert (ran.returncode, ran.stdout) == (0, "1\n")


def test_a_missing_launcher_or_script_says_what_to_do(tmp_path: Path) -> None:
    script = write(tmp_path, "")
    ran = run(script, "launch", "-n", "2", "--mpiexec", "no-such-launcher", "-")
    assert ran.returncode == 1
    assert "no-such-launcher" in ran.stderr
    assert "pip install mpi4py mpich" in ran.stderr
    assert run(script, "launch", "-n", "0", "-").returncode == 2
    assert run(tmp_path / "absent.py", "launch", "-n", "1", "-").returncode == 2


PROGRAMS = {
    # Instead of installing: the environment of the tests has both.
    "pip": 'test "$*" = "install mpi4py mpich"',
    "python": f'exec "{sys.executable}" "$@"',
    # SLURM's, as far as the page uses it: it starts two processes.
    "srun": 'test "$1" = --mpi=pmix; shift; exec mpiexec -n 2 "$@"',
}


def test_the_page_on_processes_runs_as_printed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/spmd.md").read_text()
    blocks = re.findall(r"```(sh|python)\n(.*?)```", page, re.DOTALL)
    count, load = (code for language, code in blocks if language == "python")
    shells = [code for language, code in blocks if language == "sh"]
    assert len(shells) == 4

    tools = tmp_path / "bin"
    tools.mkdir()
    for name, code in PROGRAMS.items():
        (tools / name).write_text(f"#!/bin/sh\nset -e\n{code}\n")
        (tools / name).chmod(0o755)
    activate = tmp_path / "venv/bin/activate"
    activate.parent.mkdir(parents=True)
    activate.write_text("")
    for number in range(32):
        (tmp_path / f"edges-{number:02}.csv").write_text(f"a{number} b\na{number} c\n")

    def in_shell(code: str) -> str:
        path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
        ran = subprocess.run(
            ["/bin/sh", "-e", "-c", code],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "HOME": str(tmp_path), "NSLOTS": "3"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    (tmp_path / "script.py").write_text(count)
    printed = [in_shell(code) for code in shells]
    # As many processes as each of them starts.
    assert printed == [f"64 edges, read by {np} processes\n" for np in (2, 8, 2, 3)]

    (tmp_path / "script.py").write_text(count + load)
    assert "64 edges" in in_shell("python -m ostrakon.spmd launch -n 2 script.py")
    with ostrakon.open(tmp_path / "graphs") as store:
        assert store["Tedge"].count() == 64
    assert list((tmp_path / "parts").glob("*.sorted")) == []
