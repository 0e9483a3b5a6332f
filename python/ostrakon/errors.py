"""The exceptions of the package; `Error` is the base of all of them.

The classes mirror the error kinds of the store. There is one class for each way in which a caller
may react; the message is meant for people.

>>> import ostrakon
>>> issubclass(ostrakon.errors.NotFoundError, ostrakon.Error)
True
"""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "ArgumentTypeError",
    "BadAuthorizationsError",
    "BadCredentialsError",
    "CancelledError",
    "ClassNotFoundError",
    "ClosedError",
    "ConcurrentModificationError",
    "ConstraintViolationError",
    "CorruptionError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "IoError",
    "LockedError",
    "MissingExtraError",
    "NamespaceNotFoundError",
    "NewerFormatError",
    "NotEmptyError",
    "NotFoundError",
    "OfflineError",
    "OutOfSpaceError",
    "PermissionDeniedError",
    "ReadOnlyError",
    "SampleNotPresentError",
    "TableNotFoundError",
    "TimedOutError",
    "TooLargeError",
    "TooManyFilesError",
    "TooManyOpenFilesError",
    "UnavailableError",
    "UnsupportedError",
]


class Error(Exception):
    """An error of a store, or of the arguments of a call.

    `context` holds the names and values that the message is about, such as `{"table": "grahp"}`.
    """

    def __init__(self, message: str = "", context: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.context: dict[str, str] = dict(context or {})

    def __reduce__(self) -> tuple[type[Error], tuple[str, dict[str, str]]]:
        return type(self), (str(self), self.context)


class InvalidArgumentError(Error, ValueError):
    """An argument is invalid: fix it before you repeat the call."""


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument has a value of a type that it does not take.

    The message names the argument, what it takes, and what was given; `context` has `argument`.
    Also a `TypeError`.
    """


class TooLargeError(InvalidArgumentError, MemoryError):
    """The result would not fit in memory, or would have more entries than an array can hold.

    Nothing was built; work on smaller parts. Also a `MemoryError`.
    """


class NotFoundError(Error, LookupError):
    """A table, class, property, file or other thing that the call names does not exist."""


class TableNotFoundError(NotFoundError):
    """The table does not exist, or was deleted."""


class NamespaceNotFoundError(NotFoundError):
    """The namespace does not exist."""


class ClassNotFoundError(NotFoundError):
    """The store has no iterator or constraint class of this name."""


class AlreadyExistsError(Error):
    """The name is already used."""


class NotEmptyError(Error):
    """The namespace still has tables; delete them first."""


class ConcurrentModificationError(Error):
    """Another caller made a change in the meantime: read again, and repeat the call."""


class PermissionDeniedError(Error):
    """The caller does not have permission for this call."""


class BadAuthorizationsError(PermissionDeniedError):
    """The call uses an authorization that the caller does not have."""


class BadCredentialsError(PermissionDeniedError):
    """The user is unknown, or the secret is wrong."""


class ConstraintViolationError(Error):
    """A constraint rejected some mutations; the others were applied."""


class CorruptionError(Error):
    """Stored data are damaged. The rest of the store is still readable."""


class IoError(Error):
    """An operation of the operating system failed."""


class OutOfSpaceError(Error):
    """The disk or a quota is full: free space, and repeat the call."""


class TooManyFilesError(Error):
    """A tablet has too many files: compact the table, and repeat the call."""


class SampleNotPresentError(Error):
    """The table has no sample, or a different one than the scan requests."""


class TooManyOpenFilesError(Error):
    """Too many files are open: raise the limit or close some, and repeat the call."""


class LockedError(Error):
    """The store is open in another process, or through another handle of this one."""


class ReadOnlyError(Error):
    """The store was opened read-only, or a sync failed. Open it again to write."""


class UnsupportedError(Error):
    """The source does not support the call."""


class MissingExtraError(UnsupportedError, ImportError):
    """An optional library is not installed.

    The message names what to install, and the extra; `context` has `library` and `extra`. Also an
    `ImportError`.
    """


class NewerFormatError(Error):
    """The data were written by a newer version of Ostrakon; use that version."""


class ClosedError(Error):
    """The store, writer or scan is closed; open another one."""


class OfflineError(ClosedError):
    """The table is offline: bring it online, and repeat the call. Also a `ClosedError`."""


class CancelledError(Error):
    """The operation was cancelled."""


class TimedOutError(Error, TimeoutError):
    """The call took longer than its timeout. Also a `TimeoutError`."""


class UnavailableError(Error):
    """The source is not available; repeating the call may help."""


class InternalError(Error):
    """A bug in Ostrakon. Please report it."""
