"""The processes of this program: one alone, or those that an MPI launcher started."""

from __future__ import annotations

import collections
import functools
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ostrakon.errors import InvalidArgumentError, UnavailableError, UnsupportedError

__all__ = ["World", "world"]

Combine = Callable[[Any, Any], Any]

# Variables in which launchers pass the number of processes: MPICH and Intel MPI, Open MPI,
# SLURM's srun.
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS")

INSTALL = "pip install mpi4py mpich"


class World:
    """The processes of a program, and the messages between them.

    This one is a process alone: it talks to itself, so that a script needs no special case. Values
    that travel are pickled.
    """

    def __init__(self) -> None:
        self._mail: dict[object, collections.deque[Any]] = {}

    @property
    def size(self) -> int:
        """How many processes there are."""
        return 1

    @property
    def rank(self) -> int:
        """Which one this is, from 0."""
        return 0

    @property
    def node_size(self) -> int:
        """How many of them share this machine's memory."""
        return 1

    @property
    def node_rank(self) -> int:
        """Which of those this is, from 0."""
        return 0

    @property
    def is_leader(self) -> bool:
        """Whether this is process 0."""
        return self.rank == 0

    def barrier(self) -> None:
        """Waits until every process has called it."""

    def bcast(self, value: Any, root: int = 0) -> Any:
        """The value that process `root` has, in every process."""
        self._check(root)
        return value

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """The values of all processes, in order, at `root`; `None` elsewhere."""
        self._check(root)
        return [value]

    def allgather(self, value: Any) -> list[Any]:
        """The values of all processes, in order, in every process."""
        return [value]

    def reduce(self, value: Any, combine: Combine, root: int = 0) -> Any:
        """The values of all processes combined along a tree, at `root`; `None` elsewhere."""
        del combine
        self._check(root)
        return value

    def send(self, value: Any, to: int, tag: int = 0) -> None:
        """Sends a value to a process. Returns when the value may be changed again."""
        self._check(to)
        self._mail.setdefault(tag, collections.deque()).append(value)

    def recv(self, source: int, tag: int = 0) -> Any:
        """Waits for a value from a process and takes it."""
        self._check(source)
        if not self._mail.get(tag):
            raise UnavailableError(
                f"nothing was sent with tag {tag}, and a process alone would wait forever: "
                "send before you receive",
                {"tag": str(tag)},
            )
        return self._mail[tag].popleft()

    def probe(self, source: int, tag: int = 0) -> bool:
        """Whether `recv` would return at once."""
        self._check(source)
        return bool(self._mail.get(tag))

    def abort(self, code: int = 1) -> None:
        """Ends every process of the program at once, for one that cannot go on."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def _check(self, rank: int) -> None:
        if not 0 <= rank < self.size:
            raise InvalidArgumentError(
                f"process {rank} does not exist: there are {self.size}, from 0",
                {"process": str(rank)},
            )


class MpiWorld(World):
    """The processes that an MPI launcher started."""

    def __init__(self, mpi: Any) -> None:
        super().__init__()
        self._mpi = mpi
        # A communicator of our own: no message of the script or another library can get between.
        self._comm = mpi.COMM_WORLD.Dup()
        self._node = self._comm.Split_type(mpi.COMM_TYPE_SHARED)

    @property
    def size(self) -> int:
        """How many processes there are."""
        return int(self._comm.size)

    @property
    def rank(self) -> int:
        """Which one this is, from 0."""
        return int(self._comm.rank)

    @property
    def node_size(self) -> int:
        """How many of them share this machine's memory."""
        return int(self._node.size)

    @property
    def node_rank(self) -> int:
        """Which of those this is, from 0."""
        return int(self._node.rank)

    def barrier(self) -> None:
        """Waits until every process has called it."""
        self._comm.Barrier()

    def bcast(self, value: Any, root: int = 0) -> Any:
        """The value that process `root` has, in every process."""
        self._check(root)
        return self._comm.bcast(value, root=root)

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        """The values of all processes, in order, at `root`; `None` elsewhere."""
        self._check(root)
        gathered: list[Any] | None = self._comm.gather(value, root=root)
        return gathered

    def allgather(self, value: Any) -> list[Any]:
        """The values of all processes, in order, in every process."""
        gathered: list[Any] = self._comm.allgather(value)
        return gathered

    def reduce(self, value: Any, combine: Combine, root: int = 0) -> Any:
        """The values of all processes combined along a tree, at `root`; `None` elsewhere.

        Neighbours are combined, the lower process on the left, so that `combine` need not commute.
        """
        self._check(root)
        # The tree is built here and ends at process 0: MPI's own may reverse the order when
        # another process is to have the result.
        step = 1
        while step < self.size:
            if self.rank % (2 * step):
                self._comm.send(value, dest=self.rank - step, tag=_REDUCE_TAG)
                value = None
                break
            if self.rank + step < self.size:
                value = combine(value, self._comm.recv(source=self.rank + step, tag=_REDUCE_TAG))
            step *= 2
        if root:
            if self.rank == 0:
                self._comm.send(value, dest=root, tag=_REDUCE_TAG)
                value = None
            elif self.rank == root:
                value = self._comm.recv(source=0, tag=_REDUCE_TAG)
        return value

    def send(self, value: Any, to: int, tag: int = 0) -> None:
        """Sends a value to a process. Returns when the value may be changed again."""
        self._check(to)
        if to == self.rank:
            # A blocking send to the own process may never return.
            super().send(value, to, tag)
        else:
            self._comm.send(value, dest=to, tag=_tag(tag))

    def recv(self, source: int, tag: int = 0) -> Any:
        """Waits for a value from a process and takes it."""
        self._check(source)
        if source == self.rank:
            return super().recv(source, tag)
        return self._comm.recv(source=source, tag=_tag(tag))

    def probe(self, source: int, tag: int = 0) -> bool:
        """Whether `recv` would return at once."""
        self._check(source)
        if source == self.rank:
            return super().probe(source, tag)
        return bool(self._comm.iprobe(source=source, tag=_tag(tag)))

    def abort(self, code: int = 1) -> None:
        """Ends every process of the program at once, for one that cannot go on."""
        sys.stdout.flush()
        sys.stderr.flush()
        # Output that the launcher has not read from its pipes yet would be lost.
        time.sleep(_LAST_WORDS_SECONDS)
        self._mpi.COMM_WORLD.Abort(code)


# Time for the launcher to forward the output of a process that ends all.
_LAST_WORDS_SECONDS = 0.2

# Tags of the script begin after the internal ones.
_REDUCE_TAG = 0
# The largest that every MPI library takes.
_TAG_MAX = 32766


def _tag(tag: int) -> int:
    if not 0 <= tag <= _TAG_MAX:
        raise InvalidArgumentError(f"a tag is a number from 0 to {_TAG_MAX}, not {tag}")
    return tag + 1


@functools.cache
def world() -> World:
    """The processes of this program; MPI is started at the first call.

    MPI is used when a launcher started this process, or when the script has imported `mpi4py.MPI`
    itself. Otherwise the process is alone.

    Raises `UnsupportedError` when a launcher started several processes that cannot reach each
    other: each would take itself for the only one and do all the work.
    """
    told = _size_told()
    if told is None and "mpi4py.MPI" not in sys.modules:
        return World()
    mpi = _mpi(told or 1)
    if mpi is None:
        return World()
    found = MpiWorld(mpi)
    if told is not None and found.size == 1 and told > 1:
        raise UnsupportedError(
            f"the launcher started {told} processes, but to the MPI library of mpi4py this one is "
            "alone: launcher and library are of different MPIs. Start with "
            "`python -m ostrakon.spmd launch`, or install mpi4py for the launcher's MPI",
            {"library": mpi.Get_library_version().split("\n")[0].strip("\0 ")},
        )
    return found


def _size_told() -> int | None:
    """How many processes the launcher says it started; `None` if no launcher did."""
    for name in _SIZES:
        text = os.environ.get(name, "")
        if text.isdigit() and int(text) > 0:
            return int(text)
    return None


def _mpi(told: int) -> Any:
    """`mpi4py.MPI`, or `None` if it cannot be loaded and there is only one process."""
    try:
        from mpi4py import MPI
    # mpi4py raises RuntimeError when it finds no MPI library.
    except (ImportError, RuntimeError) as error:
        if told > 1:
            raise UnsupportedError(
                f"this is one of {told} processes, and they cannot reach each other without mpi4py "
                f"and an MPI library: {INSTALL}",
                {"reason": str(error)},
            ) from error
        return None
    return MPI
