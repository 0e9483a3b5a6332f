"""Iterators: code that runs inside the store, in scans or compactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["IteratorSetting"]

SCOPES = ("scan", "minc", "majc")


@dataclass(frozen=True)
class IteratorSetting:
    """One iterator of a stack: its priority, class (Accumulo's full or short name) and options.

    >>> newest = IteratorSetting(20, "VersioningIterator", options={"maxVersions": "3"})
    >>> newest.name
    'VersioningIterator'
    """

    priority: int
    class_name: str
    name: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.class_name.rpartition(".")[2])

    def native(self) -> tuple[int, str, str, dict[str, str]]:
        """The setting in the form of the native part."""
        options = {name: str(value) for name, value in self.options.items()}
        return self.priority, self.name, self.class_name, options

    def properties(self, scopes: Iterable[str] = SCOPES) -> dict[str, str]:
        """The table properties that add this iterator to the stacks of `scopes`.

        >>> IteratorSetting(5, "GrepIterator", "grep", {"term": "x"}).properties(["scan"])
        {'table.iterator.scan.grep': '5,GrepIterator', 'table.iterator.scan.grep.opt.term': 'x'}
        """
        made = {}
        for scope in scopes:
            base = f"table.iterator.{scope}.{self.name}"
            made[base] = f"{self.priority},{self.class_name}"
            made.update({f"{base}.opt.{name}": str(value) for name, value in self.options.items()})
        return made
