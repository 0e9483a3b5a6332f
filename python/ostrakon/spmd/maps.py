"""Which process owns which indices: block, cyclic and block-cyclic maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from ostrakon.errors import InvalidArgumentError
from ostrakon.spmd.processes import world

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Map", "part"]

Item = TypeVar("Item")
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Map:
    """How the parts of an array are assigned to processes.

    `grid` has the number of processes along each dimension. `dist` has a word for each dimension,
    or one for all: `b` for blocks, `c` for cyclic (one index to each process in turn), `bc` for
    cyclic in blocks of `block`. `pids` names the processes, column by column as pMatlab does; by
    default all from 0. Blocks differ in length by one at most, the longer ones first.

    >>> Map(grid=(4, 1)).indices(10, pid=1).tolist()
    [3, 4, 5]
    >>> Map(grid=(4, 1), dist="c").indices(10, pid=1).tolist()
    [1, 5, 9]
    >>> Map(grid=(2, 1), dist="bc", block=3).indices(10, pid=1).tolist()
    [3, 4, 5, 9]
    """

    grid: tuple[int, ...] = ()
    dist: str | tuple[str, ...] = "b"
    pids: tuple[int, ...] = ()
    block: int = 1
    kinds: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        grid = tuple(int(count) for count in self.grid) or (world().size, 1)
        if any(count < 1 for count in grid):
            raise InvalidArgumentError(
                f"grid has processes along each dimension, 1 or more: {grid}"
            )
        kinds = (self.dist,) * len(grid) if isinstance(self.dist, str) else tuple(self.dist)
        if len(kinds) != len(grid) or not set(kinds) <= {"b", "c", "bc"}:
            raise InvalidArgumentError(
                f"dist is one of b, c, bc for each of {len(grid)} dimensions, not {self.dist!r}"
            )
        pids = tuple(int(pid) for pid in self.pids) or tuple(range(int(np.prod(grid))))
        if len(pids) != int(np.prod(grid)) or len(set(pids)) != len(pids) or min(pids) < 0:
            raise InvalidArgumentError(
                f"pids names {int(np.prod(grid))} different processes, one for each place of the "
                f"grid {grid}, not {pids}"
            )
        if self.block < 1:
            raise InvalidArgumentError(f"block is 1 or more, not {self.block}")
        for name, value in (("grid", grid), ("pids", pids), ("kinds", kinds)):
            object.__setattr__(self, name, value)

    def place(self, pid: int | None = None) -> tuple[int, ...] | None:
        """Where a process (this one) stands in the grid; `None` if it has no part."""
        pid = world().rank if pid is None else pid
        if pid not in self.pids:
            return None
        at = np.unravel_index(self.pids.index(pid), self.grid, order="F")
        return tuple(int(one) for one in at)

    def indices(self, length: int, dim: int = 0, pid: int | None = None) -> Indices:
        """The indices, from 0, that a process (this one) owns of a dimension of that length."""
        self._check(dim)
        place = self.place(pid)
        if place is None:
            return np.empty(0, dtype=np.int64)
        at, count, kind = place[dim], self.grid[dim], self.kinds[dim]
        if kind == "b":
            return np.arange(*_block(length, count, at), dtype=np.int64)
        step = self.block if kind == "bc" else 1
        every = np.arange(length, dtype=np.int64)
        owned: Indices = every[every // step % count == at]
        return owned

    def block_range(self, length: int, dim: int = 0, pid: int | None = None) -> tuple[int, int]:
        """The first index that a process (this one) owns and the one after its last.

        `InvalidArgumentError` where the indices have gaps, as those of cyclic maps do.
        """
        owned = self.indices(length, dim, pid)
        if not len(owned):
            return (0, 0)
        begin, end = int(owned[0]), int(owned[-1]) + 1
        if end - begin != len(owned):
            raise InvalidArgumentError(
                "only the parts of block maps are ranges: ask a cyclic one for its indices"
            )
        return (begin, end)

    def owner(self, length: int, index: int, dim: int = 0) -> int:
        """The place along a dimension that owns an index."""
        self._check(dim)
        if not 0 <= index < length:
            raise InvalidArgumentError(f"index {index} is not from 0 to {length - 1}")
        count, kind = self.grid[dim], self.kinds[dim]
        if kind == "b":
            short, longer = divmod(length, count)
            # `longer` blocks have one more.
            bound = longer * (short + 1)
            return index // (short + 1) if index < bound else longer + (index - bound) // short
        return index // (self.block if kind == "bc" else 1) % count

    def _check(self, dim: int) -> None:
        if not 0 <= dim < len(self.grid):
            raise InvalidArgumentError(f"dimension {dim} is not of a grid {self.grid}, from 0")


def _block(length: int, count: int, at: int) -> tuple[int, int]:
    short, longer = divmod(length, count)
    begin = at * short + min(at, longer)
    return begin, begin + short + (at < longer)


def part(
    items: Sequence[Item], dist: str = "b", *, pid: int | None = None, np: int | None = None
) -> list[Item]:
    """The share of a list that belongs to this process: `b` in blocks, `c` in turn.

    With `pid` and `np`, the share of process `pid` among `np`: give `node_pid()` and `node_np()` to
    divide what is local to this machine.

    >>> part(["a", "b", "c", "d", "e"], "c", pid=1, np=2)
    ['b', 'd']
    """
    count = world().size if np is None else np
    mine = world().rank if pid is None else pid
    if not 0 <= mine < count:
        raise InvalidArgumentError(f"process {mine} is not one of {count}, from 0")
    owned = Map(grid=(count,), dist=dist).indices(len(items), pid=mine)
    return [items[int(index)] for index in owned]
