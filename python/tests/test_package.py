"""The package as a whole: quick to load, says its version, exceptions mirror the kinds."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import ostrakon
from ostrakon import _native, errors

HEAVY = ("scipy", "pandas", "polars", "pyarrow", "matplotlib", "networkx", "graphblas", "mpi4py")


def test_the_version_is_that_of_the_workspace() -> None:
    manifest = Path(__file__).parents[2] / "Cargo.toml"
    versions = re.findall(r'^version = "(.*)"$', manifest.read_text(), re.MULTILINE)
    assert versions == [ostrakon.__version__]


def test_importing_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, time\n"
        "begun = time.process_time()\n"
        "import ostrakon\n"
        "print(time.process_time() - begun)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    # The best of five: the first loads the library from disk, others may share the processor.
    seconds = []
    for _ in range(5):
        out = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        took, loaded = out.stdout.splitlines()
        assert loaded == "[]"
        seconds.append(float(took))
    assert min(seconds) < 0.2


def test_the_program_is_installed_with_the_package(tmp_path: Path) -> None:
    program = Path(sysconfig.get_path("scripts")) / "ostrakon"
    told = subprocess.run([program, "--version"], check=True, capture_output=True, text=True)
    assert told.stdout.split()[1].startswith(ostrakon.__version__)
    # It reads what the package wrote.
    with ostrakon.open(tmp_path / "store") as db:
        db.create_table("t").put("row", "q", "value", family="f")
    scan = [program, "--data", tmp_path / "store", "scan", "t"]
    told = subprocess.run(scan, check=True, capture_output=True, text=True)
    assert told.stdout == "row f:q []\tvalue\n"


def test_every_kind_of_error_has_its_exception() -> None:
    # Of memory, of other libraries and of Python's types the store knows nothing.
    ours = {"Error", "ArgumentTypeError", "TooLargeError", "MissingExtraError"}
    classes = set(errors.__all__) - ours
    assert set(_native.ERROR_KINDS.values()) == classes
    for name in classes:
        assert issubclass(getattr(errors, name), ostrakon.Error)


@pytest.mark.parametrize(
    "kind", [errors.NotFoundError, errors.TooLargeError, errors.MissingExtraError]
)
def test_exceptions_survive_pickling(kind: type[ostrakon.Error]) -> None:
    error = kind("no such table", {"table": "grahp"})
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.context) == (kind, "no such table", error.context)


def test_what_is_too_large_is_a_memory_error() -> None:
    assert issubclass(errors.TooLargeError, (MemoryError, ValueError))
    with pytest.raises(MemoryError, match="too much"):
        raise errors.TooLargeError("too much")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ostrakon.nonsense
    assert "Error" in dir(ostrakon)
