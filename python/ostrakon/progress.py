"""Progress of long work: a callable that is called with (done, total), or a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from ostrakon.arguments import wrong_type
from ostrakon.extras import load

Progress: TypeAlias = bool | Callable[[int, int], object] | None
"""`None` or `False`: no progress. `True`: a tqdm bar. Or a callable, called with (done, total)."""


@contextmanager
def reporting(progress: Progress, unit: str) -> Iterator[Callable[[int, int], Any] | None]:
    """Yields the callable that the work must call, or `None`."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        tqdm = load("tqdm.auto", "progress").tqdm
        with tqdm(unit=unit, unit_scale=True) as bar:

            def advance(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            yield advance
    elif callable(progress):
        yield progress
    else:
        takes = "True for a bar, None, or a function of the work done and the total"
        raise wrong_type("progress", takes, progress)
