"""The number of threads of the kernels, and names that all files here share."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Arrays of positions are uint32; the type of values differs.
Array = NDArray[Any]

# Stands for "no position" in lists of positions.
MISSING = 2**32 - 1


def threads() -> int:
    """How many threads a kernel may use: the processors this process may run on, eight at most.

    Under MPI or SLURM each rank is bound to its processors, so ranks do not crowd each other.
    `OSTRAKON_THREADS` sets another number.
    """
    asked = os.environ.get("OSTRAKON_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), 8)
    return min(os.cpu_count() or 1, 8)


def frozen(array: Array) -> Array:
    """The same array, read-only, because associative arrays share their parts."""
    array.flags.writeable = False
    return array


def inverse_map(positions: Array, size: int) -> Array:
    """For each of `size` positions its place in `positions`, or `MISSING`."""
    places = np.full(size, MISSING, np.uint32)
    places[positions] = np.arange(len(positions), dtype=np.uint32)
    return places
