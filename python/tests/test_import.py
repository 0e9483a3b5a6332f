"""Sorted files: written by one process, taken over by another, all at once."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import ostrakon
from ostrakon import errors

if TYPE_CHECKING:
    from pathlib import Path


def test_files_are_taken_over_and_leave_the_directory(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    rows = np.array([f"{n:05}" for n in range(1000)])
    shuffled = np.random.default_rng(1).permutation(rows)
    assert ostrakon.write_sorted_file(parts / "a.sorted", shuffled, "q", np.arange(1000)) == 1000
    frame = pa.table({"row": ["x", "w"], "value": ["1", "2"]})
    assert ostrakon.write_sorted_frame(parts / "b.sorted", frame, family="f") == 2
    (parts / "_SUCCESS").touch()
    with ostrakon.open(tmp_path / "store") as store:
        table = store.create_table("t", splits=["00500"])
        for transfer, left in [("copy", 3), ("link", 3), ("move", 1)]:
            report = table.import_directory(parts, transfer=transfer, verify=True)
            assert report[:2] == (2, 1002)
            assert report.files_left == 0
            assert len(list(parts.iterdir())) == left
            assert table.scan().count() == 1002
        found = [entry.row for entry in table.scan().entries()]
        assert found == [*rows.tolist(), "w", "x"]
    with ostrakon.open(tmp_path / "store") as store:
        assert store.table("t").scan().count() == 1002


def test_what_cannot_be_imported_is_named_and_nothing_is(tmp_path: Path) -> None:
    ostrakon.write_sorted_file(tmp_path / "a.sorted", ["a"])
    with ostrakon.open() as store:
        table = store.create_table("t")
        (tmp_path / "b.sorted").write_bytes(b"x" * 100)
        with pytest.raises(errors.CorruptionError, match=r"b\.sorted"):
            table.import_directory(tmp_path)
        (tmp_path / "b.sorted").unlink()
        (tmp_path / "c.txt").touch()
        with pytest.raises(errors.InvalidArgumentError, match=r"c\.txt"):
            table.import_directory(tmp_path)
        (tmp_path / "c.txt").unlink()
        with pytest.raises(errors.InvalidArgumentError, match="transfer"):
            table.import_directory(tmp_path, transfer="steal")
        assert table.scan().count() == 0
        assert table.import_directory(tmp_path).entries == 1
        with pytest.raises(errors.InvalidArgumentError, match="no file to import"):
            table.import_directory(tmp_path)
        assert table.import_directory(tmp_path, allow_empty=True).files == 0
        with pytest.raises(errors.NotFoundError):
            table.import_directory(tmp_path / "absent")
    with pytest.raises(errors.ClosedError):
        table.import_directory(tmp_path)


def test_wrong_files_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"\.sorted"):
        ostrakon.write_sorted_file(tmp_path / "a.txt", ["a"])
    with pytest.raises(errors.InvalidArgumentError, match="value"):
        ostrakon.write_sorted_file(tmp_path / "a.sorted", ["a", "b"], "q", [1, 2, 3])
    # It would hide the entry from every reader.
    with pytest.raises(errors.InvalidArgumentError, match="visibility"):
        ostrakon.write_sorted_file(tmp_path / "a.sorted", ["a"], "q", [1], visibility="x&")
    assert list(tmp_path.iterdir()) == []
    ostrakon.write_sorted_file(tmp_path / "a.sorted", ["a"])
    with pytest.raises(errors.AlreadyExistsError, match=r"a\.sorted"):
        ostrakon.write_sorted_file(tmp_path / "a.sorted", ["b"])


def test_ranks_sort_their_parts_and_the_leader_imports_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, pathlib
            import ostrakon
            from ostrakon import spmd

            folder = pathlib.Path(sys.argv[1])
            parts = folder / "parts"
            spmd.on_leader(parts.mkdir)
            mine = spmd.part([f"{n:03}" for n in range(100)], "c")
            ostrakon.write_sorted_file(parts / f"part-{spmd.Pid}.sorted", mine, "q", spmd.Pid)
            spmd.barrier()

            def take_over():
                with ostrakon.open(folder / "store") as store:
                    return store.create_table("t").import_directory(parts).entries

            assert spmd.on_leader(take_over) == 100
            """
        )
    )
    launch = [sys.executable, "-m", "ostrakon.spmd", "launch", "-n", "2"]
    subprocess.run([*launch, str(script), str(tmp_path)], check=True, timeout=120)
    with ostrakon.open(tmp_path / "store") as store:
        entries = list(store.table("t").scan().entries())
        assert [entry.value for entry in entries] == ["0", "1"] * 50
