"""The memory that a result may use, checked before the result is built."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ostrakon.errors import InvalidArgumentError, TooLargeError

# Results below this are built without asking the machine.
UNASKED_BYTES = 64 << 20

# An array counts entries and keys in 32 bits; the last number means "no position".
MOST_ENTRIES = 2**32 - 2


def available_bytes() -> int | None:
    """What this process could still get: free memory and swap, within the limits of its control
    group and of `ulimit -v`. `None` where the system does not say.
    """
    known = [bytes_ for bytes_ in (_of_machine(), _of_group(), _of_process()) if bytes_ is not None]
    return max(min(known), 0) if known else None


def limit_of(limit_bytes: int | None) -> int:
    """What a result may take: the argument, else `OSTRAKON_MEMORY_BYTES`, else what the machine
    has."""
    if limit_bytes is not None:
        if limit_bytes < 0:
            raise InvalidArgumentError(f"limit_bytes: {limit_bytes} is negative")
        return limit_bytes
    asked = os.environ.get("OSTRAKON_MEMORY_BYTES", "")
    if asked.isdigit():
        return int(asked)
    available = available_bytes()
    return sys.maxsize if available is None else available


def is_small(most: int, limit_bytes: int | None) -> bool:
    """Whether so many bytes need no look at the machine."""
    return (
        most <= UNASKED_BYTES and limit_bytes is None and "OSTRAKON_MEMORY_BYTES" not in os.environ
    )


def too_large(argument: str, what: str, need: int, limit: int, advice: str) -> TooLargeError:
    """The error for a result that cannot fit."""
    return TooLargeError(
        f"{argument}: {what} and would need at least {human(need)} where {human(limit)} may be "
        f"used; {advice}",
        {"argument": argument, "need_bytes": str(need), "limit_bytes": str(limit)},
    )


def human(count: int) -> str:
    """Bytes for people.

    >>> human(1536), human(3 << 30)
    ('1536 bytes', '3.0 GiB')
    """
    for unit, size in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        parts = (line.partition(":") for line in lines)
        table = {name: int(rest.split()[0]) for name, _, rest in parts}
        return 1024 * (table["MemAvailable"] + table.get("SwapFree", 0))
    except (OSError, ValueError, KeyError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_group() -> int | None:
    """What the control group (version 2) of the process, and those above it, leave."""
    root = Path("/sys/fs/cgroup")
    try:
        own = Path("/proc/self/cgroup").read_text(encoding="utf-8").rpartition("0::")[2].split("\n")
        folder = root / own[0].strip("/")
    except OSError:
        return None
    left: list[int] = []
    for group in (folder, *folder.parents):
        room = _group_room(group)
        if room is not None:
            left.append(room)
        if group == root:
            break
    return min(left) if left else None


def _group_room(group: Path) -> int | None:
    try:
        most = (group / "memory.max").read_text(encoding="ascii").strip()
        if most == "max":
            return None
        used = int((group / "memory.current").read_text(encoding="ascii"))
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
        stat = dict(line.split(" ", 1) for line in lines)
        # Pages of files are given back when memory is short.
        room = (
            int(most) - used + int(stat.get("inactive_file", 0)) + int(stat.get("active_file", 0))
        )
        swap = (group / "memory.swap.max").read_text(encoding="ascii").strip()
        if swap == "max":
            return None
        swapped = int((group / "memory.swap.current").read_text(encoding="ascii"))
        return room + int(swap) - swapped
    except (OSError, ValueError):
        return None


def _of_process() -> int | None:
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return most - pages * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None
