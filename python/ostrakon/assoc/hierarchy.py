"""Hierarchical arrays: a stream of updates is added up in levels, so that most additions are
small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrakon.assoc.core import Assoc
from ostrakon.errors import InvalidArgumentError

# Entries a level may hold before it is added to the next.
CUTS = (1 << 17, 1 << 20, 1 << 23)


class HierAssoc:
    """A sum of associative arrays that grows by updates.

    Each update is added to the first level. A level with more entries than its cut is added to the
    next and cleared; the last level grows without bound. Rate depends on the cuts: the first should
    fit the processor's cache. Values are numbers.

    >>> H = HierAssoc(cuts=[2, 4])
    >>> for name in ["a", "b", "a", "c"]:
    ...     H.update(name, "seen", 1)
    >>> H.total()
    ('a', 'seen')  2
    ('b', 'seen')  1
    ('c', 'seen')  1
    """

    def __init__(self, cuts: Sequence[int] = CUTS) -> None:
        self._cuts = [int(cut) for cut in cuts]
        if not self._cuts or any(
            low >= high for low, high in zip(self._cuts, self._cuts[1:], strict=False)
        ):
            raise InvalidArgumentError(f"cuts: ascending numbers of entries, not {cuts!r}")
        self._levels = [Assoc() for _ in range(len(self._cuts) + 1)]
        self._updates = 0

    @property
    def levels(self) -> list[Assoc]:
        """What each level holds now."""
        return list(self._levels)

    @property
    def updates(self) -> int:
        """Triples given to `update`, and entries to `add`, so far."""
        return self._updates

    def update(self, row: Any, col: Any, val: Any = 1) -> None:
        """Adds triples; all or, when they are refused, none."""
        batch = Assoc(row, col, val, "sum")
        before = self._updates
        self.add(batch)
        counts = [len(part) for part in (row, col, val) if _is_list(part)]
        self._updates = before + max(counts, default=len(batch))

    def add(self, array: Assoc) -> None:
        """Adds an array."""
        if array.is_text or array.dtype.kind in "mM":
            raise TypeError("array: hierarchical arrays hold numbers")
        self._updates += len(array)
        levels = list(self._levels)
        levels[0] = _plus(levels[0], array)
        for at, cut in enumerate(self._cuts):
            if len(levels[at]) <= cut:
                break
            levels[at + 1] = _plus(levels[at + 1], levels[at])
            levels[at] = Assoc()
        self._levels = levels

    def total(self) -> Assoc:
        """The sum of all levels; the levels stay as they are."""
        total = Assoc()
        for level in self._levels:
            total = _plus(total, level)
        return total


def _plus(left: Assoc, right: Assoc) -> Assoc:
    if not len(left):
        return right
    return left if not len(right) else left + right


def _is_list(part: Any) -> bool:
    return hasattr(part, "__len__") and not isinstance(part, (str, bytes))
