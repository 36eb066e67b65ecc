"""What the machine has for runs side by side: cores, and memory that is free."""

import os
from collections.abc import Sequence
from pathlib import Path

MEMORY = Path("/proc/meminfo")
GROUPS = Path("/sys/fs/cgroup")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_bytes() -> int | None:
    """Memory that is free, or would be if caches were dropped; None if the system does not say.

    Where a control group limits the process, as in a container, what is left of its limit.
    """
    found = [each for each in (_of_system(), _of_group()) if each is not None]
    return min(found, default=None)


def at_once(needed_bytes: Sequence[int], jobs: int | None = None) -> int:
    """How many runs that need so much memory may be under way at the same time, whichever these are: at least one.

    At most `jobs`, by default as many as there are cores.
    """
    most = min(jobs or cores(), len(needed_bytes)) or 1
    free = free_bytes()
    largest = sorted(needed_bytes, reverse=True)
    while free is not None and most > 1 and sum(largest[:most]) > free:
        most -= 1
    return most


def _of_system() -> int | None:
    for line in _lines(MEMORY):
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return None


def own_group() -> str:
    """The control group of this process, as a path below that of all; empty if it has none of its own."""
    lines = _lines(Path("/proc/self/cgroup"))
    return next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), "")


def _of_group() -> int | None:
    limit, used = (_lines(GROUPS / own_group() / name) for name in ("memory.max", "memory.current"))
    return max(0, int(limit[0]) - int(used[0])) if limit and used and limit[0] != "max" else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
