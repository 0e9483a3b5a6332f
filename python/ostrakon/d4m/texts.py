"""Delimiter strings, D4M's lists of texts: joining, splitting, reading and writing them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ostrakon._native import assoc_join
from ostrakon.assoc.items import read_items, resolve
from ostrakon.assoc.keys import TextKeys
from ostrakon.assoc.machine import Array
from ostrakon.assoc.whole import Whole
from ostrakon.errors import InvalidArgumentError

StrPath = str | PathLike[str]


def cat_str(left: Any, separator: str, right: Any) -> Any:
    """Joins two lists item by item, one item with all of the other list. Delimiter strings give a
    delimiter string, with the delimiter of the left one; anything else an array.

    >>> cat_str("a,b,", "|", "c,d,")
    'a|c,b|d,'
    >>> cat_str("Out,", "|", ["x", "y"]).tolist()
    ['Out|x', 'Out|y']
    """
    (mine, at), (theirs, there) = _read("left", left), _read("right", right)
    if len(at) != len(there) and 1 not in (len(at), len(there)):
        raise InvalidArgumentError(
            f"right: {len(there)} items for {len(at)}: lists need one length, or one item",
            {"argument": "right"},
        )
    count = max(len(at), len(there)) if len(at) and len(there) else 0
    keys, places = assoc_join(
        mine.native, _repeated(at, count), separator, theirs.native, _repeated(there, count)
    )
    joined = TextKeys(keys).spread(places)
    if not (isinstance(left, str) and isinstance(right, str)):
        return joined
    delimiter = left[-1]
    if keys.first_containing(delimiter) is not None:
        raise InvalidArgumentError(
            f"left: its delimiter {delimiter!r} stands in a joined text", {"argument": "left"}
        )
    return "".join(f"{text}{delimiter}" for text in joined.tolist())


def split_str(texts: Any, separator: str) -> tuple[Any, Any]:
    """Cuts each item at the first separator: the parts before it and behind it.

    >>> split_str("a|c,b|d|e,", "|")
    ('a,b,', 'c,d|e,')
    """
    keys, places = _read("texts", texts)
    left, left_at, right, right_at = keys.native.split_once(separator, "texts")
    before = TextKeys(left).spread(left_at[places])
    behind = TextKeys(right).spread(right_at[places])
    if not isinstance(texts, str):
        return before, behind
    end = texts[-1]
    one, two = ("".join(f"{text}{end}" for text in part.tolist()) for part in (before, behind))
    return one, two


def read_text(path: StrPath) -> str:
    """A file as a text; it must be UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"path: {path} is not UTF-8: {error}") from None


def write_text(text: str, path: StrPath) -> None:
    """Writes a text to a file atomically."""
    with Whole(path) as part:
        part.write_bytes(text.encode())


def _read(name: str, given: Any) -> tuple[TextKeys, Array]:
    keys, places = resolve([read_items(name, given)])[0]
    if not isinstance(keys, TextKeys):
        raise TypeError(f"{name}: texts are needed, not {keys.kind}")
    return keys, places


def _repeated(places: Array, count: int) -> Array:
    return places if len(places) == count else places.repeat(count)
