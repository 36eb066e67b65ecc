"""What the machine has for runs side by side: cores, and memory that is free."""

import os
from collections.abc import Sequence
from pathlib import Path

from .sizes import format_bytes

MEMORY = Path("/proc/meminfo")
GROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
# Runs side by side that one may ask for.
MOST_JOBS = 1024


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_bytes() -> int | None:
    """Memory that is free, or would be if caches were dropped; None if the system does not say.

    Where control groups limit the process, as in a container, what is left of the tightest limit.
    """
    found = [each for each in (_of_system(), _of_groups()) if each is not None]
    return min(found, default=None)


def shortage(needed_bytes: int) -> list[str]:
    """What there is to say of a run that needs so much memory: that more is needed than is free, or nothing."""
    free = free_bytes()
    if free is None or needed_bytes <= free:
        return []
    return [
        f"once all of the device is written, a run takes {format_bytes(needed_bytes)} of memory, of which"
        f" {format_bytes(free)} are free: less is taken by a smaller device, larger mapping units, or a slice of it"
    ]


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


def _of_groups() -> int | None:
    """What is left of the limits of the process's control groups, and of the groups that they are in."""
    left = []
    for line in _lines(MEMBERSHIP):
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2
            top, limit_name, used_name = GROUPS, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):  # version 1
            top, limit_name, used_name = GROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        own = top / path.lstrip("/")
        # A container may see its own group as the top one, and none below that.
        for group in (own, *(each for each in own.parents if each.is_relative_to(top))):
            limit, used = _lines(group / limit_name), _lines(group / used_name)
            if limit and used and limit[0] != "max":
                left.append(max(0, int(limit[0]) - int(used[0])))
    return min(left, default=None)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
