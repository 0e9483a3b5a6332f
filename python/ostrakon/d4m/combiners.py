"""How a table combines several values at one place: sum, minimum, maximum.

Each kind has an iterator with its own name and priority, in scans and in compactions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from ostrakon.d4m.selection import Selection, select
from ostrakon.errors import InvalidArgumentError, NotFoundError, UnsupportedError
from ostrakon.iterators import SCOPES, IteratorSetting
from ostrakon.table import Table

_STOCK = "org.apache.accumulo.core.iterators.user."
_DECIMAL = "ostrakon.graph.NumberCombiner"

# Kind -> priority, class. Priorities are D4M's.
COMBINERS: dict[str, tuple[int, str]] = {
    "sum": (7, f"{_STOCK}SummingCombiner"),
    "min": (8, f"{_STOCK}MinCombiner"),
    "max": (9, f"{_STOCK}MaxCombiner"),
    "sum_decimal": (10, _DECIMAL),
    "min_decimal": (11, _DECIMAL),
    "max_decimal": (12, _DECIMAL),
}
"""Kinds of combiners. Those without `decimal` take whole numbers alone."""

_WHOLE = frozenset({"sum", "min", "max"})
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,40}")


def _encode(text: str) -> str:
    plain = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
    return "".join(chr(byte) if byte in plain else f"%{byte:02x}" for byte in text.encode())


def _decode(text: str) -> str:
    return unquote(text)


def add(table: Table, family: str, columns: Any, kind: str) -> None:
    """Combines columns by `kind`, in addition to those that it already combines."""
    if kind not in COMBINERS:
        raise InvalidArgumentError(
            f"combiner: one of {', '.join(COMBINERS)}, not {kind!r}", {"argument": "combiner"}
        )
    chosen = select(columns, "columns")
    if not (chosen.exact or chosen.everything) or (chosen.exact and not chosen.keys):
        raise InvalidArgumentError(
            "columns: a combiner takes column keys or ':' for all", {"argument": "columns"}
        )
    present = listed(table, family)
    for other, columns_there in present.items():
        if other != kind and _overlap(chosen, columns_there):
            raise InvalidArgumentError(
                f"columns: the combiner {other!r} has some of them already; revoke it first",
                {"argument": "columns"},
            )
    before = present.get(kind)
    if before == ":" or (chosen.everything and before == ":"):
        return
    keys: Any = ":" if chosen.everything else sorted({*chosen.keys, *(before or ())})
    try:
        table.attach_iterator(_setting(family, kind, keys))
    except NotFoundError as error:
        raise UnsupportedError(
            f"combiner: the store has no iterator for {kind!r}", {"argument": "combiner"}
        ) from error


def sums() -> IteratorSetting:
    """What sums all columns of a table, for its properties when it is created."""
    return _setting("", "sum", ":")


def _setting(family: str, kind: str, keys: Any) -> IteratorSetting:
    priority, name = COMBINERS[kind]
    if name == _DECIMAL:
        if keys != ":":
            raise InvalidArgumentError(
                f"columns: {kind} combines all columns of a table: give ':'",
                {"argument": "columns"},
            )
        options = {"operation": kind.partition("_")[0]}
    elif keys == ":":
        options = {"type": "STRING", "all": "true"}
    else:
        written = (f"{_encode(family)}:{_encode(key)}" for key in keys)
        options = {"type": "STRING", "columns": ",".join(written)}
    return IteratorSetting(priority, name, kind, options)


def _overlap(chosen: Selection, columns: Any) -> bool:
    return columns == ":" or chosen.everything or not set(columns).isdisjoint(chosen.keys)


def listed(table: Table, family: str) -> dict[str, Any]:
    """Kind of combiner -> its columns, or ':' for all."""
    properties = table.properties()
    found: dict[str, Any] = {}
    for name, value in properties.items():
        if not name.startswith("table.iterator.scan.") or ".opt." in name:
            continue
        kind = _kind(value.partition(",")[2], properties.get(f"{name}.opt.operation"))
        if kind is None:
            continue
        columns = properties.get(f"{name}.opt.columns")
        if columns is None:
            found[kind] = ":"
            continue
        keys = []
        for column in columns.split(","):
            of, _, key = column.partition(":")
            if _decode(of) == family:
                keys.append(_decode(key))
        found[kind] = keys
    return found


def _kind(class_name: str, operation: str | None) -> str | None:
    last = class_name.rpartition(".")[2]
    if last == "NumberCombiner":
        return f"{operation}_decimal"
    names = {"SummingCombiner": "sum", "MinCombiner": "min", "MaxCombiner": "max"}
    return names.get(last)


def revoke(table: Table, family: str, columns: Any) -> None:
    """Stops combining columns. Values that compactions have combined stay combined."""
    chosen = select(columns, "columns")
    for kind, present in listed(table, family).items():
        if not _overlap(chosen, present):
            continue
        if chosen.everything:
            left: list[str] = []
        elif present == ":":
            raise InvalidArgumentError(
                f"columns: {kind!r} combines all columns; revoke ':' as a whole",
                {"argument": "columns"},
            )
        else:
            left = [key for key in present if key not in chosen.keys]
        table.remove_iterator(_name(table, kind), SCOPES)
        if left:
            table.attach_iterator(_setting(family, kind, left))


def refuse_other_values(
    table: Table, family: str, columns: Iterable[Any], values: Iterable[Any]
) -> None:
    """Raises if a value is not an integer, but its column is combined as integers: the store could
    never read the place again."""
    combined = [(kind, keys) for kind, keys in listed(table, family).items() if kind in _WHOLE]
    for column, value in zip(columns, values, strict=True):
        for kind, keys in combined:
            if (keys == ":" or _key(column) in keys) and not _is_whole(_key(value)):
                raise InvalidArgumentError(
                    f"val: {value!r} is not an integer of 64 bits, and the column "
                    f"{column!r} is combined by {kind!r}; nothing was written",
                    {"argument": "val"},
                )


def _is_whole(text: str) -> bool:
    return bool(_WHOLE_NUMBER.fullmatch(text)) and -(2**63) <= int(text) < 2**63


def combines_whole_numbers(table: Table, family: str) -> bool:
    """Whether some column accepts only integers."""
    return not _WHOLE.isdisjoint(listed(table, family))


def _key(key: Any) -> str:
    return key.decode(errors="replace") if isinstance(key, bytes) else str(key)


def _name(table: Table, kind: str) -> str:
    """The name of the iterator, which others may have chosen."""
    properties = table.properties()
    for name, value in properties.items():
        iterator = name.removeprefix("table.iterator.scan.")
        if iterator == name or "." in iterator:
            continue
        if _kind(value.partition(",")[2], properties.get(f"{name}.opt.operation")) == kind:
            return iterator
    return kind


def collision(table: Table, family: str) -> str:
    """What becomes of values of one place that differ in their labels: what the table does with
    versions, else the least, as everywhere in D4M."""
    kinds = {kind.partition("_")[0] for kind in listed(table, family)}
    return kinds.pop() if len(kinds) == 1 else "min"
