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
    """Something that the call names (a table, a class, a property, a file …) does not exist."""


class TableNotFoundError(NotFoundError):
    """The table does not exist, or does no more."""


class NamespaceNotFoundError(NotFoundError):
    """The namespace does not exist."""


class ClassNotFoundError(NotFoundError):
    """No iterator or constraint class has this name here."""


class AlreadyExistsError(Error):
    """The name is taken."""


class NotEmptyError(Error):
    """The namespace still has tables: delete them first."""


class ConcurrentModificationError(Error):
    """Somebody else made a change after the caller looked: look again and repeat."""


class PermissionDeniedError(Error):
    """The caller lacks the permission for this call."""


class BadAuthorizationsError(PermissionDeniedError):
    """The caller asks to see what it holds no authorization for."""


class BadCredentialsError(PermissionDeniedError):
    """The source does not know the caller, or not by this secret."""


class ConstraintViolationError(Error):
    """A constraint refused some mutations; the others were applied."""


class CorruptionError(Error):
    """Stored bytes are not what was written. The rest of the store stays readable."""


class IoError(Error):
    """The operating system refused an operation."""


class OutOfSpaceError(Error):
    """The disk or a quota is full: make room and repeat."""


class TooManyFilesError(Error):
    """A tablet has more files than may be read or kept: compact the table and repeat."""


class SampleNotPresentError(Error):
    """The table keeps no sample, or another one than the scan asks for."""


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
