"""Describes what a scan will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrakon._native import NativeTable
from ostrakon.display import keys_shown, shortened
from ostrakon.errors import Error
from ostrakon.ranges import NativeRange


def explained(table: NativeTable, argument: dict[str, Any], ranges: Any) -> str:
    """The lines of `Scan.explain`."""
    auths = argument["auths"]
    order = "by key" if argument["ordered"] else "any, with several threads"
    if argument["limit"] is not None:
        order += f", at most {argument['limit']:,} entries"
    if argument["timeout"] is not None:
        order += f", within {argument['timeout']:g} s"
    iterators = [f"{name} ({priority})" for priority, name, *_ in argument["iterators"]]
    lines = [
        f"scan of {table.name!r}",
        f"rows: {_rows(argument, ranges)}",
        f"columns: {_columns(argument['columns'])}",
        f"auths: {'what the store was opened with' if auths is None else shortened(auths)}",
        f"iterators: {', '.join(['those of the table', *iterators])}",
        f"order: {order}",
        f"reads: {_tablets(table, argument)}",
    ]
    return "\n  ".join(lines)


def _rows(argument: dict[str, Any], given: Any) -> str:
    if argument["ranges"] is not None:
        said = [_range(one) for one in argument["ranges"][:3]]
        if len(argument["ranges"]) > 3:
            said.append(f"… {len(argument['ranges']) - 3:,} more")
        return ", ".join(said) or "none"
    if argument["rows"] is None:
        return "all"
    try:
        count = len(given)
    except TypeError:
        return "those of a column"
    if isinstance(given, Sequence):
        return keys_shown(given) or "none"
    return f"{count:,} of a column"


def _range(given: NativeRange) -> str:
    start, start_inclusive, end, end_inclusive = given
    if start is not None and start == end:
        return _bound(start)
    said = []
    if start is not None:
        said.append(f"{'' if start_inclusive else 'after '}{_bound(start)}")
    if end is not None:
        said.append(f"{'to' if end_inclusive else 'before'} {_bound(end)}")
    return " ".join(said) or "all"


def _bound(parts: Sequence[Any]) -> str:
    return shortened(parts[0] if len(parts) == 1 else tuple(parts))


def _columns(columns: Sequence[Any]) -> str:
    if not columns:
        return "all"
    said = [
        f"family {shortened(family)}"
        if qualifier is None
        else f"{shortened(family)}:{shortened(qualifier)}"
        for family, qualifier in columns[:4]
    ]
    return ", ".join(said) + (f", … {len(columns) - 4:,} more" if len(columns) > 4 else "")


def _tablets(table: NativeTable, argument: dict[str, Any]) -> str:
    try:
        tablets = table.tablets()
    except Error as error:
        return f"unknown ({error})"
    ranges = argument["ranges"]
    if argument["rows"] is not None:
        return f"those of {len(tablets):,} tablets that have such rows"
    read = [
        tablet
        for tablet in tablets
        if ranges is None or any(_meet(one, tablet[0], tablet[1]) for one in ranges)
    ]
    entries = sum(tablet[3] for tablet in read)
    of = sum(tablet[3] for tablet in tablets)
    return (
        f"{len(read):,} of {len(tablets):,} tablets, which hold about {entries:,} of {of:,} entries"
    )


def _meet(given: NativeRange, before: bytes | None, last: bytes | None) -> bool:
    """Whether a range has rows after `before`, up to `last`."""
    start, start_inclusive, end, _ = given
    first, final = _bytes(start), _bytes(end)
    if before is not None and final is not None and final <= before:
        return False
    if last is None or start is None or first is None:
        return True
    # A range that begins after the last row of a tablet begins in the next one.
    behind = not start_inclusive and len(start) == 1
    return first < last or (first == last and not behind)


def _bytes(bound: Sequence[Any] | None) -> bytes | None:
    if bound is None:
        return None
    row = bound[0]
    return row.encode() if isinstance(row, str) else bytes(row)
