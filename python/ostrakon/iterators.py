"""Iterators: code that runs inside the store, in scans or compactions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ostrakon.arguments import integer_of, mapping_of, text_of

__all__ = ["IteratorSetting"]

SCOPES = ("scan", "minc", "majc")
_U32 = 2**32 - 1


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
        integer_of("priority", self.priority, "a number, such as 20", 0, _U32)
        text_of("class_name", self.class_name, "a class, such as 'RegExFilter'")
        text_of("name", self.name, "a name, such as 'newest'")
        for name in mapping_of("options", self.options, "{'maxVersions': '3'}"):
            text_of("options", name, "a dictionary with names of options, such as 'maxVersions'")
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
