"""What would be recommended if the load, the fill, the mix of a profile or the data buffer were another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..profile_text import is_profile, with_writes_weighing
from .choice import Ranked, differences, is_alike, ranked, text_of
from .objectives import CLOSED, FAILING, judged
from .search import UNIT_BYTES, Search, Tried


@dataclass(frozen=True)
class Change:
    """A change of the workload, and what would be recommended then."""

    what: str
    choice: str  # empty if there is nothing to choose from
    why: str = ""
    """In what the choice is better then than what is recommended now, and in what it is worse."""
    effect: str = ""
    """Of another data buffer, what it makes of the figures of what is recommended now."""


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
    """What would be recommended with each of these changes; of a front of one, what another data buffer does to it."""
    order = order[:MOST_CHANGED]
    for what, change in changes.items():
        is_of_buffer = bool(set(change) & set(BUFFERS))
        if not order or (len(order) == 1 and not is_of_buffer):
            continue
        fixed = {**found.workload.fixed, **change}
        # What is lost by a failure, and whether it is true to its label, is known.
        workload = replace(found.workload, fixed=fixed, is_verified=False)
        runs = runs_of(change, workload.runs)
        # Of those that are not done again the figures stay.
        kept = [{run: rows for run, rows in each.tried.rows.items() if run not in runs} for each in order]
        tried = [Tried(each.tried.candidate) for each in order]
        for each, rows in zip(tried, kept, strict=True):
            each.take(rows, found.objectives)
        Search(tried, found.objectives, found.musts, workload, found.do).look_again(what, runs)
        effect = _effect(what, order[0].tried, tried[0], found) if is_of_buffer else ""
        if len(order) == 1:
            yield Change(what, "", effect=effect)
            continue
        again = ranked([each for each in tried if not each.out], found.objectives, preferred)
        name = again[0].tried.candidate.name if again else "nothing"
        yield Change(what, name, _why(tried[0], again, found, runs) if again else "", effect)


def runs_of(change: Mapping[str, Any], runs: Sequence[str]) -> list[str]:
    """Which runs a change changes.

    A closed loop knows no arrivals. How long a rebuild takes grows with what is stored, of all candidates alike: with
    another fill it is as far from that of another one as it was, and would cost more than all else.
    """
    same = CLOSED if set(change) == {"speed"} else FAILING if set(change) == {"fill_bytes"} else ""
    return [run for run in runs if run != same]


def _why(recommended: Tried, again: Sequence[Ranked], found: Search, runs: Sequence[str]) -> str:
    """In what of these runs the new choice is better than what was recommended, where that still has what is asked
    for.
    """
    choice = again[0].tried
    if recommended.out or choice is recommended:
        return ""
    wanted = [
        replace(each, title=f"{each.title} of an excerpt") if each.run == FAILING and found.workload.excerpts else each
        for each in judged(found.objectives, [each.tried.values for each in again])
        if each.run in runs or not each.is_measured
    ]
    return differences(recommended, choice, wanted)


def _effect(what: str, now: Tried, then: Tried, found: Search) -> str:
    """What a data buffer does: of latencies, the throughput and the endurance of a candidate what is told apart."""
    told = [
        f"{each.title} {text_of(each, then.values[each.name])} instead of {text_of(each, now.values[each.name])}"
        for each in judged(found.objectives, [now.values, then.values])
        if each.subject in ("latency", "throughput", "endurance")
        and not is_alike(now.values[each.name], then.values[each.name])
    ]
    return f"With {what}, {now.candidate.name} has {'; '.join(told)}." if told else ""


BUFFERS = ("buffer_bytes", "nvram_buffer_bytes", "buffer_bytes_per_gib")


def _buffers(device: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Other kinds of the data buffer, if there is one: latencies of writes and flushes turn on it."""
    dram, nvram, per_gib = (int(device[key]) for key in BUFFERS)
    if per_gib or bool(dram) == bool(nvram):
        return {}
    others: dict[str, Any] = {"buffer_bytes": nvram, "nvram_buffer_bytes": dram}
    kind = "DRAM" if nvram else "NVRAM"
    return {"no data buffer": dict.fromkeys(BUFFERS[:2], 0), f"the data buffer in {kind}": others}
