# What `ostrakon._native` offers; `python -m mypy.stubtest` compares it with the module.

from os import PathLike
from typing import final

__version__: str
ERROR_KINDS: dict[str, str]

@final
class NativeStore:
    def __new__(
        cls,
        path: str | PathLike[str] | None,
        *,
        create: bool,
        read_only: bool,
        memory_budget_bytes: int | None,
        compaction_threads: int | None,
    ) -> NativeStore: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def tables(self) -> list[str]: ...
