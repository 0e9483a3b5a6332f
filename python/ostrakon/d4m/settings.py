"""How a binding reads and writes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from ostrakon.errors import InvalidArgumentError
from ostrakon.scan import auths_of

Bytes = str | bytes


def default_limit_bytes() -> int:
    """Half of the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 4 << 30


@dataclass(frozen=True)
class Settings:
    """How a binding reads and writes. `T.using(visibility="A&B")` changes some.

    >>> Settings().put_bytes
    500000
    """

    family: str = ""
    """Column family written and read."""
    visibility: Bytes = ""
    """Label of what is written, unless the call says otherwise."""
    auths: Bytes | Iterable[Bytes] | None = None
    """What the reader may see; by default what the store was opened with."""
    put_bytes: int = 500_000
    """Bytes in a block that is written. More are quicker with `sync`, and hold memory longer."""
    durability: str | None = None
    """`none`, `log`, `flush` or `sync`; by default the table's."""
    numbers: bool = True
    """Whether values become numbers when all values of a result are numbers."""
    limit_bytes: int | None = None
    """A result may need so much memory; by default half of the machine's. More is an error."""

    def __post_init__(self) -> None:
        if not isinstance(self.family, str):
            raise InvalidArgumentError(
                f"`family` is a text, not {self.family!r}", {"argument": "family"}
            )
        if self.put_bytes < 1:
            raise InvalidArgumentError("`put_bytes` is below 1", {"argument": "put_bytes"})
        if self.auths is not None:
            object.__setattr__(self, "auths", tuple(auths_of(self.auths) or ()))

    @property
    def memory(self) -> int:
        """The bytes a result may need."""
        return default_limit_bytes() if self.limit_bytes is None else self.limit_bytes
