"""The keys that an index of a table selects: exact keys, ranges, prefixes, patterns.

A table has no positions, so it takes every form of an Assoc's index except masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrakon.assoc.construction import number_text
from ostrakon.assoc.items import read_items, split_delimited
from ostrakon.assoc.keys import as_timestamp
from ostrakon.assoc.selectors import Selector, token_ranges
from ostrakon.errors import InvalidArgumentError
from ostrakon.ranges import Range

Span = tuple[bytes, bytes | None]
"""From the first (included) to the second (excluded); `None` is open."""


@dataclass(frozen=True)
class Selection:
    """A set of keys."""

    everything: bool = False
    keys: tuple[str, ...] = ()
    """Sorted, unique."""
    between: tuple[tuple[str | None, str | None], ...] = ()
    """First and last, both included."""
    prefixes: tuple[str, ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    """Regular expressions in Java's syntax for whole keys, each with how its keys begin."""

    @property
    def exact(self) -> bool:
        """Whether only exact keys are selected."""
        return not (self.everything or self.between or self.prefixes or self.patterns)

    @property
    def nothing(self) -> bool:
        """Whether no key is selected: an empty list, or ranges that end before they begin."""
        return not (self.everything or self.keys or self.prefixes or self.patterns) and not any(
            low is None or high is None or low <= high for low, high in self.between
        )

    @property
    def cost(self) -> int:
        """How much of a table has to be read: 0 for some keys, 1 for ranges, 2 for half-open
        ranges, 3 for patterns that may begin with anything, 4 for everything."""
        if self.everything:
            return 4
        if not all(begin for begin, _ in self.patterns):
            return 3
        if any(None in pair for pair in self.between):
            return 2
        return 0 if self.exact else 1

    def spans(self) -> list[Span]:
        """Where the keys lie, in order and apart from each other; patterns do not fill theirs."""
        if self.everything:
            return [(b"", None)]
        made: list[Span] = []
        for key in self.keys:
            raw = key.encode()
            made.append((raw, raw + b"\0"))
        for first, last in self.between:
            end = None if last is None else last.encode() + b"\0"
            made.append((b"" if first is None else first.encode(), end))
        begins = [*self.prefixes, *(begin for begin, _ in self.patterns)]
        made.extend((begin.encode(), _following(begin.encode())) for begin in begins)
        return _merged([span for span in made if span[1] is None or span[0] < span[1]])

    def rows(self) -> Any:
        """What a scan takes as ranges of rows."""
        if self.cost >= 3:
            return None
        if self.exact:
            return list(self.keys)
        return [
            Range(start or None, end, start_inclusive=True, end_inclusive=False)
            for start, end in self.spans()
        ]

    def regex(self) -> str:
        """All of it as one regular expression for whole keys."""
        parts = [*map(_literal, self.keys)]
        parts += [_between(first, last) for first, last in self.between]
        parts += [f"{_literal(prefix)}.*" for prefix in self.prefixes]
        parts += [f"(?:{pattern})" for _, pattern in self.patterns]
        return f"(?s:{'|'.join(parts)})"


ALL = Selection(everything=True)


def select(index: Any, axis: str) -> Selection:
    """Reads one side of `T[rows, cols]`.

    >>> select("a,c,:,d,", "row").between
    (('c', 'd'),)
    >>> select(["a,b"], "row").keys
    ('a,b',)
    """
    try:
        return _select(index)
    except (TypeError, ValueError) as error:
        message = str(error)
        raise InvalidArgumentError(f"{axis}: {message}", {"argument": axis}) from None


def keys_of(name: str, given: Any) -> list[str]:
    """The keys of an argument that takes nothing else: a list, or a delimiter string."""
    chosen = select(given, name)
    if not chosen.exact:
        raise InvalidArgumentError(f"{name}: give keys, no ranges or patterns", {"argument": name})
    return list(chosen.keys)


def _select(index: Any) -> Selection:
    if isinstance(index, Selection):
        return index
    if isinstance(index, slice):
        if index.step is not None:
            raise InvalidArgumentError("a range of keys has no step")
        if index.start is None and index.stop is None:
            return ALL
        low, high = (None if end is None else _end_text(end) for end in (index.start, index.stop))
        return Selection(between=((low, high),))
    if index is Ellipsis:
        return ALL
    if isinstance(index, Selector):
        return _of_selector(index)
    if isinstance(index, str):
        return _of_text(index)
    if isinstance(index, np.ndarray) and index.dtype.kind == "b":
        raise InvalidArgumentError("a table has no positions: give keys, not a mask")
    if callable(index):
        raise TypeError(f"{index!r} chooses no keys; use startswith, contains or matches")
    items = read_items("index", index)
    if items.valid is not None:
        raise InvalidArgumentError("an index holds no missing key (None or NaN)")
    if items.array is not None and items.array.dtype.kind == "b":
        raise InvalidArgumentError("a table has no positions: give keys, not a mask")
    return Selection(keys=tuple(sorted(set(texts_of(index)))))


def texts_of(given: Any) -> list[str]:
    """A list or array of keys, or one key, as texts."""
    if isinstance(given, np.ndarray):
        given = given.ravel().tolist() if given.dtype.kind != "M" else list(given)
    elif hasattr(given, "to_pylist"):
        given = given.to_pylist()
    elif hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, (str, bytes, int, float)) or not hasattr(given, "__iter__"):
        given = [given]
    return [_text(key) for key in given]


def _text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bytes):
        return key.decode()
    key = as_timestamp(key)
    if isinstance(key, (float, np.floating)):
        return number_text(float(key))
    return str(key)


def _end_text(end: Any) -> str:
    """The end of a range as text. A number is refused: the caller means the order of numbers, in
    which 9 is before 10, and a table has the order of texts."""
    if isinstance(end, (int, float, np.integer, np.floating)):
        raise InvalidArgumentError(
            f"a range that ends at the number {end}: a table compares keys as texts, in which '10' "
            f"is before '9'; give the end as a text ({_text(end)!r}), and store numbers with "
            "leading zeros so that they sort as numbers"
        )
    return _text(end)


def _of_selector(selector: Selector) -> Selection:
    if selector.kind == "startswith":
        return Selection(prefixes=tuple(selector.texts))
    if selector.kind == "contains":
        return Selection(patterns=tuple(("", f".*{_literal(piece)}.*") for piece in selector.texts))
    return Selection(patterns=tuple(("", text) for text in selector.texts))


def _of_text(text: str) -> Selection:
    tokens = split_delimited(text)
    if tokens == [":"]:
        return ALL
    keys: set[str] = set()
    between: list[tuple[str | None, str | None]] = []
    prefixes: list[str] = []
    patterns: list[tuple[str, str]] = []
    for token in token_ranges(tokens):
        if isinstance(token, tuple):
            if token == (None, None):
                return ALL
            between.append(token)
        elif "*" not in token:
            keys.add(token)
        elif token.endswith("*") and token.count("*") == 1:
            if token == "*":
                return ALL
            prefixes.append(token[:-1])
        else:
            pieces = token.split("*")
            patterns.append((pieces[0], ".*".join(map(_literal, pieces))))
    return Selection(False, tuple(sorted(keys)), tuple(between), tuple(prefixes), tuple(patterns))


def _following(prefix: bytes) -> bytes | None:
    """The smallest key that is greater than all with the prefix."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans, key=lambda span: span[0]):
        if merged:
            last = merged[-1][1]
            if last is None or start <= last:
                if last is not None and (end is None or end > last):
                    merged[-1] = (merged[-1][0], end)
                continue
        merged.append((start, end))
    return merged


# Expressions. The order of the bytes of UTF-8 is that of code points, so that a range of keys can
# be written with classes of characters.

_LAST = 0x10FFFF


def _character(char: str) -> str:
    plain = char.isascii() and (char.isalnum() or char == "_")
    return char if plain else f"\\x{{{ord(char):x}}}"


def _literal(text: str) -> str:
    return "".join(map(_character, text))


def _class(first: int, last: int) -> str | None:
    return f"[\\x{{{first:x}}}-\\x{{{last:x}}}]" if first <= last else None


def _from(low: str) -> str:
    """Texts that are not smaller than `low`."""
    parts = [f"{_literal(low)}.*"]
    for at, char in enumerate(low):
        above = _class(ord(char) + 1, _LAST)
        if above:
            parts.append(f"{_literal(low[:at])}{above}.*")
    return f"(?:{'|'.join(parts)})"


def _to(high: str) -> str:
    """Texts that are not greater than `high`."""
    parts = [_literal(high)]
    for at, char in enumerate(high):
        parts.append(_literal(high[:at]))
        below = _class(0, ord(char) - 1)
        if below:
            parts.append(f"{_literal(high[:at])}{below}.*")
    return f"(?:{'|'.join(parts)})"


# Matches no text, in an engine without look-around.
_NOTHING = r"[^\x{0}-\x{10ffff}]"


def _between(low: str | None, high: str | None) -> str:
    """Texts from `low` to `high`, both included."""
    if low is None:
        return ".*" if high is None else _to(high)
    if high is None:
        return _from(low)
    if low > high:
        return _NOTHING
    common = 0
    while common < min(len(low), len(high)) and low[common] == high[common]:
        common += 1
    shared = _literal(low[:common])
    if common == len(low):
        return f"{shared}{_to(high[common:])}"
    parts = [f"{_character(low[common])}{_from(low[common + 1 :])}"]
    parts.append(f"{_character(high[common])}{_to(high[common + 1 :])}")
    inside = _class(ord(low[common]) + 1, ord(high[common]) - 1)
    if inside:
        parts.append(f"{inside}.*")
    return f"{shared}(?:{'|'.join(parts)})"
