"""Keys of records and edges that are spread over a table."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable

# Digits of the microseconds since 1970, until the year 2286.
_TIME_DIGITS = 16


def flipped(numbers: Iterable[int], width: int) -> list[str]:
    """Numbers with leading zeros and reversed digits, so that consecutive ones are spread.

    >>> flipped([1, 23], 4)
    ['1000', '3200']
    """
    return [f"{number:0{width}d}"[::-1] for number in numbers]


def new_ids(count: int) -> list[str]:
    """Unique keys, made from the time with reversed digits and a random suffix."""
    now = time.time_ns() // 1000
    tag = secrets.token_hex(4)
    return [key + tag for key in flipped(range(now, now + count), _TIME_DIGITS)]
