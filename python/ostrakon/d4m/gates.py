"""Locks for what several tables keep together: many may write at once, one deletes alone.

A store is open in one process, so that a lock of this process is a lock for all.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostrakon.store import Store


class Gate:
    """Lets many pass together, or one alone. Who waits to be alone goes before newcomers; a thread
    inside must not come again."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._alone = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Beside others of the same kind."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While nobody else is inside."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._inside)
                self._alone = True
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()


def gate_of(store: Store, what: str, *tables: str) -> Gate:
    """The gate of some tables of a store; the same for all who ask."""
    gate: Gate = store._gates.setdefault((what, *sorted(tables)), Gate())
    return gate
