"""The keys that an index selects, as positions on one axis."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ostrakon.assoc.items import read_items, resolve, split_delimited
from ostrakon.assoc.keys import Keys, TextKeys, as_timestamp
from ostrakon.assoc.machine import Array
from ostrakon.errors import InvalidArgumentError


class Selector:
    """Chooses keys by a rule; made by `startswith`, `contains` and `matches`.

    `kind` is that function's name and `texts` what it was given, for code that chooses otherwise
    than among sorted keys.
    """

    __slots__ = ("_choose", "kind", "texts")

    def __init__(self, kind: str, texts: list[str], choose: Callable[[TextKeys], Array]) -> None:
        self.kind = kind
        self.texts = tuple(texts)
        self._choose = choose

    def __repr__(self) -> str:
        return f"{self.kind}({list(self.texts)!r})"

    def positions(self, keys: Keys) -> Array:
        """Positions of the chosen keys, ascending."""
        if not isinstance(keys, TextKeys):
            if len(keys) == 0:
                return np.empty(0, np.uint32)
            raise TypeError(f"{self!r} chooses among texts; the keys are {keys.kind}")
        return self._choose(keys)


def startswith(prefixes: str | list[str]) -> Selector:
    """Keys that begin with one of the prefixes.

    >>> from ostrakon import Assoc
    >>> Assoc("alice,alan,bob,", "x,", 1)[startswith("al,"), :].row.tolist()
    ['alan', 'alice']
    """
    wanted = _texts("prefixes", prefixes)
    return Selector(
        "startswith",
        wanted,
        lambda keys: _merged([_span(*keys.native.prefix(prefix)) for prefix in wanted]),
    )


def contains(pieces: str | list[str]) -> Selector:
    """Keys that hold one of the pieces."""
    wanted = _texts("pieces", pieces)
    return Selector("contains", wanted, lambda keys: keys.native.containing(wanted))


def matches(pattern: str) -> Selector:
    """Keys that match a regular expression of Python's, as a whole. Each key becomes a string."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InvalidArgumentError(
            f"pattern: {pattern!r} is not a regular expression: {error}; for a literal text use "
            "contains(), or re.escape()"
        ) from None
    return Selector(
        "matches",
        [pattern],
        lambda keys: np.array(
            [at for at, key in enumerate(keys.to_list()) if compiled.fullmatch(key)], np.uint32
        ),
    )


def _texts(name: str, texts: str | list[str]) -> list[str]:
    listed = split_delimited(texts) if isinstance(texts, str) else list(texts)
    for text in listed:
        if not isinstance(text, str):
            raise TypeError(f"{name}: {text!r} is not a text")
    return listed


def positions(keys: Keys, index: Any, axis: str) -> Array | None:
    """Positions of the keys an index means, ascending; `None` for all of them."""
    try:
        return _positions(keys, index)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{axis}: {error}") from None


def _positions(keys: Keys, index: Any) -> Array | None:
    if isinstance(index, slice):
        if index.step is not None:
            raise InvalidArgumentError("a range of keys has no step; for positions use .iloc")
        if index.start is None and index.stop is None:
            return None
        return _span(*keys.range(as_timestamp(index.start), as_timestamp(index.stop)))
    if index is Ellipsis:
        return None
    if isinstance(index, Selector):
        return index.positions(keys)
    if isinstance(index, str):
        return _by_text(keys, index)
    if callable(index):
        raise TypeError(f"{index!r} chooses no keys; use startswith, contains or matches")
    if not isinstance(index, (bytes, np.generic, int, float)) and _is_mask(index):
        return _by_mask(keys, np.asarray(index))
    items = read_items("index", index)
    if items.valid is not None:
        raise InvalidArgumentError("an index holds no missing key (None or NaN)")
    if items.array is not None and items.array.dtype.kind == "b":
        return _by_mask(keys, items.array)
    return keys.lookup(resolve([items])[0][0])


def _is_mask(index: Any) -> bool:
    if isinstance(index, np.ndarray):
        return bool(index.dtype.kind == "b")
    return (
        isinstance(index, (list, tuple)) and bool(index) and isinstance(index[0], (bool, np.bool_))
    )


def _by_mask(keys: Keys, mask: Array) -> Array:
    if mask.shape != (len(keys),):
        raise InvalidArgumentError(_mask_size(mask.size, len(keys)))
    return np.flatnonzero(mask).astype(np.uint32)


def _mask_size(items: int, keys: int) -> str:
    mask = f"the mask has {items} item{'' if items == 1 else 's'}"
    return f"{mask}, but there {'is' if keys == 1 else 'are'} {keys} key{'' if keys == 1 else 's'}"


def _by_text(keys: Keys, text: str) -> Array | None:
    tokens = split_delimited(text)
    if tokens == [":"]:
        return None
    if not isinstance(keys, TextKeys):
        if len(keys) == 0:
            return np.empty(0, np.uint32)
        raise TypeError(f"the keys are {keys.kind}, not text; give {keys.kind}, or use .iloc")
    chosen: list[Array] = []
    plain: list[str] = []
    for token in token_ranges(tokens):
        if isinstance(token, tuple):
            chosen.append(_span(*keys.range(*token)))
        elif "*" in token:
            if token.endswith("*") and token.count("*") == 1:
                chosen.append(_span(*keys.native.prefix(token[:-1])))
            else:
                chosen.append(keys.native.wildcard(token))
        else:
            plain.append(token)
    if plain:
        chosen.append(keys.lookup(TextKeys.of(plain)))
    return _merged(chosen)


def token_ranges(tokens: list[str]) -> list[str | tuple[str | None, str | None]]:
    """Joins `a : b` to a range. A mark without a neighbour, or beside another mark, is an open
    end."""
    parsed: list[str | tuple[str | None, str | None]] = []
    at = 0
    while at < len(tokens):
        if tokens[at] != ":":
            parsed.append(tokens[at])
            at += 1
            continue
        low: str | None = None
        if parsed and at > 0 and tokens[at - 1] != ":":
            before = parsed.pop()
            if isinstance(before, tuple):
                raise InvalidArgumentError(
                    f"{before[1]!r} ends one range and begins another; write it twice"
                )
            low = before
        high: str | None = None
        if at + 1 < len(tokens) and tokens[at + 1] != ":":
            high = tokens[at + 1]
            at += 1
        parsed.append((low, high))
        at += 1
    return parsed


def _span(start: int, stop: int) -> Array:
    return np.arange(start, stop, dtype=np.uint32)


def _merged(chosen: list[Array]) -> Array:
    if not chosen:
        return np.empty(0, np.uint32)
    if len(chosen) == 1:
        return chosen[0]
    return np.unique(np.concatenate(chosen))


def by_position(size: int, index: Any, axis: str) -> Array | None:
    """Positions for `.iloc`: integers, slices, lists, masks; negative ones count from the end."""
    if isinstance(index, slice):
        if index == slice(None):
            return None
        return np.sort(np.arange(size)[index]).astype(np.uint32)
    array = np.asarray(index)
    if array.dtype.kind == "b":
        if array.shape != (size,):
            raise InvalidArgumentError(f"{axis}: {_mask_size(array.size, size)}")
        return np.flatnonzero(array).astype(np.uint32)
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{axis}: .iloc takes integers, slices and masks, not {index!r}")
    array = np.atleast_1d(array).astype(np.int64)
    outside = array[(array < -size) | (array >= size)]
    if len(outside):
        raise IndexError(f"{axis}: position {outside[0]} is outside the {size} keys")
    return np.unique(np.where(array < 0, array + size, array)).astype(np.uint32)
