"""The notebooks run from the first cell to the last."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ostrakon

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
# What Jupyter's own libraries warn of is none of ours; the notebook runs in a process of its own.
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs(path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for library in ("pandas", "matplotlib", "networkx"):
        pytest.importorskip(library)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    runner = nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}
    )
    runner.execute()
    pictures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 3


def test_a_notebook_runs_without_jupyter(tmp_path: Path) -> None:
    for library in ("pandas", "matplotlib", "networkx"):
        pytest.importorskip(library)
    arguments = [EXAMPLES / "run.py", EXAMPLES / "routes.ipynb", tmp_path / "figures"]
    run = subprocess.run(
        [sys.executable, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    figures = sorted((tmp_path / "figures").iterdir())
    assert [figure.name for figure in figures] == [f"figure-{at}.png" for at in (1, 2, 3)]
    assert run.stdout.splitlines()[-3:] == [str(figure) for figure in figures]
    assert all(figure.stat().st_size > 10_000 for figure in figures)


@pytest.mark.parametrize("processes", [1, 2])
def test_graphs_are_ingested_by_processes(processes: int, tmp_path: Path) -> None:
    script = [EXAMPLES / "spmd_ingest.py", tmp_path / "store", "--scale", "6", "--tablets", "3"]
    launch = []
    if processes > 1:
        pytest.importorskip("mpi4py")
        launch = ["-m", "ostrakon.spmd", "launch", "-n", str(processes)]
    run = subprocess.run(
        [sys.executable, *launch, *map(str, script)],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    tablets = 3 * processes
    edges = 8 * 64 * tablets
    expected = f"{processes} processes, {tablets} tablets: {edges:,} edges generated, "
    assert run.stdout.startswith(expected), run.stdout
    with ostrakon.open(tmp_path / "store") as store:
        table = store["Tgraph"]
        assert f", {table.count():,} entries stored in " in run.stdout.replace("generated, ", ", ")
        assert len(table.splits()) == tablets - 1
        # Equal edges are one entry, whose value is their number.
        values = [int(entry.value) for entry in table.scan().entries()]
        assert sum(values) == edges
        assert [path.name for path in tmp_path.iterdir()] == ["store"]
