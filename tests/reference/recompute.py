"""Recomputes the figures of a result from the logs of its run, and says where the two disagree.

    python tests/reference/recompute.py RESULT.json REQUESTS OPERATIONS [TIMELINE.json]
    python tests/reference/recompute.py --folders FOLDER ...

The files are those of `--json`, `--log-latency`, `--log-operations` and `--timeline` with `--timeline-window ..`; logs
may be CSV or Parquet. A folder has them as result.json, requests.csv, operations.csv and, if at all, timeline.json. A
run must have been replayed to its end. Disagreements are printed one a line; the exit status is 1 if there are any.

Nothing here knows the engine: only the definitions of docs/result.md and docs/outputs.md, the configuration in the
result, and the logs.
Every key of the result is recomputed, or in the table NOT_RECOMPUTED with the reason why not; a key that is neither is
a disagreement too.
"""

import csv
import fnmatch
import itertools
import json
import re
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from math import ceil, erfc, exp, floor, inf, isclose, lgamma, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

CAUSES = [
    "host", "update_read", "pre_read", "parity", "mirror", "commit", "reconstruct", "gc", "wear", "rebuild",
    "migration", "metadata", "retry",
]  # fmt: skip
AMPLIFICATION = {
    "host": ["host", "update_read", "pre_read"],
    "redundancy": ["parity", "mirror", "commit"],
    "gc": ["gc", "wear"],
    "metadata": ["metadata"],
}
APART = {"rebuild": ["rebuild", "reconstruct"], "retry": ["retry"], "migration": ["migration"]}
KIND_OF_OP = {"read": "read", "write": "write", "trim": "trim", "write_zeroes": "trim", "flush": "flush"}
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}

# Keys that are not recomputed, by pattern ("*" also takes what follows a "/"), and why not. What follows from them
# alone is recomputed nonetheless.
DECIDED = "counted where the scheme decides, which no operation shows; models without time check it (tests/reference)"
AT_THE_END = "the state at the end, which no log shows; its parts are checked against the maps by the property tests"
GIVEN = "given: the configuration, or what follows from it before anything runs (crates/sim/tests/suite/config)"
INPUT = "a fact of the trace, which the readers' tests check"
NOT_RECOMPUTED = {
    "schema version device scheme seed partial config* protects* placement* survives*": GIVEN,
    "workload/name workload/sha256 workload/format workload/time_unit workload/devices workload/skipped": INPUT,
    "workload/ignored* workload/out_of_order workload/displaced workload/filtered workload/wrapped": INPUT,
    "workload/left_out workload/compacted* workload/unsupported* workload/lost_events workload/reissued": INPUT,
    "workload/truncated workload/warnings* workload/spread_tick_ns workload/steps_back": INPUT,
    "workload/passes": "how often the trace was begun, as the run was told (crates/sim/tests/suite/wear_out.rs)",
    "capacity/user_bytes capacity/space_bytes capacity/filled_bytes capacity/redundancy_bytes capacity/tables*": GIVEN,
    "capacity/redundancy_share capacity/nvram* capacity/share_of_preset buffer/destage_bytes_per_second": GIVEN,
    "capacity/placed_pages precondition* drive*": "happens before time begins, so that no log has it",
    "requests/unmapped_reads requests/prefilled_pages": DECIDED,
    "parity_updates* buffer/kind buffer/read_hits buffer/read_misses buffer/write_hits buffer/write_misses": DECIDED,
    "buffer/evictions buffer/pages_written_out buffer/failed_evictions*": DECIDED,
    "buffer/destages buffer/pages_destaged": DECIDED,
    "mapping*": "lookups in RAM; crates/sim/tests/suite/translation.rs and a model of the table check them",
    "guard/hits guard/misses guard/commit* guard/widened guard/widen_reads": DECIDED,
    "guard/entries guard/most_entries guard/old_pages guard/most_old_pages buffer/pages_buffered": AT_THE_END,
    "collection/merges_*": "they differ in what they leave, not in what they do: crates/flash/tests/suite/hybrid.rs",
    "members/*/free_blocks members/*/state losses* capacity/live_pages": AT_THE_END,
    "capacity/effective_over_provisioning": AT_THE_END,
    "capacity/usable_over_provisioning": AT_THE_END,
    "faults*": "what was injected, as the run was told",
    "devices/*/state devices/*/member devices/*/free_blocks": AT_THE_END,
    "wear_outs/*/exposed_pages wear_outs/*/pages_lost": "needs each scheme's rule of what a failure takes: "
    "crates/sim/tests/suite/wear_out.rs",
    "rebuild/*/failed* rebuild/*/pages_lost rebuild/*/pages_copied": "what failed, and how pages were brought back: "
    "decided, and checked page by page by torture",
    "rebuild/*/pages_superseded": "what was still lost at the end of a rebuild is in no log: "
    "crates/sim/tests/suite/failure.rs",
    "replacements/*/old_device replacements/*/new_device replacements/*/outcome replacements/*/is_shadow": "decided: "
    "crates/sim/tests/suite/array.rs",
    "replacements/*/started_ns replacements/*/ended_ns replacements/*/hot_* replacements/*/cold_*": DECIDED,
    "replacements/*/shadow_reads_after": DECIDED,
    "window*": "needs each scheme's rule of what a failure takes: crates/sim/tests/suite/results.rs tries them all",
    "verify*": "found by the oracle, and checked by deliberate faults (crates/sim/tests/suite/mutants.rs)",
    "drain/pages drain/commits drain/simulated_ns drain/flash_ops/*": "a drain comes after all outputs have ended",
    "engine*": "what the machine needed",
}
LISTED = re.compile("|".join(fnmatch.translate(pattern) for patterns in NOT_RECOMPUTED for pattern in patterns.split()))
# What an operation of the log counts as.
COUNTED_AS = {
    "read": ["reads"],
    "program": ["programs"],
    "copy_back": ["reads", "programs"],
    "erase": ["erases"],
}


class Between(NamedTuple):
    """A figure of which the logs tell bounds only."""

    least: float
    most: float


class Operation(NamedTuple):
    """A row of the log of operations."""

    action: str
    cause: str
    kind: str
    request: int | None
    member: int | None
    channel: int
    chip: int
    die: int
    plane: int
    block: int
    page: int
    bytes: int
    submitted: int
    start: int
    end: int
    failed: bool


class Request(NamedTuple):
    """A row of the log of requests."""

    number: int
    op: str
    offset: int
    size: int
    arrival: int
    end: int
    failure: str


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a table, numbers as text."""
    if path.suffix == ".parquet":
        import polars

        return [
            {key: "" if value is None else str(value).lower() for key, value in row.items()}
            for row in polars.read_parquet(path, glob=False).iter_rows(named=True)
        ]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def optional(text: str) -> int | None:
    return int(text) if text else None


class Run:
    """A result and the logs of its run."""

    def __init__(self, result: Path, requests: Path, operations: Path, timeline: Path | None) -> None:
        self.result = json.loads(result.read_text(encoding="utf-8"))
        self.requests = [
            Request(
                int(row["request"]), row["op"], int(row["offset_bytes"]), int(row["size_bytes"]),
                int(row["arrival_ns"]), int(row["end_ns"]), row["failure"],
            )
            for row in rows(requests)
        ]  # fmt: skip
        each = self.result["config"]["device"]["channels"]
        self.operations = [
            Operation(
                row["action"], row["cause"], row["kind"], optional(row["request"]), optional(row["member"]),
                int(row["device"]) * each + int(row["channel"]),
                int(row["chip"]), int(row["die"]), int(row["plane"]), int(row["block"]),
                int(row["block_page"]), int(row["bytes"]), int(row["submitted_ns"]), int(row["start_ns"]),
                int(row["end_ns"]), row["failed"] == "true",
            )
            for row in rows(operations)
        ]  # fmt: skip
        # Slices by track: (start, end, cause), in nanoseconds.
        self.slices: dict[int, list[tuple[int, int, str]]] | None = None
        if timeline is not None:
            self.slices = defaultdict(list)
            document = json.loads(
                timeline.read_text(encoding="utf-8"), parse_float=lambda text: int(text.replace(".", ""))
            )
            if document["otherData"]["truncated_ns"] is not None:
                raise SystemExit(f"{timeline} is truncated: a timeline of the whole run is needed")
            for event in document["traceEvents"]:
                if event.get("cat") in ("bus", "die"):
                    self.slices[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
        # The SSDs of an array count as one with all their channels, spare SSDs last.
        self.array = self.result["config"].get("array")
        self.channels_each = each
        devices = self.array["devices"] + self.array["spare_devices"] if self.array else 1
        self.device = {**self.result["config"]["device"], "channels": self.channels_each * devices}
        self.channels_in_use = self.channels_each * (self.array["devices"] if self.array else 1)
        self.of_run = self.result["config"]["run"]
        self.page_bytes = self.device["page_bytes"]
        self.chips = self.device["chips_per_channel"] + self.device["spare_chips"]
        self.units_per_channel = self.chips * (1 if self.device["lun"] == "chip" else self.device["dies_per_chip"])
        self.has_warmup = self.of_run["warmup"] not in ("0", "0s")
        if self.has_warmup and self.slices is None:
            raise SystemExit(f"{result}: with a warm-up, the timeline is needed for what was under way when it ended")
        self.begin = min(self.requests).arrival if self.has_warmup and self.requests else 0
        self.completed = [request for request in self.requests if not request.failure]
        self.collections = [done for done in self.operations if done.kind == "collection"]
        self.planned = [done for done in self.operations if done.kind != "collection"]
        self.wear_outs = self.result.get("wear_outs", [])
        self.has_losses = bool(self.wear_outs) or any(
            not fault["fault"].startswith(("program", "erase")) for fault in self.result["faults"]
        )

    def unit(self, done: Operation) -> int:
        """Number of the LUN in `dies` of the result."""
        in_channel = done.chip if self.device["lun"] == "chip" else done.die * self.chips + done.chip
        number: int = done.channel * self.units_per_channel + in_channel
        return number

    @property
    def end(self) -> int:
        """When the run ended: with whatever was last."""
        ends = [request.end for request in self.requests] + [done.end for done in self.operations]
        ends += [slice[1] for track in (self.slices or {}).values() for slice in track]
        # A rebuild ends when it has found nothing left to do, which may be work of no time.
        ends += [rebuild["ended_ns"] or 0 for rebuild in self.result["rebuild"]]
        return max(ends, default=self.begin)


def ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


def quantile(values: list[int], share: float) -> int:
    """The smallest value that so many are not above, rounded up as a histogram of three significant digits does it."""
    if not values:
        return 0
    value = values[max(1, ceil(share * len(values) - 1e-9)) - 1]
    width = 1 << max(0, value.bit_length() - 11)
    return min(value // width * width + width - 1, values[-1])


def latencies(values: list[int]) -> dict[str, Any]:
    values = sorted(values)
    count, total = len(values), sum(values)
    spread = count * sum(value * value for value in values) - total * total
    figures = {
        "count": count,
        "total": total,
        "mean": total / count if count else 0,
        "stddev": sqrt(spread) / count if count else 0,
        "min": values[0] if values else 0,
        "max": values[-1] if values else 0,
    }
    return figures | {name: quantile(values, share) for name, share in QUANTILES.items()}


def distribution(values: list[int]) -> dict[str, float]:
    """Points of a distribution of latencies, by path."""
    values = sorted(values)
    # The tail beyond the k-th quantile is 10^(-k/8), to four digits.
    tails = [Decimal(f"{10 ** (-k / 8):.3e}") for k in range(1, 65)]
    shares = [float(1 - tail) for tail in tails if tail * len(values) >= 1]
    points = (
        [(0, values[0]), *((share, quantile(values, share)) for share in shares), (1, values[-1])] if values else []
    )
    return {
        f"{index}/{key}": value
        for index, point in enumerate(points)
        for key, value in zip(("quantile", "latency_ns"), point, strict=True)
    }


def by_cause(counts: dict[str, int]) -> dict[str, int]:
    return {cause: counts.get(cause, 0) for cause in CAUSES} | {"total": sum(counts.values())}


def moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean and population standard deviation."""
    mean = sum(values) / max(1, len(values))
    return mean, sqrt(sum((value - mean) ** 2 for value in values) / max(1, len(values)))


def counts(run: Run) -> dict[str, dict[str, int]]:
    """What was started, by action and cause; a copy inside a plane reads and programs."""
    found: dict[str, dict[str, int]] = {
        "reads": defaultdict(int),
        "programs": defaultdict(int),
        "erases": defaultdict(int),
    }
    for done in run.operations:
        for action in COUNTED_AS[done.action]:
            found[action][done.cause] += 1
    return found


def union_ns(intervals: list[tuple[int, int]], begin: int, end: int) -> int:
    """Time between `begin` and `end` that lies in any of the intervals."""
    covered, reached = 0, begin
    for first, last in sorted(intervals):
        first, last = max(first, reached), min(last, end)
        if last > first:
            covered += last - first
            reached = last
    return covered


def check_order(run: Run, complaints: list[str]) -> None:
    """Requests are numbered as they arrive, and nothing is done for a request before that."""
    in_order = sorted(run.requests)
    for former, later in pairwise(in_order):
        if later.arrival < former.arrival:
            complaints.append(f"request {later.number} arrives at {later.arrival} ns, before request {former.number}")
    arrivals = {request.number: request.arrival for request in run.requests}
    for done in run.operations:
        if not done.submitted <= done.start <= done.end or done.submitted < arrivals.get(
            done.request if done.request is not None else -1, 0
        ):
            complaints.append(f"{done} is out of order")


def of_workload(run: Run, found: dict[str, Any]) -> None:
    by_op: dict[str, list[Request]] = defaultdict(list)
    for request in run.requests:
        by_op[KIND_OF_OP[request.op]].append(request)
    unfinished = run.result["requests"]["unfinished"]
    assert unfinished == 0, "only runs that came to their end can be recomputed"
    found["workload/requests"] = len(run.requests)
    for op, key in [("read", "reads"), ("write", "writes"), ("trim", "trims"), ("flush", "flushes")]:
        found[f"workload/{key}"] = len(by_op[op])
    for op, key in [("read", "bytes_read"), ("write", "bytes_written")]:
        found[f"workload/{key}"] = sum(request.size for request in by_op[op])
    left_out = run.result["workload"]["left_out"]
    unaligned = sum((request.offset | request.size) % run.page_bytes > 0 for request in run.requests)
    before = left_out + run.result["workload"]["warmup_requests"]
    found["workload/unaligned"] = Between(unaligned, unaligned + before)
    found["workload/warmup_requests"] = (
        min(run.requests).number if run.requests else run.result["workload"]["warmup_requests"]
    )
    found["workload/backlog_growth"] = backlog_growth(run)
    found["requests/completed"] = len(run.completed)
    found["requests/unfinished"] = 0
    for why in ("no_space", "lost", "refused"):
        found[f"requests/failed/{why}"] = sum(request.failure == why for request in run.requests)
    of_kind = {
        kind: [r.end - r.arrival for r in run.completed if KIND_OF_OP[r.op] == kind]
        for kind in ("read", "write", "trim", "flush")
    }
    of_kind["all"] = [latency for values in list(of_kind.values()) for latency in values]
    for kind, values in of_kind.items():
        found.update({f"latency_ns/{kind}/{key}": value for key, value in latencies(values).items()})
        found.update({f"latency_ns/{kind}/distribution/{key}": value for key, value in distribution(values).items()})


def backlog_growth(run: Run) -> float | None:
    """By how much the longest wait grows with the time of arrivals, if the device falls behind them."""
    arrivals = [request.arrival for request in run.requests]
    span = max(arrivals, default=0) - min(arrivals, default=0)
    if not span or run.result["config"]["run"]["queue_depth"]:
        return None
    first, last = min(arrivals), max(arrivals)
    bits = next(bits for bits in itertools.count() if span >> bits < 16)
    slices = (span >> bits) + 1
    longest = [0, 0, 0, 0]
    for request in run.completed:
        quarter = ((request.arrival - first) >> bits) * 4 // slices
        longest[quarter] = max(longest[quarter], request.end - request.arrival)
    caught_up = answered = first
    for request in sorted(run.requests, key=lambda request: (request.arrival, request.number)):
        if answered <= request.arrival:
            caught_up = request.arrival
        answered = max(answered, request.end)
    late = max((request.end for request in run.completed), default=last) - last
    growth = (longest[3] - longest[0]) / (0.75 * span)
    is_behind = (
        caught_up - first <= span // 2
        and longest[2] < longest[3] <= min(3 * longest[2], 2 * late)
        and growth >= 4 / sqrt(len(run.requests))
    )
    return growth if is_behind else 0.0


def of_offered_load(run: Run, found: dict[str, Any], buses: list[dict[str, int]]) -> None:
    """Bus time and array time over the time in which requests arrived, without what takes the time that they leave."""
    idle_work = {"rebuild", "migration"} | ({"commit"} if run.result["scheme"] == "fra" else set())
    arrivals = [request.arrival for request in run.requests]
    span = max(arrivals, default=0) - min(arrivals, default=0)
    if not span:
        found["workload/offered_load"] = found["workload/busiest_load"] = None
        return
    of_units = [0] * (run.units_per_channel * run.device["channels"])
    # Of several planes that are read or programmed at once, the one that takes longest, under the cause of the first.
    at_once: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    for done in run.operations:
        at_once[run.unit(done), done.start].append(done)
    for (unit, _), works in at_once.items():
        of_units[unit] += max(array_ns(run, done) for done in works) if works[0].cause not in idle_work else 0
    loads = [sum(ns for cause, ns in bus.items() if cause not in idle_work) for bus in buses]
    # A chip that was replaced and the one in its place are one.
    in_use = sum(is_member_unit(run, unit) for unit in range(len(of_units)))
    if not run.array:
        in_use -= len(replaced(run)) * run.units_per_channel // run.chips
    found["workload/offered_load"] = max(moments(loads)[0], sum(of_units) / in_use) / span
    found["workload/busiest_load"] = max(loads + of_units) / span
    if run.device["ldpc"] != "none":
        # Of the attempts of each read the logs tell the first.
        for key in ("offered_load", "busiest_load"):
            found[f"workload/{key}"] = Between(found[f"workload/{key}"], inf)


def times_of(device: dict[str, Any], action: str) -> list[int]:
    """Array times of the types of pages, in their order."""
    upper = device[f"upper_{action}_ns"]
    types = 1 + max(len(device["upper_read_ns"]), len(device["upper_program_ns"]))
    return [device[f"{action}_ns"], *(upper or [device[f"{action}_ns"]] * (types - 1))]


def array_ns(run: Run, done: Operation) -> int:
    """Array time of an operation; with LDPC, of the first attempt of a read."""
    read, program = (times[done.page % len(times)] for times in (times_of(run.device, a) for a in ("read", "program")))
    times = {"read": read, "program": program, "erase": run.device["erase_ns"], "copy_back": read + program}
    return int(times[done.action])


def mean_ns(device: dict[str, Any], action: str) -> int:
    """Mean array time of a read, with all attempts that new blocks need, or of a program."""
    times = times_of(device, action)
    if action == "read" and device["ldpc"] != "none":
        levels = range(device["ldpc_levels"] + 1)
        weights = {
            "uniform": [1.0 for _ in levels],
            "geometric": [0.5 ** (level + 1) for level in levels],
        }.get(device["ldpc"], [float(device["ldpc"] == f"fixed:{level}") for level in levels])
        step, decode = device["ldpc_step_ns"], device["ldpc_decode_ns"]
        of_level = [[sum(first + decode + step * i for i in range(level + 1)) for level in levels] for first in times]
        means = [sum(w * ns for w, ns in zip(weights, of, strict=True)) / sum(weights) for of in of_level]
        times = [floor(mean + 0.5) for mean in means]
    return int(sum(times)) // len(times)


def is_member_unit(run: Run, unit: int) -> bool:
    """Whether the LUN belongs to a member: those of spare chips do after they have replaced others."""
    channel, chip = unit // run.units_per_channel, unit % run.units_per_channel % run.chips
    if run.array:
        return chip < run.device["chips_per_channel"] and channel // run.channels_each in ssds_in_use(run)
    return chip < run.device["chips_per_channel"] or (channel, chip) in replaced(run).values()


def replaced(run: Run) -> dict[tuple[int, int], tuple[int, int]]:
    """Dead chips (channel, chip) and the spare chips in their places: in each channel the first that are free."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    if run.array:
        chips = [(channel, chip) for channel in range(run.channels_each) for chip in range(run.chips)]
        for ssd, spare in spare_ssds(run).items():
            for channel, chip in chips:
                found[ssd * run.channels_each + channel, chip] = (spare * run.channels_each + channel, chip)
        return found
    for fault in run.result["faults"]:
        what, _, where = fault["fault"].partition(":")
        if not fault["spare"] or what not in ("chip", "die", "member"):
            continue
        if what in ("chip", "die"):
            channel, chip = (int(number) for number in where.split(".")[:2])
        else:
            channel, chip = divmod(int(where), run.device["chips_per_channel"])
        taken = sum(dead[0] == channel for dead in found)
        found.setdefault((channel, chip), (channel, run.device["chips_per_channel"] + taken))
    return found


def spare_ssds(run: Run) -> dict[int, int]:
    """SSDs that failed, and those that are in their places: each the first that had no task yet."""
    failed = [
        (fault["at_ns"], int(fault["fault"].partition(":")[2]))
        for fault in run.result["faults"]
        if fault["spare"] and "/" not in fault["fault"]
    ]
    failed += [(worn["at_ns"], worn["device"]) for worn in run.wear_outs]
    tasks = [(at_ns, ssd, None) for at_ns, ssd in failed]
    tasks += [
        (each["started_ns"], each["old_device"], each["new_device"]) for each in run.result.get("replacements", [])
    ]
    spares = list(range(run.array["devices"], run.array["devices"] + run.array["spare_devices"]))
    found = {}
    for _, ssd, new in sorted(tasks, key=lambda task: task[0]):
        if new is not None:
            spares.remove(new)
        elif spares:
            found[ssd] = spares.pop(0)
    return found


def ssds_in_use(run: Run) -> set[int]:
    """The SSDs that hold what is stored, and those that a scheme has replaced and keeps for reads."""
    in_use = set(range(run.array["devices"]))
    in_use |= {each["new_device"] for each in run.result.get("replacements", [])} | set(spare_ssds(run).values())
    in_use -= set(spare_ssds(run))
    # What a scheme has replaced is taken out, at the end of the replacement or, as a shadow, later.
    in_use -= {
        each["old_device"]
        for each in run.result.get("replacements", [])
        if each["outcome"] == "replaced" and not each["is_shadow"]
    }
    return {ssd for ssd in in_use if run.result["devices"][ssd]["state"] != "disabled"}


def groups(run: Run) -> dict[int, list[list[Operation]]]:
    """Page operations by LUN, those executed at once (multi-plane) together, in order."""
    together: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    for done in run.operations:
        together[run.unit(done), done.start].append(done)
    of_units: dict[int, list[list[Operation]]] = defaultdict(list)
    for unit, start in sorted(together):
        of_units[unit].append(together[unit, start])
    return of_units


def of_busy_times(
    run: Run, found: dict[str, Any], complaints: list[str]
) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Busy times of buses and LUNs by cause, from the operations, and from the slices of the timeline."""
    units: list[dict[str, int]] = [defaultdict(int) for _ in range(run.units_per_channel * run.device["channels"])]
    buses: list[dict[str, int]] = [defaultdict(int) for _ in range(run.device["channels"])]
    command = {name: run.device[f"{name}_command_ns"] for name in ("read", "program", "erase")}
    has_ldpc = run.device["ldpc"] != "none"
    # While the last attempt of a read is decoded, its LUN does something else.
    decoding = run.device["ldpc_decode_ns"] if has_ldpc else 0

    def transfer_ns(size: int) -> int:
        rounded_up: int = -(-size * run.device["bus_ps_per_byte"] // 1000)
        return rounded_up

    for unit, works in groups(run).items():
        reached = 0
        for work in works:
            start, end = work[0].start, max(done.end for done in work) - (decoding if work[0].action == "read" else 0)
            if start < reached:
                complaints.append(
                    f"dies/{unit}: work that begins at {start} ns overlaps work that ends at {reached} ns"
                )
            reached = end
            # Time of several reads is that of the last to leave, and of several programs that of the first.
            first, is_read = work[0], work[0].action == "read"
            units[unit][work[-1].cause if is_read else first.cause] += end - start
            bus = buses[unit // run.units_per_channel]
            for done in work:
                if done.action == "read":
                    bus[first.cause] += command["read"]
                    bus[done.cause] += transfer_ns(done.bytes)
                elif done.action == "program":
                    bus[first.cause] += command["program"] + transfer_ns(done.bytes)
                elif done.action == "copy_back":
                    bus[first.cause] += command["read"] + command["program"]
                else:
                    bus[first.cause] += command["erase"]
    if run.slices is not None:
        begin, end, per_channel = run.begin, run.end, 1 + run.units_per_channel
        of_slices = {"channels": [], "dies": []}  # type: dict[str, list[dict[str, int]]]
        for track in range(1, 1 + run.device["channels"] * per_channel):
            sums: dict[str, int] = defaultdict(int)
            reached = 0
            for slice_start, slice_end, cause in sorted(run.slices[track]):
                if slice_start < reached:
                    complaints.append(f"track {track}: slices overlap at {slice_start} ns")
                reached = slice_end
                sums[cause] += max(0, min(slice_end, end) - max(slice_start, begin))
            of_slices["channels" if (track - 1) % per_channel == 0 else "dies"].append(sums)
        if not run.has_warmup:
            # Of the attempts of each read the operations tell none.
            for kind, own in [("channels", of_slices["channels"] if has_ldpc else buses), ("dies", units)]:
                for index, (one, other) in enumerate(zip(own, of_slices[kind], strict=True)):
                    if by_cause(one) != by_cause(other):
                        complaints.append(
                            f"{kind}/{index}: operations have {by_cause(one)}, the timeline {by_cause(other)}"
                        )
        buses, units = of_slices["channels"], of_slices["dies"]
    for kind, busy in [("channels", buses), ("dies", units)]:
        # Of commands of attempts beyond the first only the timeline tells.
        is_known = kind == "dies" or not has_ldpc or run.slices is not None
        for index, sums in enumerate(busy):
            for cause, ns in by_cause(sums).items():
                found[f"{kind}/{index}/busy_ns/{cause}"] = ns if is_known else Between(ns, inf)
    programs: list[dict[str, int]] = [defaultdict(int) for _ in units]
    for done in run.operations:
        if done.action in ("program", "copy_back"):
            programs[run.unit(done)][done.cause] += 1
    for index, sums in enumerate(programs):
        found.update({f"dies/{index}/programs/{cause}": count for cause, count in by_cause(sums).items()})
    return buses, units


def of_bandwidth(run: Run, found: dict[str, Any]) -> None:
    """What was completed, over the time from the first measured arrival to the last completion."""
    last = max((request.end for request in run.completed), default=0)
    first = min(request.arrival for request in run.requests) if run.completed else last
    span = last - first
    read = sum(request.size for request in run.completed if request.op == "read")
    written = sum(request.size for request in run.completed if request.op == "write")
    found["bandwidth/span_ns"] = span
    found["bandwidth/requests_per_second"] = ratio(len(run.completed) * 1e9, span)
    found["bandwidth/read_bytes_per_second"] = ratio(read * 1e9, span)
    found["bandwidth/write_bytes_per_second"] = ratio(written * 1e9, span)
    # What was under way of a warm-up is in no log but the timeline.
    busy = [(request.arrival, request.end) for request in run.requests] + [
        (done.submitted, done.end) for done in run.operations
    ]
    busy += [slice[:2] for track in (run.slices or {}).values() for slice in track]
    busy_ns = union_ns(busy, first, last) if span else 0
    if run.has_warmup:
        busy_ns = (
            run.result["bandwidth"]["busy_ns"] if busy_ns <= run.result["bandwidth"]["busy_ns"] <= span else busy_ns
        )
    found["bandwidth/busy_ns"] = busy_ns
    found["bandwidth/busy_read_bytes_per_second"] = ratio(read * 1e9, busy_ns)
    found["bandwidth/busy_write_bytes_per_second"] = ratio(written * 1e9, busy_ns)


def of_amplification(run: Run, found: dict[str, Any], done: dict[str, dict[str, int]]) -> None:
    programs = done["programs"]
    pages_written = sum(request.size for request in run.completed if request.op == "write") / run.page_bytes
    # Programs of the warm-up: those of its requests, and those that waited when measuring began. The logs cannot tell
    # in which order things happened in that very instant.
    first = min(run.requests).number if run.requests else inf
    # What was programmed for writes that failed stands apart, but for repetitions.
    failed_writes = {request.number for request in run.requests if request.op == "write" and request.failure}
    failed: dict[str, int] = defaultdict(int)
    for operation in run.planned:
        if operation.action == "program" and operation.cause != "retry" and operation.request in failed_writes:
            failed[operation.cause] += 1
    found["write_amplification_by/failed"] = ratio(sum(failed.values()), pages_written)
    programs = defaultdict(int, {cause: count - failed[cause] for cause, count in programs.items()})
    sure: dict[str, int] = defaultdict(int)
    at_most: dict[str, int] = defaultdict(int)
    for operation in run.planned if run.has_warmup else []:
        if operation.action == "program":
            # A repetition stands apart as such, whoever's program failed.
            is_of_warmup = operation.request is not None and operation.request < first and operation.cause != "retry"
            sure[operation.cause] += is_of_warmup or operation.submitted < run.begin
            at_most[operation.cause] += is_of_warmup or operation.submitted <= run.begin
    for parts in (AMPLIFICATION, APART):
        for part, causes in parts.items():
            most, least = (sum(programs[cause] - warm[cause] for cause in causes) for warm in (sure, at_most))
            found[f"write_amplification_by/{part}"] = between(ratio(least, pages_written), ratio(most, pages_written))
    least_warm, most_warm = sum(sure.values()), sum(at_most.values())
    found["write_amplification_by/warmup"] = between(ratio(least_warm, pages_written), ratio(most_warm, pages_written))
    counted = [cause for causes in AMPLIFICATION.values() for cause in causes]
    most, least = (sum(programs[cause] - warm[cause] for cause in counted) for warm in (sure, at_most))
    data = programs["host"] - at_most["host"], programs["host"] - sure["host"]
    found["write_amplification"] = between(ratio(least, pages_written), ratio(most, pages_written))
    found["pages_per_host_page"] = between(ratio(least, data[1]), ratio(most, data[0]))
    for key, action, cause in [
        ("pre_reads", "reads", "pre_read"),
        ("commit_reads", "reads", "commit"),
        ("parity_programs", "programs", "parity"),
        ("commit_programs", "programs", "commit"),
    ]:
        found[f"per_data_page/{key}"] = ratio(done[action][cause], done["programs"]["host"])
    if (drain := run.result.get("drain")) is not None:
        drained = sum(count for cause, count in drain["flash_ops"]["programs"].items() if cause != "total")
        found["write_amplification_by/drain"] = ratio(drained, pages_written)


def between(least: float | None, most: float | None) -> Any:
    return least if least == most or least is None or most is None else Between(least, most)


def of_collections(run: Run, found: dict[str, Any], done: dict[str, dict[str, int]]) -> None:
    copies, erases = done["programs"]["gc"], done["erases"]["gc"]
    cost = mean_ns(run.device, "read") + mean_ns(run.device, "program")
    found["collection/copies"], found["collection/erases"] = copies, erases
    found["collection/cost_ns"] = copies * cost + erases * run.device["erase_ns"]
    ended = [erase for erase in run.collections if erase.action == "erase" and not erase.failed]
    if run.device["mapping"] in ("bast", "fast"):
        # A merge erases several blocks or none.
        found["collection/collections"] = Between(0, len(ended))
        found["collection/time_ns"] = Between(0, inf)
        return
    extra = len(ended) if run.has_warmup else 0
    found["collection/collections"] = Between(len(ended), len(ended) + extra)
    # A collection begins when its first work is submitted, unless it waits before that: for reads of its victim, or for
    # commits. It cannot begin before the former collection of its plane has ended.
    least, most = 0.0, 0.0
    of_planes: dict[tuple[int, ...], list[Operation]] = defaultdict(list)
    for work in run.collections:
        of_planes[work.channel, work.chip, work.die, work.plane].append(work)
    read_ends: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for read in run.planned:
        if read.action == "read":
            read_ends[read.channel, read.chip, read.die, read.plane, read.block].add(read.end)
    # A collection that a failure in its plane cut short left its victim; of the later one that collected it nothing but
    # the erase is sure.
    failures: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for operation in run.operations:
        if operation.failed:
            failures[operation.channel, operation.chip, operation.die, operation.plane].append(operation.end)
    commits = run.result["scheme"] in ("ppc", "ca-ppc")
    for plane, works in of_planes.items():
        # Work on a block that is retired in the end is of no collection that ends. (A copy does not say from where.)
        first: dict[int, int] = {}
        former = run.begin
        for work in works:
            victim = work.block if work.action in ("read", "erase") else -1
            first.setdefault(victim, work.submitted)
            if work.action != "erase":
                continue
            began = min(first.pop(victim), first.pop(-1, inf) if run.device["copyback"] else inf)
            is_cut = any(began <= end <= work.submitted for end in failures[plane])
            waited = commits or (began == work.submitted and began in read_ends[*plane, work.block])
            if not work.failed:
                least += work.end - (work.submitted if is_cut else began)
                most += work.end - (former if waited else began)
            first.clear()
            former = work.end
    is_simple = not run.has_warmup and not run.has_losses and run.device["mapping"] != "dftl"
    found["collection/time_ns"] = (
        between(least, most) if is_simple else Between(least if not run.has_losses else 0, inf)
    )


def of_members(run: Run, found: dict[str, Any], units: list[dict[str, int]], done_end: int) -> None:
    device = run.device
    chips = device["chips_per_channel"]
    members = len(run.result["members"])
    # Spare SSDs are members of schemes that replace SSDs themselves.
    own = run.array["devices"] if run.array else device["channels"] * (chips if device["member"] == "chip" else 1)
    has_spares = bool(run.array) and members > own
    assert members == own + (run.array["spare_devices"] if has_spares else 0)
    of_spare: dict[tuple[int, int], int] = {}
    for done in run.operations:
        if (done.chip >= chips or done.channel >= run.channels_in_use) and done.member is not None:
            of_spare[done.channel, done.chip] = done.member
    members_of_spares = {channel // run.channels_each: member for (channel, _), member in of_spare.items()}

    def member_of(channel: int, chip: int) -> int | None:
        if run.array:
            ssd = channel // run.channels_each
            return ssd if channel < run.channels_in_use else members_of_spares.get(ssd, ssd if has_spares else None)
        if device["member"] == "channel":
            return channel
        return channel * chips + chip if chip < chips else of_spare.get((channel, chip))

    members_in_use = {member_of(ssd * run.channels_each, 0) for ssd in ssds_in_use(run)} if has_spares else set()
    started: list[dict[str, int]] = [defaultdict(int) for _ in range(members)]
    parity = [0] * members
    latency: list[list[int]] = [[] for _ in range(members)]
    for done in run.operations:
        of = member_of(done.channel, done.chip)
        for action in COUNTED_AS[done.action]:
            if of is not None:
                started[of][action] += 1
        if done.kind != "collection" and done.member is not None:
            parity[done.member] += done.action == "program" and done.cause == "parity"
            if not done.failed:
                latency[done.member].append(done.end - done.submitted)
    busy = [0] * members
    for unit, causes in enumerate(units):
        of = member_of(unit // run.units_per_channel, unit % run.units_per_channel % run.chips)
        if of is not None:
            busy[of] += sum(causes.values())
    dies = 1 if device["lun"] == "chip" else device["dies_per_chip"]
    units_of_member = dies * (1 if device["member"] == "chip" else chips)
    if run.array:
        units_of_member *= run.channels_each
    blocked = mean_blocked(run, members)
    averaged_from = min((request.arrival for request in run.requests), default=run.begin)
    for member in range(members):
        own = f"members/{member}"
        found.update({f"{own}/{action}": started[member][action] for action in ("reads", "programs", "erases")})
        # Averages begin with the first arrival; what is at work before that is in no average.
        averaged = ratio(busy[member], units_of_member * (done_end - averaged_from))
        if has_spares and member not in members_in_use:
            averaged = None
        is_whole = all(done.start >= averaged_from for done in run.operations) or run.has_warmup
        found[f"{own}/busy_fraction"] = averaged if is_whole or averaged is None else Between(0, averaged)
        found[f"{own}/mean_blocked"] = blocked[member]
        for name in ("p50", "p90", "p99", "p99_9"):
            # Page operations that were queued or under way when a warm-up ended count, and are in no log.
            known = quantile(sorted(latency[member]), QUANTILES[name])
            found[f"{own}/{name}_ns"] = Between(0, inf) if run.has_warmup else known
        found[f"{own}/parity_share"] = parity[member] / sum(parity) if sum(parity) else 0
    # Members that are spare SSDs, or were replaced by one, take part in no mean.
    programs = [started[member]["programs"] for member in range(members) if not has_spares or member in members_in_use]
    found["lifetime/programs_peak_to_mean"] = ratio(max(programs, default=0), moments(programs)[0])
    of_result = [member["mean_blocked"] for member in run.result["members"]]
    mean, deviation = moments(of_result)
    found["blocked_cv"] = ratio(deviation, mean)
    if not mean or members == 1:
        found["blocked_chi_square"] = None
        return
    requests = run.result["blocked_chi_square"]["requests"]
    found["blocked_chi_square/requests"] = Between(0, inf) if run.has_warmup else len(run.requests)
    sums = [blocked * requests for blocked in of_result]
    expected = moments(sums)[0]
    found["blocked_chi_square/statistic"] = sum((blocked - expected) ** 2 for blocked in sums) / expected
    found["blocked_chi_square/degrees_of_freedom"] = members - 1
    statistic = run.result["blocked_chi_square"]["statistic"]
    found["blocked_chi_square/p_value"] = upper_tail(statistic, members - 1)


def upper_tail(statistic: float, degrees: int) -> float:
    """Of the chi-square distribution: Q(a + 1, x) = Q(a, x) + x^a e^-x / Gamma(a + 1), up from Q(1/2) or Q(1)."""
    half = statistic / 2
    a, tail = (1.0, exp(-half)) if degrees % 2 == 0 else (0.5, erfc(sqrt(half)))
    while a < degrees / 2:
        tail += exp(a * log(half) - half - lgamma(a + 1)) if half else 0.0
        a += 1
    return tail


def mean_blocked(run: Run, members: int) -> list[Any]:
    """Page operations of a member that wait when a request completes, in the mean. What happens in one instant has an
    order that the logs do not tell, so what begins or ends to wait just then may count or not."""
    answers = sorted(request.end for request in run.requests)
    found: list[Any] = []
    for member in range(members):
        own = [done for done in run.planned if done.member == member]
        submitted = sorted(done.submitted for done in own)
        started = sorted(done.start for done in own)
        never_waited = sorted(done.start for done in own if done.start == done.submitted)
        least = most = 0
        for time in answers:
            at_once = bisect_right(never_waited, time) - bisect_left(never_waited, time)
            least += bisect_left(submitted, time) - (bisect_right(started, time) - at_once)
            most += bisect_right(submitted, time) - bisect_left(started, time)
        count = max(1, len(answers))
        # With a warm-up there are answers, and work, that are in no log. What dies waiting is in none either.
        found.append(
            Between(0, inf) if run.has_warmup else Between(least / count, inf if run.has_losses else most / count)
        )
    return found


def of_wear(run: Run, found: dict[str, Any]) -> None:
    """Erases of the blocks in use, since the device was new: with a precondition or a warm-up, some are in no log."""
    device, dead = run.device, set(replaced(run))
    erases: dict[tuple[int, ...], int] = defaultdict(int)
    for done in run.collections:
        if done.action == "erase" and not done.failed and (done.channel, done.chip) not in dead:
            erases[done.channel, done.chip, done.die, done.plane, done.block] += 1
    blocks_of_chip = device["dies_per_chip"] * device["planes_per_die"] * device["blocks_per_plane"]
    channels = len(ssds_in_use(run)) * run.channels_each if run.array else run.channels_in_use
    blocks = channels * device["chips_per_channel"] * blocks_of_chip
    # All blocks of an SSD begin with the same count.
    for ssd in sorted(ssds_in_use(run)) if run.array else []:
        for channel in range(ssd * run.channels_each, (ssd + 1) * run.channels_each):
            places = itertools.product(
                range(device["chips_per_channel"]), range(device["dies_per_chip"]), range(device["planes_per_die"])
            )
            for place in itertools.product(places, range(device["blocks_per_plane"])):
                (chip, die, plane), block = place
                erases[channel, chip, die, plane, block] += preset(run, ssd)
    values = list(erases.values())
    mean = sum(values) / blocks
    spread = sum((value - mean) ** 2 for value in values) + (blocks - len(values)) * mean * mean
    deviation = sqrt(spread / blocks)
    is_all = not run.has_warmup and run.of_run["precondition"] == "none" and not run.of_run["drive"]
    found["wear/erase_mean"] = mean if is_all else Between(mean, inf)
    found["wear/erase_max"] = max(values, default=0) if is_all else Between(max(values, default=0), inf)
    found["wear/erase_stddev"] = deviation if is_all else Between(0, inf)
    of_erase_histogram(run, found, values + [0] * (blocks - len(values)) if is_all else None, blocks)


def of_erase_histogram(run: Run, found: dict[str, Any], values: list[int] | None, blocks: int) -> None:
    """Blocks by their erases. If not all are in the log, the ranges, and whether each block is in one."""
    told = run.result["wear"]["histogram"]
    least = min(values) if values is not None else told[0]["erases_from"]
    most = max(values) if values is not None else run.result["wear"]["erase_max"]
    width = ceil((most - least + 1) / 32)
    for index, start in enumerate(range(least, most + 1, width)):
        own = f"wear/histogram/{index}"
        found[f"{own}/erases_from"], found[f"{own}/erases_to"] = start, start + width - 1
        if values is not None:
            found[f"{own}/blocks"] = sum(start <= value < start + width for value in values)
        else:
            others = sum(part["blocks"] for number, part in enumerate(told) if number != index)
            found[f"{own}/blocks"] = blocks - others


def preset(run: Run, ssd: int) -> int:
    """Erases of each block of an SSD of an array before time began."""
    ages = run.array["ages"]
    return floor(ages[ssd] * run.device["pe_limit"] + 0.5) if ssd < len(ages) else 0


def of_ssds(run: Run, found: dict[str, Any], units: list[dict[str, int]]) -> None:
    """Each SSD of an array, and those that were worn out."""
    if not run.array:
        return
    device, each = run.device, run.channels_each
    blocks = (
        each * device["chips_per_channel"] * device["dies_per_chip"] * device["planes_per_die"]
        * device["blocks_per_plane"]
    )  # fmt: skip
    dies = 1 if device["lun"] == "chip" else device["dies_per_chip"]
    averaged_from = min((request.arrival for request in run.requests), default=run.begin)
    is_whole = all(done.start >= averaged_from for done in run.operations) or run.has_warmup
    is_all = not run.has_warmup and run.of_run["precondition"] == "none" and not run.of_run["drive"]
    has_spare_chips = any("/" in fault["fault"] and fault["spare"] for fault in run.result["faults"])
    for ssd in range(run.array["devices"] + run.array["spare_devices"]):
        own = f"devices/{ssd}"
        done_here = [done for done in run.operations if done.channel // each == ssd]
        started: dict[str, dict[str, int]] = {action: defaultdict(int) for action in ("reads", "programs", "erases")}
        for done in done_here:
            for action in COUNTED_AS[done.action]:
                started[action][done.cause] += 1
        for action, counted in started.items():
            found.update({f"{own}/flash_ops/{action}/{cause}": n for cause, n in by_cause(counted).items()})
        erased = sum(done.action == "erase" and not done.failed for done in done_here)
        at_first = blocks * preset(run, ssd)
        total = at_first + erased
        limit = blocks * device["pe_limit"]
        exact = is_all and not has_spare_chips
        found[f"{own}/number"] = ssd
        found[f"{own}/preset_erases"] = at_first
        found[f"{own}/total_erases"] = total if exact else Between(0 if has_spare_chips else total, inf)
        total = run.result["devices"][ssd]["total_erases"]
        found[f"{own}/erase_mean"] = total / blocks
        found[f"{own}/age"] = ratio(total, limit)
        first, end = ((ssd + number) * each * run.units_per_channel for number in (0, 1))
        busy = sum(sum(causes.values()) for causes in units[first:end])
        luns = each * device["chips_per_channel"] * dies
        averaged = ratio(busy, luns * (run.end - averaged_from))
        found[f"{own}/busy_fraction"] = averaged if is_whole or averaged is None else Between(0, averaged)
    # An SSD fails with the end of an erase of its own, which is its last one.
    former = None
    for index, worn in enumerate(run.wear_outs):
        own = f"wear_outs/{index}"
        erases = [
            done.end for done in run.collections if done.action == "erase" and done.channel // each == worn["device"]
        ]
        ended = [end for end in sorted(erases) if end <= worn["at_ns"]]
        found[f"{own}/at_ns"] = ended[-1] if ended else None
        found[f"{own}/device"] = worn["device"]
        found[f"{own}/since_previous_ns"] = None if former is None else worn["at_ns"] - former
        former = worn["at_ns"]
        spent = blocks * preset(run, worn["device"]) + len(ended)
        if is_all and not has_spare_chips:
            found[f"{own}/device"] = worn["device"] if spent == blocks * device["pe_limit"] else None


def of_rebuilds(run: Run, found: dict[str, Any]) -> None:
    injected = {failed["at_ns"] for failed in run.result["faults"] + run.wear_outs}
    for index, rebuild in enumerate(run.result["rebuild"]):
        own = f"rebuild/{index}"
        started = min(fault["at_ns"] for fault in rebuild["failed"])
        found[f"{own}/started_ns"] = started if started in injected else None
        ended = rebuild["ended_ns"] if rebuild["ended_ns"] is not None else inf
        repairs = [
            done for done in run.operations if done.kind == "repair" and started <= done.start and done.end <= ended
        ]
        metadata = [
            done for done in run.operations if done.kind == "translation" and done.cause in ("rebuild", "retry")
        ]
        last = max((done.end for done in repairs), default=started)
        found[f"{own}/ended_ns"] = Between(last, run.end) if rebuild["ended_ns"] is not None else None
        finished = rebuild["finished_ns"]
        found[f"{own}/finished_ns"] = rebuild["ended_ns"] if finished is not None else None
        found[f"{own}/window_of_vulnerability_ns"] = finished - started if finished is not None else None
        programmed = sum(done.action == "program" and not done.failed for done in repairs + metadata)
        # A repair that started anew, as something it had read or programmed was lost meanwhile, has programmed in vain.
        is_undisturbed = not metadata and not any(done.failed for done in repairs) and len(rebuild["failed"]) == 1
        found[f"{own}/pages"] = (
            programmed if is_undisturbed and not run.has_warmup else Between(0, inf if run.has_warmup else programmed)
        )
        found[f"{own}/pages_xored"] = rebuild["pages"] - rebuild["pages_copied"]
        span = ended - started
        found[f"{own}/bytes_per_second"] = None if span == inf else ratio(rebuild["pages"] * run.page_bytes * 1e9, span)
        # Of those that came at the very instant of the failure, some were answered before it, at once.
        arrived = min((fault["request"] for fault in run.result["faults"] if fault["at_ns"] == started), default=inf)
        within = [request for request in run.completed if started <= request.arrival <= ended]
        within = [request for request in within if request.end > started or request.number >= arrived - 1]
        served = latencies([request.end - request.arrival for request in within])
        found[f"{own}/requests"], found[f"{own}/mean_latency_ns"] = served["count"], served["mean"]
        found.update({f"{own}/latency_ns/{key}": value for key, value in served.items()})


def of_latencies_around(run: Run, found: dict[str, Any]) -> None:
    """What requests felt before, during and after rebuilds and replacements, by kind."""
    began = [fault["at_ns"] for rebuild in run.result["rebuild"] for fault in rebuild["failed"][:1]]
    spans = [(began, rebuild["ended_ns"]) for began, rebuild in zip(began, run.result["rebuild"], strict=True)]
    spans += [(each["started_ns"], each["ended_ns"]) for each in run.result.get("replacements", [])]
    if not spans:
        return
    first = min(start for start, _ in spans)
    # As in `of_rebuilds`: of those that came at the very instant of the first failure, some were answered before it.
    arrived = min((fault["request"] for fault in run.result["faults"] if fault["at_ns"] == first), default=0)
    parts: dict[str, dict[str, list[int]]] = {
        part: {kind: [] for kind in ("all", "read", "write", "trim", "flush")} for part in ("before", "during", "after")
    }
    for done in run.completed:
        is_earlier = done.arrival < first or (done.end == first and done.number < arrived - 1)
        runs = any(start <= done.arrival <= (inf if end is None else end) for start, end in spans)
        part = "before" if is_earlier else "during" if runs else "after"
        for kind in ("all", KIND_OF_OP[done.op]):
            parts[part][kind].append(done.end - done.arrival)
    for part, kinds in parts.items():
        for kind, values in kinds.items():
            own = f"latency_around_rebuilds_ns/{part}/{kind}"
            found.update({f"{own}/{key}": value for key, value in latencies(values).items()})


def of_replacements(run: Run, found: dict[str, Any]) -> None:
    """What requests felt of the replacements of SSDs, and how long these took."""
    replacements = run.result.get("replacements", [])
    for index, each in enumerate(replacements):
        own = f"replacements/{index}"
        started, ended = each["started_ns"], each["ended_ns"] if each["ended_ns"] is not None else inf
        follows = replacements[index + 1]["started_ns"] if index + 1 < len(replacements) else inf
        found[f"{own}/duration_ns"] = None if ended == inf else ended - started
        within = [done for done in run.completed if started <= done.arrival <= ended and done.arrival < follows]
        after = [done for done in run.completed if ended < done.arrival < follows and done.op == "read"]
        for requests, count, latency in [
            (within, "requests", "latency_ns"), (after, "reads_after", "read_latency_after_ns"),
        ]:  # fmt: skip
            served = latencies([done.end - done.arrival for done in requests])
            found[f"{own}/{count}"] = served["count"]
            found.update({f"{own}/{latency}/{key}": value for key, value in served.items()})


def of_parts(run: Run, found: dict[str, Any], done: dict[str, dict[str, int]]) -> None:
    """What follows from other figures of the result."""
    device, result = run.device, run.result
    capacity = result["capacity"]
    chips = run.channels_in_use * device["chips_per_channel"]
    raw = (
        chips
        * device["dies_per_chip"]
        * device["planes_per_die"]
        * device["blocks_per_plane"]
        * device["pages_per_block"]
        * run.page_bytes
    )
    found["capacity/raw_bytes"] = raw
    found["capacity/raw_per_user_byte"] = ratio(raw, capacity["user_bytes"])
    found["capacity/table_bytes"] = sum(capacity["tables"].values())
    of_lifetime(run, found)
    if (buffer := result.get("buffer")) is not None:
        for key in ("hits", "misses"):
            found[f"buffer/{key}"] = buffer[f"read_{key}"] + buffer[f"write_{key}"]
        found["buffer/hit_rate"] = ratio(buffer["hits"], buffer["hits"] + buffer["misses"])
        found["buffer/mean_victim_pages"] = ratio(buffer["pages_written_out"], buffer["evictions"])
    if (guard := result.get("guard")) is not None:
        causes = ["replacement", "gc", "rebuild", "idle"]
        commits, reads = ({cause: guard[f"{what}_{cause}"] for cause in causes} for what in ("commits", "commit_reads"))
        found["guard/hit_rate"] = ratio(guard["hits"], guard["hits"] + guard["misses"])
        found["guard/reads_per_commit"] = ratio(sum(reads.values()), sum(commits.values()))
        read_ns, program_ns = mean_ns(device, "read"), mean_ns(device, "program")
        cost = {cause: reads[cause] * read_ns + commits[cause] * program_ns for cause in causes}
        found["guard/gc_commit_share"] = ratio(cost["gc"], cost["gc"] + cost["replacement"])
    if (ldpc := result.get("ldpc")) is not None:
        by_level = ldpc["reads_by_level"]
        read = sum(done.action == "read" for done in run.operations)
        attempts = sum((min(level, len(by_level) - 2) + 1) * count for level, count in enumerate(by_level))
        for level in range(len(by_level)):
            found[f"ldpc/reads_by_level/{level}"] = Between(0, read - (sum(by_level) - by_level[level]))
        found["ldpc/mean_attempts"] = ratio(attempts, read)
        found["ldpc/retried_share"] = ratio(read - by_level[0], read)
        has_errors = any(device[key] for key in ("ldpc_erases", "ldpc_retention_ns", "ldpc_reads"))
        for key in ("pages_uncorrectable", "pages_repaired"):
            # What is found to be lost, and what is repaired beside a rebuild, is in no log.
            found[f"ldpc/{key}"] = Between(0, inf) if has_errors else 0
    if (drain := result.get("drain")) is not None:
        for action, counted in drain["flash_ops"].items():
            found[f"drain/flash_ops/{action}/total"] = sum(
                count for cause, count in counted.items() if cause != "total"
            )


def of_lifetime(run: Run, found: dict[str, Any]) -> None:
    """How long the device lasts, from write amplification and the rate of writes."""
    capacity, amplification = run.result["capacity"], run.result["write_amplification"]
    days = run.result["bandwidth"]["span_ns"] / 86400e9
    written = sum(request.size for request in run.completed if request.op == "write")
    per_day: Any = ratio((amplification or 0) * written / capacity["raw_bytes"], days)
    writes: Any = ratio(1000 * capacity["raw_bytes"] / capacity["user_bytes"], amplification or 0)
    years: Any = ratio(1000 / 365, per_day or 0)
    # Parities made in idle time, and GC, may program pages though nothing was written.
    is_known = (
        amplification is not None
        or per_day is None
        or not any(done.action in ("program", "copy_back") for done in run.operations)
    )
    found["lifetime/pe_cycles_per_day"] = per_day if is_known else Between(0, inf)
    found["lifetime/years_per_1000_cycles"] = years if is_known else run.result["lifetime"]["years_per_1000_cycles"]
    found["lifetime/full_drive_writes_per_1000_cycles"] = writes
    limits = limits_of_ssds(run)[: run.array["devices"]] if run.array else []
    cycles = min((limit for limit in limits if limit), default=None)
    found["lifetime/pe_cycles"] = cycles
    for key in ("years", "full_drive_writes"):
        per_1000 = run.result["lifetime"][f"{key}_per_1000_cycles"]
        found[f"lifetime/{key}"] = None if cycles is None or per_1000 is None else per_1000 * cycles / 1000


def limits_of_ssds(run: Run) -> list[int]:
    """P/E cycles that blocks endure, of each SSD of an array."""
    limits = [run.device["pe_limit"]] * (run.array["devices"] + run.array["spare_devices"])
    for model in run.array["models"]:
        number, _, settings = model.partition(":")
        for key, _, value in (setting.partition("=") for setting in settings.split()):
            if key == "pe_limit":
                limits[int(number)] = int(value)
    return limits


def recomputed(run: Run) -> tuple[dict[str, Any], list[str]]:
    """Figures by path, and what contradicts itself in the logs."""
    found: dict[str, Any] = {}
    complaints: list[str] = []
    check_order(run, complaints)
    done = counts(run)
    found["simulated_ns"] = run.end - run.begin
    of_workload(run, found)
    for action, counted in done.items():
        found.update({f"flash_ops/{action}/{cause}": count for cause, count in by_cause(counted).items()})
    buses, units = of_busy_times(run, found, complaints)
    of_offered_load(run, found, buses)
    of_bandwidth(run, found)
    of_amplification(run, found, done)
    of_collections(run, found, done)
    of_members(run, found, units, run.end)
    of_wear(run, found)
    of_ssds(run, found, units)
    of_rebuilds(run, found)
    of_latencies_around(run, found)
    of_replacements(run, found)
    of_parts(run, found, done)
    return found, complaints


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Values by path. Empty lists and objects are values."""
    if isinstance(value, dict | list) and value:
        found: dict[str, Any] = {}
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            found |= leaves(part, f"{path}/{key}" if path else str(key))
        return found
    return {path: value}


def agrees(told: Any, expected: Any) -> bool:
    if isinstance(expected, Between):
        slack = 1e-9 * max(1.0, abs(told or 0.0))
        return told is not None and bool(expected.least - slack <= told <= expected.most + slack)
    if isinstance(told, float) or isinstance(expected, float):
        return told is not None and expected is not None and isclose(told, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(told == expected)


def check(run: Run) -> list[str]:
    """What is wrong with the result, or with this script's knowledge of it."""
    found, complaints = recomputed(run)
    told = leaves(run.result)
    for path, value in told.items():
        if path in found:
            if not agrees(value, found[path]):
                complaints.append(f"{path} is {value}, recomputed {found[path]}")
        elif value not in ([], {}) and not LISTED.match(path):
            complaints.append(f"{path} is neither recomputed nor listed with the reason why not")
    complaints += [f"{path} is recomputed, and the result does not have it" for path in found if path not in told]
    return complaints


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--folders"]:
        folders = [Path(folder) for folder in arguments[1:]]
        runs = {}
        for folder in folders:
            timeline = folder / "timeline.json"
            runs[str(folder)] = (
                folder / "result.json",
                folder / "requests.csv",
                folder / "operations.csv",
                timeline if timeline.exists() else None,
            )
    elif len(arguments) in (3, 4):
        paths = [Path(path) for path in arguments]
        runs = {arguments[0]: (paths[0], paths[1], paths[2], paths[3] if len(paths) == 4 else None)}
    else:
        print(__doc__)
        return 2
    status = 0
    for name, files in runs.items():
        for complaint in check(Run(*files)):
            print(f"{name}: {complaint}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
