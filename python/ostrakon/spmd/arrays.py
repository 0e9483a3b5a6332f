"""Distributed arrays: each process holds the part that the map gives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ostrakon.errors import InvalidArgumentError
from ostrakon.spmd import steps
from ostrakon.spmd.maps import Map
from ostrakon.spmd.processes import world

__all__ = [
    "DistributedArray",
    "agg",
    "agg_all",
    "from_local",
    "global_block_range",
    "global_block_ranges",
    "global_ind",
    "local",
    "ones",
    "owner",
    "put_local",
    "zeros",
]

Array = npt.NDArray[Any]


class DistributedArray:
    """An array whose parts a `Map` assigns to processes. Indices begin at 0.

    >>> from ostrakon import spmd
    >>> squares = spmd.zeros(5)
    >>> squares.local = spmd.global_ind(squares)[:, None] ** 2
    >>> spmd.agg(squares).ravel().tolist()
    [0.0, 1.0, 4.0, 9.0, 16.0]
    """

    def __init__(self, shape: tuple[int, ...], mapping: Map, part: Array) -> None:
        if len(shape) != len(mapping.grid):
            raise InvalidArgumentError(
                f"a map with the grid {mapping.grid} cannot deal out an array of the shape {shape}"
            )
        if max(mapping.pids) >= world().size:
            raise InvalidArgumentError(
                f"the map names process {max(mapping.pids)}, and there are {world().size}, from 0"
            )
        self.shape = shape
        self.map = mapping
        self._local = part
        self.local = part

    @property
    def local(self) -> Array:
        """The part of this process."""
        return self._local

    @local.setter
    def local(self, part: Array) -> None:
        shape = self.local_shape()
        part = np.asarray(part)
        if part.shape != shape:
            raise InvalidArgumentError(
                f"the part of process {world().rank} has the shape {shape}, not {part.shape}"
            )
        self._local = part.astype(self._local.dtype, copy=False)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._local.dtype

    def local_shape(self, pid: int | None = None) -> tuple[int, ...]:
        """The shape of the part of a process, this one by default."""
        if self.map.place(pid) is None:
            return (0,) * len(self.shape)
        lengths = enumerate(self.shape)
        return tuple(len(self.map.indices(length, dim, pid)) for dim, length in lengths)

    def __repr__(self) -> str:
        return f"DistributedArray(shape={self.shape}, dtype={self.dtype}, map={self.map})"


def _shape(shape: int | tuple[int, ...], mapping: Map | None) -> tuple[tuple[int, ...], Map]:
    lengths = (shape, 1) if isinstance(shape, int) else tuple(shape)
    if any(length < 0 for length in lengths):
        raise InvalidArgumentError(f"a shape has no negative length: {lengths}")
    return lengths, mapping or Map(grid=(world().size, *(1,) * (len(lengths) - 1)))


def _filled(
    shape: int | tuple[int, ...], mapping: Map | None, value: int, dtype: Any
) -> DistributedArray:
    lengths, mapping = _shape(shape, mapping)
    mine = mapping.place() is not None
    part = [len(mapping.indices(length, dim)) if mine else 0 for dim, length in enumerate(lengths)]
    return DistributedArray(lengths, mapping, np.full(part, value, dtype=dtype))


def zeros(
    shape: int | tuple[int, ...],
    mapping: Map | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> DistributedArray:
    """A distributed array of zeros; `n` stands for the shape `(n, 1)`. Default: blocks of rows."""
    return _filled(shape, mapping, 0, dtype)


def ones(
    shape: int | tuple[int, ...],
    mapping: Map | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> DistributedArray:
    """A distributed array of ones."""
    return _filled(shape, mapping, 1, dtype)


def from_local(part: npt.ArrayLike, shape: tuple[int, ...], mapping: Map) -> DistributedArray:
    """The distributed array whose part in this process is `part`."""
    return DistributedArray(tuple(shape), mapping, np.asarray(part))


def local(array: DistributedArray) -> Array:
    """The part of this process."""
    return array.local


def put_local(array: DistributedArray, part: npt.ArrayLike) -> DistributedArray:
    """Replaces the part of this process; returns the array."""
    array.local = np.asarray(part)
    return array


def global_ind(array: DistributedArray, dim: int = 0) -> npt.NDArray[np.int64]:
    """The indices, from 0, that this process owns along a dimension."""
    _check(array, dim)
    return array.map.indices(array.shape[dim], dim)


def global_block_range(array: DistributedArray, dim: int = 0) -> tuple[int, int]:
    """The first index that this process owns along a dimension and the one after its last."""
    _check(array, dim)
    return array.map.block_range(array.shape[dim], dim)


def global_block_ranges(array: DistributedArray, dim: int = 0) -> dict[int, tuple[int, int]]:
    """`global_block_range` of every process of the map."""
    _check(array, dim)
    return {pid: array.map.block_range(array.shape[dim], dim, pid) for pid in array.map.pids}


def owner(array: DistributedArray, *index: int) -> int:
    """The process that owns an element."""
    if len(index) != len(array.shape):
        raise InvalidArgumentError(f"an element of {array.shape} has {len(array.shape)} indices")
    place = [array.map.owner(array.shape[dim], one, dim) for dim, one in enumerate(index)]
    return array.map.pids[int(np.ravel_multi_index(place, array.map.grid, order="F"))]


def agg(value: Any) -> Any:
    """Collects a distributed array at the leader; `None` elsewhere.

    Anything else that can be added (an `Assoc`, a number) is summed up at the leader.
    """
    if isinstance(value, DistributedArray):
        parts = world().gather(value.local)
        return None if parts is None else _whole(value, parts)
    return steps.reduce_sum(value)


def agg_all(value: Any) -> Any:
    """`agg`, with the result in every process."""
    if isinstance(value, DistributedArray):
        return _whole(value, world().allgather(value.local))
    return steps.gagg(value)


def _whole(array: DistributedArray, parts: list[Array]) -> Array:
    whole = np.zeros(array.shape, dtype=array.dtype)
    for pid in array.map.pids:
        owned = [array.map.indices(length, dim, pid) for dim, length in enumerate(array.shape)]
        whole[np.ix_(*owned)] = parts[pid]
    return whole


def _check(array: DistributedArray, dim: int) -> None:
    if not 0 <= dim < len(array.shape):
        raise InvalidArgumentError(f"dimension {dim} is not of the shape {array.shape}, from 0")
