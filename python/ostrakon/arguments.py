"""Checks of the arguments of a call. Each error names the argument, what it takes, and what was
given; the native part would name its own types instead."""

from __future__ import annotations

import operator
import os
from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from typing import Any, TypeAlias

from ostrakon.display import shortened
from ostrakon.errors import ArgumentTypeError, InvalidArgumentError

# As in `ranges`, which imports this module.
Bytes: TypeAlias = str | bytes

# The least memory of a store, and of the queries of a session.
LEAST_MEMORY = 16 << 20
# The largest integers of the native part.
_MOST = 2**63 - 1


def wrong_type(argument: str, takes: str, given: object) -> ArgumentTypeError:
    """The error for a value of another type.

    >>> str(wrong_type("last", "a text such as '1d'", 3))
    "`last` takes a text such as '1d', not 3 (int)"
    """
    kind = type(given).__name__
    named = shortened(given)
    # An object whose representation names its class already says so.
    shown = named if given is None or kind in named else f"{named} ({kind})"
    return ArgumentTypeError(f"`{argument}` takes {takes}, not {shown}", {"argument": argument})


def is_missing(value: object) -> bool:
    """Whether a value is `None`, NaN, NaT or pandas' `NA`."""
    # `NA` is neither equal to itself nor not.
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ValueError):
        # An array in the place of a value.
        return False


def encodable(text: str, argument: str) -> str:
    """A text that UTF-8 has."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"`{argument}` has half of a surrogate pair at position {error.start}, which is not "
            "Unicode: pass bytes",
            {"argument": argument},
        ) from error
    return text


def text_of(argument: str, given: Any, takes: str = "a text") -> str:
    """A text, or an error. `takes` says what the text is, with an example."""
    if not isinstance(given, str):
        raise wrong_type(argument, takes, given)
    return encodable(given, argument)


def optional_text(argument: str, given: Any, takes: str = "a text") -> str | None:
    """A text or `None`, or an error."""
    return None if given is None else text_of(argument, given, f"{takes}, or None")


def texts_of(argument: str, given: Any, example: str) -> list[str]:
    """A list of texts, or an error; one text is not a list."""
    takes = f"a list of texts, such as {example}"
    return [text_of(argument, one, takes) for one in items_of(argument, given, takes)]


def bytes_of(argument: str, given: Any, takes: str = "text or bytes") -> Bytes:
    """Text or bytes, or an error."""
    if isinstance(given, str):
        return encodable(given, argument)
    if not isinstance(given, (bytes, bytearray)):
        raise wrong_type(argument, takes, given)
    return bytes(given)


def optional_bytes(argument: str, given: Any, takes: str = "text or bytes") -> Bytes | None:
    """Text, bytes or `None`, or an error."""
    return None if given is None else bytes_of(argument, given, f"{takes}, or None")


def items_of(argument: str, given: Any, takes: str) -> list[Any]:
    """The items of a collection, or an error."""
    if isinstance(given, (str, bytes, bytearray, Mapping)) or not isinstance(given, Iterable):
        raise wrong_type(argument, takes, given)
    return list(given)


def bytes_list(argument: str, given: Any, example: str) -> list[Bytes]:
    """A list of texts and bytes, or an error."""
    takes = f"a list of texts or bytes, such as {example}"
    return [bytes_of(argument, one, takes) for one in items_of(argument, given, takes)]


def integer_of(argument: str, given: Any, takes: str, least: int = 0, most: int = _MOST) -> int:
    """An integer between two, or an error."""
    if isinstance(given, bool):
        raise wrong_type(argument, takes, given)
    try:
        number = operator.index(given)
    except TypeError:
        raise wrong_type(argument, takes, given) from None
    if not least <= number <= most:
        sign = "must not be negative" if number < least == 0 else f"is {number}"
        bounds = f", from {least:,} to {most:,}" if most < _MOST else f", {least:,} or more"
        raise InvalidArgumentError(
            f"`{argument}` {sign}: it takes {takes}{bounds}", {"argument": argument}
        )
    return number


def optional_integer(
    argument: str, given: Any, takes: str, least: int = 0, most: int = _MOST
) -> int | None:
    """An integer or `None`, or an error."""
    if given is None:
        return None
    return integer_of(argument, given, f"{takes}, or None", least, most)


def number_of(argument: str, given: Any, takes: str) -> float:
    """A number, or an error."""
    # Python takes text for a number, too.
    if isinstance(given, (bool, str, bytes, bytearray)):
        raise wrong_type(argument, takes, given)
    try:
        return float(given)
    except (OverflowError, TypeError, ValueError):
        raise wrong_type(argument, takes, given) from None


def optional_number(argument: str, given: Any, takes: str) -> float | None:
    """A number or `None`, or an error."""
    return None if given is None else number_of(argument, given, f"{takes}, or None")


def seconds_of(argument: str, given: Any, or_none: str = "") -> float:
    """A number of seconds, or an error."""
    seconds = number_of(argument, given, f"a number of seconds, such as 1.5{or_none}")
    # Also false for NaN.
    if not 0 <= seconds < _MOST:
        raise InvalidArgumentError(
            f"`{argument}` is a number of seconds, 0 or more, not {shortened(given)}",
            {"argument": argument},
        )
    return seconds


def optional_seconds(argument: str, given: Any) -> float | None:
    """A number of seconds or `None`, or an error."""
    return None if given is None else seconds_of(argument, given, ", or None")


def flag_of(argument: str, given: Any) -> bool:
    """`True` or `False`, or an error."""
    # NumPy's booleans are of a type of their own.
    if not isinstance(given, bool) and type(given).__name__ not in ("bool_", "bool"):
        raise wrong_type(argument, "True or False", given)
    return bool(given)


def path_of(argument: str, given: Any) -> str:
    """A path of a file or directory as text, or an error."""
    takes = "a path, such as 'data' or pathlib.Path('data')"
    if not isinstance(given, (str, PathLike)):
        raise wrong_type(argument, takes, given)
    path = os.fspath(given)
    if not isinstance(path, str):
        raise wrong_type(argument, takes, given)
    return path


def optional_path(argument: str, given: Any) -> str | None:
    """A path or `None`, or an error."""
    return None if given is None else path_of(argument, given)


def mapping_of(argument: str, given: Any, example: str) -> Mapping[Any, Any]:
    """A dictionary, or an error; `None` is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise wrong_type(argument, f"a dictionary, such as {example}", given)
    return given


def texts_by_text(argument: str, given: Any, example: str) -> dict[str, str]:
    """A dictionary of texts, or an error; `None` is an empty one."""
    takes = f"a dictionary of texts, such as {example}"
    return {
        text_of(argument, name, takes): text_of(argument, value, takes)
        for name, value in mapping_of(argument, given, example).items()
    }


def one_of(argument: str, given: Any, choices: Collection[str]) -> str:
    """One of some words, or an error."""
    *others, last = choices
    takes = f"{', '.join(map(repr, others))} or {last!r}"
    if text_of(argument, given, takes) not in choices:
        raise InvalidArgumentError(
            f"`{argument}` is {takes}, not {shortened(given)}", {"argument": argument}
        )
    return str(given)
