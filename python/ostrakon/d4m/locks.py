"""Locks for groups of related tables: many threads may write, and one may delete alone.

A store is open for writing in one process, so a lock inside the process is enough.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostrakon.store import Store


class ReadWriteLock:
    """Held by many threads that share it, or by one alone. A thread that waits to be alone goes
    before new sharers. The lock is not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._alone = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Holds the lock together with other sharers."""
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
        """Holds the lock alone."""
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


def lock_of(store: Store, what: str, *tables: str) -> ReadWriteLock:
    """The lock of a group of tables of a store; every call returns the same one."""
    lock: ReadWriteLock = store._locks.setdefault((what, *sorted(tables)), ReadWriteLock())
    return lock
