"""What the tests share: a store in memory and a table in it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

import ostrakon

if TYPE_CHECKING:
    from collections.abc import Iterator


# A shell starts commands in the background with SIGINT ignored, and tests send it to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def store() -> Iterator[ostrakon.Store]:
    with ostrakon.open(memory_budget_bytes=256 << 20) as store:
        yield store


@pytest.fixture
def table(store: ostrakon.Store) -> ostrakon.Table:
    return store.create_table("t")
