"""What would be recommended if the load, the fill, the mix of a profile or the data buffer were another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..profile_text import is_profile, with_writes_weighing
from .choice import Ranked, differences, ranked
from .objectives import judged
from .search import UNIT_BYTES, Search, Tried


@dataclass(frozen=True)
class Change:
    """A change of the workload, and what would be recommended then."""

    what: str
    choice: str
    why: str = ""
    """In what the choice is better then than what is recommended now, and in what it is worse."""


# Of the front, so many are tried under another load and fill.
MOST_CHANGED = 4


def changed(
    fixed: Mapping[str, Any], trace: str, run: Mapping[str, Any], device: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The other workloads and data buffers, each with what of all runs, which have `fixed` in common, is changed.

    `run` and `device` are these tables of a complete configuration.
    """
    speed = float(run["speed"])
    changes: dict[str, dict[str, Any]] = {
        "half the load": {"speed": speed / 2},
        "twice the load": {"speed": speed * 2},
    }
    space, filled = int(fixed["space_bytes"]), int(fixed.get("fill_bytes", 0))
    for share in (0.5, 0.9):
        if abs(filled / space - share) > 0.1:
            changes[f"{share:.0%} of the space filled"] = {"fill_bytes": int(share * space) // UNIT_BYTES * UNIT_BYTES}
    if is_profile(trace):
        for what, factor in (("half the weight of writes", 0.5), ("twice the weight of writes", 2.0)):
            streams = with_writes_weighing(trace, factor)
            changes[what] = {
                f"profile.streams.{number}.{key}": value for number, of in streams.items() for key, value in of.items()
            }
    return changes | _buffers(device)


def changes_of(
    order: Sequence[Ranked], found: Search, changes: Mapping[str, dict[str, Any]], preferred: Sequence[str]
) -> Iterator[Change]:
    """What would be recommended with each of these changes."""
    order = order[:MOST_CHANGED]
    if len(order) < 2:
        return
    for what, change in changes.items():
        workload = replace(found.workload, fixed={**found.workload.fixed, **change})
        tried = [Tried(each.tried.candidate) for each in order]
        Search(tried, found.objectives, found.musts, workload, found.do).look_again(what)
        again = ranked([each for each in tried if not each.out], found.objectives, preferred)
        name = again[0].tried.candidate.name if again else "nothing"
        yield Change(what, name, _why(tried[0], again, found) if again else "")


def _why(recommended: Tried, again: Sequence[Ranked], found: Search) -> str:
    """In what the new choice is better than what was recommended, where that still has what is asked for."""
    choice = again[0].tried
    if recommended.out or choice is recommended:
        return ""
    return differences(recommended, choice, judged(found.objectives, [each.tried.values for each in again]))


def _buffers(device: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Other kinds of the data buffer, if there is one: latencies of writes and flushes turn on it."""
    keys = ("buffer_bytes", "nvram_buffer_bytes", "buffer_bytes_per_gib")
    dram, nvram, per_gib = (int(device[key]) for key in keys)
    if per_gib or bool(dram) == bool(nvram):
        return {}
    others: dict[str, Any] = {"buffer_bytes": nvram, "nvram_buffer_bytes": dram}
    kind = "DRAM" if nvram else "NVRAM"
    return {"no data buffer": dict.fromkeys(keys[:2], 0), f"the data buffer in {kind}": others}
