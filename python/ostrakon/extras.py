"""Optional libraries, loaded where they are used. If one is missing, the error names the extra that
installs it."""

from __future__ import annotations

import importlib
from typing import Any

from ostrakon.errors import MissingExtraError

__all__ = ["load"]


def load(module: str, extra: str) -> Any:
    """A module of another library.

    Raises `MissingExtraError` when it is not installed, or cannot be loaded.

    >>> load("no_such_library", "arrow")
    Traceback (most recent call last):
    ...
    ostrakon.errors.MissingExtraError: no_such_library is needed here and is not installed: \
pip install 'ostrakon[arrow]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        absent = isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(library)
        state = "is not installed" if absent else f"cannot be loaded ({error})"
        raise MissingExtraError(
            f"{library} is needed here and {state}: pip install 'ostrakon[{extra}]'",
            {"library": library, "extra": extra},
        ) from error
