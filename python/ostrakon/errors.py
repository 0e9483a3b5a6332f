"""The exceptions of the package, one tree: everything raised on purpose is an `Error`.

The classes mirror the kinds of the store. A class exists where a caller would act differently; the
text is for people.

>>> import ostrakon
>>> issubclass(ostrakon.errors.NotFoundError, ostrakon.Error)
True
"""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "CancelledError",
    "ClosedError",
    "ConstraintViolationError",
    "CorruptionError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "IoError",
    "LockedError",
    "MissingExtraError",
    "NewerFormatError",
    "NotFoundError",
    "OfflineError",
    "OutOfSpaceError",
    "PermissionDeniedError",
    "ReadOnlyError",
    "TimedOutError",
    "TooLargeError",
    "TooManyOpenFilesError",
    "UnavailableError",
    "UnsupportedError",
]


class Error(Exception):
    """Anything that went wrong in a store or with its arguments.

    `context` has what the message names, as pairs: `{"table": "grahp"}`.
    """

    def __init__(self, message: str = "", context: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.context: dict[str, str] = dict(context or {})

    def __reduce__(self) -> tuple[type[Error], tuple[str, dict[str, str]]]:
        return type(self), (str(self), self.context)


class InvalidArgumentError(Error, ValueError):
    """The call itself is wrong: mend the argument, do not repeat it."""


class TooLargeError(InvalidArgumentError, MemoryError):
    """The result would not fit into memory, or has more entries than an array can: work on parts.
    Nothing was built. It is a `MemoryError` too."""


class NotFoundError(Error, LookupError):
    """The table, iterator class, property or file named does not exist."""


class AlreadyExistsError(Error):
    """The name is taken."""


class PermissionDeniedError(Error):
    """The caller lacks the authorization or permission asked for."""


class ConstraintViolationError(Error):
    """A constraint refused some mutations; the others were applied."""


class CorruptionError(Error):
    """Stored bytes are not what was written. The rest of the store stays readable."""


class IoError(Error):
    """The operating system refused an operation."""


class OutOfSpaceError(Error):
    """The disk or a quota is full: make room and repeat."""


class TooManyOpenFilesError(Error):
    """No file descriptor is left: raise the limit, or close something, and repeat."""


class LockedError(Error):
    """Another process holds the store."""


class ReadOnlyError(Error):
    """The store accepts no writes: opened read-only, or a sync failed. Reopen to go on."""


class UnsupportedError(Error):
    """The source cannot do this."""


class MissingExtraError(UnsupportedError, ImportError):
    """A library that comes with an extra of the package is not installed. The message says which
    extra; `context` has `library` and `extra`. It is an `ImportError` too."""


class NewerFormatError(Error):
    """Written by a newer version of the software: use that one."""


class ClosedError(Error):
    """The store, writer or scan was closed: open another one."""


class OfflineError(ClosedError):
    """The table is off-line: bring it on-line and repeat. It is a `ClosedError` too."""


class CancelledError(Error):
    """Somebody cancelled the operation."""


class TimedOutError(Error, TimeoutError):
    """The time that the caller gave was over. It is a `TimeoutError` too."""


class UnavailableError(Error):
    """A remote source did not answer; repeating may help."""


class InternalError(Error):
    """We are wrong. Please report it."""
