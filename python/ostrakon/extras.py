"""Optional libraries, loaded where they are used. If one is missing, the error names the extra that
installs it."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
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
pip install 'pyarrow>=16' (the extra `ostrakon[arrow]`)
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        absent = isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(library)
        state = "is not installed" if absent else f"cannot be loaded ({error})"
        raise MissingExtraError(
            f"{library} is needed here and {state}: {advice(extra)}",
            {"library": library, "extra": extra},
        ) from error


def advice(extra: str) -> str:
    """How to install what an extra brings. The libraries are named, since the package may have been
    installed from a file, and then no index has it.

    >>> advice("pandas")
    "pip install 'pandas>=2.1' 'pyarrow>=16' (the extra `ostrakon[pandas]`)"
    """
    wanted = re.compile(rf"""(.+?)\s*;\s*extra\s*==\s*['"]{extra}['"]""")
    try:
        needed = importlib.metadata.requires("ostrakon") or []
    except importlib.metadata.PackageNotFoundError:
        needed = []
    found = [match.group(1) for match in map(wanted.fullmatch, needed) if match]
    libraries = " ".join(f"'{library}'" for library in found)
    if not libraries:
        return f"install what the extra `ostrakon[{extra}]` names"
    return f"pip install {libraries} (the extra `ostrakon[{extra}]`)"
