"""Ranges of rows, and of columns within a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ostrakon.arguments import bytes_of, wrong_type
from ostrakon.errors import InvalidArgumentError

__all__ = ["Range"]

Bytes: TypeAlias = str | bytes
"""Bytes, or text that is stored as UTF-8."""

Bound: TypeAlias = tuple[Bytes, ...] | None
NativeRange: TypeAlias = tuple[list[Bytes] | None, bool, list[Bytes] | None, bool]


def _bound(bound: Bytes | Bound, name: str) -> Bound:
    if bound is None:
        return None
    if isinstance(bound, (str, bytes)):
        return (bound,)
    takes = "a row, (row, family) or (row, family, qualifier)"
    if not isinstance(bound, Iterable):
        raise wrong_type(name, takes, bound)
    parts = tuple(bound)
    if not 1 <= len(parts) <= 3 or not all(isinstance(part, (str, bytes)) for part in parts):
        raise InvalidArgumentError(
            f"`{name}` of a range must be {takes}, not {bound!r}",
            {"argument": name},
        )
    return parts


@dataclass(frozen=True)
class Range:
    """The rows from `start` to `end`, both inclusive by default; `None` means unbounded.

    A bound may also be within a row: `(row, family)` or `(row, family, qualifier)`.

    >>> Range("alice", "bob")
    Range(start=('alice',), end=('bob',), start_inclusive=True, end_inclusive=True)
    >>> Range.row("alice") == Range("alice", "alice")
    True
    >>> import pickle
    >>> pickle.loads(pickle.dumps(Range.prefix("al"))).end_inclusive
    False
    """

    start: Bound = None
    end: Bound = None
    start_inclusive: bool = True
    end_inclusive: bool = True

    def __init__(
        self,
        start: Bytes | Bound = None,
        end: Bytes | Bound = None,
        start_inclusive: bool = True,
        end_inclusive: bool = True,
    ) -> None:
        object.__setattr__(self, "start", _bound(start, "start"))
        object.__setattr__(self, "end", _bound(end, "end"))
        object.__setattr__(self, "start_inclusive", bool(start_inclusive))
        object.__setattr__(self, "end_inclusive", bool(end_inclusive))

    @classmethod
    def all(cls) -> Range:
        """Every row."""
        return cls()

    @classmethod
    def row(cls, row: Bytes, family: Bytes | None = None, qualifier: Bytes | None = None) -> Range:
        """One row, or one family or column of it."""
        if family is None:
            parts: Bound = (row,)
        elif qualifier is None:
            parts = (row, family)
        else:
            parts = (row, family, qualifier)
        return cls(parts, parts)

    @classmethod
    def prefix(cls, prefix: Bytes) -> Range:
        """The rows that begin with `prefix`."""
        given = bytes_of("prefix", prefix)
        start = given.encode() if isinstance(given, str) else given
        kept = start.rstrip(b"\xff")
        end = kept[:-1] + bytes([kept[-1] + 1]) if kept else None
        return cls(start or None, end, True, False)

    def native(self) -> NativeRange:
        """The range in the form of the native part."""
        return (
            None if self.start is None else list(self.start),
            self.start_inclusive,
            None if self.end is None else list(self.end),
            self.end_inclusive,
        )


RangeLike: TypeAlias = Range | Bytes | tuple[Bytes | None, Bytes | None]


def one_range(given: Any, argument: str = "ranges") -> Range:
    """A range from a `Range`, a row, or a pair of first and last row."""
    if isinstance(given, Range):
        return given
    if isinstance(given, (str, bytes)):
        return Range.row(given)
    if isinstance(given, tuple) and len(given) == 2:
        return Range(*given)
    takes = (
        "rows, pairs (first, last) and Range objects, one or a list of them, or an array of rows, "
        "such as 'a' or ['a', 'b']"
    )
    raise wrong_type(argument, takes, given)


def native_ranges(given: Any, argument: str = "ranges") -> tuple[Sequence[NativeRange] | None, Any]:
    """Ranges or rows, in the form of the native part; both are `None` for all rows."""
    if given is None:
        return None, None
    if isinstance(given, (str, bytes, Range, tuple)):
        return [one_range(given).native()], None
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        return None, given
    if hasattr(given, "__array_interface__"):
        return None, given
    if not isinstance(given, Iterable):
        return [one_range(given, argument).native()], None
    several = list(given)
    if not several:
        return None, several
    if all(isinstance(one, (str, bytes)) for one in several):
        return None, several
    return [one_range(one, argument).native() for one in several], None
