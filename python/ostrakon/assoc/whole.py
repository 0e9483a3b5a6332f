"""Files that are written atomically."""

from __future__ import annotations

from os import PathLike
from pathlib import Path


class Whole:
    """A temporary file, which replaces the target when everything is written."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path)
        self._part = self._path.with_name(self._path.name + ".part")

    def __enter__(self) -> Path:
        return self._part

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._part.replace(self._path)
        else:
            self._part.unlink(missing_ok=True)
