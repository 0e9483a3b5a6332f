"""One program, many processes, each with its part: the SPMD model of pMatlab, over MPI.

Every process runs the same script. `Np` says how many there are, `Pid` which one this is, a `Map`
who owns what; `agg` and `gagg` bring the parts together. Without MPI there is one process, and the
same script runs as it is.

    from ostrakon import spmd

    files = ["edges-0.csv", "edges-1.csv", "edges-2.csv"]
    for name in spmd.part(files):           # this process's share of the list
        ...
    spmd.barrier()

Start it on two processors with `python -m ostrakon.spmd launch -n 2 script.py`, or by the `srun` or
`mpiexec` of a cluster (docs/guide/spmd.md has job scripts).

>>> from ostrakon import spmd
>>> spmd.Np, spmd.Pid
(1, 0)
>>> spmd.gagg(3)
3
"""

from __future__ import annotations

from typing import Any

from ostrakon.spmd.arrays import (
    DistributedArray,
    agg,
    agg_all,
    from_local,
    global_block_range,
    global_block_ranges,
    global_ind,
    local,
    ones,
    owner,
    put_local,
    zeros,
)
from ostrakon.spmd.maps import Map, part
from ostrakon.spmd.processes import World, world
from ostrakon.spmd.steps import (
    allgather,
    barrier,
    bcast,
    gagg,
    gather,
    is_leader,
    node_np,
    node_pid,
    on_leader,
    probe,
    recv,
    send,
)

__all__ = [
    "DistributedArray",
    "Map",
    "Np",
    "Pid",
    "World",
    "agg",
    "agg_all",
    "allgather",
    "barrier",
    "bcast",
    "from_local",
    "gagg",
    "gather",
    "global_block_range",
    "global_block_ranges",
    "global_ind",
    "is_leader",
    "local",
    "node_np",
    "node_pid",
    "on_leader",
    "ones",
    "owner",
    "part",
    "probe",
    "put_local",
    "recv",
    "send",
    "world",
    "zeros",
]

Np: int
"""How many processes there are."""
Pid: int
"""Which one this is, from 0 to `Np` - 1; process 0 is the leader."""


def __getattr__(name: str) -> Any:
    # MPI is started at the first use, not when this module is imported.
    if name == "Np":
        return world().size
    if name == "Pid":
        return world().rank
    raise AttributeError(f"module 'ostrakon.spmd' has no attribute {name!r}")
