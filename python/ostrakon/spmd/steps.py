"""Steps that all processes take together: wait, sum, share, let the leader do something."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ostrakon.spmd.processes import world

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "allgather",
    "barrier",
    "bcast",
    "gagg",
    "gather",
    "is_leader",
    "node_np",
    "node_pid",
    "on_leader",
    "probe",
    "recv",
    "reduce_sum",
    "send",
]

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


def barrier() -> None:
    """Waits until every process has called it."""
    world().barrier()


def is_leader() -> bool:
    """Whether this is process 0."""
    return world().is_leader


def node_pid() -> int:
    """Which process this is among those on the same machine, from 0."""
    return world().node_rank


def node_np() -> int:
    """How many processes are on this machine."""
    return world().node_size


def bcast(value: Value, root: int = 0) -> Value:
    """The value that process `root` has, in every process."""
    shared: Value = world().bcast(value, root)
    return shared


def gather(value: Value, root: int = 0) -> list[Value] | None:
    """The values of all processes, in order, at `root`; `None` elsewhere."""
    return world().gather(value, root)


def allgather(value: Value) -> list[Value]:
    """The values of all processes, in order, in every process."""
    return world().allgather(value)


def gagg(value: Value) -> Value:
    """The sum (`+`) of the values of all processes, in every process: mainly of `Assoc`s.

    Values are added along a tree, neighbours first and the lower process on the left.
    """
    total: Value = world().bcast(reduce_sum(value))
    return total


def reduce_sum(value: Value) -> Value | None:
    """The sum of the values of all processes at the leader; `None` elsewhere."""
    total: Value | None = world().reduce(value, operator.add)
    return total


def send(value: Any, to: int, tag: int = 0) -> None:
    """Sends a value to a process."""
    world().send(value, to, tag)


def recv(source: int, tag: int = 0) -> Any:
    """Waits for a value from a process and takes it."""
    return world().recv(source, tag)


def probe(source: int, tag: int = 0) -> bool:
    """Whether `recv` would return at once."""
    return world().probe(source, tag)


def on_leader(
    function: Callable[Arguments, Value], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Value:
    """Calls `function` in process 0 only; every process waits and gets its result.

    If it raises, every process raises the same, and none waits without end.

    >>> on_leader(max, 3, 4)
    4
    """
    outcome: tuple[bool, Any] = (True, None)
    if world().is_leader:
        try:
            outcome = (True, function(*args, **kwargs))
        # Passed to all processes, including this one.
        except Exception as error:
            outcome = (False, error)
    done, result = world().bcast(outcome)
    if not done:
        raise result
    value: Value = result
    return value
