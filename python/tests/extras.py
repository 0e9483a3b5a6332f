"""`python extras.py NAME`, in an environment with exactly one extra of the package (or `none`):
what the extra serves works, and what others serve says which extra is missing. `make test-extras`
makes the environments.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Extra -> the libraries it may bring, beside NumPy and SciPy.
BRINGS: dict[str, tuple[str, ...]] = {
    "none": (),
    "adbc": ("adbc_driver_manager", "pyarrow"),
    "arrow": ("pyarrow",),
    "graphblas": ("graphblas",),
    "mpi": ("mpi4py",),
    "networkx": ("networkx",),
    "pandas": ("pandas", "pyarrow"),
    "plots": ("matplotlib",),
    "polars": ("polars", "pyarrow"),
    "progress": ("tqdm",),
}

SCRIPT = """
from ostrakon import Assoc, spmd
A = spmd.gagg(Assoc("a,b,", "x,", [1, spmd.Pid + 1]))
assert A.to_dict2() == {("a", "x"): 2, ("b", "x"): 3}, A
assert (spmd.Np, len(spmd.allgather(A))) == (2, 2)
if spmd.is_leader():
    print("summed")
"""


def calls(folder: Path, store: Any) -> list[tuple[tuple[str, ...], str, Callable[[], Any]]]:
    """Libraries needed, the extra that is named when one is missing, a call."""
    from ostrakon import DB, Assoc

    array = Assoc("a,a,b,", "x,y,x,", [1, 2, 3])
    texts = Assoc("a,b,", "x,", "u,v,")
    table = store.create_table("t")
    table.put(["a", "b"], "q", ["1", "2"])

    def same(back: Assoc) -> None:
        assert back.equals(array), back

    def parquet() -> None:
        array.write_parquet(folder / "a.parquet")
        same(Assoc.read_parquet(folder / "a.parquet"))
        with DB() as db:
            assert db.ingest(folder / "a.parquet").records == 3

    def pandas() -> None:
        same(Assoc.from_pandas(array.to_pandas()))
        assert table.scan().to_pandas().shape == (2, 6)
        assert array.to_pandas(wide=True).shape == (2, 2)
        table.put_frame(array.to_pandas(), {"row": "row", "qualifier": "col", "value": "val"})
        with DB() as db:
            assert db.ingest(array.to_pandas()).records == 3

    def polars() -> None:
        same(Assoc.from_polars(array.to_polars()))
        frame = texts.to_polars()
        assert Assoc(frame["row"], frame["col"], frame["val"]).equals(texts)
        assert table.scan().to_polars().shape[1] == 6
        table.put_frame(array.to_polars(), {"row": "row", "qualifier": "col", "value": "val"})
        with DB() as db:
            assert db.ingest(array.to_polars()).records == 3

    def plots() -> None:
        for axes in (array.spy(), array.plot_degrees()):
            axes.figure.canvas.draw()

    def launch() -> None:
        script = folder / "script.py"
        script.write_text(SCRIPT)
        ran = subprocess.run(
            [sys.executable, "-m", "ostrakon.spmd", "launch", "-n", "2", str(script)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            # Open MPI asks for these where a container has one user and few processors.
            env=os.environ
            | {
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
            },
        )
        if "pip install mpi4py" in ran.stderr:
            raise ImportError(ran.stderr)
        assert (ran.returncode, ran.stdout.strip()) == (0, "summed"), ran.stderr

    def graphblas() -> None:
        same(Assoc.from_graphblas(array.to_graphblas(), array.row, array.col))
        assert array.matmul(array.T, engine="graphblas").equals(array @ array.T)

    def adbc() -> None:
        from ostrakon import adbc

        with adbc.connect(folder / "adbc") as connection, connection.cursor() as cursor:
            assert cursor.execute("SELECT 1 AS n").fetchall() == [(1,)]

    arrow = ("pyarrow",)
    return [
        (("adbc_driver_manager", "pyarrow"), "adbc", adbc),
        (arrow, "arrow", lambda: same(Assoc.from_arrow(array.to_arrow()))),
        (arrow, "arrow", lambda: table.scan().to_arrow().num_rows == 2 or 1 / 0),
        (arrow, "arrow", parquet),
        (("pandas", "pyarrow"), "pandas", pandas),
        (("polars", "pyarrow"), "polars", polars),
        (("matplotlib",), "plots", plots),
        (("networkx",), "networkx", lambda: same(Assoc.from_networkx(array.to_networkx()))),
        (("graphblas",), "graphblas", graphblas),
        (("tqdm",), "progress", lambda: table.put(["c"] * 9, "q", "v", progress=True)),
        (("mpi4py",), "mpi", launch),
    ]


def plain() -> None:
    """What works without any extra."""
    import numpy as np

    import ostrakon
    from ostrakon import DB, Assoc, graph, spmd
    from ostrakon.d4m import jaccard

    with DB() as db:
        pair = db["T", "Tt"]
        pair += Assoc("a,b,", "x,y,", [1, 2])
        assert pair[:, "y"].to_dict2() == {("b", "y"): 2}
        db.ingest([{"name": "ann"}])
        db.adjacency().put(Assoc("a,b,", "b,c,", 1))
        found = graph.bfs(db.store, "Tadj", "a", steps=2).levels()
        assert found == {"a": 0, "b": 1, "c": 2}
    array = Assoc(np.array(["a", "b"]), ["x", "x"], [1.5, 2.0])
    assert (array @ array.T).nnz == 4
    assert array.matmul(array.T, engine="scipy").equals(array.sqout())
    assert jaccard(Assoc("a,a,b,b,", "x,y,x,y,", 1)).nnz == 2
    with ostrakon.open() as store:
        assert store.create_table("t").put("a", "b", "c") == 1
    assert spmd.gagg(3) == 3
    with tempfile.TemporaryDirectory() as folder:
        array.save_mat(Path(folder) / "a.mat")
        array.write_matrix_market(Path(folder) / "a.mtx")
        array.write_csv(Path(folder) / "a.csv")
        assert Assoc.read_mat(Path(folder) / "a.mat").equals(array)


def failure(call: Callable[[], Any]) -> ImportError | None:
    """What a call raises for want of a library."""
    try:
        call()
    except ImportError as error:
        return error
    return None


def main(extra: str) -> None:
    """Checks this environment."""
    import ostrakon
    from ostrakon.errors import Error

    os.environ["MPLBACKEND"] = "agg"
    libraries = {library for brings in BRINGS.values() for library in brings}
    there = {library for library in libraries if importlib.util.find_spec(library)}
    assert there == set(BRINGS[extra]), f"{extra}: the environment has {sorted(there)}"
    plain()
    with ostrakon.open() as store, tempfile.TemporaryDirectory() as folder:
        for needed, named, call in calls(Path(folder), store):
            if there.issuperset(needed):
                call()
                continue
            error = failure(call)
            advice = "pip install mpi4py" if named == "mpi" else f"ostrakon[{named}]"
            assert advice in str(error), f"{named}: {error!r}"
            # Of the launcher only its text is known.
            assert isinstance(error, Error) or named == "mpi", repr(error)
    sys.stdout.write(f"{extra}: as it should be, with {', '.join(sorted(there)) or 'nothing'}\n")


if __name__ == "__main__":
    main(sys.argv[1])
